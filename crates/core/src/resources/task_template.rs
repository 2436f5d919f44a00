//! Task templates: tasks kept as patterns for new ones in a project.
use super::{GID, RESOURCE_TYPE};
use crate::registry::{Field, Mentions, NAME_MAX, One, Opaque, Resource, Type};
use crate::time::Time;

/// Its display name.
pub const NAME: Field<str> = Field::text("name", NAME_MAX)
    .compact()
    .doc("The name of the template.");
/// The project it is used in.
pub const PROJECT: Field<One> =
    Field::inline("project", &[Type::Project]).doc("The project it is used in.");
/// The task it makes.
pub const TEMPLATE: Field<Opaque> = Field::json("template")
    .mentions(Mentions::Recipe("template"))
    .doc("The task it makes, with its subtasks.");
/// Who created it.
pub const CREATED_BY: Field<One> =
    Field::inline("created_by", &[Type::User]).doc("Who created it.");
/// When it was created.
pub const CREATED_AT: Field<Time> = Field::time("created_at").doc("When the template was created.");

/// The declaration.
pub static TASK_TEMPLATE: Resource = Resource {
    path: "task_templates",
    noun: "task template",
    read_scope: "task_templates:read",
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        PROJECT.def,
        TEMPLATE.def,
        CREATED_BY.def,
        CREATED_AT.def,
    ],
    ..Resource::of(Type::TaskTemplate, "task_template")
};
