//! Members and followers of projects.
use super::named_users::{leaver, named_member};
use crate::operation::Decision;
use crate::operation::inputs::{Input, InputDef, InputReader, Named, OperationInput, path};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::rules::membership_rules;
use workgraph_core::rules::sharing::PROJECTS;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{Edge, ListPosition, NodeRef, ReadQuery, ReadView};

const FOLLOWERS: Input<Vec<Named<NodeRef>>> = Input::users(
    "followers",
    "The users; new followers belong to the project's workspace, and become members.",
)
.required();
const MEMBERS: Input<Vec<Named<NodeRef>>> = Input::users(
    "members",
    "The users; new members belong to the project's workspace.",
)
.required();

/// A project, and users who join or leave it.
pub(super) struct ProjectPeople {
    project: Named<Gid>,
    people: Vec<Named<NodeRef>>,
}

/// A project, and users who start or stop to follow it.
pub(super) struct ProjectFollowers(ProjectPeople);

impl OperationInput for ProjectFollowers {
    const INPUTS: &'static [&'static InputDef] = &[&path::PROJECT.def, &FOLLOWERS.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self(ProjectPeople {
            project: inputs.required(&path::PROJECT)?,
            people: inputs.required(&FOLLOWERS)?,
        }))
    }
}

/// A project, and users who become members or are removed.
pub(super) struct ProjectMembers(ProjectPeople);

impl OperationInput for ProjectMembers {
    const INPUTS: &'static [&'static InputDef] = &[&path::PROJECT.def, &MEMBERS.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self(ProjectPeople {
            project: inputs.required(&path::PROJECT)?,
            people: inputs.required(&MEMBERS)?,
        }))
    }
}

pub(super) fn followers_needs(
    call: &RequestContext<'_>,
    input: &ProjectFollowers,
) -> Result<ReadQuery, DomainError> {
    Ok(people_needs(call, &input.0))
}

pub(super) fn members_needs(
    call: &RequestContext<'_>,
    input: &ProjectMembers,
) -> Result<ReadQuery, DomainError> {
    Ok(people_needs(call, &input.0))
}

fn people_needs(call: &RequestContext<'_>, input: &ProjectPeople) -> ReadQuery {
    let project = input.project.node;
    let mut want = call.read_query().node(project);
    for named in &input.people {
        let user = &named.node;
        want = want
            .edges(user.clone(), rel::WORKSPACES)
            .edge(project, rel::MEMBERS, user.clone())
            .edge(project, rel::PROJECT_FOLLOWERS, user.clone());
    }
    want
}

/// Applies a change to each person named in the body.
fn each(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &ProjectPeople,
    joining: bool,
    mut change: impl FnMut(&mut ChangeBuilder<'_>, Gid, Gid, Gid),
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.project, Level::Commenter)?;
    let home = node.workspace.unwrap_or(node.gid);
    let mut work = call.change_builder();
    work.require_live(node.gid);
    for named in &input.people {
        let who = if joining {
            named_member(call, view, named, home)?
        } else {
            let field = named.input.name;
            leaver(call, view, field, &named.node, node.gid, rel::MEMBERS)?
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
    input: &ProjectFollowers,
) -> Result<Decision, DomainError> {
    each(call, view, &input.0, true, |work, place, home, who| {
        follow(work, view, place, home, who)
    })
}

pub(super) fn remove_followers(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &ProjectFollowers,
) -> Result<Decision, DomainError> {
    each(call, view, &input.0, false, |work, place, _, who| {
        if view.link(place, rel::PROJECT_FOLLOWERS, who).is_some() {
            work.unlink(place, rel::PROJECT_FOLLOWERS, who);
            work.record_removed(place, Type::Project, "followers", who);
        }
    })
}

pub(super) fn add_members(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &ProjectMembers,
) -> Result<Decision, DomainError> {
    each(call, view, &input.0, true, |work, place, home, who| {
        if view.link(place, rel::MEMBERS, who).is_none() {
            membership_rules::join_project(work, who, place, home, Level::Editor);
        }
    })
}

pub(super) fn remove_members(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &ProjectMembers,
) -> Result<Decision, DomainError> {
    let project = &input.0.project;
    let place = call.named_node(view, project, Level::Commenter)?.gid;
    for named in &input.0.people {
        let held = view
            .resolve(&named.node)
            .and_then(|who| view.link(place, rel::MEMBERS, who));
        let above =
            |e: &Edge| e.dst != call.user_gid() && Level::from_rank(e.rank) > view.level(place);
        if held.is_some_and(above) {
            return Err(DomainError::forbidden(
                "You do not have permission to remove members above your own access level.",
            ));
        }
    }
    each(call, view, &input.0, false, |work, place, _, who| {
        let held = view.link(place, rel::MEMBERS, who).and_then(|e| e.aux);
        if let Some(membership) = held {
            PROJECTS.leave(work, who, place, membership);
        }
    })
}
