//! Roles: the standard roles of memberships, and other roles that workspace admins describe.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{
    FieldSource, LinkOne, NAME_MAX, Opaque, Resource, TEXT_MAX, Type, TypedField, ValueType,
};
use crate::model::time::Time;

/// Values of `base_role_type`.
pub const BASES: &[&str] = &["guest", "member", "admin", "super_admin"];

/// Name of the role.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the role.");
/// Description of the role.
pub const DESCRIPTION: TypedField<str> = TypedField::text("description", TEXT_MAX)
    .compact()
    .writable()
    .doc("The description as plain text.");
/// True if the role is a standard one.
pub const IS_STANDARD: TypedField<bool> = TypedField::flag("is_standard_role")
    .compact()
    .constant()
    .doc("True if the role is one that memberships have; false for roles that were created.");
/// Time at which the role was created.
pub const CREATED_AT: TypedField<Time> =
    TypedField::time("creation_time").doc("Time of its creation; null for standard roles.");
/// Time of the last change of the role.
pub const MODIFIED_AT: TypedField<Time> =
    TypedField::time("modified_at").doc("Time of its last change; null for standard roles.");
/// Role on which it is based.
pub const BASE: TypedField<str> = TypedField::word("base_role_type", BASES, "\"member\"")
    .writable()
    .doc("The role on which it is based.");
const PERMISSIONS: TypedField<Opaque> =
    TypedField::other("permissions", ValueType::Json, FieldSource::Always("{}"))
        .default("{}")
        .constant()
        .doc("The permissions: always empty, since rights follow from memberships alone.");
const WORKSPACE: TypedField<LinkOne> = TypedField::workspace("workspace")
    .doc("The workspace of the role; null for standard roles, which all workspaces have.");

/// Declaration of roles.
pub static ROLE: Resource = Resource {
    path: "roles",
    read_scope: "roles:read",
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        DESCRIPTION.def,
        IS_STANDARD.def,
        CREATED_AT.def,
        MODIFIED_AT.def,
        BASE.def,
        PERMISSIONS.def,
        WORKSPACE.def,
    ],
    ..Resource::of(Type::Role, "role")
};
