//! Memberships of users and teams in projects and custom fields.
use super::custom_fields::PREMIUM;
use crate::method::Method;
use crate::operation::{
    Decision, ListRequest, Operation, action, computed_list, create, get, update,
};
use crate::request_context::RequestContext;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::{membership, project, resource};
use workgraph_core::model::validate;
use workgraph_core::rules::sharing::Sharing;
use workgraph_core::storage::{
    EdgeEnd, LinkSelector, ListPosition, ListSource, NodeRef, PageQuery, ReadQuery, ReadView,
    RowFilter,
};

/// Operations on memberships.
pub static MEMBERSHIPS: &[Operation] = &[
    computed_list(
        "getMemberships",
        "/memberships",
        Type::ProjectMembership,
        list,
    ),
    create(
        "createMembership",
        "/memberships",
        Type::ProjectMembership,
        share_needs,
        share,
    )
    .body(&["parent", "member"]),
    get(
        "getMembership",
        "/memberships/{membership_gid}",
        Type::ProjectMembership,
    ),
    update(
        "updateMembership",
        "/memberships/{membership_gid}",
        Type::ProjectMembership,
        needs,
        change,
    )
    .body(&["access_level"]),
    action(
        "deleteMembership",
        "/memberships/{membership_gid}",
        needs,
        unshare,
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
        of_project,
    ),
];

fn list(call: &RequestContext<'_>) -> Result<ListRequest, DomainError> {
    let member = call.query_user("member")?;
    if let Some(parent) = call.query_gid("parent")? {
        let place = (parent.into(), "parent", Sharing::TYPES);
        return Ok(of_place(call, place, member, "member"));
    }
    let Some(member) = member else {
        return Err(DomainError::missing("parent"));
    };
    match call.query("resource_subtype")? {
        None | Some("project_membership") => {}
        Some(other) => {
            let shown = validate::clip(other);
            return Err(DomainError::field(
                "resource_subtype",
                format_args!("Not a recognized value: {shown}; it is project_membership"),
            ));
        }
    }
    let teams = (member, "member", &[Type::Team][..]);
    let mut listed = at(call.read_query(), Direction::In, teams);
    let of_projects = RowFilter::Is(Type::ProjectMembership);
    listed.page.filters.push(of_projects);
    Ok(listed)
}

fn of_project(call: &RequestContext<'_>) -> Result<ListRequest, DomainError> {
    let place = call.path_ref("project_gid")?;
    let place = (place, "project_gid", &[Type::Project][..]);
    Ok(of_place(call, place, call.query_user("user")?, "user"))
}

/// The anchor of a list: the node, the parameter that names it, and the types that it may have.
type MembershipAnchor = (NodeRef, &'static str, &'static [Type]);

/// Lists the memberships in a project or custom field, or that of one member alone.
fn of_place(
    call: &RequestContext<'_>,
    place: MembershipAnchor,
    member: Option<NodeRef>,
    name: &'static str,
) -> ListRequest {
    let mut want = call.read_query();
    match (member, &place.0) {
        // A user named by an address is found first, then the project or field among those shared with the user.
        (Some(member @ NodeRef::Address(_)), NodeRef::Gid(gid)) => {
            let gid = *gid;
            want.add_ref(gid);
            let mut listed = at(want, Direction::In, (member, name, &[Type::User]));
            listed.page.filters.push(RowFilter::OtherEnd(gid));
            listed
        }
        (member, _) => {
            let mut listed = at(want, Direction::Out, place);
            if let Some(NodeRef::Gid(gid)) = member {
                listed.page.filters.push(RowFilter::OtherEnd(gid));
            }
            listed
        }
    }
}

/// Lists the memberships at a project or custom field, or at a member.
fn at(
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
    }
}

/// Checks that the caller may give, change or remove this level. No caller may do so with a level above their own.
fn reaches(view: &ReadView, place: &Node, level: Level) -> Result<(), DomainError> {
    if view.level(place.gid) < level {
        return Err(DomainError::forbidden(
            "You do not have permission to manage memberships above your own access level.",
        ));
    }
    Ok(())
}

/// Returns the sharing rules of a project or custom field.
fn sharing(place: &Node) -> Result<&'static Sharing, DomainError> {
    Sharing::of(place.ty).ok_or_else(|| DomainError::reference_not_found("parent", place.gid))
}

/// Returns the level that a membership gives.
fn given(node: &Node, sharing: &Sharing) -> Level {
    node.get(membership::ACCESS_LEVEL)
        .and_then(|word| sharing.level(&word))
        .unwrap_or_default()
}

/// Checks that the caller may share the project or custom field.
fn may_share(call: &RequestContext<'_>, view: &ReadView, place: &Node) -> Result<(), DomainError> {
    let least = match place.ty {
        Type::CustomField => Level::Admin,
        _ if place.get(project::SHARE_ACCESS).as_deref() == Some("admin") => Level::Admin,
        _ => Level::Editor,
    };
    if place.ty == Type::CustomField {
        only_paid(call, view, place)?;
    }
    if view.level(place.gid) < least {
        let noun = resource(place.ty).noun;
        return Err(DomainError::forbidden(format!(
            "You do not have permission to share this {noun}."
        )));
    }
    Ok(())
}

