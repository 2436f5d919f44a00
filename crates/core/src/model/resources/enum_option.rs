//! Enum options: the choices of enum and multi_enum custom fields.
use super::{GID, RESOURCE_TYPE};
use crate::model::registry::{LinkOne, NAME_MAX, Resource, Type, TypedField};

/// Display name of the option.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the option, shown as the value.");
/// True if it can be chosen.
pub const ENABLED: TypedField<bool> = TypedField::flag("enabled")
    .default("true")
    .head()
    .writable()
    .doc("True if the option can be chosen; values that already have it keep it.");
/// Display colour, one of a set of words.
pub const COLOR: TypedField<str> = TypedField::text("color", 64)
    .default("\"none\"")
    .head()
    .writable()
    .doc("The display colour of the option.");
/// Custom field of the option; not part of the public record.
pub const CUSTOM_FIELD: TypedField<LinkOne> =
    TypedField::inline("custom_field", &[Type::CustomField]);

/// Declaration of enum options.
pub static ENUM_OPTION: Resource = Resource {
    path: "enum_options",
    noun: "enum option",
    read_scope: "custom_fields:read",
    fields: &[GID.def, RESOURCE_TYPE.def, NAME.def, ENABLED.def, COLOR.def],
    ..Resource::of(Type::EnumOption, "enum_option")
};
