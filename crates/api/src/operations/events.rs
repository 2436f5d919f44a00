//! Events: what happened to an object and in it.
use crate::operation::{Operation, Span, events};

/// The rows.
pub static EVENTS: &[Operation] = &[
    events("getEvents", "/events", Span::Resource)
        .also(&["/tasks/{task_gid}/events", "/projects/{project_gid}/events"]),
    events(
        "getWorkspaceEvents",
        "/workspaces/{workspace_gid}/events",
        Span::Workspace,
    ),
];
