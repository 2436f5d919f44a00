//! Copies between projects and templates: their parts, and the team of the copy.
use super::projects::{is_organization, team_of};
use crate::operation::inputs::{Input, InputPlace, Named};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::date_shift::DateShift;
use workgraph_core::jobs::duplication::{CopyKind, CopyOptions, CopyPhase, Duplication};
use workgraph_core::jobs::template_snapshot::TemplateData;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::storage::{LinkSelector, NodeRef, ReadView};

/// The team of the copy.
pub(super) const TEAM: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "team",
    &[Type::Team],
    "The team to which the copy belongs; the team of the original if it is absent.",
);

/// Returns a reference to the team of the original, by a relation.
pub(super) fn original_team(original: &Named<Gid>, by: Relation) -> NodeRef {
    original.node_ref().of(LinkSelector::FirstEdge(by))
}

/// Returns a reference to the workspace of the original; [`copy_team`] must know its kind.
pub(super) fn original_workspace(original: &Named<Gid>) -> NodeRef {
    original.node_ref().of(LinkSelector::Workspace)
}

/// Returns the team that the body names, or else the original's team, if the caller sees it. In an organization, a guest
/// cannot make a copy without a team, as a guest cannot create a project without one.
pub(super) fn copy_team(
    call: &RequestContext<'_>,
    view: &ReadView,
    workspace: Gid,
    team: Option<&Named<Gid>>,
    (original, by): (&Named<Gid>, Relation),
) -> Result<Option<Gid>, DomainError> {
    let name = match team {
        Some(team) => Some(team.node_ref()),
        // A caller who does not see the team of the original makes a copy without one.
        None => Some(original_team(original, by)).filter(|team| {
            let team = view.resolve(team);
            team.is_some_and(|team| view.visible(team).is_some())
        }),
    };
    let team = team_of(call, view, workspace, name.as_ref())?;
    let is_guest = !view.viewer.is_member(workspace);
    if team.is_none() && is_guest && is_organization(view, Some(workspace)) {
        return Err(DomainError::forbidden(
            "Guests have projects and templates in their teams alone; name one of them (team).",
        ));
    }
    Ok(team)
}

/// Returns a duplication with all parts that a copy of a project can have; templates keep all of them.
pub(super) fn full_copy(kind: CopyKind, from: Gid, to: Gid) -> Duplication {
    Duplication {
        source: from,
        copy: to,
        kind,
        roles: Vec::new(),
        template: TemplateData::default(),
        parts: CopyOptions::all(),
        shift: DateShift::default(),
        anchor: None,
        copied: 0,
        phase: CopyPhase::Sections { after: None },
    }
}

#[cfg(test)]
mod tests;
