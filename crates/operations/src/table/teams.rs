//! Teams and their members.
mod inputs;

use self::inputs::{
    CreateTeam, ListMemberships, MEMBER, MembershipsOfUser, ORGANIZATION, TEAM, TeamUser,
    TeamsOfUser, USER, UpdateTeam, UserIn, WORKSPACE,
};
use crate::access_gate;
use crate::operation::inputs::path;
use crate::operation::rows::{action, computed_list, create, update};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListDefinition, ListRequest, Operation, get, list};
use crate::request_context::{RequestContext, format_ref};
use workgraph_core::access::{Level, Role};
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::edge::Edge;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, Type, TypedField, rel};
use workgraph_core::model::resources::{team, workspace};
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::rules::membership_roles::MembershipRole;
use workgraph_core::rules::membership_rules::TeamStanding;
use workgraph_core::rules::{membership_rules, rich_texts};
use workgraph_core::storage::{EdgeEnd, ListSource, PageQuery, ReadQuery, ReadView, RowFilter};

/// Operations on teams: a part of [`TABLES`](super::TABLES).
pub static TEAMS: &[Operation] = &[
    create(
        "createTeam",
        "/teams",
        Type::Team,
        &Steps::new(create_team_needs, create_team),
    ),
    get("getTeam", "/teams/{team_gid}", Type::Team).scope("teams:read"),
    update(
        "updateTeam",
        "/teams/{team_gid}",
        Type::Team,
        &Steps::new(update_team_needs, update_team),
    ),
    action(
        "addUserForTeam",
        "/teams/{team_gid}/addUser",
        &Steps::new(user_needs, add_user),
    )
    .responds_with(Type::TeamMembership),
    action(
        "removeUserForTeam",
        "/teams/{team_gid}/removeUser",
        &Steps::new(user_needs, remove_user),
    ),
    computed_list(
        "getTeamsForUser",
        "/users/{user_gid}/teams",
        Type::Team,
        &Description::new(teams_of_user),
    )
    .scope("teams:read"),
    list(
        "getTeamsForWorkspace",
        "/workspaces/{workspace_gid}/teams",
        Type::Team,
        ListDefinition::InWorkspace(Type::Team),
    )
    .alias_paths(&["/organizations/{workspace_gid}/teams"])
    .scope("teams:read"),
    computed_list(
        "getTeamMemberships",
        "/team_memberships",
        Type::TeamMembership,
        &Description::new(memberships),
    )
    .scope("team_memberships:read"),
    get(
        "getTeamMembership",
        "/team_memberships/{team_membership_gid}",
        Type::TeamMembership,
    )
    .scope("team_memberships:read"),
    list(
        "getTeamMembershipsForTeam",
        "/teams/{team_gid}/team_memberships",
        Type::TeamMembership,
        MEMBERS,
    )
    .scope("team_memberships:read"),
    computed_list(
        "getTeamMembershipsForUser",
        "/users/{user_gid}/team_memberships",
        Type::TeamMembership,
        &Description::new(memberships_of_user),
    )
    .scope("team_memberships:read"),
];

const MEMBERS: ListDefinition = ListDefinition::Edges {
    rel: rel::TEAM_MEMBERS,
    dir: Direction::Out,
    give: EdgeEnd::Aux,
    open: false,
};

fn create_team_needs(
    call: &RequestContext<'_>,
    input: &CreateTeam,
) -> Result<ReadQuery, DomainError> {
    let mut query = call.read_query().node(input.organization.node);
    for gid in rich_texts::referenced(&input.fields, team::HTML_DESCRIPTION) {
        query.add_ref(gid);
    }
    Ok(query)
}

fn create_team(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateTeam,
) -> Result<Decision, DomainError> {
    let organization = call.named_node(view, &input.organization, Level::Editor)?;
    if !organization.get(workspace::IS_ORGANIZATION) {
        return Err(DomainError::field(
            ORGANIZATION.def.name,
            "Not an organization; only organizations have teams",
        ));
    }
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Team, Some(organization.gid));
    write(call, view, &mut draft, &input.fields)?;
    let gid = membership_rules::create_team(&mut work, draft, Some(call.user_gid()));
    Ok(Decision::about(work.changes, gid))
}

