//! Memberships of users and teams in projects, portfolios, goals and custom fields.
mod inputs;

use self::inputs::{
    ACCESS_LEVEL, CreateMembership, DeleteMembership, ListMemberships, ListOfProject, MEMBER,
    MEMBER_OF_PROJECT, NEW_MEMBER, PARENT, UpdateMembership,
};
use super::custom_fields::PREMIUM;
use crate::access_gate;
use crate::method::Method;
use crate::operation::inputs::{Named, path};
use crate::operation::rows::{action, computed_list, create, update};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListRequest, Operation, ReferencedNode, get};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::membership;
use workgraph_core::model::validate;
use workgraph_core::rules::sharing::Sharing;
use workgraph_core::storage::{
    EdgeEnd, LinkSelector, ListPosition, ListSource, NodeRef, PageQuery, ReadQuery, ReadView,
    RowFilter,
};

/// Operations on memberships: a part of [`TABLES`](super::TABLES).
pub static MEMBERSHIPS: &[Operation] = &[
    computed_list(
        "getMemberships",
        "/memberships",
        Type::ProjectMembership,
        &Description::new(list),
    ),
    create(
        "createMembership",
        "/memberships",
        Type::ProjectMembership,
        &Steps::new(share_needs, share),
    ),
    get(
        "getMembership",
        "/memberships/{membership_gid}",
        Type::ProjectMembership,
    ),
    update(
        "updateMembership",
        "/memberships/{membership_gid}",
        Type::ProjectMembership,
        &Steps::new(update_needs, change),
    ),
    action(
        "deleteMembership",
        "/memberships/{membership_gid}",
        &Steps::new(delete_needs, unshare),
    )
    .with_method(Method::Delete),
    get(
        "getProjectMembership",
        "/project_memberships/{project_membership_gid}",
        Type::ProjectMembership,
    ),
    computed_list(
        "getProjectMembershipsForProject",
        "/projects/{project_gid}/project_memberships",
        Type::ProjectMembership,
        &Description::new(of_project),
    ),
];

fn list(call: &RequestContext<'_>, input: &ListMemberships) -> Result<ListRequest, DomainError> {
    let name = MEMBER.def.name;
    if let Some(parent) = &input.parent {
        let parent = (parent.node_ref(), PARENT.def.name, PARENT.def.types());
        return Ok(list_memberships(call, parent, input.member.as_ref(), name));
    }
    let Some(member) = &input.member else {
        return Err(DomainError::missing(PARENT.def.name));
    };
    input.subtype.get()?;
    let teams = (member.node.clone(), name, &[Type::Team][..]);
    let mut listed = at(call.read_query(), Direction::In, teams);
    let of_projects = RowFilter::Is(Type::ProjectMembership);
    listed.page.filters.push(of_projects);
    Ok(listed)
}

fn of_project(
    call: &RequestContext<'_>,
    input: &ListOfProject,
) -> Result<ListRequest, DomainError> {
    let parent = input.project.node_ref();
    let parent = (parent, path::PROJECT.def.name, path::PROJECT.def.types());
    let name = MEMBER_OF_PROJECT.def.name;
    Ok(list_memberships(call, parent, input.user.as_ref(), name))
}

/// The anchor of a list: the node, the parameter that names it, and the types that it may have.
pub(super) type MembershipAnchor = (NodeRef, &'static str, &'static [Type]);

