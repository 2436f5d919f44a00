//! What a user's own memberships say.
use crate::access::{Acquaintances, Level, Role, Seat, Viewer};
use crate::gid::Gid;
use crate::graph::{Edge, StoreError, ViewerKey};
use crate::registry::{Rel, Type, rel};
use crate::resources::{membership, workspace};
use crate::rules::roles::Standing;
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
        let standing = Standing::given(&node);
        let place = snap.node(edge.dst, Depth::Full)?;
        viewer.seats.push(Seat {
            workspace: edge.dst,
            role: standing.role,
            paid: place.is_some_and(|w| w.get(workspace::PLAN).as_deref() == Some("paid")),
            view_only: standing.view_only,
            membership: node.gid,
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
    viewer.shared = shared;
    if viewer.seats.iter().any(|s| s.role == Role::Guest) {
        viewer.acquaintances = acquaintances(snap, &viewer)?;
    }
    Ok(viewer)
}

/// The most members of one project or team that a viewer holds.
const MEMBERS_HELD: usize = 256;
/// The most users that a viewer holds.
const USERS_HELD: usize = 2_048;

/// Finds the users whom a guest knows, in the workspaces where they are one. A viewer is remembered, and
/// worked out anew after each change of a membership, so that of large projects and teams it holds no members.
fn acquaintances(
    snap: &mut dyn Snapshot,
    viewer: &Viewer,
) -> Result<FxHashMap<Gid, Acquaintances>, StoreError> {
    let mut found: FxHashMap<Gid, Acquaintances> = FxHashMap::default();
    let mut room = USERS_HELD;
    let mut teams: Vec<Gid> = viewer.teams.keys().copied().collect();
    let mut projects: Vec<Gid> = viewer.shared.keys().copied().collect();
    projects.sort_unstable();
    for project in projects {
        // A guest who is given a custom field gets to know nobody by that.
        let Some(home) = guest_home(snap, viewer, project, Type::Project)? else {
            continue;
        };
        let known = found.entry(home).or_default();
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
        let Some(home) = guest_home(snap, viewer, team, Type::Team)? else {
            continue;
        };
        let known = found.entry(home).or_default();
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

/// Returns the members of a project or team, with whether each is a team; none if there are too many to be held.
fn few(
    snap: &mut dyn Snapshot,
    of: Gid,
    rel: Rel,
    room: usize,
) -> Result<Option<Vec<(Gid, bool)>>, StoreError> {
    let most = room.min(MEMBERS_HELD);
    let mut members = Vec::new();
    snap.scan_out(
        of,
        rel,
        i64::MIN,
        most + 1,
        Depth::Head,
        &mut |edge, node| {
            members.push((edge.dst, node.is_some_and(|n| n.ty == Type::Team)));
        },
    )?;
    Ok(Some(members).filter(|members| members.len() <= most))
}

/// Returns the workspace of a node of this type, if the viewer is a guest there.
fn guest_home(
    snap: &mut dyn Snapshot,
    viewer: &Viewer,
    gid: Gid,
    ty: Type,
) -> Result<Option<Gid>, StoreError> {
    let node = snap.node(gid, Depth::Head)?.filter(|node| node.ty == ty);
    let home = node.and_then(|node| node.home);
    let is_guest = |home: &Gid| viewer.seat(*home).is_some_and(|s| s.role == Role::Guest);
    Ok(home.filter(is_guest))
}

/// What is shared by levels.
const SHARED: &[Type] = &[Type::Project, Type::CustomField];

/// Every edge of a relation into a node from those of some types: what is no team has no members, even if
/// it has such an edge, and comes and goes without viewers being worked out anew.
fn all_of(
    snap: &mut dyn Snapshot,
    dst: Gid,
    rel: Rel,
    types: &[Type],
    each: &mut dyn FnMut(Edge),
) -> Result<(), StoreError> {
    let first = (i64::MIN, i64::MIN);
    let all = usize::MAX >> 1;
    snap.scan_in(dst, rel, first, all, Depth::Head, &mut |edge, node| {
        if node.is_some_and(|n| types.contains(&n.ty)) {
            each(edge);
        }
    })
}