/// Checks that the caller is a full member of a paid workspace. This is the rule for custom fields, as in their own
/// operations.
fn only_paid(call: &RequestContext<'_>, view: &ReadView, place: &Node) -> Result<(), DomainError> {
    let home = place.workspace.unwrap_or(place.gid);
    if call.has_paid_plan(view, home) && view.viewer.is_member(home) {
        return Ok(());
    }
    Err(DomainError::paid_only(PREMIUM))
}

fn level(call: &RequestContext<'_>, place: &Node, sharing: &Sharing) -> Result<Level, DomainError> {
    let word = match call.field("access_level").or_else(|| call.field("role")) {
        Some(value) => validate::string("access_level", value)?.to_owned(),
        None => place.get(sharing.default).unwrap_or_default().into_owned(),
    };
    sharing.level(&word).ok_or_else(|| {
        let words: Vec<&str> = sharing.levels.iter().map(|(word, _)| *word).collect();
        let (shown, words) = (validate::clip(&word), words.join(", "));
        let why = format_args!("Not a recognized value: {shown}; it is one of {words}");
        DomainError::field("access_level", why)
    })
}

fn share_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let (parent, member) = (call.required_gid("parent")?, call.required_user("member")?);
    Ok(call
        .read_query()
        .edges(member.clone(), rel::WORKSPACES)
        .edge(parent, rel::MEMBERS, member))
}

fn share(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let parent = NodeRef::Gid(call.required_gid("parent")?);
    let place = call.resolve_ref(view, "parent", &parent, Sharing::TYPES, Level::Viewer)?;
    let sharing = sharing(place)?;
    may_share(call, view, place)?;
    let name = call.required_user("member")?;
    let who = call.resolve_ref(
        view,
        "member",
        &name,
        &[Type::User, Type::Team],
        Level::Viewer,
    )?;
    let level = level(call, place, sharing)?;
    reaches(view, place, level)?;
    let home = place.workspace.unwrap_or(place.gid);
    let belongs = if who.ty == Type::Team {
        who.workspace == Some(home)
    } else {
        view.link(who.gid, rel::WORKSPACES, home).is_some()
    };
    if !belongs {
        return Err(DomainError::field(
            "member",
            format_args!(
                "Not a user or team in Workspace: {}",
                crate::request_context::format_ref(&name)
            ),
        ));
    }
    let mut work = call.change_builder();
    work.require_live(place.gid);
    if let Some(held) = view
        .link(place.gid, rel::MEMBERS, who.gid)
        .and_then(|e| e.aux)
    {
        return Ok(Decision::about(work.changes, held));
    }
    let gid = sharing.join(&mut work, who.gid, place.gid, home, level);
    Ok(Decision::about(work.changes, gid))
}

fn path_name(call: &RequestContext<'_>) -> &'static str {
    call.parameters.first().map_or("membership_gid", |(n, _)| n)
}

fn needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let node = call.path_ref(path_name(call))?;
    Ok(call
        .read_query()
        .node(node.clone())
        .node(node.of(LinkSelector::Key("parent"))))
}

/// Returns the membership, the shared node, and the member.
fn parties<'v>(
    call: &RequestContext<'_>,
    view: &'v ReadView,
) -> Result<(&'v Node, &'v Node, workgraph_core::Gid), DomainError> {
    let node = call.path_node(view, path_name(call), Level::Viewer)?;
    let place = node.get(membership::PARENT).and_then(|g| view.node(g));
    match (place, node.get(membership::MEMBER)) {
        (Some(place), Some(member)) => Ok((node, place, member)),
        _ => Err(DomainError::not_found("membership", node.gid)),
    }
}

fn change(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let (node, place, member) = parties(call, view)?;
    let sharing = sharing(place)?;
    may_share(call, view, place)?;
    let level = level(call, place, sharing)?;
    reaches(view, place, level.max(given(node, sharing)))?;
    let mut draft = Draft::edit(node);
    draft.set(membership::ACCESS_LEVEL, sharing.word(level));
    let mut work = call.change_builder();
    if work.save(&draft) {
        work.link(
            place.gid,
            rel::MEMBERS,
            member,
            ListPosition::Rank(level as i64),
            Some(node.gid),
        );
    }
    Ok(Decision::about(work.changes, node.gid))
}

fn unshare(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let (node, place, member) = parties(call, view)?;
    let sharing = sharing(place)?;
    // A member who could leave a custom field could get rid of a level that is lower than the level of all others.
    if member != call.user_gid() || place.ty == Type::CustomField {
        may_share(call, view, place)?;
        reaches(view, place, given(node, sharing))?;
    }
    let mut work = call.change_builder();
    sharing.leave(&mut work, member, place.gid, node.gid);
    Ok(Decision::of(work.changes))
}
