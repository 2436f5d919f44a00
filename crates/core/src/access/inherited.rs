//! Access that a portfolio gives to a project. It lasts while the user who gave it may share the project.
use super::access_lookup::AccessLookup;
use super::gate::least_to_share;
use super::level::Level;
use super::viewer::Viewer;
use crate::graph_store_error::GraphStoreError;
use crate::model::custom_field_values::gids;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::rel;
use crate::model::resources::{membership, portfolio, project};

/// Maximum length of a chain of portfolios in which the user who gave the access of one portfolio has their own access
/// through the next.
const MAX_CHAIN: usize = 4;

/// Returns the viewer's level on a project: `given`, or a higher level that a portfolio gives.
pub(super) fn level(
    viewer: &Viewer,
    project: &Node,
    given: Level,
    facts: &mut dyn AccessLookup,
) -> Result<Level, GraphStoreError> {
    let mut best = given;
    let portfolios = project.raw(project::ACCESS_FROM.def.name);
    for portfolio in portfolios.into_iter().flat_map(gids) {
        let inherited = viewer.shared_levels.get(&portfolio).copied();
        // Members of a portfolio never administer its projects.
        let inherited = inherited.unwrap_or_default().min(Level::Editor);
        if inherited > best && holds(project, portfolio, facts, &mut Vec::new())? {
            best = inherited;
        }
    }
    Ok(best)
}

/// Returns true if the user who let the members of a portfolio into a project may still share the project. `chain` holds the
/// portfolios whose access depends on this answer; none of them can support itself.
fn holds(
    project: &Node,
    portfolio: Gid,
    facts: &mut dyn AccessLookup,
    chain: &mut Vec<Gid>,
) -> Result<bool, GraphStoreError> {
    if chain.len() >= MAX_CHAIN || chain.contains(&portfolio) {
        return Ok(false);
    }
    let Some(giver) = giver(project, portfolio, facts)? else {
        return Ok(false);
    };
    chain.push(portfolio);
    let level = level_of(giver, project, facts, chain)?;
    chain.pop();
    Ok(level >= least_to_share(project))
}

/// Returns the user who gave the access. If none is stored, it was the owner of the portfolio.
fn giver(
    project: &Node,
    portfolio: Gid,
    facts: &mut dyn AccessLookup,
) -> Result<Option<Gid>, GraphStoreError> {
    let item = facts.lookup_edge(project.gid, rel::ITEM_OF, portfolio)?;
    if let Some(setting) = item.and_then(|edge| edge.aux)
        && let Some(setting) = facts.lookup_node(setting)?
        && let Some(giver) = setting.get(portfolio::GIVEN_BY)
    {
        return Ok(Some(giver));
    }
    let portfolio = facts.lookup_node(portfolio)?;
    Ok(portfolio.and_then(|node| node.get(portfolio::OWNER)))
}

/// Returns the level on a project of a user other than the viewer.
fn level_of(
    user: Gid,
    project: &Node,
    facts: &mut dyn AccessLookup,
    chain: &mut Vec<Gid>,
) -> Result<Level, GraphStoreError> {
    let Some(workspace) = project.workspace else {
        return Ok(Level::None);
    };
    let Some(seat) = facts.lookup_edge(user, rel::WORKSPACES, workspace)? else {
        return Ok(Level::None);
    };
    let seat = seat.aux.map(|gid| facts.lookup_node(gid)).transpose()?;
    let seat = seat.flatten();
    let is = |flag| seat.as_ref().is_some_and(|node| node.get(flag));
    let (guest, view_only) = (is(membership::IS_GUEST), is(membership::IS_VIEW_ONLY));
    if view_only {
        return Ok(Level::Viewer);
    }
    if project.get(project::OWNER) == Some(user) {
        return Ok(Level::Admin);
    }
    let mut members = facts.teams_of(user)?;
    members.push(user);
    let mut best = shared_level(project.gid, &members, facts)?;
    match project.get(project::PRIVACY).as_deref() {
        Some("public_to_workspace") if !guest => best = best.max(Level::Editor),
        Some("private_to_team") if best < Level::Editor => {
            let teams = facts.lookup_edges(project.gid, rel::TEAM)?;
            if teams.iter().any(|edge| members.contains(&edge.dst)) {
                best = Level::Editor;
            }
        }
        _ => {}
    }
    if best < Level::Editor
        && let Some(portfolios) = project.raw(project::ACCESS_FROM.def.name)
    {
        for portfolio in gids(portfolios) {
            let given = shared_level(portfolio, &members, facts)?.min(Level::Editor);
            if given > best && holds(project, portfolio, facts, chain)? {
                best = given;
            }
        }
    }
    Ok(best)
}

/// Returns the highest level that memberships of a user and of their teams give.
fn shared_level(
    shared: Gid,
    members: &[Gid],
    facts: &mut dyn AccessLookup,
) -> Result<Level, GraphStoreError> {
    let mut best = Level::None;
    for member in members {
        if let Some(edge) = facts.lookup_edge(shared, rel::MEMBERS, *member)? {
            best = best.max(Level::from_rank(edge.rank));
        }
    }
    Ok(best)
}
