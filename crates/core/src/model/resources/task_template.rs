//! Task templates: patterns for new tasks in a project.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{LinkOne, MentionRule, NAME_MAX, Opaque, Resource, Type, TypedField};
use crate::model::time::Time;

/// Display name of the task template.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .doc("The name of the template, and of tasks made without one of their own.");
/// The project it is used in.
pub const PROJECT: TypedField<LinkOne> = TypedField::inline("project", &[Type::Project])
    .doc("The project in which the template is offered.");
/// Recipe of the task that it makes.
pub const TEMPLATE: TypedField<Opaque> = TypedField::json("template")
    .mentions(MentionRule::Recipe("template"))
    .doc("The task that the template makes, with its subtasks.");
/// User who created the task template.
pub const CREATED_BY: TypedField<LinkOne> =
    TypedField::inline("created_by", &[Type::User]).doc("The user who created the template.");
/// Time at which the task template was created.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("Time of creation, in UTC.");

/// Declaration of task templates.
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
