//! Custom field settings: which custom fields the tasks of a project or a user task list have.
use super::{GID, RESOURCE_TYPE};
use crate::registry::{Field, One, Rep, Resource, Type};

/// Old name of `parent`.
pub const PROJECT: Field<One> = Field::inline("project", &[Type::Project])
    .stored_as("parent")
    .compact()
    .doc("Old name of parent.");
/// Shown as a column.
pub const IS_IMPORTANT: Field<bool> = Field::flag("is_important")
    .compact()
    .doc("Whether the field is shown as a column of the list.");
/// What has the field.
pub const PARENT: Field<One> = Field::inline("parent", &[Type::Project, Type::UserTaskList])
    .compact()
    .doc("The project or task list whose tasks have the field.");
/// The field.
pub const CUSTOM_FIELD: Field<One> = Field::inline("custom_field", &[Type::CustomField])
    .record(Rep::Full)
    .compact()
    .doc("The custom field, as a definition without values.");

/// The declaration.
pub static CUSTOM_FIELD_SETTING: Resource = Resource {
    path: "custom_field_settings",
    noun: "custom field setting",
    read_scope: "projects:read",
    title: None,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        PROJECT.def,
        IS_IMPORTANT.def,
        PARENT.def,
        CUSTOM_FIELD.def,
    ],
    ..Resource::of(Type::CustomFieldSetting, "custom_field_setting")
};
