//! Workspaces and their members.
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, Named, OperationInput, path,
};
use crate::operation::rows::{action, computed_list, update};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListDefinition, ListRequest, Operation, get, list};
use crate::request_context::{RequestContext, format_ref, require_level};
use workgraph_core::Gid;
use workgraph_core::access::{Level, Role};
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::email_address::EmailAddress;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, LinkOne, Type, TypedField, rel};
use workgraph_core::model::resources::{goal, portfolio, project, user, workspace};
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::rules::membership_roles::MembershipRole;
use workgraph_core::rules::sharing::Sharing;
use workgraph_core::rules::{invitation_rules, membership_roles, membership_rules};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{
    EdgeEnd, LinkSelector, ListSource, NodeRef, PageQuery, ReadQuery, ReadView, RowFilter, alias,
};

/// Operations on workspaces: a part of [`TABLES`](super::TABLES).
pub static WORKSPACES: &[Operation] = &[
    computed_list(
        "getWorkspaces",
        "/workspaces",
        Type::Workspace,
        &Description::new(list_workspaces),
    )
    .scope("workspaces:read"),
    get(
        "getWorkspace",
        "/workspaces/{workspace_gid}",
        Type::Workspace,
    )
    .scope("workspaces:read"),
    update(
        "updateWorkspace",
        "/workspaces/{workspace_gid}",
        Type::Workspace,
        &Steps::new(rename_needs, rename),
    ),
    action(
        "addUserForWorkspace",
        "/workspaces/{workspace_gid}/addUser",
        &Steps::new(invitation_needs, add_user),
    )
    .responds_with(Type::User),
    action(
        "removeUserForWorkspace",
        "/workspaces/{workspace_gid}/removeUser",
        &Steps::new(user_needs, remove_user),
    ),
    get(
        "getWorkspaceMembership",
        "/workspace_memberships/{workspace_membership_gid}",
        Type::WorkspaceMembership,
    ),
    list(
        "getWorkspaceMembershipsForUser",
        "/users/{user_gid}/workspace_memberships",
        Type::WorkspaceMembership,
        SEATS_OF_USER,
    ),
    computed_list(
        "getWorkspaceMembershipsForWorkspace",
        "/workspaces/{workspace_gid}/workspace_memberships",
        Type::WorkspaceMembership,
        &Description::new(seats),
    ),
];

/// The user whose membership is listed.
const MEMBER: Input<Named<NodeRef>> = Input::user(
    InputPlace::Query,
    "user",
    "Lists the membership of this user alone.",
);
/// The user who is added or removed.
const USER: Input<Named<NodeRef>> = Input::user(
    InputPlace::Body,
    "user",
    "The user to add or remove: a gid, an e-mail address or `me`. An address that no user has is invited.",
)
.required();
const CHANGED: Input<CheckedInputs> =
    Input::changed_record(Type::Workspace, "The fields of the workspace to change.");

/// Inputs of a list of workspace memberships.
struct ListMemberships {
    workspace: Named<Gid>,
    user: Option<Named<NodeRef>>,
}

impl OperationInput for ListMemberships {
    const INPUTS: &'static [&'static InputDef] = &[&path::WORKSPACE.def, &MEMBER.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.required(&path::WORKSPACE)?,
            user: inputs.optional(&MEMBER)?,
        })
    }
}

/// Inputs of a change of a workspace.
struct UpdateWorkspace {
    workspace: Named<Gid>,
    fields: Deferred<CheckedInputs>,
}

impl OperationInput for UpdateWorkspace {
    const INPUTS: &'static [&'static InputDef] = &[&path::WORKSPACE.def, &CHANGED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.required(&path::WORKSPACE)?,
            fields: inputs.deferred(&CHANGED),
        })
    }
}

/// A workspace, and the user who is added to it or removed from it.
struct WorkspaceUser {
    workspace: Named<Gid>,
    user: Named<NodeRef>,
}

