//! Members and followers of projects.
use super::projects::{leaver, member_of};
use crate::call::Call;
use crate::operation::Decision;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Edge, Place, View, Want};
use workgraph_core::registry::{Type, rel};
use workgraph_core::rules::membership;
use workgraph_core::rules::sharing::PROJECTS;
use workgraph_core::work::Work;

/// The field of the body that lists people.
fn people_field(call: &Call<'_>) -> &'static str {
    if call.has("members") {
        "members"
    } else {
        "followers"
    }
}

pub(super) fn people_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let place = call.path("project_gid")?;
    let mut want = call.want().node(place.clone());
    for who in call.users(people_field(call))? {
        want = want
            .edges(who.clone(), rel::WORKSPACES)
            .edge(place.clone(), rel::MEMBERS, who.clone())
            .edge(place.clone(), rel::PROJECT_FOLLOWERS, who);
    }
    Ok(want)
}

/// Applies something to each person named in the body.
fn each(
    call: &Call<'_>,
    view: &View,
    joining: bool,
    mut change: impl FnMut(&mut Work<'_>, Gid, Gid, Gid),
) -> Result<Decision, Fault> {
    let node = call.target(view, "project_gid", Level::Commenter)?;
    let field = people_field(call);
    let home = node.home.unwrap_or(node.gid);
    let mut work = call.work();
    work.needs_live(node.gid);
    for name in call.users(field)? {
        let who = if joining {
            member_of(call, view, field, &name, home)?
        } else {
            leaver(call, view, field, &name, node.gid, rel::MEMBERS)?
        };
        if who != call.me() && view.level(node.gid) < Level::Editor {
            return Err(Fault::forbidden(
                "You do not have permission to change who follows this project.",
            ));
        }
        change(&mut work, node.gid, home, who);
    }
    Ok(Decision::about(work.changes, node.gid))
}

/// Followers are members too.
pub(super) fn follow(work: &mut Work<'_>, view: &View, place: Gid, home: Gid, who: Gid) {
    let joining = work
        .changes
        .links
        .iter()
        .any(|l| l.src == place && l.dst == who && l.rel == rel::MEMBERS);
    if view.link(place, rel::MEMBERS, who).is_none() && !joining {
        membership::join_project(work, who, place, home, Level::Editor);
    }
    if view.link(place, rel::PROJECT_FOLLOWERS, who).is_none() {
        work.link(place, rel::PROJECT_FOLLOWERS, who, Place::Rank(0), None);
        work.gained(place, Type::Project, "followers", who);
    }
}

pub(super) fn add_followers(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    each(call, view, true, |work, place, home, who| {
        follow(work, view, place, home, who)
    })
}

pub(super) fn remove_followers(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    each(call, view, false, |work, place, _, who| {
        if view.link(place, rel::PROJECT_FOLLOWERS, who).is_some() {
            work.unlink(place, rel::PROJECT_FOLLOWERS, who);
            work.lost(place, Type::Project, "followers", who);
        }
    })
}

pub(super) fn add_members(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    each(call, view, true, |work, place, home, who| {
        if view.link(place, rel::MEMBERS, who).is_none() {
            membership::join_project(work, who, place, home, Level::Editor);
        }
    })
}

pub(super) fn remove_members(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let place = call.target(view, "project_gid", Level::Commenter)?.gid;
    for name in call.users(people_field(call))? {
        let held = view
            .resolve(&name)
            .and_then(|who| view.link(place, rel::MEMBERS, who));
        let above = |e: &Edge| e.dst != call.me() && Level::from_rank(e.rank) > view.level(place);
        if held.is_some_and(above) {
            return Err(Fault::forbidden(
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
