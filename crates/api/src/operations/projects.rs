//! Projects: creating, changing, sharing and listing them.
use super::project_people::{
    add_followers, add_members, follow, people_needs, remove_followers, remove_members,
};
use crate::call::Call;
use crate::driver::page;
use crate::operation::{
    Decision, Listed, Lists, Operation, act, create, delete, get, page as list, page_of, read,
    update,
};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::check::{Given, Inputs};
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Filter, Give, Listing, Place, Ref, View, Want};
use workgraph_core::node::Node;
use workgraph_core::registry::{Dir, Rel, Type, rel};
use workgraph_core::resources::{project, team, workspace};
use workgraph_core::rules::{membership, text};
use workgraph_core::schedule::{Change, Days, DaysChange, project_schedule};
use workgraph_core::time::Date;

/// The rows.
pub static PROJECTS: &[Operation] = &[
    page_of("getProjects", "/projects", Type::Project, projects)
        .scope("projects:read")
        .filters(&["archived"]),
    create(
        "createProject",
        "/projects",
        Type::Project,
        create_needs,
        create_project,
    )
    .scope("projects:write"),
    get("getProject", "/projects/{project_gid}", Type::Project).scope("projects:read"),
    update(
        "updateProject",
        "/projects/{project_gid}",
        Type::Project,
        needs,
        change,
    )
    .scope("projects:write"),
    delete("deleteProject", "/projects/{project_gid}", Level::Admin).scope("projects:delete"),
    act(
        "addFollowersForProject",
        "/projects/{project_gid}/addFollowers",
        people_needs,
        add_followers,
    )
    .body(&["followers"])
    .answers(Type::Project),
    act(
        "removeFollowersForProject",
        "/projects/{project_gid}/removeFollowers",
        people_needs,
        remove_followers,
    )
    .body(&["followers"])
    .answers(Type::Project),
    act(
        "addMembersForProject",
        "/projects/{project_gid}/addMembers",
        people_needs,
        add_members,
    )
    .body(&["members"])
    .answers(Type::Project),
    act(
        "removeMembersForProject",
        "/projects/{project_gid}/removeMembers",
        people_needs,
        remove_members,
    )
    .body(&["members"])
    .answers(Type::Project),
    read(
        "getTaskCountsForProject",
        "/projects/{project_gid}/task_counts",
        Type::Project,
        needs,
        counted,
    )
    .scope("projects:read")
    .counts(),
    list(
        "getProjectsForTask",
        "/tasks/{task_gid}/projects",
        Type::Project,
        OF_TASK,
    )
    .scope("projects:read"),
    list(
        "getProjectsForTeam",
        "/teams/{team_gid}/projects",
        Type::Project,
        OF_TEAM,
    )
    .scope("projects:read")
    .filters(&["archived"]),
    create(
        "createProjectForTeam",
        "/teams/{team_gid}/projects",
        Type::Project,
        create_needs,
        create_project,
    )
    .scope("projects:write"),
    list(
        "getProjectsForWorkspace",
        "/workspaces/{workspace_gid}/projects",
        Type::Project,
        Lists::Home(Type::Project),
    )
    .scope("projects:read")
    .filters(&["archived"]),
    create(
        "createProjectForWorkspace",
        "/workspaces/{workspace_gid}/projects",
        Type::Project,
        create_needs,
        create_project,
    )
    .scope("projects:write"),
];

const OF_TASK: Lists = Lists::Edges {
    rel: rel::SECTION,
    dir: Dir::Out,
    give: Give::Aux,
    open: false,
};
const OF_TEAM: Lists = Lists::Edges {
    rel: rel::TEAM,
    dir: Dir::In,
    give: Give::Far,
    open: false,
};

fn projects(call: &Call<'_>) -> Result<Listed, Fault> {
    let mut want = call.want();
    let (workspace, team) = (call.query_gid("workspace")?, call.query_gid("team")?);
    let (mut page, anchor, anchor_types) = match (workspace, team) {
        (_, Some(team)) => {
            let anchor = want.add(team);
            (
                page(
                    Listing::Edges {
                        anchor,
                        rel: rel::TEAM,
                        dir: Dir::In,
                        give: Give::Far,
                    },
                    false,
                ),
                "team",
                &[Type::Team][..],
            )
        }
        (Some(workspace), None) => {
            let anchor = want.add(workspace);
            (
                page(
                    Listing::Home {
                        anchor,
                        ty: Type::Project,
                    },
                    false,
                ),
                "workspace",
                &[Type::Workspace][..],
            )
        }
        (None, None) => {
            let ty = Type::Project;
            (page(Listing::Homes { ty }, false), "workspace", &[][..])
        }
    };
    if team.is_some() {
        page.filters.extend(workspace.map(Filter::Home));
    }
    Ok(Listed {
        want,
        page,
        computed: false,
        anchor,
        anchor_types,
    })
}

fn counted(call: &Call<'_>, view: &View) -> Result<Gid, Fault> {
    call.target(view, "project_gid", Level::Viewer)
        .map(|n| n.gid)
}

