//! The vocabulary in which resource types are declared: fields, shapes, sources and relations.
//!
//! A resource type is one `static` [`Resource`]; projection, validation, scopes, storage and the
//! documents all read it. Nothing here runs: it is data that `const fn`s put together.
mod field;
pub mod rel;
mod source;
mod types;

pub use field::{Field, Many, NAME_MAX, One, Opaque, TEXT_MAX};
pub use source::{Kind, Part, Source};
pub(crate) use types::ByType;
pub use types::Type;

use crate::node::Node;

/// A kind of edge. Numbers are stored; those that are read together stand together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rel(pub u8);

impl Rel {
    /// Whether lists into a node by this relation are short, seldom change, and are read with most
    /// records: a store does well to remember them whole. A node has lists of one such relation only.
    #[must_use]
    pub const fn is_short(self) -> bool {
        matches!(self, rel::FIELD_ON | rel::OPTION_OF)
    }
}

/// Whose edges: from a node to others, or from others to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dir {
    /// Edges that start here, in the order of their target's gid.
    Out,
    /// Edges that end here, in the order of rank, then of their source's gid.
    In,
}

/// When a field is sent without being asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rep {
    /// In lists and in the full record.
    Compact,
    /// In the full record.
    Full,
    /// In the full record if it has a value.
    FullIfSet,
    /// In the full record of a custom field that comes with its value; elsewhere only when named.
    WithValue,
    /// Only when named.
    OptIn,
}

/// When a client may write a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// Never; the server sets it. A client's value is ignored, as in a record sent back whole.
    Never,
    /// At creation and later.
    Always,
    /// At creation; later it is an error ("Cannot write this property").
    OnCreate,
    /// Never, and trying to is an error.
    Refused,
    /// Never: it has one value, whatever is done. That value is taken, as in a record sent back; any
    /// other is an error, since it would be lost.
    Constant,
    /// As `Constant`, of a map from custom fields to values, which says of each that it is not there.
    NoCustomFields,
}

/// What values a field has.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Text of at most this many characters.
    Text(u32),
    /// Rich text, of the flavour the resource declares.
    Html,
    /// true or false.
    Flag,
    /// An integer.
    Int,
    /// An instant.
    Time,
    /// A calendar day.
    Date,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words, or null.
    WordOrNull(&'static [&'static str]),
    /// One node of one of these types, or null.
    One(&'static [Type]),
    /// Several nodes.
    Many(&'static [Type]),
    /// An inline object with these fields.
    Group(&'static [Def]),
    /// Inline objects with these fields, one an edge.
    Items(&'static [Def]),
    /// JSON as it is stored.
    Json,
}

/// The declaration of one field.
#[derive(Clone, Copy, Debug)]
pub struct Def {
    /// The name clients use.
    pub name: &'static str,
    /// What values it has.
    pub shape: Shape,
    /// Where the value comes from.
    pub source: Source,
    /// When it is sent unasked.
    pub rep: Rep,
    /// When a client may write it.
    pub write: Write,
    /// The JSON of an absent value.
    pub default: &'static str,
    /// Scopes that naming the field needs beyond the operation's own.
    pub needs: &'static [&'static str],
    /// For links: send `{gid, resource_type}` instead of the compact form.
    pub bare: bool,
    /// For links: send the compact or the full record of what is linked; no scope but the operation's
    /// own is needed for its parts.
    pub record: Option<Rep>,
    /// Part of the node's head, and so sent wherever the node is nested.
    pub head: bool,
    /// Which nodes of the type have the field; all, if none is given.
    pub only: Option<fn(&Node) -> bool>,
    /// The change of the contract that those who write it are told of.
    pub deprecated: Option<Deprecation>,
    /// Its weight in the cost of a request, when named beyond the default record.
    pub cost: u8,
    /// Which other objects the text names; a reader gets the names of those they may see.
    pub mentions: Mentions,
    /// The stored key of a link: the value is for those who see what that leads to.
    pub behind: Option<&'static str>,
    /// What it means.
    pub doc: &'static str,
}

/// Which other objects a text names, and so how it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mentions {
    /// None: it is sent as it is stored.
    Nothing,
    /// Those that the rich text under this key links to. The text is that one, or its plain form.
    Links(&'static str),
    /// In a comment, those of the rich text under this key; in any other story, what it is about.
    Story(&'static str),
    /// Those that the rich texts link to which are in the recipe under this key.
    Recipe(&'static str),
}

/// A change of the contract: an input that is to go, or some of its values.
#[derive(Clone, Copy, Debug)]
pub struct Deprecation {
    /// The name of the change.
    pub name: &'static str,
    /// The path of the operations that do the same, below the base.
    pub instead: &'static str,
    /// The values that are to go; all of them if none is given.
    pub values: &'static [&'static str],
}

impl Deprecation {
    /// Whether an input of this text, or of none, is affected.
    #[must_use]
    pub fn affects(&self, text: Option<&str>) -> bool {
        self.values.is_empty() || text.is_some_and(|text| self.values.contains(&text))
    }
}

/// The declaration of one resource type.
#[derive(Debug)]
pub struct Resource {
    /// The type.
    pub ty: Type,
    /// `resource_type` as clients see it.
    pub name: &'static str,
    /// The first path segment of its operations.
    pub path: &'static str,
    /// The word errors use for it, as in "You do not have access to this project."
    pub noun: &'static str,
    /// The scope that reading it through a link needs.
    pub read_scope: &'static str,
    /// Which tags its rich text may use.
    pub flavor: crate::rich::Flavor,
    /// The key under which its display name is stored, if it has one.
    pub title: Option<&'static str>,
    /// Whether `resource_subtype` is part of its compact form.
    pub subtype: bool,
    /// Types whose records turn up in the same replies; each is asked for by the same names.
    pub kin: &'static [Type],
    /// All fields, in the order in which they are sent.
    pub fields: &'static [Def],
}

impl Resource {
    /// What most types are like: errors call them by their name, they have a `name`, and their rich
    /// text is a description. Path, scope and fields must be given.
    #[must_use]
    pub const fn of(ty: Type, name: &'static str) -> Self {
        Self {
            ty,
            name,
            path: "",
            noun: name,
            read_scope: "",
            flavor: crate::rich::Flavor::Description,
            title: Some("name"),
            subtype: false,
            kin: &[],
            fields: &[],
        }
    }

    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static Def> {
        self.fields.iter().find(|d| d.name == name)
    }
}
