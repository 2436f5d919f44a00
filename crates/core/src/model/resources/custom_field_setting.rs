//! Custom field settings: the custom fields of the tasks of a project or a user task list, of the items of a portfolio,
//! and of a goal.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{Inclusion, LinkOne, Resource, Type, TypedField};

/// Old name of `parent`.
pub const PROJECT: TypedField<LinkOne> = TypedField::inline("project", &[Type::Project])
    .stored_as("parent")
    .compact()
    .doc("Old name of parent.");
/// True if the field is shown as a column.
pub const IS_IMPORTANT: TypedField<bool> = TypedField::flag("is_important")
    .compact()
    .doc("True if the field is shown as a column of the list.");
/// Project, task list, portfolio or goal that has the field.
pub const PARENT: TypedField<LinkOne> = TypedField::inline(
    "parent",
    &[
        Type::Project,
        Type::UserTaskList,
        Type::Portfolio,
        Type::Goal,
    ],
)
.compact()
.doc("The project or task list whose tasks have the field, the portfolio whose items do, or the goal.");
/// Custom field of the setting.
pub const CUSTOM_FIELD: TypedField<LinkOne> =
    TypedField::inline("custom_field", &[Type::CustomField])
        .record(Inclusion::Full)
        .compact()
        .doc("The custom field, as a definition without values.");

/// Declaration of custom field settings.
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
