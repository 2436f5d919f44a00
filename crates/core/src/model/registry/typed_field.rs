//! Typed fields: declarations of fields, built by `const fn`s.
use super::{
    Deprecation, Direction, FieldDef, FieldSource, Inclusion, MentionRule, Relation, Type,
    ValueType, Writability,
};
use crate::model::node::Node;
use std::marker::PhantomData;

/// A field declaration with a type parameter that says how rules read and write the field.
pub struct TypedField<K: ?Sized> {
    /// Declaration of the field.
    pub def: FieldDef,
    kind: PhantomData<fn() -> Box<K>>,
}

impl<K: ?Sized> Clone for TypedField<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K: ?Sized> Copy for TypedField<K> {}
impl<K: ?Sized> std::fmt::Debug for TypedField<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "field {}", self.def.name)
    }
}

/// The key type of a link to one node.
#[derive(Debug)]
pub struct LinkOne;
/// The key type of links to many nodes.
#[derive(Debug)]
pub struct LinkMany;
/// The key type of fields that rules do not read.
#[derive(Debug)]
pub struct Opaque;

/// Longest names and titles, in characters.
pub const NAME_MAX: u32 = 1024;
/// Longest plain texts, in characters.
pub const TEXT_MAX: u32 = 65_535;

const fn def(
    name: &'static str,
    shape: ValueType,
    source: FieldSource,
    default: &'static str,
) -> FieldDef {
    FieldDef {
        name,
        value_type: shape,
        source,
        inclusion: Inclusion::Full,
        write: Writability::Never,
        default,
        required_scopes: &[],
        reference_only: false,
        record: None,
        head: false,
        applies_to: None,
        deprecated: None,
        cost: 1,
        mentions: MentionRule::Nothing,
        visible_through: None,
        listed_by: None,
        doc: "",
    }
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident : $key:ty = ($($arg:ident : $ty:ty),*) $shape:expr, $source:expr, $default:expr;)*) => {
        $($(#[$doc])* #[must_use] pub const fn $name(name: &'static str $(, $arg: $ty)*) -> TypedField<$key> {
            TypedField { def: def(name, $shape, $source(name), $default), kind: PhantomData }
        })*
    };
}

