//! Custom fields: their definitions, and their values in the records of tasks.
use super::{GID, RESOURCE_TYPE};
use crate::model::computed_field::ComputedFieldContext;
use crate::model::json_members::member;
use crate::model::node::{Node, decode_json_string};
use crate::model::registry::{
    CustomFieldType, Direction, FieldSource, LinkMany, LinkOne, NAME_MAX, Opaque, Resource,
    TEXT_MAX, Type, TypedField, ValuePart, ValueType, rel,
};

/// Longest text value, in characters.
pub const VALUE_MAX: u32 = 1024;
/// Maximum number of decimals of a shown number.
pub const PRECISION_MAX: i64 = 6;
/// Maximum number of options of one field, disabled ones included.
pub const OPTIONS_MAX: usize = 500;
/// Maximum number of custom fields of one project.
pub const FIELDS_MAX: usize = 20;

/// Display name of the custom field.
pub const NAME: TypedField<str> = TypedField::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the custom field, shown beside its values.");
/// Type of the values, such as `enum`.
pub const SUBTYPE: TypedField<str> =
    TypedField::word("resource_subtype", CustomFieldType::NAMES, "\"text\"")
        .compact()
        .on_create()
        .doc("The type of the custom field's values.");
/// Old name of `resource_subtype`.
pub const TYPE: TypedField<str> = TypedField::word("type", CustomFieldType::NAMES, "\"text\"")
    .stored_as("resource_subtype")
    .compact()
    .doc("Old name of resource_subtype.");
/// Options that a value may have, for enum and multi_enum fields.
pub const ENUM_OPTIONS: TypedField<LinkMany> = {
    let options = TypedField::edges(
        "enum_options",
        &[Type::EnumOption],
        rel::OPTION_OF,
        Direction::In,
    );
    options
        .compact()
        .applies_to(has_options)
        .doc("The options of an enum or multi_enum field, in their order.")
};
/// The type in its public form: formulas and automatic ids have their own words.
pub const REPRESENTATION: TypedField<Opaque> = TypedField::other(
    "representation_type",
    ValueType::Json,
    FieldSource::Computed(representation),
)
.compact()
.doc("The type to show: that of the field, or formula or custom_id.");
/// Prefix of the automatic ids, such as `ENG`.
pub const ID_PREFIX: TypedField<str> = TypedField::text_or_null("id_prefix", 64)
    .compact()
    .on_create()
    .doc("The prefix of automatic ids such as BUG-12; null for other fields.");
/// Types of objects that a reference may lead to.
pub const INPUT_RESTRICTIONS: TypedField<Opaque> = TypedField::json("input_restrictions")
    .default("[]")
    .compact()
    .writable()
    .applies_to(is_reference)
    .doc("The types of object that values of a reference field may name.");
/// True if its values are computed.
pub const IS_FORMULA: TypedField<bool> = TypedField::flag("is_formula_field")
    .compact()
    .on_create()
    .doc("True if values are computed by a formula.");
/// Purpose of the field, in plain text.
pub const DESCRIPTION: TypedField<str> = TypedField::text("description", TEXT_MAX)
    .with_value()
    .writable()
    .doc("The description as plain text.");
/// Number of decimals shown, 0 to [`PRECISION_MAX`].
pub const PRECISION: TypedField<i64> = TypedField::int("precision")
    .writable()
    .applies_to(is_number)
    .doc("Number of decimals shown, 0 to 6; for percentages, of the percentage.");
/// Display format of numbers.
pub const FORMAT: TypedField<str> = TypedField::word(
    "format",
    &[
        "currency",
        "identifier",
        "percentage",
        "custom",
        "duration",
        "none",
    ],
    "\"none\"",
)
.writable()
.doc("The format in which values are shown.");
/// Currency of the numbers, as an ISO 4217 code.
pub const CURRENCY: TypedField<str> = TypedField::text_or_null("currency_code", 3)
    .writable()
    .doc("The ISO 4217 code of the currency, if the format is currency.");
/// Label that is shown with the number.
pub const LABEL: TypedField<str> = TypedField::text_or_null("custom_label", 64)
    .writable()
    .doc("The label beside the number, if the format is custom.");
