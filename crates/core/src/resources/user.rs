//! Users: people with an account.
use super::{GID, RESOURCE_TYPE};
use crate::registry::{Dir, Field, Many, NAME_MAX, Opaque, Resource, Shape, Source, Type, rel};

/// The display name; each user may change their own.
pub const NAME: Field<str> = Field::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the user.");
/// The e-mail address, lower-case, unique.
pub const EMAIL: Field<str> = Field::text("email", 320).doc("The e-mail address of the user.");
/// Always null: photos are not kept.
pub const PHOTO: Field<Opaque> = Field::other("photo", Shape::Json, Source::Always("null"))
    .doc("URLs of the photo by size, or null.");
/// Workspaces the user belongs to; the projection keeps those shared with the viewer.
pub const WORKSPACES: Field<Many> =
    Field::edges("workspaces", &[Type::Workspace], rel::WORKSPACES, Dir::Out)
        .doc("The workspaces the user shares with the viewer.");
/// Custom field values of the user.
pub const CUSTOM_FIELDS: Field<Opaque> =
    Field::other("custom_fields", Shape::Json, Source::Always("[]"))
        .no_custom_fields()
        .doc("Custom field values of the user.");

/// The declaration.
pub static USER: Resource = Resource {
    path: "users",
    read_scope: "users:read",
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        EMAIL.def,
        PHOTO.def,
        WORKSPACES.def,
        CUSTOM_FIELDS.def,
    ],
    ..Resource::of(Type::User, "user")
};
