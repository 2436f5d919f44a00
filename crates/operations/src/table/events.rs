//! Events: changes of an object and of the objects in it.
use crate::operation::Operation;
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, path,
};
use crate::operation::requests::{EventScope, ListEvents};
use crate::operation::rows::events;
use crate::operation::steps::Description;
use workgraph_core::domain_error::DomainError;
use workgraph_core::{Gid, Type};

/// Operations on events: a part of [`TABLES`](super::TABLES).
pub static EVENTS: &[Operation] = &[
    events(
        "getEvents",
        "/events",
        &Description::new(|_, input: &OfResource| Ok(input.0.clone())),
    )
    .alias_paths(&["/tasks/{task_gid}/events", "/projects/{project_gid}/events"]),
    events(
        "getWorkspaceEvents",
        "/workspaces/{workspace_gid}/events",
        &Description::new(|_, input: &OfWorkspace| Ok(input.0.clone())),
    ),
];

/// The resource in the paths of old clients.
const IN_PATH: Input<Named<Gid>> = path::TASK.or_in_path(&path::PROJECT.def);
const RESOURCE: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "resource",
    &[Type::Task, Type::Project, Type::Goal],
    "The task, project or goal of the events.",
)
.or_in_path(&IN_PATH.def);
const SYNC: Input<String> = Input::parsed(
    InputPlace::Query,
    "sync",
    InputType::Token,
    |input, inputs| Ok(inputs.query_text(input)?.map(str::to_owned)),
    "The token of the last call. Without one, or with one that is no longer valid, the response is an error with a new token.",
);

/// Inputs for the events of a task, project or goal.
struct OfResource(ListEvents);

impl OperationInput for OfResource {
    const INPUTS: &'static [&'static InputDef] = &[&RESOURCE.def, &SYNC.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self(ListEvents {
            scope: EventScope::Resource,
            resource: inputs.required(&RESOURCE)?,
            sync: inputs.deferred_optional(&SYNC),
        }))
    }
}

/// Inputs for the events of a workspace.
struct OfWorkspace(ListEvents);

impl OperationInput for OfWorkspace {
    const INPUTS: &'static [&'static InputDef] = &[&path::WORKSPACE.def, &SYNC.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self(ListEvents {
            scope: EventScope::Workspace,
            resource: inputs.required(&path::WORKSPACE)?,
            sync: inputs.deferred_optional(&SYNC),
        }))
    }
}
