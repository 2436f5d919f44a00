//! Invitations of people who belong to another workspace already: they come when they accept.
//!
//! Until then a user of the invitation's own stands in the workspace for them. It has their address and
//! is called by it, can be assigned and given things to like anybody, and nothing of it shows that the
//! address is somebody's. Accepting gives all of that to the person, declining removes it, some
//! of it in each commit. The user is gone then; where stories, texts and recipes of before name it, its heir
//! is read in its place ([`alias::heir`]).
pub mod people;

use super::membership::{join_workspace, leave_workspace, rejoin_workspace};
use super::roles::Standing;
use crate::access::Role;
use crate::audit::kind;
use crate::draft::Draft;
use crate::gid::Gid;
use crate::graph::{Edge, Place, Ref, View, ViewerKey, Want, alias};
use crate::node::Node;
use crate::registry::{Field, One, Rel, Type, rel};
use crate::resources::{membership, project, task, user, user_task_list};
use crate::search::{By, Clause, Effort, Order, Query, Search};
use crate::work::Work;

/// The most edges of one kind that are moved in one commit.
const EDGES: usize = 1_000;
/// The most tasks or projects that are moved in one commit.
const OBJECTS: usize = 100;

/// An invitation: who stands for whom, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Invitation {
    /// The user who stands in the workspace.
    pub invited: Gid,
    /// The person whose address it is.
    pub person: Gid,
    /// The workspace.
    pub workspace: Gid,
}

impl Invitation {
    /// Returns the invitation, or the accepted one, that an edge stands for.
    #[must_use]
    pub fn of(edge: &Edge) -> Option<Self> {
        Some(Self {
            invited: edge.src,
            person: edge.dst,
            workspace: edge.aux?,
        })
    }

    fn list(&self, user: Gid) -> Ref {
        Ref::TaskList {
            user: Box::new(Ref::Gid(user)),
            near: Box::new(Ref::Gid(self.workspace)),
        }
    }

    /// A viewer who sees all of the workspace.
    fn reader(&self) -> ViewerKey {
        ViewerKey {
            user: self.person,
            service: Some(self.workspace),
        }
    }
}

/// What is given to users by edges, and the field of the membership that names them.
const HELD: [(Rel, Field<One>); 2] = [
    (rel::TEAM_MEMBERS, membership::USER),
    (rel::MEMBERS, membership::MEMBER),
];

/// What users follow.
const FOLLOWED: [(Rel, Type); 3] = [
    (rel::FOLLOWERS, Type::Task),
    (rel::PROJECT_FOLLOWERS, Type::Project),
    (rel::TAG_FOLLOWERS, Type::Tag),
];

/// Invites a person to a workspace with a role; returns the user who stands there for them.
pub fn invite(work: &mut Work<'_>, person: &Node, place: &Node, role: Role) -> Gid {
    let address = person.get(user::EMAIL).unwrap_or_default();
    let name = address.split('@').next().unwrap_or_default();
    let mut draft = work.draft(Type::User, None);
    draft.set(user::NAME, name);
    draft.set(user::EMAIL, &*address);
    let invited = work.create(&draft, None);
    let unique = alias::invitation(person.gid, place.gid);
    work.changes.aliases.push((unique, invited));
    let aux = Some(place.gid);
    let rank = Place::Rank(place.gid.as_i64());
    work.link(invited, rel::INVITED, person.gid, rank, aux);
    join_workspace(work, invited, place.gid, &place.title(), role);
    invited
}

/// Returns what the answer to an invitation needs to see.
#[must_use]
pub fn answer_needs(it: &Invitation) -> Want {
    let Invitation {
        invited,
        person,
        workspace,
    } = *it;
    let seat = Ref::Gid(invited).of(crate::graph::By::Aux(rel::WORKSPACES, workspace));
    Want::of(it.reader())
        .node(invited)
        .node(person)
        .node(workspace)
        .node(seat)
        .node(it.list(invited))
        .node(it.list(person))
        .edge(invited, rel::INVITED, person)
        .edge(invited, rel::WORKSPACES, workspace)
        .edge(person, rel::WORKSPACES, workspace)
}

