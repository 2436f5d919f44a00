//! Teams, and who belongs to them.
use crate::call::{Call, show};
use crate::driver::page;
use crate::operation::{
    Decision, Listed, Lists, Operation, act, create, get, page as list, page_of, update,
};
use workgraph_core::access::Level;
use workgraph_core::check::Inputs;
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Action, Filter, Give, Listing, Ref, View, Want};
use workgraph_core::node::Node;
use workgraph_core::registry::{Dir, Field, Type, rel};
use workgraph_core::resources::{team, workspace};
use workgraph_core::rules::{membership, text};

/// The rows.
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
    act(
        "addUserForTeam",
        "/teams/{team_gid}/addUser",
        user_needs,
        add_user,
    )
    .body(&["user"])
    .answers(Type::TeamMembership),
    act(
        "removeUserForTeam",
        "/teams/{team_gid}/removeUser",
        user_needs,
        remove_user,
    )
    .body(&["user"]),
    page_of(
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
        Lists::Home(Type::Team),
    )
    .also(&["/organizations/{workspace_gid}/teams"])
    .scope("teams:read"),
    page_of(
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
    page_of(
        "getTeamMembershipsForUser",
        "/users/{user_gid}/team_memberships",
        Type::TeamMembership,
        memberships_of_user,
    )
    .scope("team_memberships:read")
    .query(&["workspace"]),
];

const MEMBERS: Lists = Lists::Edges {
    rel: rel::TEAM_MEMBERS,
    dir: Dir::Out,
    give: Give::Aux,
    open: false,
};

fn create_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let inputs = call.inputs(Type::Team, true)?;
    let mut want = call.want().node(call.required_gid("organization")?);
    for gid in text::referenced(&inputs, team::HTML_DESCRIPTION) {
        want.add(gid);
    }
    Ok(want)
}

fn create_team(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let organization = Ref::Gid(call.required_gid("organization")?);
    let home = call.named(
        view,
        "organization",
        &organization,
        &[Type::Workspace],
        Level::Editor,
    )?;
    if !home.get(workspace::IS_ORGANIZATION) {
        return Err(Fault::field(
            "organization",
            "Not an organization; only organizations have teams",
        ));
    }
    let mut work = call.work();
    let mut draft = work.draft(Type::Team, Some(home.gid));
    write(call, view, &mut draft, &call.inputs(Type::Team, true)?)?;
    let gid = membership::found_team(&mut work, draft, Some(call.me()));
    Ok(Decision::about(work.changes, gid))
}

fn write(call: &Call<'_>, view: &View, draft: &mut Draft, inputs: &Inputs) -> Result<(), Fault> {
    inputs.fill(&team::TEAM, draft);
    text::write(
        draft,
        inputs,
        team::DESCRIPTION,
        team::HTML_DESCRIPTION,
        &team::TEAM,
        view,
        &call.settings.base_url,
    )?;
    if draft.get(team::NAME).is_none_or(|n| n.trim().is_empty()) {
        return Err(Fault::field("name", "Cannot be empty"));
    }
    Ok(())
}

fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    let inputs = call.written(Type::Team)?;
    let mut want = call.want().node(call.path("team_gid")?);
    for gid in text::referenced(&inputs, team::HTML_DESCRIPTION) {
        want.add(gid);
    }
    Ok(want)
}

/// Whether a setting of the team leaves something to its admins alone, and the caller is none.
fn reserved(view: &View, node: &Node, setting: Field<str>) -> bool {
    node.get(setting).as_deref() == Some("only_team_admins") && view.level(node.gid) < Level::Admin
}

fn change(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "team_gid", Level::Editor)?;
    let mut draft = Draft::edit(node);
    write(call, view, &mut draft, &call.changes_of(view, node)?)?;
    let names = draft.changed(team::NAME) || draft.changed(team::DESCRIPTION);
    if (names && reserved(view, node, team::EDIT_NAME))
        || (draft.changed(team::VISIBILITY) && reserved(view, node, team::EDIT_VISIBILITY))
    {
        return Err(Fault::forbidden(
            "Only admins of this team may change that.",
        ));
    }
    let mut work = call.work();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn user_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let (place, who) = (call.path("team_gid")?, call.required_user("user")?);
    Ok(call
        .want()
        .node(place.clone())
        .edges(who.clone(), rel::WORKSPACES)
        .edge(place, rel::TEAM_MEMBERS, who))
}

