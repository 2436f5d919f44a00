//! Members of projects and portfolios, and followers of projects and goals.
use super::named_users::{leaver, named_member};
use crate::access_gate::{joining_level, may_join, may_share};
use crate::operation::Decision;
use crate::operation::inputs::path::{self, PathNode};
use crate::operation::inputs::{Input, InputDef, InputReader, Named, OperationInput};
use crate::request_context::{RequestContext, require_level};
use std::marker::PhantomData;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::resource;
use workgraph_core::rules::sharing::Sharing;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{Edge, ListPosition, NodeRef, ReadQuery, ReadView};

const FOLLOWERS: Input<Vec<Named<NodeRef>>> = Input::users(
    "followers",
    "The users; new followers belong to the workspace, and become members.",
)
.required();
const MEMBERS: Input<Vec<Named<NodeRef>>> =
    Input::users("members", "The users; new members belong to the workspace.").required();

/// A project, portfolio or goal, and users who join or leave it.
pub(super) struct People {
    container: Named<Gid>,
    people: Vec<Named<NodeRef>>,
}

/// A project or goal, and users who start or stop following it.
pub(super) struct Followers<P> {
    people: People,
    path: PhantomData<fn() -> P>,
}

impl<P: PathNode> OperationInput for Followers<P> {
    const INPUTS: &'static [&'static InputDef] = &[&P::INPUT.def, &FOLLOWERS.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        let people = People {
            container: inputs.required(P::INPUT)?,
            people: inputs.required(&FOLLOWERS)?,
        };
        let path = PhantomData;
        Ok(Self { people, path })
    }
}

/// A project or portfolio, and users who become members or are removed.
pub(super) struct Members<const OF_PORTFOLIO: bool>(People);

impl<const OF_PORTFOLIO: bool> Members<OF_PORTFOLIO> {
    const CONTAINER: &'static Input<Named<Gid>> = if OF_PORTFOLIO {
        &path::PORTFOLIO
    } else {
        &path::PROJECT
    };
}

impl<const OF_PORTFOLIO: bool> OperationInput for Members<OF_PORTFOLIO> {
    const INPUTS: &'static [&'static InputDef] = &[&Self::CONTAINER.def, &MEMBERS.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self(People {
            container: inputs.required(Self::CONTAINER)?,
            people: inputs.required(&MEMBERS)?,
        }))
    }
}

pub(super) fn followers_needs<P: PathNode>(
    call: &RequestContext<'_>,
    input: &Followers<P>,
) -> Result<ReadQuery, DomainError> {
    Ok(people_needs(call, &input.people))
}

pub(super) fn members_needs<const OF_PORTFOLIO: bool>(
    call: &RequestContext<'_>,
    input: &Members<OF_PORTFOLIO>,
) -> Result<ReadQuery, DomainError> {
    Ok(people_needs(call, &input.0))
}

fn people_needs(call: &RequestContext<'_>, input: &People) -> ReadQuery {
    let project = input.container.node;
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

/// Returns the project, portfolio or goal. Its viewers may leave it, but viewers of a project do not join it.
fn container<'v>(
    call: &RequestContext<'_>,
    view: &'v ReadView,
    input: &People,
    joining: bool,
) -> Result<&'v Node, DomainError> {
    let node = call.named_node(view, &input.container, Level::Viewer)?;
    if joining && node.ty == Type::Project {
        require_level(view, node, Level::Commenter)?;
    }
    Ok(node)
}

/// Returns the sharing rules of a project, portfolio or goal.
fn sharing(node: &Node) -> Result<&'static Sharing, DomainError> {
    Sharing::of(node.ty).ok_or_else(|| DomainError::not_found(resource(node.ty).noun, node.gid))
}