/// Position of the label: before or after the number.
pub const LABEL_POSITION: TypedField<str> =
    TypedField::word_or_null("custom_label_position", &["prefix", "suffix"])
        .writable()
        .doc("Position of the label, before or after the number, if the format is custom.");
/// True if the field is in the library of the workspace.
pub const IS_GLOBAL: TypedField<bool> = TypedField::flag("is_global_to_workspace")
    .default("true")
    .doc(
        "True if the field is in the library of the workspace; false if it was made for one \
             project.",
    );
/// True if followers of a task are notified of changes of its value.
pub const HAS_NOTIFICATIONS: TypedField<bool> = TypedField::flag("has_notifications_enabled")
    .writable()
    .doc("True if followers of a task are notified of changes to the value.");
/// Template from which the field was created; always null.
pub const ASANA_CREATED: TypedField<Opaque> = TypedField::other(
    "asana_created_field",
    ValueType::Json,
    FieldSource::Always("null"),
)
.doc("The token of a field that came from a built-in template.");
/// True if values cannot be written.
pub const IS_READ_ONLY: TypedField<Opaque> = TypedField::other(
    "is_value_read_only",
    ValueType::Flag,
    FieldSource::Computed(read_only),
)
.doc("True if values cannot be written by clients.");
/// User who created the custom field.
pub const CREATED_BY: TypedField<LinkOne> =
    TypedField::inline("created_by", &[Type::User]).doc("The user who created the field.");
/// Value that says who can see the field.
pub const PRIVACY: TypedField<str> = TypedField::word(
    "privacy_setting",
    &["public_with_guests", "public", "private"],
    "\"public_with_guests\"",
)
.writable()
.doc("The visibility of the field in the workspace.");
/// Access level of members of the workspace who have no membership of the field.
pub const DEFAULT_ACCESS: TypedField<str> = TypedField::word(
    "default_access_level",
    &["admin", "editor", "user"],
    "\"editor\"",
)
.writable()
.doc("Default right of workspace members on the field; user allows only setting values.");

const ENABLED: TypedField<Opaque> = TypedField::other(
    "enabled",
    ValueType::Flag,
    FieldSource::Value(ValuePart::Enabled),
)
.compact()
.doc("On values: true if a project of the task still has the field.");
const DATE_VALUE: TypedField<Opaque> = plain("date_value", CustomFieldType::Date)
    .doc("On values: the date as {date, date_time}, or null.");
const ENUM_VALUE: TypedField<Opaque> = linked(
    "enum_value",
    ValueType::One(&[Type::EnumOption]),
    CustomFieldType::Enum,
)
.doc("On values: the chosen option, or null.");
const MULTI_ENUM_VALUES: TypedField<Opaque> = linked(
    "multi_enum_values",
    ValueType::Many(&[Type::EnumOption]),
    CustomFieldType::MultiEnum,
)
.doc("On values: the chosen options.");
const NUMBER_VALUE: TypedField<Opaque> =
    plain("number_value", CustomFieldType::Number).doc("On values: the number, or null.");
const TEXT_VALUE: TypedField<Opaque> =
    plain("text_value", CustomFieldType::Text).doc("On values: the text, or null.");
const HTML_TEXT_VALUE: TypedField<Opaque> = TypedField::other(
    "html_text_value",
    ValueType::Html,
    FieldSource::Value(ValuePart::Html),
)
.opt_in()
.doc("On values: the text as HTML, or null.");
const PEOPLE_VALUE: TypedField<Opaque> = linked(
    "people_value",
    ValueType::Many(&[Type::User]),
    CustomFieldType::People,
)
.doc("On values: the chosen users.");
const REFERENCE_VALUE: TypedField<Opaque> = linked(
    "reference_value",
    ValueType::Many(REFERABLE),
    CustomFieldType::Reference,
)
.doc("On values: the chosen objects.");
const DISPLAY_VALUE: TypedField<Opaque> = TypedField::other(
    "display_value",
    ValueType::Json,
    FieldSource::Value(ValuePart::Display),
)
.compact()
.doc("On values: the value as one string, whatever the type, or null.");

const fn plain(name: &'static str, kind: CustomFieldType) -> TypedField<Opaque> {
    TypedField::other(
        name,
        ValueType::Json,
        FieldSource::Value(ValuePart::Plain(kind)),
    )
    .compact()
}
const fn linked(name: &'static str, shape: ValueType, kind: CustomFieldType) -> TypedField<Opaque> {
    TypedField::other(name, shape, FieldSource::Value(ValuePart::Linked(kind))).compact()
}

