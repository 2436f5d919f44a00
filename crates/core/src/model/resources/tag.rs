//! Tags: labels on tasks across projects.
use super::{GID, PERMALINK, RESOURCE_TYPE, TAG_COLORS};
use crate::model::registry::{
    Direction, LinkMany, LinkOne, NAME_MAX, Resource, TEXT_MAX, Type, TypedField, rel,
};
use crate::model::time::Time;

/// Display name of the tag.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the tag.");
/// Display colour.
pub const COLOR: TypedField<str> = TypedField::word_or_null("color", TAG_COLORS)
    .writable()
    .doc("The display colour, or null.");
/// Description as plain text.
pub const NOTES: TypedField<str> = TypedField::text("notes", TEXT_MAX)
    .writable()
    .doc("The description as plain text.");
/// Time at which the tag was created.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("created_at").doc("Time of creation, in UTC.");
/// Users who follow the tag.
pub const FOLLOWERS: TypedField<LinkMany> = TypedField::edges(
    "followers",
    &[Type::User],
    rel::TAG_FOLLOWERS,
    Direction::Out,
)
.on_create()
.doc("The users following the tag.");
/// Workspace of the tag.
pub const WORKSPACE: TypedField<LinkOne> = TypedField::workspace("workspace")
    .on_create()
    .doc("The workspace the tag belongs to.");

/// Declaration of tags.
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