fn write(
    call: &RequestContext<'_>,
    view: &ReadView,
    draft: &mut Draft,
    inputs: &CheckedInputs,
) -> Result<(), DomainError> {
    inputs.fill(&team::TEAM, draft);
    rich_texts::write(
        draft,
        inputs,
        team::DESCRIPTION,
        team::HTML_DESCRIPTION,
        &team::TEAM,
        view,
        call.base_url(),
    )?;
    if draft.get(team::NAME).is_none_or(|n| n.trim().is_empty()) {
        return Err(DomainError::field("name", "Cannot be empty"));
    }
    let endorses = match draft.is_new() {
        true => draft.get(team::ENDORSED),
        false => draft.changed(team::ENDORSED),
    };
    let organization = draft.workspace;
    if endorses && !organization.is_some_and(|organization| view.viewer.is_admin(organization)) {
        return Err(DomainError::forbidden(
            "Only admins of the organization may endorse its teams.",
        ));
    }
    Ok(())
}

fn update_team_needs(
    call: &RequestContext<'_>,
    input: &UpdateTeam,
) -> Result<ReadQuery, DomainError> {
    let mut query = call.read_query().node(input.team.node);
    for gid in rich_texts::referenced(input.fields.written()?, team::HTML_DESCRIPTION) {
        query.add_ref(gid);
    }
    Ok(query)
}

/// Returns true if a setting of the team reserves an action for its admins, and the caller is not one.
fn reserved(view: &ReadView, node: &Node, setting: TypedField<str>) -> bool {
    node.get(setting).as_deref() == Some("only_team_admins") && view.level(node.gid) < Level::Admin
}

fn update_team(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateTeam,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.team, Level::Editor)?;
    let mut draft = Draft::edit(node);
    write(call, view, &mut draft, input.fields.checked(view, node)?)?;
    access_gate::may_change_settings(view, node, &draft)?;
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn user_needs(call: &RequestContext<'_>, input: &TeamUser) -> Result<ReadQuery, DomainError> {
    let (team, user) = (input.team.node, input.user.node.clone());
    Ok(call
        .read_query()
        .node(team)
        .edges(user.clone(), rel::WORKSPACES)
        .edge(team, rel::TEAM_MEMBERS, user))
}

fn add_user(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &TeamUser,
) -> Result<Decision, DomainError> {
    let team = call.named_node(view, &input.team, Level::Viewer)?;
    let user = call.named_node(view, &input.user, Level::Viewer)?;
    let open =
        team.get(team::VISIBILITY).as_deref() == Some("public") && user.gid == call.user_gid();
    if view.level(team.gid) < Level::Editor && !open {
        return Err(DomainError::forbidden(
            "You must be a member of this team to add users to it.",
        ));
    }
    if reserved(view, team, team::INVITE_MEMBERS) && !open {
        return Err(DomainError::forbidden(
            "Only admins of this team may add users to it.",
        ));
    }
    let Some(workspace) = team
        .workspace
        .filter(|workspace| view.link(user.gid, rel::WORKSPACES, *workspace).is_some())
    else {
        return Err(DomainError::field(
            USER.def.name,
            format_args!(
                "Not a user in Organization: {}",
                format_ref(&input.user.node)
            ),
        ));
    };
    let is_guest = || {
        let seat = view.link(user.gid, rel::WORKSPACES, workspace);
        let membership = seat
            .and_then(|seat| seat.aux)
            .and_then(|gid| view.node(gid));
        membership.is_some_and(|node| MembershipRole::of_membership(node).role == Role::Guest)
    };
    if reserved(view, team, team::INVITE_GUESTS) && is_guest() {
        return Err(DomainError::forbidden(
            "Only admins of this team may add guests to it.",
        ));
    }
    let mut work = call.change_builder();
    let membership = view
        .link(team.gid, rel::TEAM_MEMBERS, user.gid)
        .and_then(|e| e.aux);
    let gid = membership.unwrap_or_else(|| {
        let standing = TeamStanding {
            is_admin: false,
            is_guest: is_guest(),
        };
        membership_rules::join_team(&mut work, user.gid, team.gid, workspace, standing)
    });
    Ok(Decision::about(work.changes, gid))
}