/// Types that references may lead to.
pub const REFERABLE: &[Type] = &[Type::Task, Type::Project, Type::Portfolio, Type::Goal];
/// Words that `input_restrictions` may have.
pub const RESTRICTIONS: &[&str] = &["task", "project", "portfolio", "goal"];

/// Declaration of custom fields. The parts of a definition come first, the parts of a value last: if many tasks have a field, the
/// first part is written once and copied.
pub static CUSTOM_FIELD: Resource = Resource {
    path: "custom_fields",
    noun: "custom field",
    read_scope: "custom_fields:read",
    subtype: true,
    fields: &[
        GID.def,
        RESOURCE_TYPE.def,
        NAME.def,
        SUBTYPE.def,
        TYPE.def,
        ENUM_OPTIONS.def,
        REPRESENTATION.def,
        ID_PREFIX.def,
        INPUT_RESTRICTIONS.def,
        IS_FORMULA.def,
        DESCRIPTION.def,
        PRECISION.def,
        FORMAT.def,
        CURRENCY.def,
        LABEL.def,
        LABEL_POSITION.def,
        IS_GLOBAL.def,
        HAS_NOTIFICATIONS.def,
        ASANA_CREATED.def,
        IS_READ_ONLY.def,
        CREATED_BY.def,
        PRIVACY.def,
        DEFAULT_ACCESS.def,
        ENABLED.def,
        DATE_VALUE.def,
        ENUM_VALUE.def,
        MULTI_ENUM_VALUES.def,
        NUMBER_VALUE.def,
        TEXT_VALUE.def,
        HTML_TEXT_VALUE.def,
        PEOPLE_VALUE.def,
        REFERENCE_VALUE.def,
        DISPLAY_VALUE.def,
    ],
    ..Resource::of(Type::CustomField, "custom_field")
};

/// Returns the type of a custom field, from its head or its whole record.
#[must_use]
pub fn kind(node: &Node) -> CustomFieldType {
    kind_of(&node.head)
}

/// Returns the type of a custom field, from its head.
#[must_use]
pub fn kind_of(head: &str) -> CustomFieldType {
    member(head, "resource_subtype")
        .and_then(|subtype| CustomFieldType::parse(&decode_json_string(subtype)))
        .unwrap_or(CustomFieldType::Text)
}

/// Returns true if the server computes the values: formulas and automatic ids.
#[must_use]
pub fn is_computed(node: &Node) -> bool {
    node.get(IS_FORMULA) || node.get(ID_PREFIX).is_some()
}

/// Returns true if an option can be chosen for a field.
#[must_use]
pub fn chooses(field: &Node, option: &Node) -> bool {
    option.ty == Type::EnumOption
        && option.get(super::enum_option::CUSTOM_FIELD) == Some(field.gid)
        && option.get(super::enum_option::ENABLED)
}

/// Returns true if a field takes references to nodes of the type of this one.
#[must_use]
pub fn refers(field: &Node, node: &Node) -> bool {
    let restrictions = field.raw("input_restrictions").unwrap_or("[]");
    let kind = super::resource(node.ty).name;
    REFERABLE.contains(&node.ty) && restrictions.contains(&format!("\"{kind}\""))
}

fn has_options(node: &Node) -> bool {
    matches!(
        kind(node),
        CustomFieldType::Enum | CustomFieldType::MultiEnum
    )
}

fn is_number(node: &Node) -> bool {
    kind(node) == CustomFieldType::Number
}

fn is_reference(node: &Node) -> bool {
    kind(node) == CustomFieldType::Reference
}

fn representation(node: &Node, _scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let word = if node.get(IS_FORMULA) {
        "formula"
    } else if node.get(ID_PREFIX).is_some() {
        "custom_id"
    } else {
        kind(node).name()
    };
    out.push(b'"');
    out.extend_from_slice(word.as_bytes());
    out.push(b'"');
}

fn read_only(node: &Node, _scene: &ComputedFieldContext<'_>, out: &mut Vec<u8>) {
    let computed = is_computed(node);
    out.extend_from_slice(if computed { b"true" } else { b"false" });
}
