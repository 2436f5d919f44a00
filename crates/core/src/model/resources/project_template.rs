//! Project templates: patterns for new projects.
use super::{GID, PROJECT_COLORS, RESOURCE_TYPE};
use crate::model::registry::{
    Direction, FieldSource, LinkOne, MentionRule, NAME_MAX, Opaque, Resource, TEXT_MAX, Type,
    TypedField, ValueType, rel,
};
use workgraph_richtext::RichTextProfile;

/// Display name of the project template.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .doc("The name of the template; new projects get names of their own.");
/// Description as plain text.
pub const DESCRIPTION: TypedField<str> = TypedField::text("description", TEXT_MAX)
    .mentions(MentionRule::Links("html_description"))
    .doc("The description as plain text.");
/// Description as rich text.
pub const HTML_DESCRIPTION: TypedField<str> =
    TypedField::html("html_description").doc("The description as rich text.");
/// True if the workspace sees the template.
pub const PUBLIC: TypedField<bool> =
    TypedField::flag("public").doc("True if the whole workspace may use the template.");
/// User who is responsible.
pub const OWNER: TypedField<LinkOne> = TypedField::inline("owner", &[Type::User])
    .doc("The user responsible for the template, or null.");
/// Team that the project template is shared with.
pub const TEAM: TypedField<LinkOne> = TypedField::edge("team", &[Type::Team], rel::TEMPLATE_TEAM)
    .doc("The team the template is shared with.");
/// Dates to be given for a new project.
pub const REQUESTED_DATES: TypedField<Opaque> = TypedField::other(
    "requested_dates",
    ValueType::Json,
    FieldSource::Stored("requested_dates"),
)
.default("[]")
.doc("The dates to be given for a new project: gid, name and description of each.");
/// Display colour.
pub const COLOR: TypedField<str> = TypedField::word_or_null("color", PROJECT_COLORS)
    .doc("The display colour of projects made from it, or null.");
/// Roles to be filled in a new project.
pub const REQUESTED_ROLES: TypedField<Opaque> = TypedField::other(
    "requested_roles",
    ValueType::Json,
    FieldSource::Stored("requested_roles"),
)
.default("[]")
.mentions(MentionRule::Roles)
.doc("The roles to be filled in a new project: gid and name of each. A role is named after its user if the reader sees it.");
/// Other data of the template: a [`TemplateData`](crate::jobs::template_snapshot::TemplateData). Not part of the public
/// record.
pub const TEMPLATE_DATA: TypedField<Opaque> = TypedField::json("frozen").opt_in();

/// Declaration of project templates.
pub static PROJECT_TEMPLATE: Resource = Resource {
    path: "project_templates",
    noun: "project template",
    read_scope: "project_templates:read",
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        DESCRIPTION.def,
        HTML_DESCRIPTION.def,
        PUBLIC.def,
        OWNER.def,
        TEAM.def,
        REQUESTED_DATES.def,
        COLOR.def,
        REQUESTED_ROLES.def,
    ],
    ..Resource::of(Type::ProjectTemplate, "project_template")
};

/// Declaration of the tasks of a template. They are stored like tasks, but no list, search or event of tasks includes them.
pub static TEMPLATE_TASK: Resource = Resource {
    path: "task_template_recipes",
    noun: "recipe",
    read_scope: "project_templates:read",
    flavor: RichTextProfile::Task,
    subtype: true,
    fields: &{
        use super::task;
        [
            GID.def,
            RESOURCE_TYPE.def,
            task::NAME.def,
            task::SUBTYPE.def,
            task::NOTES.def,
            task::HTML_NOTES.def,
            task::IS_SEPARATOR.def,
            task::START_ON.def,
            task::START_AT.def,
            task::DUE_ON.def,
            task::DUE_AT.def,
            task::ASSIGNEE.def,
            task::CREATED_BY.def,
            task::DEPENDENCIES.def,
            task::FOLLOWERS.def,
            task::MEMBERSHIPS.def,
            task::CUSTOM_FIELDS.def,
            TAGS.def,
        ]
    },
    ..Resource::of(Type::TemplateTask, "task_template_recipe")
};

/// Tags that a copy gets. Their edges have a separate relation, so that a tag does not list tasks of templates.
const TAGS: TypedField<crate::model::registry::LinkMany> =
    TypedField::edges("tags", &[Type::Tag], rel::RECIPE_TAGS, Direction::Out);