/// Applies a change to each user named in the body.
fn each(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &People,
    joining: bool,
    mut change: impl FnMut(&mut ChangeBuilder<'_>, &Node, Gid, Gid) -> Result<(), DomainError>,
) -> Result<Decision, DomainError> {
    let node = container(call, view, input, joining)?;
    let workspace = node.workspace.unwrap_or(node.gid);
    let mut work = call.change_builder();
    let mut users: Vec<Gid> = Vec::new();
    for named in &input.people {
        let user = if joining {
            named_member(call, view, named, workspace)?
        } else {
            let field = named.input.name;
            leaver(call, view, field, &named.node, node.gid, rel::MEMBERS)?
        };
        if user != call.user_gid() && view.level(node.gid) < Level::Editor {
            let what = match named.input.name {
                "followers" => "who follows",
                _ => "the members of",
            };
            let noun = resource(node.ty).noun;
            return Err(DomainError::forbidden(format!(
                "You do not have permission to change {what} this {noun}."
            )));
        }
        // A request may name a user twice.
        if !users.contains(&user) {
            users.push(user);
            change(&mut work, node, workspace, user)?;
        }
    }
    Ok(Decision::about(work.changes, node.gid))
}

/// Makes a user a follower of a node, and also a member with this level, unless they are one already.
pub(super) fn follow(
    work: &mut ChangeBuilder<'_>,
    view: &ReadView,
    (container, sharing): (Gid, &Sharing),
    workspace: Gid,
    (user, level): (Gid, Level),
) {
    let is_new = work.is_new(container);
    let has = |work: &ChangeBuilder<'_>, rel| {
        work.writes_edge(container, rel, user)
            || (!is_new && view.link(container, rel, user).is_some())
    };
    if !has(work, rel::MEMBERS) {
        sharing.join(work, user, container, workspace, level);
    }
    if !has(work, rel::PROJECT_FOLLOWERS) {
        work.link(
            container,
            rel::PROJECT_FOLLOWERS,
            user,
            ListPosition::Rank(0),
            None,
        );
        work.record_added(container, sharing.ty, "followers", user);
    }
}

/// Checks that the caller may let a user into the node who is not a member yet. Users who see it may join, unless only admins
/// share it.
fn may_admit(
    call: &RequestContext<'_>,
    view: &ReadView,
    node: &Node,
    user: Gid,
) -> Result<(), DomainError> {
    let own = user == call.user_gid();
    let checked = if own { may_join } else { may_share };
    if view.link(node.gid, rel::MEMBERS, user).is_none() {
        checked(view, node)?;
    }
    Ok(())
}

pub(super) fn add_followers<P: PathNode>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &Followers<P>,
) -> Result<Decision, DomainError> {
    let node = container(call, view, &input.people, true)?;
    let sharing = sharing(node)?;
    let level = joining_level(view, node, sharing);
    each(
        call,
        view,
        &input.people,
        true,
        |work, node, workspace, user| {
            may_admit(call, view, node, user)?;
            follow(work, view, (node.gid, sharing), workspace, (user, level));
            Ok(())
        },
    )
}

pub(super) fn remove_followers<P: PathNode>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &Followers<P>,
) -> Result<Decision, DomainError> {
    each(call, view, &input.people, false, |work, node, _, user| {
        if view.link(node.gid, rel::PROJECT_FOLLOWERS, user).is_some() {
            work.unlink(node.gid, rel::PROJECT_FOLLOWERS, user);
            work.record_removed(node.gid, node.ty, "followers", user);
        }
        Ok(())
    })
}

pub(super) fn add_members<const OF_PORTFOLIO: bool>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &Members<OF_PORTFOLIO>,
) -> Result<Decision, DomainError> {
    let sharing = sharing(container(call, view, &input.0, true)?)?;
    each(call, view, &input.0, true, |work, node, workspace, user| {
        if view.link(node.gid, rel::MEMBERS, user).is_some() {
            return Ok(());
        }
        may_admit(call, view, node, user)?;
        let level = joining_level(view, node, sharing);
        sharing.join(work, user, node.gid, workspace, level);
        Ok(())
    })
}

pub(super) fn remove_members<const OF_PORTFOLIO: bool>(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &Members<OF_PORTFOLIO>,
) -> Result<Decision, DomainError> {
    let node = container(call, view, &input.0, false)?;
    let (sharing, container) = (sharing(node)?, node.gid);
    for named in &input.0.people {
        let member = view
            .resolve(&named.node)
            .and_then(|user| view.link(container, rel::MEMBERS, user));
        let above =
            |e: &Edge| e.dst != call.user_gid() && Level::from_rank(e.rank) > view.level(container);
        if member.is_some_and(above) {
            return Err(DomainError::forbidden(
                "You do not have permission to remove members above your own access level.",
            ));
        }
    }
    each(call, view, &input.0, false, |work, node, _, user| {
        if user != call.user_gid() {
            may_share(view, node)?;
        }
        let membership = view.link(container, rel::MEMBERS, user).and_then(|e| e.aux);
        if let Some(membership) = membership {
            sharing.leave(work, user, container, membership);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