fn remove_user(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &TeamUser,
) -> Result<Decision, DomainError> {
    let team = call.named_node(view, &input.team, Level::Viewer)?;
    let user = call.named_node(view, &input.user, Level::Viewer)?;
    let own = user.gid == call.user_gid();
    if !own && (view.level(team.gid) < Level::Editor || reserved(view, team, team::REMOVE_MEMBERS))
    {
        return Err(DomainError::forbidden(
            "You may not remove users from this team.",
        ));
    }
    let Some(edge) = view.link(team.gid, rel::TEAM_MEMBERS, user.gid) else {
        return Err(DomainError::field(
            USER.def.name,
            format_args!(
                "Not a member of this team: {}",
                format_ref(&input.user.node)
            ),
        ));
    };
    let is_admin = |edge: &Edge| edge.rank > 0;
    if is_admin(edge) {
        let mut others = view.links(team.gid, rel::TEAM_MEMBERS).iter();
        let others_left = others.len() > 1;
        if others_left && !others.any(|other| other.dst != user.gid && is_admin(other)) {
            // Otherwise nobody could change the settings of the team, or do what they reserve for admins.
            return Err(DomainError::forbidden(
                "The last admin of a team cannot leave it while it has other members.",
            ));
        }
    }
    let mut work = call.change_builder();
    membership_rules::leave_team(&mut work, user.gid, team.gid, edge.aux);
    Ok(Decision::of(work.changes))
}

fn teams_of_user(
    call: &RequestContext<'_>,
    input: &TeamsOfUser,
) -> Result<ListRequest, DomainError> {
    Ok(joined(call, EdgeEnd::OtherEnd, &input.0))
}

fn memberships_of_user(
    call: &RequestContext<'_>,
    input: &MembershipsOfUser,
) -> Result<ListRequest, DomainError> {
    Ok(joined(call, EdgeEnd::Aux, &input.0))
}

/// Lists the teams of a user in one organization, or the user's memberships in them.
fn joined(call: &RequestContext<'_>, give: EdgeEnd, input: &UserIn) -> ListRequest {
    let mut want = call.read_query();
    let anchor = want.add_ref(input.user.node.clone());
    let mut page = PageQuery::of(
        ListSource::Edges {
            anchor,
            rel: rel::TEAM_MEMBERS,
            dir: Direction::In,
            give,
        },
        false,
        0,
    );
    page.filters
        .push(RowFilter::InWorkspace(input.workspace.node));
    let listed = ListRequest {
        query: want,
        page,
        computed: false,
        anchor: path::USER.def.name,
        anchor_types: &[],
        referenced: Vec::new(),
    };
    listed.with_reference(&input.workspace)
}

fn memberships(
    call: &RequestContext<'_>,
    input: &ListMemberships,
) -> Result<ListRequest, DomainError> {
    let mut want = call.read_query();
    let (from, anchor) = match (&input.team, &input.user) {
        (Some(team), None) => {
            let anchor = want.add_ref(team.node);
            (
                ListSource::Edges {
                    anchor,
                    rel: rel::TEAM_MEMBERS,
                    dir: Direction::Out,
                    give: EdgeEnd::Aux,
                },
                &TEAM.def,
            )
        }
        (_, Some(user)) => {
            let anchor = want.add_ref(user.node.clone());
            (
                ListSource::Edges {
                    anchor,
                    rel: rel::TEAM_MEMBERS,
                    dir: Direction::In,
                    give: EdgeEnd::Aux,
                },
                &MEMBER.def,
            )
        }
        (None, None) => return Err(DomainError::missing(TEAM.def.name)),
    };
    let mut page = PageQuery::of(from, false, 0);
    if input.user.is_some() {
        page.filters.push(match (&input.team, &input.workspace) {
            (Some(team), _) => RowFilter::OtherEnd(team.node),
            (None, Some(workspace)) => RowFilter::InWorkspace(workspace.node),
            (None, None) => return Err(DomainError::missing(WORKSPACE.def.name)),
        });
    }
    let listed = ListRequest {
        query: want,
        page,
        computed: false,
        anchor: anchor.name,
        anchor_types: anchor.types(),
        referenced: Vec::new(),
    };
    let named = [&input.team, &input.workspace].into_iter().flatten();
    Ok(named.fold(listed, ListRequest::with_reference))
}

#[cfg(test)]
mod tests;