impl OperationInput for WorkspaceUser {
    const INPUTS: &'static [&'static InputDef] = &[&path::WORKSPACE.def, &USER.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.required(&path::WORKSPACE)?,
            user: inputs.required(&USER)?,
        })
    }
}

const SEATS_OF_USER: ListDefinition = ListDefinition::Edges {
    rel: rel::WORKSPACES,
    dir: Direction::Out,
    give: EdgeEnd::Aux,
    open: false,
};

/// Lists the workspaces of the caller.
fn list_workspaces(call: &RequestContext<'_>, (): &()) -> Result<ListRequest, DomainError> {
    let mut want = call.read_query();
    if let Some(workspace) = call.viewer.service {
        // A service account has no membership; its workspace is the one of its token.
        let anchor = want.add_ref(workspace);
        return Ok(ListRequest {
            query: want,
            page: PageQuery::of(ListSource::SingleNode { anchor }, false, 0),
            computed: false,
            anchor: "workspace",
            anchor_types: &[Type::Workspace],
            referenced: Vec::new(),
        });
    }
    let anchor = want.add_ref(NodeRef::Gid(call.user_gid()));
    let from = ListSource::Edges {
        anchor,
        rel: rel::WORKSPACES,
        dir: Direction::Out,
        give: EdgeEnd::OtherEnd,
    };
    Ok(ListRequest {
        query: want,
        page: PageQuery::of(from, false, 0),
        computed: false,
        anchor: "user",
        anchor_types: &[Type::User],
        referenced: Vec::new(),
    })
}

/// Lists the memberships of a workspace, of all users or of one.
fn seats(call: &RequestContext<'_>, input: &ListMemberships) -> Result<ListRequest, DomainError> {
    let mut want = call.read_query();
    let workspace = want.add_ref(input.workspace.node);
    if let Some(user) = &input.user {
        let anchor = want.add_ref(user.node.clone());
        let from = ListSource::Edges {
            anchor,
            rel: rel::WORKSPACES,
            dir: Direction::Out,
            give: EdgeEnd::Aux,
        };
        let mut page = PageQuery::of(from, false, 0);
        page.filters
            .push(RowFilter::InWorkspace(input.workspace.node));
        return Ok(ListRequest {
            query: want,
            page,
            computed: false,
            anchor: MEMBER.def.name,
            anchor_types: MEMBER.def.types(),
            referenced: Vec::new(),
        });
    }
    let from = ListSource::Edges {
        anchor: workspace,
        rel: rel::WORKSPACES,
        dir: Direction::In,
        give: EdgeEnd::Aux,
    };
    Ok(ListRequest {
        query: want,
        page: PageQuery::of(from, false, 0),
        computed: false,
        anchor: path::WORKSPACE.def.name,
        anchor_types: &[],
        referenced: Vec::new(),
    })
}

fn rename_needs(
    call: &RequestContext<'_>,
    input: &UpdateWorkspace,
) -> Result<ReadQuery, DomainError> {
    Ok(call.read_query().node(input.workspace.node))
}

fn rename(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateWorkspace,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.workspace, Level::Admin)?;
    let mut draft = Draft::edit(node);
    let fields = input.fields.get()?;
    fields.fill(&workspace::WORKSPACE, &mut draft);
    if draft
        .get(workspace::NAME)
        .is_none_or(|n| n.trim().is_empty())
    {
        return Err(DomainError::field("name", "Cannot be empty"));
    }
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn user_needs(call: &RequestContext<'_>, input: &WorkspaceUser) -> Result<ReadQuery, DomainError> {
    let (workspace, user) = (input.workspace.node, input.user.node.clone());
    let seat = user
        .clone()
        .of(LinkSelector::Aux(rel::WORKSPACES, workspace));
    Ok(call
        .read_query()
        .node(workspace)
        .node(seat)
        .edges(user.clone(), rel::WORKSPACES)
        .incoming_edges(user.clone(), rel::TEAM_MEMBERS, 10_000)
        .incoming_edges(user, rel::MEMBERS, 10_000))
}