/// The workspace and team a new project is for, from path or body.
fn places(call: &Call<'_>) -> Result<(Option<Ref>, Option<Ref>), Fault> {
    let path = |name: &str| {
        if call.parameter(name).is_empty() {
            Ok(None)
        } else {
            call.path(name).map(Some)
        }
    };
    let workspace = path("workspace_gid")?.or(call.body_gid("workspace")?.map(Ref::Gid));
    let team = path("team_gid")?.or(call.body_gid("team")?.map(Ref::Gid));
    Ok((workspace, team))
}

fn create_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let (workspace, team) = places(call)?;
    let mut want = call.want();
    for place in [workspace, team].into_iter().flatten() {
        want.add(place);
    }
    for who in call.users("followers")? {
        want = want.edges(who, rel::WORKSPACES);
    }
    refer(call, want, &call.inputs(Type::Project, true)?)
}

/// Adds what the body refers to: owner, followers, links in the description.
fn refer(call: &Call<'_>, mut want: Want, inputs: &Inputs) -> Result<Want, Fault> {
    if let Some(Given::Ref(owner)) = inputs.get("owner") {
        want = want.edges(call.user("owner", owner)?, rel::WORKSPACES);
    }
    if let Some(Given::Ref(team)) = inputs.get("team") {
        want.add(crate::call::gid("team", team)?);
    }
    for gid in text::referenced(inputs, project::HTML_NOTES) {
        want.add(gid);
    }
    Ok(want)
}

fn create_project(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let (workspace, team) = places(call)?;
    let shared = match &team {
        Some(_) if !call.parameter("team_gid").is_empty() => {
            Some(call.target(view, "team_gid", Level::Viewer)?)
        }
        Some(team) => Some(call.named(view, "team", team, &[Type::Team], Level::Viewer)?),
        None => None,
    };
    let home = match (&workspace, shared) {
        (Some(_), _) if !call.parameter("workspace_gid").is_empty() => {
            call.target(view, "workspace_gid", Level::Viewer)?.gid
        }
        (Some(workspace), _) => {
            call.named(
                view,
                "workspace",
                workspace,
                &[Type::Workspace][..],
                Level::Viewer,
            )?
            .gid
        }
        (None, Some(team)) => team.home.ok_or_else(|| Fault::missing("workspace"))?,
        (None, None) => return Err(Fault::missing("workspace")),
    };
    if let Some(team) = shared {
        team_takes(view, home, team)?;
    }
    if view.viewer.seat(home).is_none_or(|s| s.view_only) && view.viewer.service != Some(home) {
        return Err(Fault::no_access("workspace"));
    }
    let organization = view
        .node(home)
        .is_some_and(|w| w.get(workspace::IS_ORGANIZATION));
    if organization && shared.is_none() {
        return Err(Fault::invalid(workgraph_wire::message::MISSING_TEAM));
    }
    let mut work = call.work();
    let mut draft = work.draft(Type::Project, Some(home));
    draft.set(project::OWNER, call.me());
    let inputs = call.inputs(Type::Project, true)?;
    write(call, view, &mut draft, &inputs)?;
    let gid = membership::found_project(&mut work, draft, call.me());
    if let Some(team) = shared {
        work.link(gid, rel::TEAM, team.gid, Place::Rank(0), None);
    }
    for name in call.users("followers")? {
        let who = member_of(call, view, "followers", &name, home)?;
        follow(&mut work, view, gid, home, who);
    }
    Ok(Decision::about(work.changes, gid))
}

/// Whether the caller may create projects in a team of the workspace.
fn team_takes(view: &View, home: Gid, team: &Node) -> Result<(), Fault> {
    if team.home != Some(home) {
        return Err(Fault::field("team", "Not a team of that workspace"));
    }
    let admins_only = team.get(team::CONTENT).as_deref() == Some("only_team_admins");
    let least = if admins_only {
        Level::Admin
    } else {
        Level::Editor
    };
    if view.level(team.gid) < least {
        return Err(Fault::forbidden(
            "You may not create projects in this team.",
        ));
    }
    Ok(())
}

/// The team that a project made from another goes to; organizations need one.
pub(super) fn team_of(
    call: &Call<'_>,
    view: &View,
    home: Gid,
    team: Option<&Ref>,
) -> Result<Option<Gid>, Fault> {
    let Some(name) = team else {
        return Ok(None);
    };
    let team = call.named(view, "team", name, &[Type::Team], Level::Viewer)?;
    team_takes(view, home, team)?;
    Ok(Some(team.gid))
}

/// Whether the caller may make such things in the workspace.
pub(super) fn places_allowed(view: &View, home: Gid, what: &str) -> Result<(), Fault> {
    if view.viewer.seat(home).is_none_or(|s| s.view_only) && view.viewer.service != Some(home) {
        return Err(Fault::forbidden(format!(
            "You do not have permission to create {what} in this workspace."
        )));
    }
    Ok(())
}

