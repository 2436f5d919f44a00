//! Project templates: projects kept as patterns for new ones.
use super::{GID, PROJECT_COLORS, RESOURCE_TYPE};
use crate::registry::{
    Dir, Field, Mentions, NAME_MAX, One, Opaque, Resource, Shape, Source, TEXT_MAX, Type, rel,
};
use crate::rich::Flavor;

/// Its display name.
pub const NAME: Field<str> = Field::text("name", NAME_MAX)
    .compact()
    .doc("The name of the template.");
/// Description as plain text.
pub const DESCRIPTION: Field<str> = Field::text("description", TEXT_MAX)
    .mentions(Mentions::Links("html_description"))
    .doc("The description as plain text.");
/// Description as rich text.
pub const HTML_DESCRIPTION: Field<str> =
    Field::html("html_description").doc("The description as rich text.");
/// Open to the workspace.
pub const PUBLIC: Field<bool> =
    Field::flag("public").doc("Whether the whole workspace may use it.");
/// Who is responsible.
pub const OWNER: Field<One> =
    Field::inline("owner", &[Type::User]).doc("The user responsible for it, or null.");
/// The team it is shared with.
pub const TEAM: Field<One> =
    Field::edge("team", &[Type::Team], rel::TEMPLATE_TEAM).doc("The team it is shared with.");
/// The dates to be given for a new project.
pub const REQUESTED_DATES: Field<Opaque> = Field::other(
    "requested_dates",
    Shape::Json,
    Source::Stored("requested_dates"),
)
.default("[]")
.doc("The dates to be given for a new project: gid, name and description of each.");
/// Display colour.
pub const COLOR: Field<str> =
    Field::word_or_null("color", PROJECT_COLORS).doc("The display colour.");
/// The roles to be filled in a new project.
pub const REQUESTED_ROLES: Field<Opaque> = Field::other(
    "requested_roles",
    Shape::Json,
    Source::Stored("requested_roles"),
)
.default("[]")
.doc("The roles to be filled in a new project: gid and name of each.");
/// What the pattern keeps besides: a [`Frozen`](crate::jobs::freezing::Frozen). Not part of the
/// public record.
pub const FROZEN: Field<Opaque> = Field::json("frozen").opt_in();

/// The declaration.
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

/// A task of a template. It is kept like a task, but in no list, search or feed of tasks.
pub static RECIPE: Resource = Resource {
    path: "task_template_recipes",
    noun: "recipe",
    read_scope: "project_templates:read",
    flavor: Flavor::Task,
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
    ..Resource::of(Type::Recipe, "task_template_recipe")
};

/// The tags that a copy gets: other edges than those by which a tag lists its tasks.
const TAGS: Field<crate::registry::Many> =
    Field::edges("tags", &[Type::Tag], rel::RECIPE_TAGS, Dir::Out);
