//! Enum options: what can be chosen in enum and multi_enum custom fields.
use super::{GID, RESOURCE_TYPE};
use crate::registry::{Field, NAME_MAX, One, Resource, Type};

/// Its display name.
pub const NAME: Field<str> = Field::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the option.");
/// It can be chosen.
pub const ENABLED: Field<bool> = Field::flag("enabled")
    .default("true")
    .head()
    .writable()
    .doc("Whether the option can be chosen; values that have it keep it.");
/// Display colour.
pub const COLOR: Field<str> = Field::text("color", 64)
    .default("\"none\"")
    .head()
    .writable()
    .doc("The display colour.");
/// The custom field; not part of the public record.
pub const CUSTOM_FIELD: Field<One> = Field::inline("custom_field", &[Type::CustomField]);

/// The declaration.
pub static ENUM_OPTION: Resource = Resource {
    path: "enum_options",
    noun: "enum option",
    read_scope: "custom_fields:read",
    fields: &[GID.def, RESOURCE_TYPE.def, NAME.def, ENABLED.def, COLOR.def],
    ..Resource::of(Type::EnumOption, "enum_option")
};