/// Returns the user that an address or gid names, even if the caller does not know the user.
fn anybody(name: NodeRef) -> NodeRef {
    match name {
        NodeRef::Address(address) => NodeRef::Alias(alias::email(&address)),
        other => other,
    }
}

/// Returns the person that an invited user represents, if there is one.
fn person(user: &NodeRef) -> NodeRef {
    user.clone().of(LinkSelector::FirstEdge(rel::INVITED))
}

fn list_of(user: &NodeRef, workspace: Gid) -> NodeRef {
    NodeRef::TaskList {
        user: Box::new(user.clone()),
        within_workspace_of: Box::new(NodeRef::Gid(workspace)),
    }
}

fn invitation_needs(
    call: &RequestContext<'_>,
    input: &WorkspaceUser,
) -> Result<ReadQuery, DomainError> {
    let (workspace, name) = (input.workspace.node, input.user.node.clone());
    let known = anybody(name.clone());
    let mut want = call.read_query().node(workspace).node(name);
    // The named user, the person that this user represents, and the users who represent either of them here.
    let candidates = [known.clone(), person(&known)];
    for candidate in candidates.iter().chain(
        &candidates
            .clone()
            .map(|c| c.of(invited_user_link(workspace))),
    ) {
        want = want
            .edges(candidate.clone(), rel::WORKSPACES)
            .edge(candidate.clone(), rel::FORMER, workspace)
            .node(list_of(candidate, workspace));
    }
    Ok(want)
}

/// Returns the link from a person to the user who represents them in a workspace.
fn invited_user_link(workspace: Gid) -> LinkSelector {
    LinkSelector::Rank(rel::INVITED, workspace.as_i64())
}

/// Adds a user to a workspace. For an address without a user, a new user is created. A user with that address who was never in
/// the workspace is invited. Reply and visible data are the same in both cases; otherwise clients could try out addresses.
fn add_user(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &WorkspaceUser,
) -> Result<Decision, DomainError> {
    let workspace = call.named_node(view, &input.workspace, Level::Editor)?;
    let field = input.user.input.name;
    let name = &input.user.node;
    let by_admin = view.level(workspace.gid) >= Level::Admin;
    let mut work = call.change_builder();
    let found = |r: &NodeRef| {
        let node = view.resolve(r).and_then(|g| view.node(g));
        node.filter(|n| n.ty == Type::User)
    };
    let known = anybody(name.clone());
    if matches!(name, NodeRef::Gid(_)) {
        // A caller knows an address that they give; a gid may be a guess.
        call.named_node(view, &input.user, Level::Viewer)?;
    }
    let Some(user) = found(&known) else {
        let NodeRef::Address(address) = name else {
            return Err(DomainError::reference_not_found(field, format_ref(name)));
        };
        let address = EmailAddress::parse(address).map_err(|e| {
            DomainError::field(
                field,
                format_args!("Not an email: {}; {e}", format_ref(name)),
            )
        })?;
        let role = membership_roles::role_of_invitation(workspace, address.as_str(), by_admin);
        let gid = membership_rules::create_user(&mut work, address.mailbox(), &address);
        membership_rules::join_workspace(&mut work, gid, workspace.gid, &workspace.title(), role);
        return Ok(joined(work, gid));
    };
    let whom = person(&known);
    let (named, user) = match found(&whom) {
        Some(person) => (whom, person),
        None => (known, user),
    };
    let email = user.get(user::EMAIL).unwrap_or_default().into_owned();
    let standing_in = named.clone().of(invited_user_link(workspace.gid));
    for (name, user) in [(&named, Some(user)), (&standing_in, found(&standing_in))] {
        let Some(user) = user else { continue };
        if view
            .link(user.gid, rel::WORKSPACES, workspace.gid)
            .is_some()
        {
            return Ok(Decision::about(work.changes, user.gid));
        }
        if let Some(list) = view.resolve(&list_of(name, workspace.gid)) {
            let last = view.link(user.gid, rel::FORMER, workspace.gid);
            let last = last.map(|edge| MembershipRole::from_rank(edge.rank));
            let standing = membership_roles::role_on_return(workspace, &email, by_admin, last);
            let entries = view.sources(user.gid, rel::OUT_OF_OFFICE).iter();
            let entries = entries.filter_map(|edge| view.node(edge.src));
            let entries = entries.filter(|entry| entry.workspace == Some(workspace.gid));
            let entries: Vec<&Node> = entries.collect();
            membership_rules::rejoin_workspace(
                &mut work,
                user.gid,
                workspace.gid,
                list,
                standing,
                &entries,
            );
            return Ok(joined(work, user.gid));
        }
    }
    if email.is_empty() {
        // A service account cannot be invited.
        return Err(DomainError::reference_not_found(field, format_ref(name)));
    }
    let role = membership_roles::role_of_invitation(workspace, &email, by_admin);
    let gid = invitation_rules::invite(&mut work, user, workspace, role);
    Ok(joined(work, gid))
}

