//! Declarations of resource types: fields, value types, sources and relations.
//!
//! A resource type is one `static` [`Resource`]; projection, validation, scopes, storage and the documents all read it. The
//! module is pure data, built by `const fn`s.
mod field_source;
pub mod rel;
mod typed_field;

pub(crate) use crate::model::node_types::ByType;
pub use crate::model::node_types::Type;
pub use field_source::{CustomFieldType, FieldSource, ValuePart};
pub use rel::{Direction, Relation};
pub use typed_field::{LinkMany, LinkOne, NAME_MAX, Opaque, TEXT_MAX, TypedField};

use crate::model::node::Node;

/// Rule that says when a field is sent without being requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inclusion {
    /// Sent in lists and in the full record.
    Compact,
    /// Sent in the full record.
    Full,
    /// Sent in the full record if it has a value.
    FullIfSet,
    /// Sent in the full record of a custom field with its value; elsewhere only when named.
    WithValue,
    /// Sent only when named.
    OptIn,
}

/// Rule that says when a client may write a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writability {
    /// Never; the server sets it. A client's value is ignored, as when a whole record is sent back.
    Never,
    /// At creation and later.
    Always,
    /// At creation; later it is an error ("Cannot write this property").
    OnCreate,
    /// Never, and trying to is an error.
    Refused,
    /// Never: the field always has the same value. That value is accepted, as in a record sent back; any other value is an
    /// error, since it would be lost.
    Constant,
    /// As `Constant`, for a map from custom fields to values; the error names a custom field that the object does not
    /// have.
    NoCustomFields,
    /// At creation and later, as a map from custom fields to values. An array, as records have it, is ignored.
    ValueMap,
    /// Never: other operations set the link. Its present value may be repeated, as in a record sent back.
    Current,
    /// As `Current`, but a record without a gid makes a new node, to which the field then links.
    NewRecord,
}

