//! Levels on teams, projects and portfolios: they follow from ownership, memberships and the privacy setting.
use super::access_lookup::AccessLookup;
use super::inherited;
use super::level::Level;
use super::viewer::Viewer;
use crate::graph_store_error::GraphStoreError;
use crate::model::node::Node;
use crate::model::registry::rel;
use crate::model::resources::{portfolio, project, team};

/// Returns the level on a team: members see their team; full members of the organization see all teams that are not secret.
pub(super) fn by_visibility(viewer: &Viewer, node: &Node, full: bool) -> Level {
    match viewer.teams.get(&node.gid) {
        Some(true) => Level::Admin,
        Some(false) => Level::Editor,
        None if full && node.get(team::VISIBILITY).as_deref() != Some("secret") => Level::Viewer,
        None => Level::None,
    }
}

/// Returns the highest level on a project that ownership, a membership or the privacy setting gives.
pub(super) fn in_project(
    viewer: &Viewer,
    node: &Node,
    full: bool,
    facts: &mut dyn AccessLookup,
) -> Result<Level, GraphStoreError> {
    if node.get(project::OWNER) == Some(viewer.user) {
        return Ok(Level::Admin);
    }
    let shared = viewer
        .shared_levels
        .get(&node.gid)
        .copied()
        .unwrap_or_default();
    let open = match node.get(project::PRIVACY).as_deref() {
        Some("public_to_workspace") if full => Level::Editor,
        Some("private_to_team") if shared < Level::Editor => {
            let teams = facts.lookup_edges(node.gid, rel::TEAM)?;
            if teams.iter().any(|e| viewer.teams.contains_key(&e.dst)) {
                Level::Editor
            } else {
                Level::None
            }
        }
        _ => Level::None,
    };
    let given = shared.max(open);
    if given >= Level::Editor {
        return Ok(given);
    }
    inherited::level(viewer, node, given, facts)
}

/// Returns the highest level on a portfolio that ownership, a membership or the privacy setting gives.
pub(super) fn in_portfolio(viewer: &Viewer, node: &Node, full: bool) -> Level {
    if node.get(portfolio::OWNER) == Some(viewer.user) {
        return Level::Admin;
    }
    let shared = viewer.shared_levels.get(&node.gid).copied();
    let public = node.get(portfolio::PRIVACY).as_deref() == Some(portfolio::PUBLIC_TO_DOMAIN);
    let open = if full && public {
        Level::Viewer
    } else {
        Level::None
    };
    shared.unwrap_or_default().max(open)
}
