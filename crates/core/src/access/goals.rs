//! Access to goals.
use super::{AccessLookup, Level, Viewer, of_link};
use crate::graph_store_error::GraphStoreError;
use crate::model::node::Node;
use crate::model::resources::{goal, goal_relationship};

/// Returns the highest level on a goal of: ownership, a membership, and the privacy setting. A public goal of a team is
/// open to those who see the team, and its members edit it; any other is open to the full members of the workspace. Both
/// may comment on it.
pub(super) fn in_goal(
    viewer: &Viewer,
    node: &Node,
    full: bool,
    facts: &mut dyn AccessLookup,
    depth: u8,
) -> Result<Level, GraphStoreError> {
    if node.get(goal::OWNER) == Some(viewer.user) {
        return Ok(Level::Admin);
    }
    let shared = viewer.shared_levels.get(&node.gid).copied();
    let shared = shared.unwrap_or_default();
    if node.get(goal::PRIVACY).as_deref() != Some(goal::PUBLIC) {
        return Ok(shared);
    }
    let open = match node.get(goal::TEAM) {
        Some(team) => match of_link(viewer, Some(team), facts, depth)? {
            Level::None => Level::None,
            level => level.clamp(Level::Commenter, Level::Editor),
        },
        None if full => Level::Commenter,
        None => Level::None,
    };
    Ok(shared.max(open))
}

/// Returns the level on a relationship: that on the goal, for those who see the supporter.
pub(super) fn in_relationship(
    viewer: &Viewer,
    node: &Node,
    facts: &mut dyn AccessLookup,
    depth: u8,
) -> Result<Level, GraphStoreError> {
    let supporter = node.get(goal_relationship::SUPPORTING_RESOURCE);
    match of_link(viewer, supporter, facts, depth)? {
        Level::None => Ok(Level::None),
        _ => {
            let goal = node.get(goal_relationship::SUPPORTED_GOAL);
            of_link(viewer, goal, facts, depth)
        }
    }
}
