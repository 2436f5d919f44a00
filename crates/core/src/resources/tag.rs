//! Tags: labels on tasks across projects.
use super::{GID, PERMALINK, RESOURCE_TYPE, TAG_COLORS};
use crate::registry::{Dir, Field, Many, NAME_MAX, One, Resource, TEXT_MAX, Type, rel};
use crate::time::Time;

/// Its display name.
pub const NAME: Field<str> = Field::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the tag.");
/// Display colour.
pub const COLOR: Field<str> = Field::word_or_null("color", TAG_COLORS)
    .writable()
    .doc("The display colour.");
/// Description.
pub const NOTES: Field<str> = Field::text("notes", TEXT_MAX)
    .writable()
    .doc("The description as plain text.");
/// When it was created.
pub const CREATED_AT: Field<Time> = Field::time("created_at").doc("When the tag was created.");
/// Who follows it.
pub const FOLLOWERS: Field<Many> =
    Field::edges("followers", &[Type::User], rel::TAG_FOLLOWERS, Dir::Out)
        .on_create()
        .doc("Users following the tag.");
/// The workspace it belongs to.
pub const WORKSPACE: Field<One> = Field::home("workspace")
    .on_create()
    .doc("The workspace it belongs to.");

/// The declaration.
pub static TAG: Resource = Resource {
    path: "tags",
    read_scope: "tags:read",
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        COLOR.def,
        NOTES.def,
        CREATED_AT.def,
        FOLLOWERS.def,
        WORKSPACE.def,
        PERMALINK.def,
    ],
    ..Resource::of(Type::Tag, "tag")
};