fn add_user(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let place = call.target(view, "team_gid", Level::Viewer)?;
    let name = call.required_user("user")?;
    let who = call.named(view, "user", &name, &[Type::User], Level::Viewer)?;
    let open = place.get(team::VISIBILITY).as_deref() == Some("public") && who.gid == call.me();
    if view.level(place.gid) < Level::Editor && !open {
        return Err(Fault::forbidden(
            "You must be a member of this team to add users to it.",
        ));
    }
    if reserved(view, place, team::INVITE_MEMBERS) && !open {
        return Err(Fault::forbidden(
            "Only admins of this team may add users to it.",
        ));
    }
    let Some(home) = place
        .home
        .filter(|home| view.link(who.gid, rel::WORKSPACES, *home).is_some())
    else {
        return Err(Fault::field(
            "user",
            format_args!("Not a user in Organization: {}", show(&name)),
        ));
    };
    let mut work = call.work();
    let held = view
        .link(place.gid, rel::TEAM_MEMBERS, who.gid)
        .and_then(|e| e.aux);
    let gid =
        held.unwrap_or_else(|| membership::join_team(&mut work, who.gid, place.gid, home, false));
    Ok(Decision::about(work.changes, gid))
}

fn remove_user(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let place = call.target(view, "team_gid", Level::Viewer)?;
    let name = call.required_user("user")?;
    let who = call.named(view, "user", &name, &[Type::User], Level::Viewer)?;
    let own = who.gid == call.me();
    if !own
        && (view.level(place.gid) < Level::Editor || reserved(view, place, team::REMOVE_MEMBERS))
    {
        return Err(Fault::forbidden("You may not remove users from this team."));
    }
    let Some(edge) = view.link(place.gid, rel::TEAM_MEMBERS, who.gid) else {
        return Err(Fault::field(
            "user",
            format_args!("Not a member of this team: {}", show(&name)),
        ));
    };
    let mut work = call.work();
    work.unlink(place.gid, rel::TEAM_MEMBERS, who.gid);
    if let Some(membership) = edge.aux {
        work.trash(membership, Type::TeamMembership);
    }
    work.fact(who.gid, Type::User, Action::Removed { parent: place.gid });
    Ok(Decision::of(work.changes))
}

fn of_user(call: &Call<'_>) -> Result<Listed, Fault> {
    joined(call, Give::Far, "organization")
}

fn memberships_of_user(call: &Call<'_>) -> Result<Listed, Fault> {
    joined(call, Give::Aux, "workspace")
}

/// What a user joined in one organization: the teams or the memberships.
fn joined(call: &Call<'_>, give: Give, parameter: &'static str) -> Result<Listed, Fault> {
    let mut want = call.want();
    let anchor = want.add(call.path("user_gid")?);
    let mut page = page(
        Listing::Edges {
            anchor,
            rel: rel::TEAM_MEMBERS,
            dir: Dir::In,
            give,
        },
        false,
    );
    page.filters
        .extend(call.query_gid(parameter)?.map(Filter::Home));
    Ok(Listed {
        want,
        page,
        computed: false,
        anchor: "user_gid",
        anchor_types: &[Type::User],
    })
}

fn memberships(call: &Call<'_>) -> Result<Listed, Fault> {
    let mut want = call.want();
    let (team, user, workspace) = (
        call.query_gid("team")?,
        call.query_user("user")?,
        call.query_gid("workspace")?,
    );
    let (from, anchor, anchor_types) = match (team, user) {
        (Some(team), None) => {
            let anchor = want.add(team);
            (
                Listing::Edges {
                    anchor,
                    rel: rel::TEAM_MEMBERS,
                    dir: Dir::Out,
                    give: Give::Aux,
                },
                "team",
                &[Type::Team],
            )
        }
        (_, Some(user)) => {
            let anchor = want.add(user);
            (
                Listing::Edges {
                    anchor,
                    rel: rel::TEAM_MEMBERS,
                    dir: Dir::In,
                    give: Give::Aux,
                },
                "user",
                &[Type::User],
            )
        }
        (None, None) => return Err(Fault::missing("team")),
    };
    let mut page = page(from, false);
    if anchor == "user" {
        match (team, workspace) {
            (Some(team), _) => page.filters.push(Filter::Far(team)),
            (None, Some(workspace)) => page.filters.push(Filter::Home(workspace)),
            (None, None) => return Err(Fault::missing("workspace")),
        }
    }
    Ok(Listed {
        want,
        page,
        computed: false,
        anchor,
        anchor_types,
    })
}
