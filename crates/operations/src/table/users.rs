//! Users, their task lists and favourites.
use crate::operation::{
    Decision, ListDefinition, ListRequest, Operation, computed_list, get, list, read, update,
};
use crate::request_context::{RequestContext, format_ref};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::user;
use workgraph_core::storage::{
    EdgeEnd, ListSource, NodeRef, PageQuery, ReadQuery, ReadView, RowFilter,
};

/// Operations on users.
pub static USERS: &[Operation] = &[
    computed_list("getUsers", "/users", Type::User, users)
        .scope("users:read")
        .filters(&["workspace", "team"]),
    get("getUser", "/users/{user_gid}", Type::User)
        .scope("users:read")
        .query_token(),
    update("updateUser", "/users/{user_gid}", Type::User, needs, rename),
    computed_list(
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
        ListDefinition::Alphabetical(rel::TEAM_MEMBERS, Direction::Out),
    )
    .scope("users:read"),
    list(
        "getUsersForWorkspace",
        "/workspaces/{workspace_gid}/users",
        Type::User,
        ListDefinition::Alphabetical(rel::WORKSPACES, Direction::In),
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

fn users(call: &RequestContext<'_>) -> Result<ListRequest, DomainError> {
    let mut want = call.read_query();
    let (workspace, team) = (call.query_gid("workspace")?, call.query_gid("team")?);
    let (from, anchor_name, anchor_types) = match (workspace, team) {
        (_, Some(team)) => {
            let anchor = want.add_ref(NodeRef::Gid(team));
            (
                ListSource::Edges {
                    anchor,
                    rel: rel::TEAM_MEMBERS,
                    dir: Direction::Out,
                    give: EdgeEnd::OtherEnd,
                },
                "team",
                &[Type::Team][..],
            )
        }
        (Some(workspace), None) => {
            let anchor = want.add_ref(NodeRef::Gid(workspace));
            (
                ListSource::Edges {
                    anchor,
                    rel: rel::WORKSPACES,
                    dir: Direction::In,
                    give: EdgeEnd::OtherEnd,
                },
                "workspace",
                &[Type::Workspace][..],
            )
        }
        (None, None) => (
            ListSource::InViewerWorkspaces { ty: Type::User },
            "workspace",
            &[][..],
        ),
    };
    Ok(ListRequest {
        query: want,
        page: PageQuery::of(from, false, 0),
        computed: true,
        anchor: anchor_name,
        anchor_types,
    })
}

fn needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    Ok(call.read_query().node(call.path_ref("user_gid")?))
}

fn rename(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let node = call.path_node(view, "user_gid", Level::Viewer)?;
    if node.gid != call.user_gid() {
        return Err(DomainError::forbidden("You may only change your own user."));
    }
    let mut draft = Draft::edit(node);
    call.inputs(Type::User, false)?
        .fill(&user::USER, &mut draft);
    if draft.get(user::NAME).is_none_or(|n| n.trim().is_empty()) {
        return Err(DomainError::field("name", "Cannot be empty"));
    }
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

fn favorites(call: &RequestContext<'_>) -> Result<ListRequest, DomainError> {
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
        let shown = workgraph_core::model::validate::clip(asked);
        return Err(DomainError::field(
            "resource_type",
            format_args!(
                "Not a recognized value: {shown}; it is one of {}",
                names.join(", ")
            ),
        ));
    };
    let who = call.path_ref("user_gid")?;
    if who != NodeRef::Gid(call.user_gid()) {
        return Err(DomainError::forbidden(
            "You may only list your own favorites.",
        ));
    }
    let mut want = call.read_query();
    let anchor = want.add_ref(who);
    let mut page = PageQuery::of(
        ListSource::Edges {
            anchor,
            rel: rel::FAVORITES,
            dir: Direction::Out,
            give: EdgeEnd::OtherEnd,
        },
        false,
        0,
    );
    page.filters.extend(kind.map(RowFilter::Is));
    page.filters
        .extend(call.query_gid("workspace")?.map(RowFilter::InWorkspace));
    Ok(ListRequest {
        query: want,
        page,
        computed: false,
        anchor: "user_gid",
        anchor_types: &[Type::User],
    })
}

fn seat_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let who = call.path_ref("user_gid")?;
    Ok(call
        .read_query()
        .node(call.path_ref("workspace_gid")?)
        .edges(who, rel::WORKSPACES))
}

fn in_workspace(call: &RequestContext<'_>, view: &ReadView) -> Result<Gid, DomainError> {
    let place = call.path_node(view, "workspace_gid", Level::Viewer)?;
    let who = call.path_node(view, "user_gid", Level::Viewer)?;
    match view.link(who.gid, rel::WORKSPACES, place.gid) {
        Some(_) => Ok(who.gid),
        None => Err(DomainError::not_found("user", who.gid)),
    }
}

fn rename_in_workspace(
    call: &RequestContext<'_>,
    view: &ReadView,
) -> Result<Decision, DomainError> {
    in_workspace(call, view)?;
    rename(call, view)
}

fn list_ref(call: &RequestContext<'_>) -> Result<NodeRef, DomainError> {
    let near = call
        .query_gid("workspace")?
        .ok_or_else(|| DomainError::missing("workspace"))?;
    Ok(NodeRef::TaskList {
        user: Box::new(call.path_ref("user_gid")?),
        within_workspace_of: Box::new(NodeRef::Gid(near)),
    })
}

fn list_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let near = call
        .query_gid("workspace")?
        .ok_or_else(|| DomainError::missing("workspace"))?;
    Ok(call
        .read_query()
        .node(call.path_ref("user_gid")?)
        .node(near)
        .node(list_ref(call)?))
}

fn list_of(call: &RequestContext<'_>, view: &ReadView) -> Result<Gid, DomainError> {
    let near = call
        .query_gid("workspace")?
        .ok_or_else(|| DomainError::missing("workspace"))?;
    call.path_node(view, "user_gid", Level::Viewer)?;
    call.resolve_ref(
        view,
        "workspace",
        &NodeRef::Gid(near),
        &[Type::Workspace],
        Level::Viewer,
    )?;
    let list = list_ref(call)?;
    let found = view.resolve(&list).and_then(|g| view.node(g));
    match found.filter(|n| call.is_visible(view, n)) {
        Some(node) => {
            crate::request_context::require_level(view, node, Level::Viewer).map(|()| node.gid)
        }
        None => Err(DomainError::not_found("user_task_list", format_ref(&list))),
    }
}
