//! Agents of a workspace. Nothing creates any, so the list is empty.
use crate::operation::{ListDefinition, Operation, get, list};
use workgraph_core::model::registry::Type;

/// Operations on agents: a part of [`TABLES`](super::TABLES).
pub static AGENTS: &[Operation] = &[
    get("getAgent", "/agents/{agent_gid}", Type::Agent),
    list(
        "getAgentsForWorkspace",
        "/workspaces/{workspace_gid}/agents",
        Type::Agent,
        ListDefinition::InWorkspace(Type::Agent),
    ),
];