/// Whether an invitation waits for its answer: it was neither answered nor taken back.
#[must_use]
pub fn is_open(it: &Invitation, view: &View) -> bool {
    view.link(it.invited, rel::INVITED, it.person).is_some()
        && view
            .link(it.invited, rel::WORKSPACES, it.workspace)
            .is_some()
}

/// Accepts an invitation: the seat becomes the person's, with the task list. What else was given to the
/// invited user is moved by [`move_some`] afterwards.
pub fn accept(work: &mut Work<'_>, it: &Invitation, view: &View) {
    let Invitation {
        invited,
        person,
        workspace,
    } = *it;
    let seat = view.link(invited, rel::WORKSPACES, workspace);
    let seat = seat.and_then(|edge| view.node(edge.aux?));
    let list = view.resolve(&it.list(invited)).and_then(|g| view.node(g));
    let own_list = view.resolve(&it.list(person));
    let seated = view.link(person, rel::WORKSPACES, workspace).is_some();
    match (seat, list, own_list) {
        (Some(seat), Some(list), None) if !seated => {
            let mut draft = Draft::edit(seat);
            draft.set(membership::USER, person);
            work.save(&draft);
            let mut draft = Draft::edit(list);
            draft.set(user_task_list::OWNER, person);
            work.save(&draft);
            let name = alias::task_list(invited, workspace);
            work.changes.unnamed.push((name, list.gid));
            let name = alias::task_list(person, workspace);
            work.changes.aliases.push((name, list.gid));
            work.needs_unlinked(person, rel::WORKSPACES, workspace);
            work.unlink(invited, rel::WORKSPACES, workspace);
            let gid = Some(seat.gid);
            work.link(person, rel::WORKSPACES, workspace, Place::Rank(0), gid);
            work.unlink(person, rel::FORMER, workspace);
        }
        (seat, _, own_list) => {
            // They came by another way meanwhile, or did long ago.
            let standing = seat.map_or(Standing::of(Role::Guest), Standing::given);
            end_seat(work, it, view);
            if let (false, Some(list)) = (seated, own_list) {
                rejoin_workspace(work, person, workspace, list, standing);
            }
        }
    }
    if let (Some(shown), Some(person)) = (view.node(invited), view.node(person)) {
        // Until all is moved, what is left of it is called like the person.
        let mut draft = Draft::edit(shown);
        draft.take(user::NAME, person);
        work.save(&draft);
    }
    forget(work, it);
    let aux = Some(workspace);
    work.link(invited, rel::ACCEPTED, person, Place::Rank(0), aux);
    work.told(kind::REPROVISIONED, workspace, person);
}

/// Declines an invitation: the seat ends. What else was given to the invited user is taken back by
/// [`move_some`] afterwards, and then the user is gone.
pub fn decline(work: &mut Work<'_>, it: &Invitation, view: &View) {
    end_seat(work, it, view);
    forget(work, it);
    let aux = Some(it.workspace);
    work.link(it.invited, rel::DECLINED, it.person, Place::Rank(0), aux);
}

fn end_seat(work: &mut Work<'_>, it: &Invitation, view: &View) {
    if let Some(edge) = view.link(it.invited, rel::WORKSPACES, it.workspace) {
        let guest = Standing::of(Role::Guest);
        leave_workspace(work, it.invited, it.workspace, edge.aux, guest);
    }
    if let Some(list) = view.resolve(&it.list(it.invited)) {
        work.trash(list, Type::UserTaskList);
    }
}

fn forget(work: &mut Work<'_>, it: &Invitation) {
    work.unlink(it.invited, rel::INVITED, it.person);
    let unique = alias::invitation(it.person, it.workspace);
    work.changes.unnamed.push((unique, it.invited));
}

/// Returns what is still the invited user's after the person answered: some of it.
#[must_use]
pub fn rest(it: &Invitation) -> Want {
    let mut want = Want::of(it.reader());
    let place = want.add(it.workspace);
    let who = want.add(it.invited);
    for rel in HELD.iter().map(|h| h.0).chain(FOLLOWED.iter().map(|f| f.0)) {
        want.into.push((who, rel, EDGES));
    }
    let query = |ty| Query {
        ty,
        clauses: vec![Clause::Any(vec![(By::Who, who)])],
        order: Order::Relevance,
        ascending: true,
    };
    want.search = Some(Search {
        place,
        queries: vec![query(Type::Task), query(Type::Project)],
        limit: OBJECTS,
        cap: usize::MAX >> 1,
        effort: Effort::USUAL,
    });
    want
}

