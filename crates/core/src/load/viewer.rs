//! What a user's own memberships say.
use super::all_in;
use crate::access::{Level, Role, Seat, Viewer};
use crate::gid::Gid;
use crate::graph::{StoreError, ViewerKey};
use crate::registry::rel;
use crate::resources::{membership, workspace};
use crate::snapshot::{Depth, Snapshot};
use rustc_hash::FxHashMap;

/// Works out what a user's own memberships say.
///
/// # Errors
/// When the store fails.
pub fn viewer(snap: &mut dyn Snapshot, key: ViewerKey) -> Result<Viewer, StoreError> {
    let mut viewer = Viewer {
        service: key.service,
        ..Viewer::alone(key.user)
    };
    let mut seats = Vec::new();
    snap.out(
        key.user,
        rel::WORKSPACES,
        rel::WORKSPACES,
        Depth::Edge,
        &mut |edge, _| seats.push(edge),
    )?;
    for edge in seats {
        let Some(node) = edge
            .aux
            .map(|g| snap.node(g, Depth::Full))
            .transpose()?
            .flatten()
        else {
            continue;
        };
        let role = match (
            node.get(membership::IS_ADMIN),
            node.get(membership::IS_GUEST),
        ) {
            (true, _) => Role::Admin,
            (_, true) => Role::Guest,
            _ => Role::Member,
        };
        let place = snap.node(edge.dst, Depth::Full)?;
        viewer.seats.push(Seat {
            workspace: edge.dst,
            role,
            paid: place.is_some_and(|w| w.get(workspace::PLAN).as_deref() == Some("paid")),
            view_only: node.get(membership::IS_VIEW_ONLY),
            membership: node.gid,
            task_list: node.get(membership::TASK_LIST),
        });
    }
    let mut teams = Vec::new();
    all_in(snap, key.user, rel::TEAM_MEMBERS, &mut |e| {
        teams.push((e.src, e.rank == 1))
    })?;
    viewer.teams.extend(teams);
    let mut projects: FxHashMap<Gid, Level> = FxHashMap::default();
    let members: Vec<Gid> = std::iter::once(key.user)
        .chain(viewer.teams.keys().copied())
        .collect();
    for member in members {
        all_in(snap, member, rel::MEMBERS, &mut |e| {
            let best = projects.entry(e.src).or_default();
            *best = (*best).max(Level::from_rank(e.rank));
        })?;
    }
    viewer.projects = projects;
    Ok(viewer)
}