fn joined(work: ChangeBuilder<'_>, user: Gid) -> Decision {
    Decision {
        changes: work.changes,
        subject: Some(user),
        accounts: vec![user],
    }
}

/// Returns the field with the owner of a shared object of a type, if it has one.
const fn owner_of(ty: Type) -> Option<TypedField<LinkOne>> {
    match ty {
        Type::Project => Some(project::OWNER),
        Type::Portfolio => Some(portfolio::OWNER),
        Type::Goal => Some(goal::OWNER),
        _ => None,
    }
}

/// Removes a user's workspace membership, with everything that the user belongs to in that workspace.
fn remove_user(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &WorkspaceUser,
) -> Result<Decision, DomainError> {
    let workspace = call.named_node(view, &input.workspace, Level::Viewer)?;
    let user = call.named_node(view, &input.user, Level::Viewer)?.gid;
    if user != call.user_gid() {
        require_level(view, workspace, Level::Admin)?;
    }
    if user == call.user_gid() && view.viewer.is_admin(workspace.gid) {
        // Otherwise a workspace could be left without an admin.
        return Err(DomainError::forbidden(
            "Admins cannot remove themselves; another admin can.",
        ));
    }
    let Some(seat) = view.link(user, rel::WORKSPACES, workspace.gid) else {
        return Err(DomainError::field(
            input.user.input.name,
            format_args!("Not a user in Workspace: {}", format_ref(&input.user.node)),
        ));
    };
    let mut work = call.change_builder();
    let standing = seat
        .aux
        .and_then(|gid| view.node(gid))
        .map(MembershipRole::of_membership);
    let standing = standing.unwrap_or(MembershipRole::of(Role::Guest));
    membership_rules::leave_workspace(&mut work, user, workspace.gid, seat.aux, standing);
    let is_here = |node: &&Node| node.workspace == Some(workspace.gid);
    for edge in view.sources(user, rel::TEAM_MEMBERS) {
        if let Some(team) = view.head(edge.src).filter(is_here) {
            membership_rules::leave_team(&mut work, user, team.gid, edge.aux);
        }
    }
    // A user who removes another owns what that one owned, so that it can still be reached, and its former owner can't if they
    // return.
    let heir = Some(call.user_gid()).filter(|heir| *heir != user && call.viewer.service.is_none());
    for edge in view.sources(user, rel::MEMBERS) {
        let Some(sharing) = view
            .head(edge.src)
            .filter(is_here)
            .and_then(|n| Sharing::of(n.ty))
        else {
            continue;
        };
        if let Some(membership) = edge.aux {
            sharing.leave(&mut work, user, edge.src, membership);
        }
        let owner = owner_of(sharing.ty);
        if let Some((owner, node)) = owner.zip(view.node(edge.src))
            && node.get(owner) == Some(user)
        {
            let mut draft = Draft::edit(node);
            draft.set(owner, heir);
            work.save(&draft);
        }
    }
    Ok(Decision {
        changes: work.changes,
        subject: None,
        accounts: vec![user],
    })
}

#[cfg(test)]
mod tests;