/// A user to be taken out of a list: one who is in it, or else one whom the caller may see.
pub(crate) fn leaver(
    call: &Call<'_>,
    view: &View,
    field: &str,
    name: &Ref,
    place: Gid,
    rel: Rel,
) -> Result<Gid, Fault> {
    match view.resolve(name) {
        Some(who) if view.link(place, rel, who).is_some() => Ok(who),
        _ => call
            .named(view, field, name, &[Type::User], Level::Viewer)
            .map(|n| n.gid),
    }
}

/// A user who belongs to the workspace.
pub(crate) fn member_of(
    call: &Call<'_>,
    view: &View,
    field: &str,
    name: &Ref,
    home: Gid,
) -> Result<Gid, Fault> {
    let me = view.resolve(name).filter(|who| *who == call.me());
    match me.filter(|who| view.node(*who).is_some()) {
        Some(me) => Ok(me),
        None => call
            .member(view, field, name, (home, "Workspace"))
            .map(|user| user.gid),
    }
}

/// Writes the body's fields into a draft.
fn write(call: &Call<'_>, view: &View, draft: &mut Draft, inputs: &Inputs) -> Result<(), Fault> {
    inputs.fill(&project::PROJECT, draft);
    text::write(
        draft,
        inputs,
        project::NOTES,
        project::HTML_NOTES,
        &project::PROJECT,
        view,
        &call.settings.base_url,
    )?;
    if inputs.get("privacy_setting").is_none() {
        match inputs.get("public") {
            Some(Given::Stored(on)) if on == "true" => {
                draft.set(project::PRIVACY, "public_to_workspace")
            }
            Some(Given::Stored(_)) => draft.set(project::PRIVACY, "private"),
            _ => {}
        }
    }
    if let Some(Given::Ref(owner)) = inputs.get("owner") {
        let home = draft.home.unwrap_or(draft.gid);
        let owner = member_of(call, view, "owner", &call.user("owner", owner)?, home)?;
        draft.set(project::OWNER, owner);
    } else if inputs.has("owner") {
        draft.set(project::OWNER, None);
    }
    let day = |name: &str| match inputs.get(name) {
        None => Change::Absent,
        Some(Given::Stored(raw)) => {
            Date::parse(raw.trim_matches('"')).map_or(Change::Null, Change::Set)
        }
        Some(_) => Change::Null,
    };
    let due_on = if inputs.has("due_on") {
        day("due_on")
    } else {
        day("due_date")
    };
    let current = Days {
        start_on: draft.before(project::START_ON),
        due_on: draft.before(project::DUE_ON),
    };
    let days = project_schedule(
        current,
        DaysChange {
            start_on: day("start_on"),
            due_on,
        },
    )
    .map_err(|e| Fault::invalid(e.to_string()))?;
    draft.set(project::START_ON, days.start_on);
    draft.set(project::DUE_ON, days.due_on);
    Ok(())
}

fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    let on = call.path("project_gid")?;
    let want = call.want().edges(on.clone(), rel::TEAM);
    let want = call.with_unchanged(Type::Project, &on, want);
    refer(call, want, &call.written(Type::Project)?)
}

fn change(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "project_gid", Level::Editor)?;
    let inputs = call.changes_of(view, node)?;
    let mut draft = Draft::edit(node);
    write(call, view, &mut draft, &inputs)?;
    let sharing = draft.changed(project::PRIVACY)
        || draft.changed(project::OWNER)
        || draft.changed(project::SHARE_ACCESS);
    // The owner has all access, so only who has it may name another.
    let owner = draft.changed(project::OWNER) || draft.changed(project::SHARE_ACCESS);
    let least = if owner || node.get(project::SHARE_ACCESS).as_deref() == Some("admin") {
        Level::Admin
    } else {
        Level::Editor
    };
    if sharing && view.level(node.gid) < least {
        return Err(Fault::forbidden(
            "You do not have permission to share this project.",
        ));
    }
    let mut work = call.work();
    if let Some(given) = inputs.get("team") {
        let name = match given {
            Given::Ref(team) => Some(crate::call::gid("team", team)?),
            _ => None,
        };
        let held = view.links(node.gid, rel::TEAM).iter().map(|edge| edge.dst);
        let moved = held.clone().ne(name);
        for team in held.filter(|_| moved) {
            work.unlink(node.gid, rel::TEAM, team);
        }
        if let Some(name) = name.filter(|_| moved) {
            let name = Ref::Gid(name);
            let team = call.named(view, "team", &name, &[Type::Team], Level::Editor)?;
            if team.home != node.home {
                return Err(Fault::field(
                    "team",
                    "Not a team of the project's workspace",
                ));
            }
            work.link(node.gid, rel::TEAM, team.gid, Place::Rank(0), None);
        }
    }
    if draft.changed_keys().next().is_some() || !work.changes.is_empty() {
        draft.set(project::MODIFIED_AT, work.now);
    }
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}
