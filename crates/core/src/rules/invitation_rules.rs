//! Invitations of people who already belong to another workspace: they become members when they accept.
//!
//! Until then a separate user, the invited user, represents them in the workspace. It has their address, and a name made from the
//! address. Like any user it can be assigned to tasks, follow them and get access, and nothing reveals that the address has an
//! account. When the person accepts, all of that moves to them; when they decline, it is removed. Each commit does a part of
//! this. The invited user is then deleted. If older stories, texts and recipes name it, its heir is read instead
//! ([`alias::heir`]).
pub mod people;
pub mod records;

use super::membership_roles::MembershipRole;
use super::membership_rules::{join_workspace, leave_workspace, rejoin_workspace};
use crate::access::Role;
use crate::audit::event_kinds;
use crate::model::draft::Draft;
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{LinkOne, Relation, Type, TypedField, rel};
use crate::model::resources::{goal, membership, project, task, user, user_task_list};
use crate::search::{Clause, Search, SearchEffort, SearchLink, SearchQuery, SortOrder};
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::{ListPosition, NodeRef, ReadQuery, ReadView, ViewerKey, alias};

/// Maximum number of edges of one kind that are moved in one commit.
const EDGES: usize = 1_000;
/// Maximum number of tasks or projects that are moved in one commit.
const OBJECTS: usize = 100;

/// Invitation: the invited user, the person that it represents, and the workspace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Invitation {
    /// User that represents the person in the workspace.
    pub invited: Gid,
    /// Person with the address.
    pub person: Gid,
    /// Workspace of the invitation.
    pub workspace: Gid,
}

impl Invitation {
    /// Returns the invitation, open or answered, that an edge stores.
    #[must_use]
    pub fn of(edge: &Edge) -> Option<Self> {
        Some(Self {
            invited: edge.src,
            person: edge.dst,
            workspace: edge.aux?,
        })
    }

    fn list(&self, user: Gid) -> NodeRef {
        NodeRef::TaskList {
            user: Box::new(NodeRef::Gid(user)),
            within_workspace_of: Box::new(NodeRef::Gid(self.workspace)),
        }
    }

    /// Returns a viewer who sees everything in the workspace.
    fn reader(&self) -> ViewerKey {
        ViewerKey {
            user: self.person,
            service: Some(self.workspace),
        }
    }
}

/// Relations that make a user a member, each with the field of the membership that names the user.
const HELD: [(Relation, TypedField<LinkOne>); 2] = [
    (rel::TEAM_MEMBERS, membership::USER),
    (rel::MEMBERS, membership::MEMBER),
];

/// Relations that make a user a follower.
const FOLLOWED: [Relation; 3] = [rel::FOLLOWERS, rel::PROJECT_FOLLOWERS, rel::TAG_FOLLOWERS];

/// Types of objects that are listed by their responsible user, each with the field for that user.
const RESPONSIBLE: [(Type, TypedField<LinkOne>); 3] = [
    (Type::Task, task::ASSIGNEE),
    (Type::Project, project::OWNER),
    (Type::Goal, goal::OWNER),
];

/// Invites a person to a workspace with a role; returns the invited user.
pub fn invite(work: &mut ChangeBuilder<'_>, person: &Node, workspace: &Node, role: Role) -> Gid {
    let address = person.get(user::EMAIL).unwrap_or_default();
    let name = address.split('@').next().unwrap_or_default();
    let mut draft = work.draft(Type::User, None);
    draft.set(user::NAME, name);
    draft.set(user::EMAIL, &*address);
    let invited = work.create(&draft, None);
    let unique = alias::invitation(person.gid, workspace.gid);
    work.changes.add_aliases.push((unique, invited));
    let aux = Some(workspace.gid);
    let rank = ListPosition::Rank(workspace.gid.as_i64());
    work.link(invited, rel::INVITED, person.gid, rank, aux);
    join_workspace(work, invited, workspace.gid, &workspace.title(), role);
    invited
}

/// Returns the read query of an answer to an invitation.
#[must_use]
pub fn reply_needs(it: &Invitation) -> ReadQuery {
    let Invitation {
        invited,
        person,
        workspace,
    } = *it;
    let membership = NodeRef::Gid(invited).of(crate::storage::LinkSelector::Aux(
        rel::WORKSPACES,
        workspace,
    ));
    ReadQuery::of(it.reader())
        .node(invited)
        .node(person)
        .node(workspace)
        .node(membership)
        .node(it.list(invited))
        .node(it.list(person))
        .edge(invited, rel::INVITED, person)
        .edge(invited, rel::WORKSPACES, workspace)
        .edge(person, rel::WORKSPACES, workspace)
}