impl TypedField<()> {
    constructors! {
        /// Returns a field of text, empty by default.
        text: str = (max: u32) ValueType::Text(max), FieldSource::Stored, "\"\"";
        /// Returns a field of text or null.
        text_or_null: str = (max: u32) ValueType::Text(max), FieldSource::Stored, "null";
        /// Returns a flag, false by default.
        flag: bool = () ValueType::Flag, FieldSource::Stored, "false";
        /// Returns an integer field, zero by default.
        int: i64 = () ValueType::Int, FieldSource::Stored, "0";
        /// Returns a field of a number, zero by default.
        number: Opaque = () ValueType::Number, FieldSource::Stored, "0";
        /// Returns a field of an instant or null.
        time: crate::model::time::Time = () ValueType::Time, FieldSource::Stored, "null";
        /// Returns a field of a day or null.
        date: crate::model::time::Date = () ValueType::Date, FieldSource::Stored, "null";
        /// Returns a field with one of a set of words; the default is given as JSON.
        word: str = (words: &'static [&'static str], default: &'static str) ValueType::Word(words), FieldSource::Stored, default;
        /// Returns a field with one of a set of words, or null.
        word_or_null: str = (words: &'static [&'static str]) ValueType::WordOrNull(words), FieldSource::Stored, "null";
        /// Returns a link whose gid is in the body: cheap, but the other side cannot list it.
        inline: LinkOne = (to: &'static [Type]) ValueType::One(to), FieldSource::Inline, "null";
        /// Returns links whose gids are in the body, in their order.
        gids: Opaque = (to: &'static [Type]) ValueType::Many(to), FieldSource::Gids, "[]";
        /// Returns a field of JSON that each app keeps for itself, null by default.
        per_app: Opaque = () ValueType::Json, FieldSource::PerApp, "null";
        /// Returns a field of stored JSON, null by default.
        json: Opaque = () ValueType::Json, FieldSource::Stored, "null";
    }

    /// Returns a field of rich text, an empty body by default.
    #[must_use]
    pub const fn html(name: &'static str) -> TypedField<str> {
        let empty = "\"<body></body>\"";
        let mut def = def(name, ValueType::Html, FieldSource::Stored(name), empty);
        def.mentions = MentionRule::Links(name);
        TypedField {
            def,
            kind: PhantomData,
        }
    }
    /// Returns a field with the workspace of a node.
    #[must_use]
    pub const fn workspace(name: &'static str) -> TypedField<LinkOne> {
        TypedField {
            def: def(
                name,
                ValueType::One(&[Type::Workspace]),
                FieldSource::Workspace,
                "null",
            ),
            kind: PhantomData,
        }
    }
    /// Returns a field of one link that is stored as an edge, so the other side can list it.
    #[must_use]
    pub const fn edge(
        name: &'static str,
        to: &'static [Type],
        rel: Relation,
    ) -> TypedField<LinkOne> {
        TypedField {
            def: def(
                name,
                ValueType::One(to),
                FieldSource::Edges(rel, Direction::Out),
                "null",
            ),
            kind: PhantomData,
        }
    }
    /// Returns a field of links to many nodes.
    #[must_use]
    pub const fn edges(
        name: &'static str,
        to: &'static [Type],
        rel: Relation,
        dir: Direction,
    ) -> TypedField<LinkMany> {
        TypedField {
            def: def(
                name,
                ValueType::Many(to),
                FieldSource::Edges(rel, dir),
                "[]",
            ),
            kind: PhantomData,
        }
    }
    /// Returns a field of inline objects, one for each edge.
    #[must_use]
    pub const fn items(
        name: &'static str,
        parts: &'static [FieldDef],
        rel: Relation,
    ) -> TypedField<LinkMany> {
        TypedField {
            def: def(
                name,
                ValueType::Items(parts),
                FieldSource::Edges(rel, Direction::Out),
                "[]",
            ),
            kind: PhantomData,
        }
    }
    /// Returns a field with any value type and source; rules don't read it.
    #[must_use]
    pub const fn other(
        name: &'static str,
        shape: ValueType,
        source: FieldSource,
    ) -> TypedField<Opaque> {
        TypedField {
            def: def(name, shape, source, "null"),
            kind: PhantomData,
        }
    }
}

impl<K: ?Sized> TypedField<K> {
    /// Makes the field part of lists.
    #[must_use]
    pub const fn compact(mut self) -> Self {
        self.def.inclusion = Inclusion::Compact;
        self
    }
    /// Leaves the field out unless it is named.
    #[must_use]
    pub const fn opt_in(mut self) -> Self {
        self.def.inclusion = Inclusion::OptIn;
        self
    }
    /// Makes the field part of the record of a custom field with its value; elsewhere it is sent only when named.
    #[must_use]
    pub const fn with_value(mut self) -> Self {
        self.def.inclusion = Inclusion::WithValue;
        self
    }
    /// Makes the field part of the full record if it has a value.
    #[must_use]
    pub const fn if_set(mut self) -> Self {
        self.def.inclusion = Inclusion::FullIfSet;
        self
    }
    /// Makes the field writable at creation and later.
    #[must_use]
    pub const fn writable(mut self) -> Self {
        self.def.write = Writability::Always;
        self
    }
    /// Makes the field writable at creation only.
    #[must_use]
    pub const fn on_create(mut self) -> Self {
        self.def.write = Writability::OnCreate;
        self
    }
    /// Makes writing the field an error: another operation writes it.
    #[must_use]
    pub const fn refused(mut self) -> Self {
        self.def.write = Writability::Refused;
        self
    }
    /// Makes the field an old or second name of another field: it reads the value stored under `key`.
    #[must_use]
    pub const fn stored_as(mut self, key: &'static str) -> Self {
        self.def.source = match self.def.source {
            FieldSource::Inline(_) => FieldSource::Inline(key),
            _ => FieldSource::Stored(key),
        };
        self
    }
    /// Makes writing anything but the field's one value an error.
    #[must_use]
    pub const fn constant(mut self) -> Self {
        self.def.write = Writability::Constant;
        self
    }
    /// Makes the field a map of custom field values that is always empty: writing any other map is an error.
    #[must_use]
    pub const fn no_custom_fields(mut self) -> Self {
        self.def.write = Writability::NoCustomFields;
        self
    }
    /// Makes the field a map of custom field values when it is written, and accepts the array of a record sent back.
    #[must_use]
    pub const fn value_map(mut self) -> Self {
        self.def.write = Writability::ValueMap;
        self
    }
    /// Makes writing any link but the current one an error: other operations set it.
    #[must_use]
    pub const fn current(mut self) -> Self {
        self.def.write = Writability::Current;
        self
    }
    /// Makes the field accept a new record of the linked type, and no link but the current one.
    #[must_use]
    pub const fn new_record(mut self) -> Self {
        self.def.write = Writability::NewRecord;
        self
    }
    /// Adds the scopes needed to name the field.
    #[must_use]
    pub const fn needs(mut self, scopes: &'static [&'static str]) -> Self {
        self.def.required_scopes = scopes;
        self
    }
    /// Sets the weight of the field in the cost of a request.
    #[must_use]
    pub const fn cost(mut self, cost: u8) -> Self {
        self.def.cost = cost;
        self
    }
    /// Sends the links as `{gid, resource_type}`.
    #[must_use]
    pub const fn reference_only(mut self) -> Self {
        self.def.reference_only = true;
        self
    }
    /// Sends the links as compact or full records.
    #[must_use]
    pub const fn record(mut self, rep: Inclusion) -> Self {
        self.def.record = Some(rep);
        self
    }
    /// Makes the field part of the compact form that is sent where the node is nested; it must be compact, too.
    #[must_use]
    pub const fn head(mut self) -> Self {
        self.def.head = true;
        self.compact()
    }
    /// Limits the field to some nodes of the type.
    #[must_use]
    pub const fn applies_to(mut self, which: fn(&Node) -> bool) -> Self {
        self.def.applies_to = Some(which);
        self
    }
    /// Sets the objects that the text of the field names.
    #[must_use]
    pub const fn mentions(mut self, mentions: MentionRule) -> Self {
        self.def.mentions = mentions;
        self
    }
    /// Limits the value to viewers who see the node behind the link under this stored key; others get the default.
    #[must_use]
    pub const fn visible_through(mut self, link: &'static str) -> Self {
        self.def.visible_through = Some(link);
        self
    }
    /// Keeps an edge of this relation beside the link in the body, so that the linked node can list its sources.
    #[must_use]
    pub const fn listed_by(mut self, rel: Relation) -> Self {
        self.def.listed_by = Some(rel);
        self
    }
    /// Announces a change of the contract to clients that write the field.
    #[must_use]
    pub const fn deprecated(mut self, change: Deprecation) -> Self {
        self.def.deprecated = Some(change);
        self
    }
    /// Sets another default, as JSON.
    #[must_use]
    pub const fn default(mut self, json: &'static str) -> Self {
        self.def.default = json;
        self
    }
    /// Sets the meaning of the field, for the documents.
    #[must_use]
    pub const fn doc(mut self, doc: &'static str) -> Self {
        self.def.doc = doc;
        self
    }
}
