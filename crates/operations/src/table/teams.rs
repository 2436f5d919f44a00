//! Teams and their members.
use crate::operation::{
    Decision, ListDefinition, ListRequest, Operation, action, computed_list, create, get, list,
    update,
};
use crate::request_context::{RequestContext, format_ref};
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Direction, Type, TypedField, rel};
use workgraph_core::model::resources::{team, workspace};
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::rules::{membership_rules, rich_texts};
use workgraph_core::storage::{
    ChangeAction, EdgeEnd, ListSource, NodeRef, PageQuery, ReadQuery, ReadView, RowFilter,
};

/// Operations on teams.
pub static TEAMS: &[Operation] = &[
    create(
        "createTeam",
        "/teams",
        Type::Team,
        create_needs,
        create_team,
    )
    .body(&["name", "organization"]),
    get("getTeam", "/teams/{team_gid}", Type::Team).scope("teams:read"),
    update("updateTeam", "/teams/{team_gid}", Type::Team, needs, change),
    action(
        "addUserForTeam",
        "/teams/{team_gid}/addUser",
        user_needs,
        add_user,
    )
    .body(&["user"])
    .responds_with(Type::TeamMembership),
    action(
        "removeUserForTeam",
        "/teams/{team_gid}/removeUser",
        user_needs,
        remove_user,
    )
    .body(&["user"]),
    computed_list(
        "getTeamsForUser",
        "/users/{user_gid}/teams",
        Type::Team,
        of_user,
    )
    .scope("teams:read")
    .query(&["organization"]),
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
        memberships,
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
        memberships_of_user,
    )
    .scope("team_memberships:read")
    .query(&["workspace"]),
];

const MEMBERS: ListDefinition = ListDefinition::Edges {
    rel: rel::TEAM_MEMBERS,
    dir: Direction::Out,
    give: EdgeEnd::Aux,
    open: false,
};

fn create_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let inputs = call.inputs(Type::Team, true)?;
    let mut want = call.read_query().node(call.required_gid("organization")?);
    for gid in rich_texts::referenced(&inputs, team::HTML_DESCRIPTION) {
        want.add_ref(gid);
    }
    Ok(want)
}

fn create_team(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let organization = NodeRef::Gid(call.required_gid("organization")?);
    let home = call.resolve_ref(
        view,
        "organization",
        &organization,
        &[Type::Workspace],
        Level::Editor,
    )?;
    if !home.get(workspace::IS_ORGANIZATION) {
        return Err(DomainError::field(
            "organization",
            "Not an organization; only organizations have teams",
        ));
    }
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Team, Some(home.gid));
    write(call, view, &mut draft, &call.inputs(Type::Team, true)?)?;
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
        &call.settings.base_url,
    )?;
    if draft.get(team::NAME).is_none_or(|n| n.trim().is_empty()) {
        return Err(DomainError::field("name", "Cannot be empty"));
    }
    Ok(())
}

fn needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let inputs = call.writable_inputs(Type::Team)?;
    let mut want = call.read_query().node(call.path_ref("team_gid")?);
    for gid in rich_texts::referenced(&inputs, team::HTML_DESCRIPTION) {
        want.add_ref(gid);
    }
    Ok(want)
}

/// Returns true if a setting of the team reserves an action for its admins, and the caller is not one.
fn reserved(view: &ReadView, node: &Node, setting: TypedField<str>) -> bool {
    node.get(setting).as_deref() == Some("only_team_admins") && view.level(node.gid) < Level::Admin
}

fn change(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let node = call.path_node(view, "team_gid", Level::Editor)?;
    let mut draft = Draft::edit(node);
    write(call, view, &mut draft, &call.checked_update(view, node)?)?;
    let names = draft.changed(team::NAME) || draft.changed(team::DESCRIPTION);
    if (names && reserved(view, node, team::EDIT_NAME))
        || (draft.changed(team::VISIBILITY) && reserved(view, node, team::EDIT_VISIBILITY))
    {
        return Err(DomainError::forbidden(
            "Only admins of this team may change that.",
        ));
    }
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn user_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let (place, who) = (call.path_ref("team_gid")?, call.required_user("user")?);
    Ok(call
        .read_query()
        .node(place.clone())
        .edges(who.clone(), rel::WORKSPACES)
        .edge(place, rel::TEAM_MEMBERS, who))
}

