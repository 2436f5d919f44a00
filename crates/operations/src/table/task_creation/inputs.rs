//! Inputs of a new task.
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, parse_gid, path,
};
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::task::PROJECTS_MAX;
use workgraph_core::model::validate::{CheckedInputs, reference};
use workgraph_core::storage::NodeRef;

const NEW: Input<CheckedInputs> = Input::new_record(Type::Task, &[], "The fields of the new task.");
const WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "workspace",
    &[Type::Workspace],
    "The workspace of the task; not needed with a project or parent.",
)
.or_in_path(&path::WORKSPACE.def);
const PARENT: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "parent",
    &[Type::Task],
    "The task of which the new task is a subtask.",
)
.or_in_path(&path::TASK.def);
const MEMBERSHIPS: Input<Vec<ProjectPlacement>> = Input::parsed(
    InputPlace::Body,
    "memberships",
    InputType::Structure,
    read_memberships,
    "Projects of the task, as an array of objects with `project` and `section`; the section may be absent.",
);
pub(super) const PROJECTS: Input<Vec<Named<Gid>>> = Input::gids(
    "projects",
    &[Type::Project],
    "Projects of the task; it is put into the first section of each.",
);
const TAGS: Input<Vec<Named<Gid>>> = Input::gids("tags", &[Type::Tag], "Tags of the task.");
const FOLLOWERS: Input<Vec<Named<NodeRef>>> = Input::users(
    "followers",
    "Users who follow the task from the start; they belong to its workspace.",
);

/// A project for a new task, with the section if the body names one.
pub(super) struct ProjectPlacement {
    pub(super) project: Gid,
    pub(super) section: Option<Gid>,
    /// The name of the field, for errors.
    pub(super) field: &'static str,
}

fn read_memberships(
    input: &'static InputDef,
    inputs: &InputReader<'_>,
) -> Result<Option<Vec<ProjectPlacement>>, DomainError> {
    let Some(value) = inputs.body_value(input) else {
        return Ok(None);
    };
    let Value::Array(items) = value else {
        return Err(DomainError::field(
            input.name,
            "Value is not an array; it must be an array of {project, section}",
        ));
    };
    let mut placements: Vec<ProjectPlacement> = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let part = |name: &str| -> Result<Option<Gid>, DomainError> {
            let field = format!("{}: [{i}]: {name}", input.name);
            item.get(name)
                .filter(|v| !v.is_null())
                .map(|v| parse_gid(&field, &reference(&field, v)?))
                .transpose()
        };
        let project = part("project")?;
        let project = project.ok_or_else(|| {
            let reason = format_args!("[{i}]: project: Missing required field");
            DomainError::field(input.name, reason)
        })?;
        if placements.iter().any(|p| p.project == project) {
            let reason = format_args!("[{i}]: project: given twice");
            return Err(DomainError::field(input.name, reason));
        }
        placements.push(ProjectPlacement {
            project,
            section: part("section")?,
            field: input.name,
        });
    }
    Ok(Some(placements))
}

/// Reads the projects in the body: from `memberships` and from `projects`.
fn placements(inputs: &InputReader<'_>) -> Result<Vec<ProjectPlacement>, DomainError> {
    let mut placements = inputs.or_default(&MEMBERSHIPS)?;
    for named in inputs.or_default(&PROJECTS)? {
        if !placements.iter().any(|p| p.project == named.node) {
            placements.push(ProjectPlacement {
                project: named.node,
                section: None,
                field: named.input.name,
            });
        }
    }
    if placements.len() > PROJECTS_MAX {
        return Err(DomainError::field(
            PROJECTS.def.name,
            format_args!("Too many: a task can be in at most {PROJECTS_MAX} projects"),
        ));
    }
    Ok(placements)
}

/// Inputs of a new task.
pub(in crate::table) struct CreateTask {
    pub(super) fields: CheckedInputs,
    pub(super) workspace: Option<Named<Gid>>,
    pub(super) parent: Option<Named<Gid>>,
    pub(super) placements: Vec<ProjectPlacement>,
    /// The first node from which the workspace of the task is taken.
    pub(super) workspace_source: Gid,
    pub(super) tags: Vec<Named<Gid>>,
    pub(super) followers: Vec<Named<NodeRef>>,
}

impl OperationInput for CreateTask {
    const INPUTS: &'static [&'static InputDef] = &[
        &WORKSPACE.def,
        &PARENT.def,
        &MEMBERSHIPS.def,
        &PROJECTS.def,
        &TAGS.def,
        &FOLLOWERS.def,
        &NEW.def,
    ];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let fields = inputs.required(&NEW)?;
        let workspace = inputs.optional(&WORKSPACE)?;
        let parent = inputs.optional(&PARENT)?;
        let placements = placements(inputs)?;
        let workspace_source = workspace.as_ref().map(|named| named.node);
        let workspace_source = workspace_source
            .or_else(|| placements.first().map(|p| p.project))
            .or_else(|| parent.as_ref().map(|named| named.node))
            .ok_or_else(|| DomainError::invalid(workgraph_wire::messages::TASK_HOME))?;
        Ok(Self {
            fields,
            workspace,
            parent,
            placements,
            workspace_source,
            tags: inputs.or_default(&TAGS)?,
            followers: inputs.or_default(&FOLLOWERS)?,
        })
    }
}