/// Lists the memberships in a project or custom field, of all members or of one.
pub(super) fn list_memberships(
    call: &RequestContext<'_>,
    parent: MembershipAnchor,
    member: Option<&Named<NodeRef>>,
    name: &'static str,
) -> ListRequest {
    let mut want = call.read_query();
    match (member.map(|member| member.node.clone()), &parent.0) {
        // A user named by an address is looked up first, then the project or field among those shared with the user.
        (Some(member @ NodeRef::Address(_)), NodeRef::Gid(gid)) => {
            let gid = *gid;
            want.add_ref(gid);
            let mut listed = at(want, Direction::In, (member, name, &[Type::User]));
            listed.page.filters.push(RowFilter::OtherEnd(gid));
            listed.referenced.push(ReferencedNode {
                parameter: parent.1.to_owned(),
                node: NodeRef::Gid(gid),
                types: parent.2,
                linked_to: None,
            });
            listed
        }
        (gid, _) => {
            let mut listed = at(want, Direction::Out, parent);
            if let Some(NodeRef::Gid(gid)) = gid {
                listed.page.filters.push(RowFilter::OtherEnd(gid));
            }
            match member {
                Some(member) => listed.with_reference(member),
                None => listed,
            }
        }
    }
}

/// Lists the memberships at a project or custom field, or at a member.
pub(super) fn at(
    mut want: ReadQuery,
    dir: Direction,
    (node, anchor, anchor_types): MembershipAnchor,
) -> ListRequest {
    let from = ListSource::Edges {
        anchor: want.add_ref(node),
        rel: rel::MEMBERS,
        dir,
        give: EdgeEnd::Aux,
    };
    ListRequest {
        query: want,
        page: PageQuery::of(from, false, 0),
        computed: false,
        anchor,
        anchor_types,
        referenced: Vec::new(),
    }
}

/// Checks that the caller may give, change or remove this level. No caller may do so with a level above their own.
fn require_level_for(view: &ReadView, parent: &Node, level: Level) -> Result<(), DomainError> {
    if view.level(parent.gid) < level {
        return Err(DomainError::forbidden(
            "You do not have permission to manage memberships above your own access level.",
        ));
    }
    Ok(())
}

/// Returns the sharing rules of a project or custom field.
fn sharing(parent: &Node) -> Result<&'static Sharing, DomainError> {
    Sharing::of(parent.ty).ok_or_else(|| DomainError::reference_not_found("parent", parent.gid))
}

/// Returns the level that a membership gives.
fn membership_level(node: &Node, sharing: &Sharing) -> Level {
    node.get(membership::ACCESS_LEVEL)
        .and_then(|word| sharing.level(&word))
        .unwrap_or_default()
}

/// Checks that the caller may share the object; custom fields also need a paid plan.
fn may_share(call: &RequestContext<'_>, view: &ReadView, parent: &Node) -> Result<(), DomainError> {
    if parent.ty == Type::CustomField {
        only_paid(call, view, parent)?;
    }
    access_gate::may_share(view, parent).map(|_| ())
}

/// Checks that the caller is a full member of a paid workspace. This is the rule for custom fields, as in their own
/// operations.
fn only_paid(call: &RequestContext<'_>, view: &ReadView, parent: &Node) -> Result<(), DomainError> {
    let workspace = parent.workspace.unwrap_or(parent.gid);
    if call.has_paid_plan(view, workspace) && view.viewer.is_member(workspace) {
        return Ok(());
    }
    Err(DomainError::paid_only(PREMIUM))
}

/// Returns the level for a word of the sharing rules.
fn level(word: &str, sharing: &Sharing) -> Result<Level, DomainError> {
    sharing.level(word).ok_or_else(|| {
        let words: Vec<&str> = sharing.levels.iter().map(|(word, _)| *word).collect();
        let (shown, words) = (validate::clip(word), words.join(", "));
        let reason = format_args!("Not a recognized value: {shown}; it is one of {words}");
        DomainError::field(ACCESS_LEVEL.def.name, reason)
    })
}

fn share_needs(
    call: &RequestContext<'_>,
    input: &CreateMembership,
) -> Result<ReadQuery, DomainError> {
    let member = &input.member.node;
    Ok(call
        .read_query()
        .edges(member.clone(), rel::WORKSPACES)
        .edge(input.parent.node, rel::MEMBERS, member.clone()))
}