fn add_user(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let place = call.path_node(view, "team_gid", Level::Viewer)?;
    let name = call.required_user("user")?;
    let who = call.resolve_ref(view, "user", &name, &[Type::User], Level::Viewer)?;
    let open =
        place.get(team::VISIBILITY).as_deref() == Some("public") && who.gid == call.user_gid();
    if view.level(place.gid) < Level::Editor && !open {
        return Err(DomainError::forbidden(
            "You must be a member of this team to add users to it.",
        ));
    }
    if reserved(view, place, team::INVITE_MEMBERS) && !open {
        return Err(DomainError::forbidden(
            "Only admins of this team may add users to it.",
        ));
    }
    let Some(home) = place
        .workspace
        .filter(|home| view.link(who.gid, rel::WORKSPACES, *home).is_some())
    else {
        return Err(DomainError::field(
            "user",
            format_args!("Not a user in Organization: {}", format_ref(&name)),
        ));
    };
    let mut work = call.change_builder();
    let held = view
        .link(place.gid, rel::TEAM_MEMBERS, who.gid)
        .and_then(|e| e.aux);
    let gid = held
        .unwrap_or_else(|| membership_rules::join_team(&mut work, who.gid, place.gid, home, false));
    Ok(Decision::about(work.changes, gid))
}

fn remove_user(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let place = call.path_node(view, "team_gid", Level::Viewer)?;
    let name = call.required_user("user")?;
    let who = call.resolve_ref(view, "user", &name, &[Type::User], Level::Viewer)?;
    let own = who.gid == call.user_gid();
    if !own
        && (view.level(place.gid) < Level::Editor || reserved(view, place, team::REMOVE_MEMBERS))
    {
        return Err(DomainError::forbidden(
            "You may not remove users from this team.",
        ));
    }
    let Some(edge) = view.link(place.gid, rel::TEAM_MEMBERS, who.gid) else {
        return Err(DomainError::field(
            "user",
            format_args!("Not a member of this team: {}", format_ref(&name)),
        ));
    };
    let mut work = call.change_builder();
    work.unlink(place.gid, rel::TEAM_MEMBERS, who.gid);
    if let Some(membership) = edge.aux {
        work.trash(membership, Type::TeamMembership);
    }
    work.add_change_record(
        who.gid,
        Type::User,
        ChangeAction::Removed { parent: place.gid },
    );
    Ok(Decision::of(work.changes))
}

fn of_user(call: &RequestContext<'_>) -> Result<ListRequest, DomainError> {
    joined(call, EdgeEnd::OtherEnd, "organization")
}

fn memberships_of_user(call: &RequestContext<'_>) -> Result<ListRequest, DomainError> {
    joined(call, EdgeEnd::Aux, "workspace")
}

/// Lists the teams of a user in one organization, or the user's memberships in them.
fn joined(
    call: &RequestContext<'_>,
    give: EdgeEnd,
    parameter: &'static str,
) -> Result<ListRequest, DomainError> {
    let mut want = call.read_query();
    let anchor = want.add_ref(call.path_ref("user_gid")?);
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
        .extend(call.query_gid(parameter)?.map(RowFilter::InWorkspace));
    Ok(ListRequest {
        query: want,
        page,
        computed: false,
        anchor: "user_gid",
        anchor_types: &[Type::User],
    })
}

fn memberships(call: &RequestContext<'_>) -> Result<ListRequest, DomainError> {
    let mut want = call.read_query();
    let (team, user, workspace) = (
        call.query_gid("team")?,
        call.query_user("user")?,
        call.query_gid("workspace")?,
    );
    let (from, anchor, anchor_types) = match (team, user) {
        (Some(team), None) => {
            let anchor = want.add_ref(team);
            (
                ListSource::Edges {
                    anchor,
                    rel: rel::TEAM_MEMBERS,
                    dir: Direction::Out,
                    give: EdgeEnd::Aux,
                },
                "team",
                &[Type::Team],
            )
        }
        (_, Some(user)) => {
            let anchor = want.add_ref(user);
            (
                ListSource::Edges {
                    anchor,
                    rel: rel::TEAM_MEMBERS,
                    dir: Direction::In,
                    give: EdgeEnd::Aux,
                },
                "user",
                &[Type::User],
            )
        }
        (None, None) => return Err(DomainError::missing("team")),
    };
    let mut page = PageQuery::of(from, false, 0);
    if anchor == "user" {
        match (team, workspace) {
            (Some(team), _) => page.filters.push(RowFilter::OtherEnd(team)),
            (None, Some(workspace)) => page.filters.push(RowFilter::InWorkspace(workspace)),
            (None, None) => return Err(DomainError::missing("workspace")),
        }
    }
    Ok(ListRequest {
        query: want,
        page,
        computed: false,
        anchor,
        anchor_types,
    })
}
