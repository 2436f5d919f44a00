//! Places of projects: the workspaces and teams that take them.
use super::inputs::TEAM;
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::{team, workspace};
use workgraph_core::storage::{NodeRef, ReadView};

/// Returns true if a workspace is an organization, whose projects have teams.
pub(in crate::table) fn is_organization(view: &ReadView, workspace: Option<Gid>) -> bool {
    let node = workspace.and_then(|workspace| view.node(workspace));
    node.is_some_and(|node| node.get(workspace::IS_ORGANIZATION))
}

/// Checks that the caller may create projects in a team of the workspace.
pub(super) fn team_takes(view: &ReadView, workspace: Gid, team: &Node) -> Result<(), DomainError> {
    if team.workspace != Some(workspace) {
        return Err(DomainError::field(
            TEAM.def.name,
            "Not a team of that workspace",
        ));
    }
    require_content(view, team)
}

/// Checks that the caller may put projects into a team.
pub(super) fn require_content(view: &ReadView, team: &Node) -> Result<(), DomainError> {
    let admins_only = team.get(team::CONTENT).as_deref() == Some("only_team_admins");
    let least = if admins_only {
        Level::Admin
    } else {
        Level::Editor
    };
    if view.level(team.gid) < least {
        return Err(DomainError::forbidden(
            "You may not create projects in this team.",
        ));
    }
    Ok(())
}

/// Returns the team of a project that is made from another; organizations need one.
pub(in crate::table) fn team_of(
    call: &RequestContext<'_>,
    view: &ReadView,
    workspace: Gid,
    team: Option<&NodeRef>,
) -> Result<Option<Gid>, DomainError> {
    let Some(name) = team else {
        return Ok(None);
    };
    let team = call.resolve_ref(view, "team", name, &[Type::Team], Level::Viewer)?;
    team_takes(view, workspace, team)?;
    Ok(Some(team.gid))
}

/// Checks that the caller may create such nodes in the workspace.
pub(in crate::table) fn places_allowed(
    view: &ReadView,
    workspace: Gid,
    what: &str,
) -> Result<(), DomainError> {
    if view
        .viewer
        .membership(workspace)
        .is_none_or(|s| s.view_only)
        && view.viewer.service_workspace != Some(workspace)
    {
        return Err(DomainError::forbidden(format!(
            "You do not have permission to create {what} in this workspace."
        )));
    }
    Ok(())
}
