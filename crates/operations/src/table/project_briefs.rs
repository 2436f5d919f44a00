//! Project briefs.
use super::record_family::{RecordChange, RecordFamily, RecordTexts, Rows};
use crate::operation::Operation;
use crate::operation::inputs::{Input, Named, RecordUpdate, path};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::{project, project_brief};
use workgraph_core::model::validate::CheckedInputs;

/// Operations on project briefs: a part of [`TABLES`](super::TABLES).
pub static PROJECT_BRIEFS: &[Operation] = &[
    Rows::<Briefs>::create(
        "createProjectBrief",
        "/projects/{project_gid}/project_briefs",
    )
    .paid_only(PREMIUM),
    Rows::<Briefs>::get("getProjectBrief", RECORD).paid_only(PREMIUM),
    Rows::<Briefs>::update("updateProjectBrief", RECORD),
    Rows::<Briefs>::delete("deleteProjectBrief", RECORD),
];

const RECORD: &str = "/project_briefs/{project_brief_gid}";
const PREMIUM: &str = "Project Briefs are not available for free users.";

/// The family of project briefs.
struct Briefs;

impl RecordFamily for Briefs {
    const TYPE: Type = Type::ProjectBrief;
    const PATH: &'static Input<Named<Gid>> = &path::PROJECT_BRIEF;
    const PARENT: &'static Input<Named<Gid>> = &path::PROJECT;
    const NEW: &'static Input<CheckedInputs> =
        &Input::new_record(Self::TYPE, &[], "The fields of the new brief.");
    const CHANGED: &'static Input<RecordUpdate> =
        &Input::updated_record(Self::TYPE, "The fields of the brief to change.");
    const TEXTS: Option<RecordTexts> = Some(RecordTexts {
        plain: project_brief::TEXT,
        html: project_brief::HTML_TEXT,
    });

    fn complete(change: &mut RecordChange<'_>, _fields: &CheckedInputs) -> Result<(), DomainError> {
        if !change.draft.is_new() {
            return Ok(());
        }
        if let Some(brief) = change.parent()?.get(project::PROJECT_BRIEF) {
            let reason = format_args!("It has a project brief already: {brief}");
            return Err(DomainError::field("project", reason));
        }
        let brief = change.draft.gid;
        set_brief(change, Some(brief))
    }

    fn remove(change: &mut RecordChange<'_>) -> Result<(), DomainError> {
        set_brief(change, None)
    }
}

/// Writes the link from the project to its brief.
fn set_brief(change: &mut RecordChange<'_>, brief: Option<Gid>) -> Result<(), DomainError> {
    let mut draft = Draft::edit(change.parent()?);
    draft.set(project::PROJECT_BRIEF, brief);
    draft.set(project::MODIFIED_AT, change.work.now);
    change.work.save(&draft);
    Ok(())
}

#[cfg(test)]
mod tests;
