//! User task lists: the tasks assigned to a user in a workspace.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{LinkOne, NAME_MAX, Resource, Type, TypedField};

/// Display name of the task list.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .doc("The name of the list, with that of the workspace.");
/// User to whom the tasks of the list are assigned.
pub const OWNER: TypedField<LinkOne> = TypedField::inline("owner", &[Type::User])
    .compact()
    .doc("The user whose list it is.");
/// Workspace of the task list.
pub const WORKSPACE: TypedField<LinkOne> = TypedField::workspace("workspace")
    .compact()
    .doc("The workspace the list belongs to.");

/// Declaration of user task lists.
pub static USER_TASK_LIST: Resource = Resource {
    path: "user_task_lists",
    noun: "user task list",
    read_scope: "tasks:read",
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        OWNER.def,
        WORKSPACE.def,
    ],
    ..Resource::of(Type::UserTaskList, "user_task_list")
};