fn share(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateMembership,
) -> Result<Decision, DomainError> {
    let parent = call.named_node(view, &input.parent, Level::Viewer)?;
    let sharing = sharing(parent)?;
    may_share(call, view, parent)?;
    let member = call.named_node(view, &input.member, Level::Viewer)?;
    let word = match input.access_level.get()? {
        Some(word) => Some(word),
        None => input.role.get()?.as_ref(),
    };
    let level = match word {
        Some(word) => level(word, sharing)?,
        None => access_gate::joining_level(view, parent, sharing),
    };
    require_level_for(view, parent, level)?;
    let workspace = parent.workspace.unwrap_or(parent.gid);
    let belongs = if member.ty == Type::Team {
        member.workspace == Some(workspace)
    } else {
        view.link(member.gid, rel::WORKSPACES, workspace).is_some()
    };
    if !belongs {
        return Err(DomainError::field(
            NEW_MEMBER.def.name,
            format_args!(
                "Not a user or team in Workspace: {}",
                crate::request_context::format_ref(&input.member.node)
            ),
        ));
    }
    let mut work = call.change_builder();
    if let Some(membership) = view
        .link(parent.gid, rel::MEMBERS, member.gid)
        .and_then(|e| e.aux)
    {
        return Ok(Decision::about(work.changes, membership));
    }
    let gid = sharing.join(&mut work, member.gid, parent.gid, workspace, level);
    Ok(Decision::about(work.changes, gid))
}

/// Returns the read query of a membership and its shared object.
fn needs(call: &RequestContext<'_>, membership: &Named<Gid>) -> ReadQuery {
    let node = membership.node_ref();
    call.read_query()
        .node(node.clone())
        .node(node.of(LinkSelector::Key("parent")))
}

fn update_needs(
    call: &RequestContext<'_>,
    input: &UpdateMembership,
) -> Result<ReadQuery, DomainError> {
    Ok(needs(call, &input.membership))
}

fn delete_needs(
    call: &RequestContext<'_>,
    input: &DeleteMembership,
) -> Result<ReadQuery, DomainError> {
    Ok(needs(call, &input.membership))
}

/// Returns the membership, the shared node, and the member.
fn parties<'v>(
    call: &RequestContext<'_>,
    view: &'v ReadView,
    membership: &Named<Gid>,
) -> Result<(&'v Node, &'v Node, Gid), DomainError> {
    let node = call.named_node(view, membership, Level::Viewer)?;
    let parent = node.get(membership::PARENT).and_then(|g| view.node(g));
    match (parent, node.get(membership::MEMBER)) {
        (Some(parent), Some(member)) => Ok((node, parent, member)),
        _ => Err(DomainError::not_found("membership", node.gid)),
    }
}

fn change(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateMembership,
) -> Result<Decision, DomainError> {
    let (node, parent, member) = parties(call, view, &input.membership)?;
    let sharing = sharing(parent)?;
    may_share(call, view, parent)?;
    let level = level(input.access_level.get()?, sharing)?;
    require_level_for(view, parent, level.max(membership_level(node, sharing)))?;
    let mut draft = Draft::edit(node);
    draft.set(membership::ACCESS_LEVEL, sharing.word(level));
    let mut work = call.change_builder();
    if work.save(&draft) {
        work.link(
            parent.gid,
            rel::MEMBERS,
            member,
            ListPosition::Rank(level as i64),
            Some(node.gid),
        );
    }
    Ok(Decision::about(work.changes, node.gid))
}

fn unshare(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DeleteMembership,
) -> Result<Decision, DomainError> {
    let (node, parent, member) = parties(call, view, &input.membership)?;
    let sharing = sharing(parent)?;
    // Members can't leave a custom field by themselves: leaving could free them from a level that is lower than everybody
    // else's.
    if member != call.user_gid() || parent.ty == Type::CustomField {
        may_share(call, view, parent)?;
        require_level_for(view, parent, membership_level(node, sharing))?;
    }
    let mut work = call.change_builder();
    sharing.leave(&mut work, member, parent.gid, node.gid);
    Ok(Decision::of(work.changes))
}

#[cfg(test)]
mod tests;