/// Returns the whole of what [`rest`] found, to be written.
#[must_use]
pub fn rest_in_full(it: &Invitation, found: &View) -> Want {
    let mut want = Want::of(it.reader()).node(it.invited).node(it.person);
    for gid in &found.rows.gids {
        want = want.edges(*gid, rel::MY_TASKS);
    }
    want = want.into(it.list(it.person), rel::SECTION_OF, 1);
    for (rel, _) in HELD {
        for edge in found.sources(it.invited, rel) {
            want = want.edge(edge.src, rel, it.invited);
            want = want.edge(edge.src, rel, it.person);
            want.refs.extend(edge.aux.map(Ref::Gid));
        }
    }
    for (rel, _) in FOLLOWED {
        for edge in found.sources(it.invited, rel) {
            want = want.edge(edge.src, rel, it.person);
        }
    }
    want
}

/// Moves what [`rest`] found to its heir, the person who accepted, or to nobody if they declined; says
/// whether there was anything.
pub fn move_some(
    work: &mut Work<'_>,
    it: &Invitation,
    heir: Option<Gid>,
    found: &View,
    full: &View,
) -> bool {
    let invited = it.invited;
    let mut moved = false;
    for (rel, field) in HELD {
        for edge in found.sources(invited, rel) {
            moved = true;
            work.unlink(edge.src, rel, invited);
            let held = edge.aux.and_then(|gid| full.node(gid));
            let heir = heir.filter(|heir| full.link(edge.src, rel, *heir).is_none());
            let Some(heir) = heir else {
                if let Some(held) = held {
                    work.trash(held.gid, held.ty);
                }
                continue;
            };
            if let Some(held) = held {
                let mut draft = Draft::edit(held);
                draft.set(field, heir);
                work.save(&draft);
            }
            let rank = Place::Rank(edge.rank);
            work.link(edge.src, rel, heir, rank, edge.aux);
        }
    }
    for (rel, ty) in FOLLOWED {
        for edge in found.sources(invited, rel) {
            moved = true;
            work.unlink(edge.src, rel, invited);
            work.lost(edge.src, ty, "followers", invited);
            let heir = heir.filter(|heir| full.link(edge.src, rel, *heir).is_none());
            if let Some(heir) = heir {
                work.link(edge.src, rel, heir, Place::Rank(edge.rank), edge.aux);
                work.gained(edge.src, ty, "followers", heir);
            }
        }
    }
    let list = heir.and_then(|heir| full.resolve(&it.list(heir)));
    for node in found.rows.gids.iter().filter_map(|gid| full.node(*gid)) {
        let mut draft = Draft::edit(node);
        if node.ty == Type::Task {
            draft.set(task::ASSIGNEE, heir);
            if heir.is_none() {
                draft.set(task::ASSIGNED_BY, None);
            }
            enlist(work, node.gid, list, full);
        } else {
            draft.set(project::OWNER, heir);
        }
        moved |= work.save(&draft);
    }
    moved
}

/// Forgets an answer once nothing is the invited user's any more. That user is gone, and whoever reads its gid somewhere
/// reads its heir.
pub fn close(work: &mut Work<'_>, it: &Invitation, heir: Option<Gid>) {
    let answer = match heir {
        Some(_) => rel::ACCEPTED,
        None => rel::DECLINED,
    };
    work.unlink(it.invited, answer, it.person);
    work.trash(it.invited, Type::User);
    let heir = heir.map(|heir| (alias::heir(it.invited), heir));
    work.changes.aliases.extend(heir);
}

/// Puts a task at the end of the first section of a task list, unless it is in that list, and out of
/// every other.
fn enlist(work: &mut Work<'_>, on: Gid, list: Option<Gid>, full: &View) {
    let edges = full.links(on, rel::MY_TASKS);
    if list.is_some() && edges.iter().any(|edge| edge.aux == list) {
        return;
    }
    for edge in edges {
        work.unlink(on, rel::MY_TASKS, edge.dst);
    }
    let section = list.and_then(|list| full.sources(list, rel::SECTION_OF).first());
    if let Some(edge) = section {
        work.link(on, rel::MY_TASKS, edge.src, Place::Last, list);
    }
}
