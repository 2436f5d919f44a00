//! Computes a viewer from the user's memberships.
use crate::access::{Level, Role, UsersKnownToGuest, Viewer, WorkspaceMembership};
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::registry::{Relation, Type, rel};
use crate::model::resources::{membership, workspace};
use crate::rules::membership_roles::MembershipRole;
use crate::rules::sharing::Sharing;
use crate::storage::ViewerKey;
use crate::storage::snapshot::{Depth, Snapshot};
use rustc_hash::FxHashMap;

/// Computes the viewer of a user from the user's memberships.
///
/// # Errors
/// Returns an error if the store fails.
pub fn viewer(snap: &mut dyn Snapshot, key: ViewerKey) -> Result<Viewer, GraphStoreError> {
    let mut viewer = Viewer {
        service_workspace: key.service,
        ..Viewer::without_memberships(key.user)
    };
    let mut seats = Vec::new();
    snap.edges_out(
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
        let standing = MembershipRole::of_membership(&node);
        let workspace_node = snap.node(edge.dst, Depth::Full)?;
        viewer.memberships.push(WorkspaceMembership {
            workspace: edge.dst,
            role: standing.role,
            paid: workspace_node.is_some_and(|w| w.get(workspace::PLAN).as_deref() == Some("paid")),
            view_only: standing.view_only,
            membership_gid: node.gid,
            task_list: node.get(membership::TASK_LIST),
        });
    }
    let mut teams = FxHashMap::default();
    all_of(snap, key.user, rel::TEAM_MEMBERS, &[Type::Team], &mut |e| {
        teams.insert(e.src, e.rank == 1);
    })?;
    viewer.teams = teams;
    let mut shared: FxHashMap<Gid, Level> = FxHashMap::default();
    let members: Vec<Gid> = std::iter::once(key.user)
        .chain(viewer.teams.keys().copied())
        .collect();
    for member in members {
        all_of(snap, member, rel::MEMBERS, SHARED, &mut |e| {
            let best = shared.entry(e.src).or_default();
            *best = (*best).max(Level::from_rank(e.rank));
        })?;
    }
    viewer.shared_levels = shared;
    if viewer.memberships.iter().any(|s| s.role == Role::Guest) {
        viewer.known_users = known_users(snap, &viewer)?;
    }
    Ok(viewer)
}

/// Maximum number of members of one project or team that a viewer lists.
const MEMBERS_HELD: usize = 256;
/// Maximum number of users that a viewer lists.
const USERS_HELD: usize = 2_048;

/// Finds the users that a guest knows, in the workspaces where the viewer is a guest. A viewer is cached, and recomputed after
/// each change of a membership, so it does not list the members of large projects and teams.
fn known_users(
    snap: &mut dyn Snapshot,
    viewer: &Viewer,
) -> Result<FxHashMap<Gid, UsersKnownToGuest>, GraphStoreError> {
    let mut found: FxHashMap<Gid, UsersKnownToGuest> = FxHashMap::default();
    let mut room = USERS_HELD;
    let mut teams: Vec<Gid> = viewer.teams.keys().copied().collect();
    let mut projects: Vec<Gid> = viewer.shared_levels.keys().copied().collect();
    projects.sort_unstable();
    for project in projects {
        // A membership of a custom field does not make other users known to a guest.
        let Some(workspace) = guest_workspace(snap, viewer, project, WITH_MEMBERS)? else {
            continue;
        };
        let known = found.entry(workspace).or_default();
        let Some(members) = few(snap, project, rel::MEMBERS, room)? else {
            known.projects.push(project);
            continue;
        };
        for (member, is_team) in members {
            if is_team {
                teams.push(member);
            } else if known.users.insert(member) {
                room = room.saturating_sub(1);
            }
        }
    }
    teams.sort_unstable();
    teams.dedup();
    for team in teams {
        let Some(workspace) = guest_workspace(snap, viewer, team, &[Type::Team])? else {
            continue;
        };
        let known = found.entry(workspace).or_default();
        let Some(members) = few(snap, team, rel::TEAM_MEMBERS, room)? else {
            known.teams.push(team);
            continue;
        };
        for (member, _) in members {
            if known.users.insert(member) {
                room = room.saturating_sub(1);
            }
        }
    }
    Ok(found)
}

/// Returns the members of a project or team, each with a flag that is true for teams; `None` if there are too many to list.
/// A node that is neither user nor team is not a member, even with a membership edge: it can be created and trashed without
/// recomputing viewers.
fn few(
    snap: &mut dyn Snapshot,
    of: Gid,
    rel: Relation,
    room: usize,
) -> Result<Option<Vec<(Gid, bool)>>, GraphStoreError> {
    let most = room.min(MEMBERS_HELD);
    let (mut edges, mut members) = (0, Vec::new());
    snap.scan_out(
        of,
        rel,
        i64::MIN,
        most + 1,
        Depth::Head,
        &mut |edge, node| {
            edges += 1;
            let ty = node.map(|node| node.ty);
            if matches!(ty, Some(Type::User | Type::Team)) {
                members.push((edge.dst, ty == Some(Type::Team)));
            }
        },
    )?;
    Ok((edges <= most).then_some(members))
}

/// Returns the workspace of a node of one of these types, if the viewer is a guest there.
fn guest_workspace(
    snap: &mut dyn Snapshot,
    viewer: &Viewer,
    gid: Gid,
    types: &[Type],
) -> Result<Option<Gid>, GraphStoreError> {
    let node = snap.node(gid, Depth::Head)?;
    let node = node.filter(|node| types.contains(&node.ty));
    let workspace = node.and_then(|node| node.workspace);
    let is_guest = |workspace: &Gid| {
        viewer
            .membership(*workspace)
            .is_some_and(|s| s.role == Role::Guest)
    };
    Ok(workspace.filter(is_guest))
}

/// Types of nodes that are shared by memberships with levels.
const SHARED: &[Type] = Sharing::TYPES;
/// Shared nodes whose other members a guest knows.
const WITH_MEMBERS: &[Type] = &[Type::Project, Type::Portfolio, Type::Goal];

/// Returns every edge of a relation into a node from nodes of these types. A node that is not a team has no members, even
/// with a membership edge: it can be created and trashed without recomputing viewers.
fn all_of(
    snap: &mut dyn Snapshot,
    dst: Gid,
    rel: Relation,
    types: &[Type],
    each: &mut dyn FnMut(Edge),
) -> Result<(), GraphStoreError> {
    let first = (i64::MIN, i64::MIN);
    let all = usize::MAX >> 1;
    snap.scan_in(dst, rel, first, all, Depth::Head, &mut |edge, node| {
        if node.is_some_and(|n| types.contains(&n.ty)) {
            each(edge);
        }
    })
}
