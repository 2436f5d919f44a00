//! Users, their task lists and favourites.
use crate::call::{Call, show};
use crate::driver::page;
use crate::operation::{
    Decision, Listed, Lists, Operation, get, page as list, page_of, read, update,
};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Filter, Give, Listing, Ref, View, Want};
use workgraph_core::registry::{Dir, Type, rel};
use workgraph_core::resources::user;

/// The rows.
pub static USERS: &[Operation] = &[
    page_of("getUsers", "/users", Type::User, users)
        .scope("users:read")
        .filters(&["workspace", "team"]),
    get("getUser", "/users/{user_gid}", Type::User)
        .scope("users:read")
        .query_token(),
    update("updateUser", "/users/{user_gid}", Type::User, needs, rename),
    page_of(
        "getFavoritesForUser",
        "/users/{user_gid}/favorites",
        Type::Project,
        favorites,
    )
    .scope("users:read")
    .query(&["resource_type", "workspace"]),
    list(
        "getUsersForTeam",
        "/teams/{team_gid}/users",
        Type::User,
        Lists::Alphabetical(rel::TEAM_MEMBERS, Dir::Out),
    )
    .scope("users:read"),
    list(
        "getUsersForWorkspace",
        "/workspaces/{workspace_gid}/users",
        Type::User,
        Lists::Alphabetical(rel::WORKSPACES, Dir::In),
    )
    .scope("users:read"),
    read(
        "getUserForWorkspace",
        "/workspaces/{workspace_gid}/users/{user_gid}",
        Type::User,
        seat_needs,
        in_workspace,
    )
    .scope("users:read"),
    update(
        "updateUserForWorkspace",
        "/workspaces/{workspace_gid}/users/{user_gid}",
        Type::User,
        seat_needs,
        rename_in_workspace,
    ),
    read(
        "getUserTaskListForUser",
        "/users/{user_gid}/user_task_list",
        Type::UserTaskList,
        list_needs,
        list_of,
    )
    .scope("tasks:read")
    .query(&["workspace"]),
    get(
        "getUserTaskList",
        "/user_task_lists/{user_task_list_gid}",
        Type::UserTaskList,
    )
    .scope("tasks:read"),
];

fn users(call: &Call<'_>) -> Result<Listed, Fault> {
    let mut want = call.want();
    let (workspace, team) = (call.query_gid("workspace")?, call.query_gid("team")?);
    let (from, anchor_name, anchor_types) = match (workspace, team) {
        (_, Some(team)) => {
            let anchor = want.add(Ref::Gid(team));
            (
                Listing::Edges {
                    anchor,
                    rel: rel::TEAM_MEMBERS,
                    dir: Dir::Out,
                    give: Give::Far,
                },
                "team",
                &[Type::Team][..],
            )
        }
        (Some(workspace), None) => {
            let anchor = want.add(Ref::Gid(workspace));
            (
                Listing::Edges {
                    anchor,
                    rel: rel::WORKSPACES,
                    dir: Dir::In,
                    give: Give::Far,
                },
                "workspace",
                &[Type::Workspace][..],
            )
        }
        (None, None) => (Listing::Homes { ty: Type::User }, "workspace", &[][..]),
    };
    Ok(Listed {
        want,
        page: page(from, false),
        computed: true,
        anchor: anchor_name,
        anchor_types,
    })
}

fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    Ok(call.want().node(call.path("user_gid")?))
}

fn rename(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "user_gid", Level::Viewer)?;
    if node.gid != call.me() {
        return Err(Fault::forbidden("You may only change your own user."));
    }
    let mut draft = Draft::edit(node);
    call.inputs(Type::User, false)?
        .fill(&user::USER, &mut draft);
    if draft.get(user::NAME).is_none_or(|n| n.trim().is_empty()) {
        return Err(Fault::field("name", "Cannot be empty"));
    }
    let mut work = call.work();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn favorites(call: &Call<'_>) -> Result<Listed, Fault> {
    const KINDS: &[(&str, Option<Type>)] = &[
        ("portfolio", None),
        ("project", Some(Type::Project)),
        ("tag", Some(Type::Tag)),
        ("task", Some(Type::Task)),
        ("user", Some(Type::User)),
        ("project_template", None),
    ];
    let asked = call.query("resource_type")?.unwrap_or_default();
    let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == asked) else {
        let names: Vec<&str> = KINDS.iter().map(|(n, _)| *n).collect();
        let shown = workgraph_core::check::clip(asked);
        return Err(Fault::field(
            "resource_type",
            format_args!(
                "Not a recognized value: {shown}; it is one of {}",
                names.join(", ")
            ),
        ));
    };
    let who = call.path("user_gid")?;
    if who != Ref::Gid(call.me()) {
        return Err(Fault::forbidden("You may only list your own favorites."));
    }
    let mut want = call.want();
    let anchor = want.add(who);
    let mut page = page(
        Listing::Edges {
            anchor,
            rel: rel::FAVORITES,
            dir: Dir::Out,
            give: Give::Far,
        },
        false,
    );
    page.filters.extend(kind.map(Filter::Is));
    page.filters
        .extend(call.query_gid("workspace")?.map(Filter::Home));
    Ok(Listed {
        want,
        page,
        computed: false,
        anchor: "user_gid",
        anchor_types: &[Type::User],
    })
}

fn seat_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let who = call.path("user_gid")?;
    Ok(call
        .want()
        .node(call.path("workspace_gid")?)
        .edges(who, rel::WORKSPACES))
}

fn in_workspace(call: &Call<'_>, view: &View) -> Result<Gid, Fault> {
    let place = call.target(view, "workspace_gid", Level::Viewer)?;
    let who = call.target(view, "user_gid", Level::Viewer)?;
    match view.link(who.gid, rel::WORKSPACES, place.gid) {
        Some(_) => Ok(who.gid),
        None => Err(Fault::unknown("user", who.gid)),
    }
}

fn rename_in_workspace(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    in_workspace(call, view)?;
    rename(call, view)
}

fn list_ref(call: &Call<'_>) -> Result<Ref, Fault> {
    let near = call
        .query_gid("workspace")?
        .ok_or_else(|| Fault::missing("workspace"))?;
    Ok(Ref::TaskList {
        user: Box::new(call.path("user_gid")?),
        near: Box::new(Ref::Gid(near)),
    })
}

fn list_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let near = call
        .query_gid("workspace")?
        .ok_or_else(|| Fault::missing("workspace"))?;
    Ok(call
        .want()
        .node(call.path("user_gid")?)
        .node(near)
        .node(list_ref(call)?))
}

fn list_of(call: &Call<'_>, view: &View) -> Result<Gid, Fault> {
    let near = call
        .query_gid("workspace")?
        .ok_or_else(|| Fault::missing("workspace"))?;
    call.target(view, "user_gid", Level::Viewer)?;
    call.named(
        view,
        "workspace",
        &Ref::Gid(near),
        &[Type::Workspace],
        Level::Viewer,
    )?;
    let list = list_ref(call)?;
    let found = view.resolve(&list).and_then(|g| view.node(g));
    match found.filter(|n| call.shows(view, n)) {
        Some(node) => crate::call::allowed(view, node, Level::Viewer).map(|()| node.gid),
        None => Err(Fault::unknown("user_task_list", show(&list))),
    }
}