/// Returns true if an invitation is open: neither answered nor withdrawn.
#[must_use]
pub fn is_open(it: &Invitation, view: &ReadView) -> bool {
    view.link(it.invited, rel::INVITED, it.person).is_some()
        && view
            .link(it.invited, rel::WORKSPACES, it.workspace)
            .is_some()
}

/// Accepts an invitation: the person gets the membership and the task list. [`transfer_some`] later moves everything else of the
/// invited user.
pub fn accept(work: &mut ChangeBuilder<'_>, it: &Invitation, view: &ReadView) {
    let Invitation {
        invited,
        person,
        workspace,
    } = *it;
    let membership = view.link(invited, rel::WORKSPACES, workspace);
    let membership = membership.and_then(|edge| view.node(edge.aux?));
    let list = view.resolve(&it.list(invited)).and_then(|g| view.node(g));
    let own_list = view.resolve(&it.list(person));
    let seated = view.link(person, rel::WORKSPACES, workspace).is_some();
    match (membership, list, own_list) {
        (Some(membership), Some(list), None) if !seated => {
            let mut draft = Draft::edit(membership);
            draft.set(membership::USER, person);
            work.save(&draft);
            let mut draft = Draft::edit(list);
            draft.set(user_task_list::OWNER, person);
            work.save(&draft);
            let name = alias::task_list(invited, workspace);
            work.changes.remove_aliases.push((name, list.gid));
            let name = alias::task_list(person, workspace);
            work.changes.add_aliases.push((name, list.gid));
            work.unlink(invited, rel::WORKSPACES, workspace);
            let gid = Some(membership.gid);
            work.link(
                person,
                rel::WORKSPACES,
                workspace,
                ListPosition::Rank(0),
                gid,
            );
            work.unlink(person, rel::FORMER, workspace);
        }
        (membership, _, own_list) => {
            // The person has joined in another way since, or was already a member.
            let standing = membership.map_or(
                MembershipRole::of(Role::Guest),
                MembershipRole::of_membership,
            );
            end_membership(work, it, view);
            if let (false, Some(list)) = (seated, own_list) {
                rejoin_workspace(work, person, workspace, list, standing, &[]);
            }
        }
    }
    if let (Some(shown), Some(person)) = (view.node(invited), view.node(person)) {
        // Until everything is moved, the invited user has the person's name.
        let mut draft = Draft::edit(shown);
        draft.take(user::NAME, person);
        work.save(&draft);
    }
    forget(work, it);
    let aux = Some(workspace);
    work.link(invited, rel::ACCEPTED, person, ListPosition::Rank(0), aux);
    work.add_audit_entry(event_kinds::REPROVISIONED, workspace, person);
}

/// Declines an invitation: the membership ends. [`transfer_some`] later removes everything else of the invited user; then the
/// user is deleted.
pub fn decline(work: &mut ChangeBuilder<'_>, it: &Invitation, view: &ReadView) {
    end_membership(work, it, view);
    forget(work, it);
    let aux = Some(it.workspace);
    work.link(
        it.invited,
        rel::DECLINED,
        it.person,
        ListPosition::Rank(0),
        aux,
    );
}

fn end_membership(work: &mut ChangeBuilder<'_>, it: &Invitation, view: &ReadView) {
    if let Some(edge) = view.link(it.invited, rel::WORKSPACES, it.workspace) {
        let guest = MembershipRole::of(Role::Guest);
        leave_workspace(work, it.invited, it.workspace, edge.aux, guest);
    }
    if let Some(list) = view.resolve(&it.list(it.invited)) {
        work.trash(list, Type::UserTaskList);
    }
}

fn forget(work: &mut ChangeBuilder<'_>, it: &Invitation) {
    work.unlink(it.invited, rel::INVITED, it.person);
    let unique = alias::invitation(it.person, it.workspace);
    work.changes.remove_aliases.push((unique, it.invited));
}

/// Returns the read query for a part of the objects that the invited user still has after the answer.
#[must_use]
pub fn remaining_needs(it: &Invitation) -> ReadQuery {
    let mut want = ReadQuery::of(it.reader());
    let workspace = want.add_ref(it.workspace);
    let user = want.add_ref(it.invited);
    for rel in HELD.iter().map(|h| h.0).chain(FOLLOWED) {
        want.incoming_edges.push((user, rel, EDGES));
    }
    let query = |ty| SearchQuery {
        ty,
        clauses: vec![Clause::Any(vec![(SearchLink::Responsible, user)])],
        order: SortOrder::Relevance,
        ascending: true,
    };
    want.search = Some(Search {
        workspace,
        queries: RESPONSIBLE.map(|(ty, _)| query(ty)).into(),
        limit: OBJECTS,
        cap: usize::MAX >> 1,
        effort: SearchEffort::USUAL,
    });
    want
}

