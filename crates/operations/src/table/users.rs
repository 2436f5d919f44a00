//! Users, their task lists and favourites.
use crate::operation::inputs::{
    Deferred, Input, InputDef, InputPlace, InputReader, Named, OperationInput, path,
};
use crate::operation::rows::{computed_list, read, update};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListDefinition, ListRequest, Operation, get, list};
use crate::request_context::{RequestContext, format_ref};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::{resource, user};
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::storage::{
    EdgeEnd, ListSource, NodeRef, PageQuery, ReadQuery, ReadView, RowFilter,
};

/// Operations on users: a part of [`TABLES`](super::TABLES).
pub static USERS: &[Operation] = &[
    computed_list("getUsers", "/users", Type::User, &Description::new(users)).scope("users:read"),
    get("getUser", "/users/{user_gid}", Type::User)
        .scope("users:read")
        .query_token(),
    update(
        "updateUser",
        "/users/{user_gid}",
        Type::User,
        &Steps::new(update_user_needs, update_user),
    ),
    computed_list(
        "getFavoritesForUser",
        "/users/{user_gid}/favorites",
        Type::Project,
        &Description::new(favorites),
    )
    .scope("users:read"),
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
        &Steps::new(member_needs, member),
    )
    .scope("users:read"),
    update(
        "updateUserForWorkspace",
        "/workspaces/{workspace_gid}/users/{user_gid}",
        Type::User,
        &Steps::new(update_member_needs, update_member),
    ),
    read(
        "getUserTaskListForUser",
        "/users/{user_gid}/user_task_list",
        Type::UserTaskList,
        &Steps::new(task_list_needs, task_list),
    )
    .scope("tasks:read"),
    get(
        "getUserTaskList",
        "/user_task_lists/{user_task_list_gid}",
        Type::UserTaskList,
    )
    .scope("tasks:read"),
];

/// The workspace whose users are listed.
const WORKSPACE: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "Lists the users of this workspace. Without it the users of all workspaces of the user are listed.",
);
/// The team whose users are listed.
const TEAM: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "team",
    &[Type::Team],
    "Lists the users of this team.",
);
/// The names of the types of favorites.
const FAVORITES: &[&str] = &[
    "portfolio",
    "project",
    "tag",
    "task",
    "user",
    "project_template",
];
/// The types of favorites, in the order of [`FAVORITES`].
const FAVORITE_TYPES: &[Type] = &[
    Type::Portfolio,
    Type::Project,
    Type::Tag,
    Type::Task,
    Type::User,
    Type::ProjectTemplate,
];
const FAVORITE: Input<&'static str> = Input::word(
    InputPlace::Query,
    "resource_type",
    FAVORITES,
    "The type of the favorites.",
)
.required();
const FAVORITES_IN: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "The workspace of the favorites.",
)
.required();
const TASK_LIST_IN: Input<Named<Gid>> = Input::gid(
    InputPlace::Query,
    "workspace",
    &[Type::Workspace],
    "The workspace of the task list; a user has one in each.",
)
.required();
const CHANGED: Input<CheckedInputs> =
    Input::changed_record(Type::User, "The fields of the user to change.");

/// Inputs of a list of users.
struct ListUsers {
    workspace: Option<Named<Gid>>,
    team: Option<Named<Gid>>,
}

impl OperationInput for ListUsers {
    const INPUTS: &'static [&'static InputDef] = &[&WORKSPACE.def, &TEAM.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.optional(&WORKSPACE)?,
            team: inputs.optional(&TEAM)?,
        })
    }
}

fn users(call: &RequestContext<'_>, input: &ListUsers) -> Result<ListRequest, DomainError> {
    let mut want = call.read_query();
    let (from, anchor_name, anchor_types) = match (&input.workspace, &input.team) {
        (_, Some(team)) => {
            let anchor = want.add_ref(team.node);
            (
                ListSource::Edges {
                    anchor,
                    rel: rel::TEAM_MEMBERS,
                    dir: Direction::Out,
                    give: EdgeEnd::OtherEnd,
                },
                TEAM.def.name,
                TEAM.def.types(),
            )
        }
        (Some(workspace), None) => {
            let anchor = want.add_ref(workspace.node);
            (
                ListSource::Edges {
                    anchor,
                    rel: rel::WORKSPACES,
                    dir: Direction::In,
                    give: EdgeEnd::OtherEnd,
                },
                WORKSPACE.def.name,
                WORKSPACE.def.types(),
            )
        }
        (None, None) => (
            ListSource::InViewerWorkspaces { ty: Type::User },
            WORKSPACE.def.name,
            &[][..],
        ),
    };
    Ok(ListRequest {
        query: want,
        page: PageQuery::of(from, false, 0),
        computed: true,
        anchor: anchor_name,
        anchor_types,
        referenced: Vec::new(),
    })
}

/// A user, and the fields to change.
struct UpdateUser {
    user: Named<NodeRef>,
    fields: Deferred<CheckedInputs>,
}

impl OperationInput for UpdateUser {
    const INPUTS: &'static [&'static InputDef] = &[&path::USER.def, &CHANGED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            user: inputs.required(&path::USER)?,
            fields: inputs.deferred(&CHANGED),
        })
    }
}

fn update_user_needs(
    call: &RequestContext<'_>,
    input: &UpdateUser,
) -> Result<ReadQuery, DomainError> {
    Ok(call.read_query().node(input.user.node.clone()))
}

