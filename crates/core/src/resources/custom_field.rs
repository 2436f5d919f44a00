//! Custom fields: definitions, and in a task's record the values it has for them.
use super::{GID, RESOURCE_TYPE};
use crate::node::{Node, decode, entries};
use crate::project::Scene;
use crate::registry::{
    Dir, Field, Kind, Many, NAME_MAX, One, Opaque, Part, Resource, Shape, Source, TEXT_MAX, Type,
    rel,
};

/// Longest text value, in characters.
pub const VALUE_MAX: u32 = 1024;
/// Most decimals a number is shown with.
pub const PRECISION_MAX: i64 = 6;
/// Most options of one field, disabled ones included.
pub const OPTIONS_MAX: usize = 500;
/// Most custom fields of one project.
pub const FIELDS_MAX: usize = 20;

/// Its display name.
pub const NAME: Field<str> = Field::text("name", NAME_MAX)
    .compact()
    .writable()
    .doc("The name of the custom field.");
/// The type of its values.
pub const SUBTYPE: Field<str> = Field::word("resource_subtype", Kind::WORDS, "\"text\"")
    .compact()
    .on_create()
    .doc("The type of the custom field.");
/// Old name of `resource_subtype`.
pub const TYPE: Field<str> = Field::word("type", Kind::WORDS, "\"text\"")
    .stored_as("resource_subtype")
    .compact()
    .doc("Old name of resource_subtype.");
/// What can be chosen.
pub const ENUM_OPTIONS: Field<Many> = {
    let options = Field::edges("enum_options", &[Type::EnumOption], rel::OPTION_OF, Dir::In);
    options
        .compact()
        .only(has_options)
        .doc("The options of an enum or multi_enum field, in their order.")
};
/// The type as it is shown.
pub const REPRESENTATION: Field<Opaque> = Field::other(
    "representation_type",
    Shape::Json,
    Source::Computed(representation),
)
.compact()
.doc("The type as it is shown: that of the field, formula or custom_id.");
/// Prefix of automatic ids.
pub const ID_PREFIX: Field<str> = Field::text_or_null("id_prefix", 64)
    .compact()
    .on_create()
    .doc("The prefix of automatic ids, if its values are those.");
/// What a reference may lead to.
pub const INPUT_RESTRICTIONS: Field<Opaque> = Field::json("input_restrictions")
    .default("[]")
    .compact()
    .writable()
    .only(is_reference)
    .doc("The types of object that a reference field takes.");
/// Its values are computed.
pub const IS_FORMULA: Field<bool> = Field::flag("is_formula_field")
    .compact()
    .on_create()
    .doc("Whether its values are computed.");
/// What it is for.
pub const DESCRIPTION: Field<str> = Field::text("description", TEXT_MAX)
    .with_value()
    .writable()
    .doc("The description as plain text.");
/// Decimals.
pub const PRECISION: Field<i64> = Field::int("precision")
    .writable()
    .only(is_number)
    .doc("How many decimals are shown, 0 to 6; of the percentage, for percentages.");