/// Type of a field's values, as the API documents it.
#[derive(Clone, Copy, Debug)]
pub enum ValueType {
    /// Text of at most this many characters.
    Text(u32),
    /// Rich text, of the profile that the resource declares.
    Html,
    /// A boolean.
    Flag,
    /// A whole number.
    Int,
    /// A decimal number.
    Number,
    /// An instant, RFC 3339 in UTC.
    Time,
    /// A calendar day, `YYYY-MM-DD`.
    Date,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words, or null.
    WordOrNull(&'static [&'static str]),
    /// One node of one of these types, or null.
    One(&'static [Type]),
    /// Several nodes of these types.
    Many(&'static [Type]),
    /// An inline object with these fields.
    Group(&'static [FieldDef]),
    /// Inline objects with these fields, one for each edge.
    Items(&'static [FieldDef]),
    /// JSON in its stored form.
    Json,
}

/// Declaration of a field: its name, its type, its source, and when it is sent or written.
#[derive(Clone, Copy, Debug)]
pub struct FieldDef {
    /// Name of the field in records and requests.
    pub name: &'static str,
    /// Type of its values.
    pub value_type: ValueType,
    /// Source of the value.
    pub source: FieldSource,
    /// Rule that says when it is sent without being requested.
    pub inclusion: Inclusion,
    /// Rule that says when a client may write it.
    pub write: Writability,
    /// The JSON of an absent value.
    pub default: &'static str,
    /// Scopes needed to name the field, besides the scopes of the operation.
    pub required_scopes: &'static [&'static str],
    /// True for links that are sent as `{gid, resource_type}` instead of the compact form.
    pub reference_only: bool,
    /// For links: form in which the linked record is sent, compact or full; its parts need no scopes besides the scopes of
    /// the operation.
    pub record: Option<Inclusion>,
    /// True if the field is part of the node's head, and so is sent wherever the node is nested.
    pub head: bool,
    /// Returns true for nodes that have the field; `None` if all nodes of the type have it.
    pub applies_to: Option<fn(&Node) -> bool>,
    /// Change of the contract that is announced to clients that write the field.
    pub deprecated: Option<Deprecation>,
    /// Weight in the cost of a request, if named in addition to the default record.
    pub cost: u8,
    /// Objects that the text names; a reader gets the names of the objects that they may see.
    pub mentions: MentionRule,
    /// Stored key of a link: the value is sent only to viewers who see the linked node.
    pub visible_through: Option<&'static str>,
    /// For links in the body: relation of the linked node's list of the nodes that link to it.
    pub listed_by: Option<Relation>,
    /// Meaning of the field, for the documents.
    pub doc: &'static str,
}

impl FieldDef {
    /// Returns the key under which a body stores the value.
    #[must_use]
    pub const fn stored_key(&self) -> &'static str {
        match self.source {
            FieldSource::Stored(key) | FieldSource::Inline(key) => key,
            _ => self.name,
        }
    }
}

/// Objects that a text names; its written form depends on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MentionRule {
    /// The text names no objects: it is sent in its stored form.
    Nothing,
    /// Objects that the rich text under this key links to. The text is that rich text, or its plain form.
    Links(&'static str),
    /// In a comment, the objects of the rich text under this key; in any other story, the objects it is about.
    Story(&'static str),
    /// Objects that the rich texts link to in the recipe under this key.
    Recipe(&'static str),
    /// Users who have the roles of a template. The value is the list of these roles.
    Roles,
}

/// Change of the contract: an input that will be removed, or some of its values.
#[derive(Clone, Copy, Debug)]
pub struct Deprecation {
    /// Name of the change of the contract.
    pub name: &'static str,
    /// Path of the operations that replace the input, relative to the base path.
    pub instead: &'static str,
    /// Values that will be removed; all of them if the list is empty.
    pub values: &'static [&'static str],
}

impl Deprecation {
    /// Returns true if the change affects an input with this text, or without text.
    #[must_use]
    pub fn affects(&self, text: Option<&str>) -> bool {
        self.values.is_empty() || text.is_some_and(|text| self.values.contains(&text))
    }
}

/// A second representation of nodes of another type: records with other fields, and with their own type name and path.
#[derive(Debug)]
pub struct Representation {
    /// Type of the nodes that the records show.
    pub of: Type,
    /// Returns true for the nodes of the type that have the representation.
    pub applies_to: fn(&Node) -> bool,
}

/// The declaration of one resource type.
#[derive(Debug)]
pub struct Resource {
    /// Type of the nodes.
    pub ty: Type,
    /// The `resource_type` that clients see.
    pub name: &'static str,
    /// The first path segment of its operations.
    pub path: &'static str,
    /// Noun for it in errors, as in "You do not have access to this project."
    pub noun: &'static str,
    /// Scope needed to read it through a link.
    pub read_scope: &'static str,
    /// Tags that its rich text may use.
    pub flavor: workgraph_richtext::RichTextProfile,
    /// Key of the stored display name, if it has one.
    pub title: Option<&'static str>,
    /// True if `resource_subtype` is part of its compact form.
    pub subtype: bool,
    /// Types with records in the same replies; each has its own fields for the same names.
    pub variants: &'static [Type],
    /// Nodes that the records represent, if no nodes have this type.
    pub representation: Option<Representation>,
    /// Stored key of the link to the one node that contains it, if there is one: its changes are events of that node, too.
    pub container: Option<&'static str>,
    /// Stored key of the day that orders the records in the lists of the nodes that they link to; without one, they are in
    /// the order of their gids.
    pub ordered_by: Option<&'static str>,
    /// All fields, in the order in which they are sent.
    pub fields: &'static [FieldDef],
}

impl Resource {
    /// Returns a declaration with the usual values: errors call the type by its name, it has a `name`, and its rich text is a
    /// description. The caller must set path, scope and fields.
    #[must_use]
    pub const fn of(ty: Type, name: &'static str) -> Self {
        Self {
            ty,
            name,
            path: "",
            noun: name,
            read_scope: "",
            flavor: workgraph_richtext::RichTextProfile::Description,
            title: Some("name"),
            subtype: false,
            variants: &[],
            representation: None,
            container: None,
            ordered_by: None,
            fields: &[],
        }
    }

    /// Returns the type of the nodes that the records represent.
    #[must_use]
    pub const fn node_type(&self) -> Type {
        match &self.representation {
            Some(representation) => representation.of,
            None => self.ty,
        }
    }

    /// Returns the field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static FieldDef> {
        self.fields.iter().find(|d| d.name == name)
    }
}