fn update_user(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateUser,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.user, Level::Viewer)?;
    if node.gid != call.user_gid() {
        return Err(DomainError::forbidden("You may only change your own user."));
    }
    let mut draft = Draft::edit(node);
    input.fields.get()?.fill(&user::USER, &mut draft);
    if draft.get(user::NAME).is_none_or(|n| n.trim().is_empty()) {
        return Err(DomainError::field("name", "Cannot be empty"));
    }
    let mut work = call.change_builder();
    work.save(&draft);
    Ok(Decision::about(work.changes, node.gid))
}

/// Inputs of a list of favorites.
struct ListFavorites {
    kind: &'static str,
    user: Named<NodeRef>,
    workspace: Deferred<Named<Gid>>,
}

impl OperationInput for ListFavorites {
    const INPUTS: &'static [&'static InputDef] =
        &[&FAVORITE.def, &path::USER.def, &FAVORITES_IN.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            kind: inputs.required(&FAVORITE)?,
            user: inputs.required(&path::USER)?,
            workspace: inputs.deferred(&FAVORITES_IN),
        })
    }
}

fn favorites(call: &RequestContext<'_>, input: &ListFavorites) -> Result<ListRequest, DomainError> {
    let kind = FAVORITE_TYPES.iter().copied();
    let kind = kind.map(resource).find(|kind| kind.name == input.kind);
    let user = input.user.node.clone();
    if user != NodeRef::Gid(call.user_gid()) {
        return Err(DomainError::forbidden(
            "You may only list your own favorites.",
        ));
    }
    let mut want = call.read_query();
    let anchor = want.add_ref(user);
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
    page.filters.extend(kind.map(|kind| RowFilter::Is(kind.ty)));
    let workspace = input.workspace.get()?;
    page.filters.push(RowFilter::InWorkspace(workspace.node));
    let listed = ListRequest {
        query: want,
        page,
        computed: false,
        anchor: path::USER.def.name,
        anchor_types: &[],
        referenced: Vec::new(),
    };
    Ok(listed.with_reference(workspace))
}

/// A user in a workspace.
struct Member {
    user: Named<NodeRef>,
    workspace: Named<Gid>,
}

impl OperationInput for Member {
    const INPUTS: &'static [&'static InputDef] = &[&path::WORKSPACE.def, &path::USER.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            user: inputs.required(&path::USER)?,
            workspace: inputs.required(&path::WORKSPACE)?,
        })
    }
}

fn member_needs(call: &RequestContext<'_>, input: &Member) -> Result<ReadQuery, DomainError> {
    let query = call.read_query().node(input.workspace.node);
    Ok(query.edges(input.user.node.clone(), rel::WORKSPACES))
}

fn member(call: &RequestContext<'_>, view: &ReadView, input: &Member) -> Result<Gid, DomainError> {
    user_in_workspace(call, view, &input.user, &input.workspace)
}

/// Returns a user, if the user belongs to the workspace.
fn user_in_workspace(
    call: &RequestContext<'_>,
    view: &ReadView,
    user: &Named<NodeRef>,
    workspace: &Named<Gid>,
) -> Result<Gid, DomainError> {
    let workspace = call.named_node(view, workspace, Level::Viewer)?;
    let user = call.named_node(view, user, Level::Viewer)?;
    match view.link(user.gid, rel::WORKSPACES, workspace.gid) {
        Some(_) => Ok(user.gid),
        None => Err(DomainError::not_found("user", user.gid)),
    }
}

/// A user in a workspace, and the fields to change.
struct UpdateMember {
    update: UpdateUser,
    workspace: Named<Gid>,
}

impl OperationInput for UpdateMember {
    const INPUTS: &'static [&'static InputDef] =
        &[&path::WORKSPACE.def, &path::USER.def, &CHANGED.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            update: UpdateUser::read(inputs)?,
            workspace: inputs.required(&path::WORKSPACE)?,
        })
    }
}

fn update_member_needs(
    call: &RequestContext<'_>,
    input: &UpdateMember,
) -> Result<ReadQuery, DomainError> {
    let query = call.read_query().node(input.workspace.node);
    Ok(query.edges(input.update.user.node.clone(), rel::WORKSPACES))
}

fn update_member(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateMember,
) -> Result<Decision, DomainError> {
    user_in_workspace(call, view, &input.update.user, &input.workspace)?;
    update_user(call, view, &input.update)
}

/// Inputs of the task list of a user.
struct UserTaskList {
    workspace: Named<Gid>,
    user: Named<NodeRef>,
}

impl OperationInput for UserTaskList {
    const INPUTS: &'static [&'static InputDef] = &[&path::USER.def, &TASK_LIST_IN.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.required(&TASK_LIST_IN)?,
            user: inputs.required(&path::USER)?,
        })
    }
}

impl UserTaskList {
    /// Returns a reference to the task list.
    fn list(&self) -> NodeRef {
        NodeRef::TaskList {
            user: Box::new(self.user.node.clone()),
            within_workspace_of: Box::new(self.workspace.node_ref()),
        }
    }
}

fn task_list_needs(
    call: &RequestContext<'_>,
    input: &UserTaskList,
) -> Result<ReadQuery, DomainError> {
    Ok(call
        .read_query()
        .node(input.user.node.clone())
        .node(input.workspace.node)
        .node(input.list()))
}

fn task_list(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UserTaskList,
) -> Result<Gid, DomainError> {
    call.named_node(view, &input.user, Level::Viewer)?;
    call.named_node(view, &input.workspace, Level::Viewer)?;
    let list = input.list();
    let found = view.resolve(&list).and_then(|g| view.node(g));
    match found.filter(|n| call.is_visible(view, n)) {
        Some(node) => {
            crate::request_context::require_level(view, node, Level::Viewer).map(|()| node.gid)
        }
        None => Err(DomainError::not_found("user_task_list", format_ref(&list))),
    }
}

#[cfg(test)]
mod tests;
