//! Members and followers of projects.
use super::named_users::{leaver, member_of};
use crate::operation::Decision;
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::rules::membership_rules;
use workgraph_core::rules::sharing::PROJECTS;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{Edge, ListPosition, ReadQuery, ReadView};

/// Returns the name of the body field that lists people.
fn people_field(call: &RequestContext<'_>) -> &'static str {
    if call.has_field("members") {
        "members"
    } else {
        "followers"
    }
}

pub(super) fn people_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let place = call.path_ref("project_gid")?;
    let mut want = call.read_query().node(place.clone());
    for who in call.users(people_field(call))? {
        want = want
            .edges(who.clone(), rel::WORKSPACES)
            .edge(place.clone(), rel::MEMBERS, who.clone())
            .edge(place.clone(), rel::PROJECT_FOLLOWERS, who);
    }
    Ok(want)
}

/// Applies a change to each person named in the body.
fn each(
    call: &RequestContext<'_>,
    view: &ReadView,
    joining: bool,
    mut change: impl FnMut(&mut ChangeBuilder<'_>, Gid, Gid, Gid),
) -> Result<Decision, DomainError> {
    let node = call.path_node(view, "project_gid", Level::Commenter)?;
    let field = people_field(call);
    let home = node.workspace.unwrap_or(node.gid);
    let mut work = call.change_builder();
    work.require_live(node.gid);
    for name in call.users(field)? {
        let who = if joining {
            member_of(call, view, field, &name, home)?
        } else {
            leaver(call, view, field, &name, node.gid, rel::MEMBERS)?
        };
        if who != call.user_gid() && view.level(node.gid) < Level::Editor {
            return Err(DomainError::forbidden(
                "You do not have permission to change who follows this project.",
            ));
        }
        change(&mut work, node.gid, home, who);
    }
    Ok(Decision::about(work.changes, node.gid))
}

/// Makes users followers of a project, and members, too.
pub(super) fn follow(
    work: &mut ChangeBuilder<'_>,
    view: &ReadView,
    place: Gid,
    home: Gid,
    who: Gid,
) {
    let joining = work
        .changes
        .edge_writes
        .iter()
        .any(|l| l.src == place && l.dst == who && l.rel == rel::MEMBERS);
    if view.link(place, rel::MEMBERS, who).is_none() && !joining {
        membership_rules::join_project(work, who, place, home, Level::Editor);
    }
    if view.link(place, rel::PROJECT_FOLLOWERS, who).is_none() {
        work.link(
            place,
            rel::PROJECT_FOLLOWERS,
            who,
            ListPosition::Rank(0),
            None,
        );
        work.record_added(place, Type::Project, "followers", who);
    }
}

pub(super) fn add_followers(
    call: &RequestContext<'_>,
    view: &ReadView,
) -> Result<Decision, DomainError> {
    each(call, view, true, |work, place, home, who| {
        follow(work, view, place, home, who)
    })
}

pub(super) fn remove_followers(
    call: &RequestContext<'_>,
    view: &ReadView,
) -> Result<Decision, DomainError> {
    each(call, view, false, |work, place, _, who| {
        if view.link(place, rel::PROJECT_FOLLOWERS, who).is_some() {
            work.unlink(place, rel::PROJECT_FOLLOWERS, who);
            work.record_removed(place, Type::Project, "followers", who);
        }
    })
}

pub(super) fn add_members(
    call: &RequestContext<'_>,
    view: &ReadView,
) -> Result<Decision, DomainError> {
    each(call, view, true, |work, place, home, who| {
        if view.link(place, rel::MEMBERS, who).is_none() {
            membership_rules::join_project(work, who, place, home, Level::Editor);
        }
    })
}

pub(super) fn remove_members(
    call: &RequestContext<'_>,
    view: &ReadView,
) -> Result<Decision, DomainError> {
    let place = call.path_node(view, "project_gid", Level::Commenter)?.gid;
    for name in call.users(people_field(call))? {
        let held = view
            .resolve(&name)
            .and_then(|who| view.link(place, rel::MEMBERS, who));
        let above =
            |e: &Edge| e.dst != call.user_gid() && Level::from_rank(e.rank) > view.level(place);
        if held.is_some_and(above) {
            return Err(DomainError::forbidden(
                "You do not have permission to remove members above your own access level.",
            ));
        }
    }
    each(call, view, false, |work, place, _, who| {
        let held = view.link(place, rel::MEMBERS, who).and_then(|e| e.aux);
        if let Some(membership) = held {
            PROJECTS.leave(work, who, place, membership);
        }
    })
}
