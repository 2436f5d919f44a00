//! Users: people with an account.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{
    Direction, FieldSource, LinkMany, NAME_MAX, Opaque, Resource, Type, TypedField, ValueType, rel,
};

/// The display name; each user may change their own.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The full name of the user.");
/// The e-mail address, lower-case, unique.
pub const EMAIL: TypedField<str> =
    TypedField::text("email", 320).doc("The e-mail address of the user.");
/// Always null: photos are not kept.
pub const PHOTO: TypedField<Opaque> =
    TypedField::other("photo", ValueType::Json, FieldSource::Always("null"))
        .doc("Addresses of the photo by size, or null.");
/// Workspaces of the user; the projection sends only workspaces that the viewer shares.
pub const WORKSPACES: TypedField<LinkMany> = TypedField::edges(
    "workspaces",
    &[Type::Workspace],
    rel::WORKSPACES,
    Direction::Out,
)
.doc("The workspaces the user shares with the viewer.");
/// Custom field values of the user.
pub const CUSTOM_FIELDS: TypedField<Opaque> =
    TypedField::other("custom_fields", ValueType::Json, FieldSource::Always("[]"))
        .no_custom_fields()
        .doc("The custom field values of the user.");

/// Declaration of users.
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