/// How numbers are shown.
pub const FORMAT: Field<str> = Field::word(
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
.doc("How numbers are shown.");
/// The currency.
pub const CURRENCY: Field<str> = Field::text_or_null("currency_code", 3)
    .writable()
    .doc("The ISO 4217 code of the currency, if the format is currency.");
/// The label.
pub const LABEL: Field<str> = Field::text_or_null("custom_label", 64)
    .writable()
    .doc("The label beside the number, if the format is custom.");
/// Where the label stands.
pub const LABEL_POSITION: Field<str> =
    Field::word_or_null("custom_label_position", &["prefix", "suffix"])
        .writable()
        .doc("Where the label stands, if the format is custom.");
/// In the library of the workspace.
pub const IS_GLOBAL: Field<bool> = Field::flag("is_global_to_workspace")
    .default("true")
    .doc("Whether it is in the library of the workspace, or made for one project.");
/// Followers are told.
pub const HAS_NOTIFICATIONS: Field<bool> = Field::flag("has_notifications_enabled")
    .writable()
    .doc("Whether followers of a task are told of changes.");
/// Template token.
pub const ASANA_CREATED: Field<Opaque> =
    Field::other("asana_created_field", Shape::Json, Source::Always("null"))
        .doc("The token of a field that came from a built-in template.");
/// Values cannot be written.
pub const IS_READ_ONLY: Field<Opaque> = Field::other(
    "is_value_read_only",
    Shape::Flag,
    Source::Computed(read_only),
)
.doc("Whether values cannot be written.");
/// Who created it.
pub const CREATED_BY: Field<One> =
    Field::inline("created_by", &[Type::User]).doc("Who created the field.");
/// Who can see it.
pub const PRIVACY: Field<str> = Field::word(
    "privacy_setting",
    &["public_with_guests", "public", "private"],
    "\"public_with_guests\"",
)
.writable()
.doc("Who can see the field.");
/// What those who see it may do.
pub const DEFAULT_ACCESS: Field<str> = Field::word(
    "default_access_level",
    &["admin", "editor", "user"],
    "\"editor\"",
)
.writable()
.doc("What members of the workspace may do with the field; a user only sets values.");

const ENABLED: Field<Opaque> = Field::other("enabled", Shape::Flag, Source::Value(Part::Enabled))
    .compact()
    .doc("On values: whether a project of the task still has the field.");
const DATE_VALUE: Field<Opaque> =
    plain("date_value", Kind::Date).doc("On values: {date, date_time}, or null.");
const ENUM_VALUE: Field<Opaque> = linked("enum_value", Shape::One(&[Type::EnumOption]), Kind::Enum)
    .doc("On values: the chosen option, or null.");
const MULTI_ENUM_VALUES: Field<Opaque> = linked(
    "multi_enum_values",
    Shape::Many(&[Type::EnumOption]),
    Kind::MultiEnum,
)
.doc("On values: the chosen options.");
const NUMBER_VALUE: Field<Opaque> =
    plain("number_value", Kind::Number).doc("On values: the number, or null.");
const TEXT_VALUE: Field<Opaque> =
    plain("text_value", Kind::Text).doc("On values: the text, or null.");
const HTML_TEXT_VALUE: Field<Opaque> =
    Field::other("html_text_value", Shape::Html, Source::Value(Part::Html))
        .opt_in()
        .doc("On values: the text as HTML, or null.");
const PEOPLE_VALUE: Field<Opaque> =
    linked("people_value", Shape::Many(&[Type::User]), Kind::People)
        .doc("On values: the chosen users.");
const REFERENCE_VALUE: Field<Opaque> =
    linked("reference_value", Shape::Many(REFERABLE), Kind::Reference)
        .doc("On values: the chosen objects.");
const DISPLAY_VALUE: Field<Opaque> =
    Field::other("display_value", Shape::Json, Source::Value(Part::Display))
        .compact()
        .doc("On values: the value as one string, whatever the type, or null.");

const fn plain(name: &'static str, kind: Kind) -> Field<Opaque> {
    Field::other(name, Shape::Json, Source::Value(Part::Plain(kind))).compact()
}
const fn linked(name: &'static str, shape: Shape, kind: Kind) -> Field<Opaque> {
    Field::other(name, shape, Source::Value(Part::Linked(kind))).compact()
}

/// What references may lead to.
pub const REFERABLE: &[Type] = &[Type::Task, Type::Project];
/// The words of `input_restrictions`.
pub const RESTRICTIONS: &[&str] = &["task", "project", "portfolio", "goal"];

/// The declaration. What a definition says stands first, the parts of a value last: where many
/// tasks have a field, the first part is written once and copied.
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

/// The type of a custom field, from its head or its whole record.
#[must_use]
pub fn kind(node: &Node) -> Kind {
    kind_of(&node.head)
}

/// The type of a custom field, from its head.
#[must_use]
pub fn kind_of(head: &str) -> Kind {
    let subtype = entries(head).find(|(k, _)| *k == "resource_subtype");
    subtype
        .and_then(|(_, v)| Kind::parse(&decode(v)))
        .unwrap_or(Kind::Text)
}

/// Whether its values are made, not written: formulas and automatic ids.
#[must_use]
pub fn is_computed(node: &Node) -> bool {
    node.get(IS_FORMULA) || node.get(ID_PREFIX).is_some()
}

/// Whether an option is one that can be chosen for a field.
#[must_use]
pub fn chooses(field: &Node, option: &Node) -> bool {
    option.ty == Type::EnumOption
        && option.get(super::enum_option::CUSTOM_FIELD) == Some(field.gid)
        && option.get(super::enum_option::ENABLED)
}

/// Whether a field takes references to nodes of the type of this one.
#[must_use]
pub fn refers(field: &Node, node: &Node) -> bool {
    let restrictions = field.raw("input_restrictions").unwrap_or("[]");
    let kind = super::resource(node.ty).name;
    REFERABLE.contains(&node.ty) && restrictions.contains(&format!("\"{kind}\""))
}

fn has_options(node: &Node) -> bool {
    matches!(kind(node), Kind::Enum | Kind::MultiEnum)
}

fn is_number(node: &Node) -> bool {
    kind(node) == Kind::Number
}

fn is_reference(node: &Node) -> bool {
    kind(node) == Kind::Reference
}

fn representation(node: &Node, _scene: &Scene<'_>, out: &mut Vec<u8>) {
    let word = if node.get(IS_FORMULA) {
        "formula"
    } else if node.get(ID_PREFIX).is_some() {
        "custom_id"
    } else {
        kind(node).word()
    };
    out.push(b'"');
    out.extend_from_slice(word.as_bytes());
    out.push(b'"');
}

fn read_only(node: &Node, _scene: &Scene<'_>, out: &mut Vec<u8>) {
    let computed = is_computed(node);
    out.extend_from_slice(if computed { b"true" } else { b"false" });
}
