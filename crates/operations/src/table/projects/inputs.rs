//! Inputs of the operations on projects.
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, Named, OperationInput, RecordUpdate, path,
};
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::storage::NodeRef;

pub(super) const LISTED_WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "Lists the projects of this workspace; with `team`, only those of the team in it. Without both: of all workspaces.",
);
const LISTED_TEAM: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "team",
    &[Type::Team],
    "Lists the projects of this team.",
);
pub(super) const WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "workspace",
    &[Type::Workspace],
    "The workspace of the project; not needed with a team.",
)
.or_in_path(&path::WORKSPACE.def);
pub(super) const TEAM: Input<Named<Gid>> = Input::gid(
    InputPlace::Body,
    "team",
    &[Type::Team],
    "The team of the project; projects of organizations need one.",
)
.or_in_path(&path::TEAM.def);
const FOLLOWERS: Input<Vec<Named<NodeRef>>> = Input::users(
    "followers",
    "Users who follow the project from the start; they become members, too.",
);
const NEW: Input<CheckedInputs> =
    Input::new_record(Type::Project, &[], "The fields of the new project.");
const CHANGED: Input<RecordUpdate> =
    Input::updated_record(Type::Project, "The fields of the project to change.");

/// The workspace or team whose projects are listed.
pub(super) struct ListProjects {
    pub(super) workspace: Option<Named<Gid>>,
    pub(super) team: Option<Named<Gid>>,
}

impl OperationInput for ListProjects {
    const INPUTS: &'static [&'static InputDef] = &[&LISTED_WORKSPACE.def, &LISTED_TEAM.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.optional(&LISTED_WORKSPACE)?,
            team: inputs.optional(&LISTED_TEAM)?,
        })
    }
}

/// Inputs of a new project.
pub(super) struct CreateProject {
    pub(super) workspace: Option<Named<Gid>>,
    pub(super) team: Option<Named<Gid>>,
    pub(super) followers: Vec<Named<NodeRef>>,
    pub(super) fields: CheckedInputs,
}

impl OperationInput for CreateProject {
    const INPUTS: &'static [&'static InputDef] =
        &[&WORKSPACE.def, &TEAM.def, &FOLLOWERS.def, &NEW.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.optional(&WORKSPACE)?,
            team: inputs.optional(&TEAM)?,
            followers: inputs.or_default(&FOLLOWERS)?,
            fields: inputs.required(&NEW)?,
        })
    }
}

/// A project, and the fields to change.
pub(super) struct UpdateProject {
    pub(super) project: Named<Gid>,
    pub(super) fields: RecordUpdate,
}

impl OperationInput for UpdateProject {
    const INPUTS: &'static [&'static InputDef] = &[&path::PROJECT.def, &CHANGED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let project = inputs.required(&path::PROJECT)?;
        let fields = inputs.required(&CHANGED)?;
        fields.written()?;
        Ok(Self { project, fields })
    }
}

/// Inputs of an operation on one project.
pub(super) struct OneProject {
    pub(super) project: Named<Gid>,
}

impl OperationInput for OneProject {
    const INPUTS: &'static [&'static InputDef] = &[&path::PROJECT.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            project: inputs.required(&path::PROJECT)?,
        })
    }
}
