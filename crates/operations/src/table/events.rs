//! Events: changes of an object and of the objects in it.
use crate::operation::{EventScope, Operation, events};

/// Operations on events.
pub static EVENTS: &[Operation] = &[
    events("getEvents", "/events", EventScope::Resource)
        .alias_paths(&["/tasks/{task_gid}/events", "/projects/{project_gid}/events"]),
    events(
        "getWorkspaceEvents",
        "/workspaces/{workspace_gid}/events",
        EventScope::Workspace,
    ),
];
