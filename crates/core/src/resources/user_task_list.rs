//! User task lists: what is assigned to a user in a workspace.
use super::{GID, RESOURCE_TYPE};
use crate::registry::{Field, NAME_MAX, One, Resource, Type};

/// Its display name.
pub const NAME: Field<str> = Field::text("name", NAME_MAX)
    .compact()
    .doc("The name of the list.");
/// Whose list it is.
pub const OWNER: Field<One> = Field::inline("owner", &[Type::User])
    .compact()
    .doc("The user whose list it is.");
/// The workspace it belongs to.
pub const WORKSPACE: Field<One> = Field::home("workspace")
    .compact()
    .doc("The workspace it belongs to.");

/// The declaration.
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