/// Returns the read query for the full nodes that [`remaining_needs`] found, so that they can be written.
#[must_use]
pub fn remaining_in_full(it: &Invitation, found: &ReadView) -> ReadQuery {
    let mut want = ReadQuery::of(it.reader()).node(it.invited).node(it.person);
    for gid in &found.rows.gids {
        want = want.edges(*gid, rel::MY_TASKS);
    }
    want = want.incoming_edges(it.list(it.person), rel::SECTION_OF, 1);
    for (rel, _) in HELD {
        for edge in found.sources(it.invited, rel) {
            want = want.edge(edge.src, rel, it.invited);
            want = want.edge(edge.src, rel, it.person);
            want.node_refs.extend(edge.aux.map(NodeRef::Gid));
        }
    }
    for rel in FOLLOWED {
        for edge in found.sources(it.invited, rel) {
            want = want.edge(edge.src, rel, it.person);
        }
    }
    want
}

/// Moves the objects that [`remaining_needs`] found to the heir, the person who accepted; removes them if the person
/// declined. Returns true if there were any objects.
pub fn transfer_some(
    work: &mut ChangeBuilder<'_>,
    it: &Invitation,
    heir: Option<Gid>,
    found: &ReadView,
    full: &ReadView,
) -> bool {
    let invited = it.invited;
    let mut moved = false;
    for (rel, field) in HELD {
        for edge in found.sources(invited, rel) {
            moved = true;
            work.unlink(edge.src, rel, invited);
            let membership = edge.aux.and_then(|gid| full.node(gid));
            let heir = heir.filter(|heir| full.link(edge.src, rel, *heir).is_none());
            let Some(heir) = heir else {
                if let Some(membership) = membership {
                    work.trash(membership.gid, membership.ty);
                }
                continue;
            };
            if let Some(membership) = membership {
                let mut draft = Draft::edit(membership);
                draft.set(field, heir);
                work.save(&draft);
            }
            let rank = ListPosition::Rank(edge.rank);
            work.link(edge.src, rel, heir, rank, edge.aux);
        }
    }
    for rel in FOLLOWED {
        for edge in found.sources(invited, rel) {
            moved = true;
            work.unlink(edge.src, rel, invited);
            let Some(ty) = found.node(edge.src).map(|node| node.ty) else {
                continue;
            };
            work.record_removed(edge.src, ty, "followers", invited);
            let heir = heir.filter(|heir| full.link(edge.src, rel, *heir).is_none());
            if let Some(heir) = heir {
                work.link(edge.src, rel, heir, ListPosition::Rank(edge.rank), edge.aux);
                work.record_added(edge.src, ty, "followers", heir);
            }
        }
    }
    let list = heir.and_then(|heir| full.resolve(&it.list(heir)));
    for node in found.rows.gids.iter().filter_map(|gid| full.node(*gid)) {
        let mut draft = Draft::edit(node);
        for (_, field) in RESPONSIBLE.iter().filter(|(ty, _)| *ty == node.ty) {
            draft.set(*field, heir);
        }
        if node.ty == Type::Task {
            if heir.is_none() {
                draft.set(task::ASSIGNED_BY, None);
            }
            enlist(work, node.gid, list, full);
        }
        moved |= work.save(&draft);
    }
    moved
}

/// Removes the answer and the invited user, once the user has nothing left. References to its gid then lead to its heir.
pub fn close(work: &mut ChangeBuilder<'_>, it: &Invitation, heir: Option<Gid>) {
    let answer = match heir {
        Some(_) => rel::ACCEPTED,
        None => rel::DECLINED,
    };
    work.unlink(it.invited, answer, it.person);
    work.trash(it.invited, Type::User);
    let heir = heir.map(|heir| (alias::heir(it.invited), heir));
    work.changes.add_aliases.extend(heir);
}

/// Adds a task to the end of the first section of a task list, unless it is in that list, and removes it from every other
/// list.
fn enlist(work: &mut ChangeBuilder<'_>, on: Gid, list: Option<Gid>, full: &ReadView) {
    let edges = full.links(on, rel::MY_TASKS);
    if list.is_some() && edges.iter().any(|edge| edge.aux == list) {
        return;
    }
    for edge in edges {
        work.unlink(on, rel::MY_TASKS, edge.dst);
    }
    let section = list.and_then(|list| full.sources(list, rel::SECTION_OF).first());
    if let Some(edge) = section {
        work.link(on, rel::MY_TASKS, edge.src, ListPosition::Last, list);
    }
}
