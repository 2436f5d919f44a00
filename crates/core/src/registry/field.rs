//! Typed keys: the declarations of fields, as `const fn`s put them together.
use super::{Def, Deprecation, Dir, Mentions, Rel, Rep, Shape, Source, Type, Write};
use crate::node::Node;
use std::marker::PhantomData;

/// A typed key: a field declaration whose type says how rules read and write it.
pub struct Field<K: ?Sized> {
    /// The declaration.
    pub def: Def,
    kind: PhantomData<fn() -> Box<K>>,
}

impl<K: ?Sized> Clone for Field<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K: ?Sized> Copy for Field<K> {}
impl<K: ?Sized> std::fmt::Debug for Field<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "field {}", self.def.name)
    }
}

/// The key type of a link to one node.
#[derive(Debug)]
pub struct One;
/// The key type of links to many nodes.
#[derive(Debug)]
pub struct Many;
/// The key type of anything rules don't read.
#[derive(Debug)]
pub struct Opaque;

/// Longest names and titles, in characters.
pub const NAME_MAX: u32 = 1024;
/// Longest plain texts, in characters.
pub const TEXT_MAX: u32 = 65_535;

const fn def(name: &'static str, shape: Shape, source: Source, default: &'static str) -> Def {
    Def {
        name,
        shape,
        source,
        rep: Rep::Full,
        write: Write::Never,
        default,
        needs: &[],
        bare: false,
        record: None,
        head: false,
        only: None,
        deprecated: None,
        cost: 1,
        mentions: Mentions::Nothing,
        behind: None,
        doc: "",
    }
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident : $key:ty = ($($arg:ident : $ty:ty),*) $shape:expr, $source:expr, $default:expr;)*) => {
        $($(#[$doc])* #[must_use] pub const fn $name(name: &'static str $(, $arg: $ty)*) -> Field<$key> {
            Field { def: def(name, $shape, $source(name), $default), kind: PhantomData }
        })*
    };
}

impl Field<()> {
    constructors! {
        /// Text, empty by default.
        text: str = (max: u32) Shape::Text(max), Source::Stored, "\"\"";
        /// Text or null.
        text_or_null: str = (max: u32) Shape::Text(max), Source::Stored, "null";
        /// A flag, false by default.
        flag: bool = () Shape::Flag, Source::Stored, "false";
        /// An integer, zero by default.
        int: i64 = () Shape::Int, Source::Stored, "0";
        /// An instant or null.
        time: crate::time::Time = () Shape::Time, Source::Stored, "null";
        /// A day or null.
        date: crate::time::Date = () Shape::Date, Source::Stored, "null";
        /// One of a set of words; the default is given as JSON.
        word: str = (words: &'static [&'static str], default: &'static str) Shape::Word(words), Source::Stored, default;
        /// One of a set of words, or null.
        word_or_null: str = (words: &'static [&'static str]) Shape::WordOrNull(words), Source::Stored, "null";
        /// A link whose gid is kept in the body: cheap, but not listed from the other side.
        inline: One = (to: &'static [Type]) Shape::One(to), Source::Inline, "null";
        /// Links whose gids are kept in the body, in their order.
        gids: Opaque = (to: &'static [Type]) Shape::Many(to), Source::Gids, "[]";
        /// JSON that each app keeps for itself, null by default.
        per_app: Opaque = () Shape::Json, Source::PerApp, "null";
        /// JSON stored as it is, null by default.
        json: Opaque = () Shape::Json, Source::Stored, "null";
    }

    /// Rich text, an empty body by default.
    #[must_use]
    pub const fn html(name: &'static str) -> Field<str> {
        let empty = "\"<body></body>\"";
        let mut def = def(name, Shape::Html, Source::Stored(name), empty);
        def.mentions = Mentions::Links(name);
        Field {
            def,
            kind: PhantomData,
        }
    }
    /// The workspace a node belongs to.
    #[must_use]
    pub const fn home(name: &'static str) -> Field<One> {
        Field {
            def: def(name, Shape::One(&[Type::Workspace]), Source::Home, "null"),
            kind: PhantomData,
        }
    }
    /// A link to one node that is kept as an edge, so the other side can list it.
    #[must_use]
    pub const fn edge(name: &'static str, to: &'static [Type], rel: Rel) -> Field<One> {
        Field {
            def: def(name, Shape::One(to), Source::Edges(rel, Dir::Out), "null"),
            kind: PhantomData,
        }
    }
    /// Links to many nodes.
    #[must_use]
    pub const fn edges(name: &'static str, to: &'static [Type], rel: Rel, dir: Dir) -> Field<Many> {
        Field {
            def: def(name, Shape::Many(to), Source::Edges(rel, dir), "[]"),
            kind: PhantomData,
        }
    }
    /// Inline objects, one for each edge.
    #[must_use]
    pub const fn items(name: &'static str, parts: &'static [Def], rel: Rel) -> Field<Many> {
        Field {
            def: def(
                name,
                Shape::Items(parts),
                Source::Edges(rel, Dir::Out),
                "[]",
            ),
            kind: PhantomData,
        }
    }
    /// A field with any shape and source; rules don't read it.
    #[must_use]
    pub const fn other(name: &'static str, shape: Shape, source: Source) -> Field<Opaque> {
        Field {
            def: def(name, shape, source, "null"),
            kind: PhantomData,
        }
    }
}

impl<K: ?Sized> Field<K> {
    /// Sent in lists.
    #[must_use]
    pub const fn compact(mut self) -> Self {
        self.def.rep = Rep::Compact;
        self
    }
    /// Sent only when named.
    #[must_use]
    pub const fn opt_in(mut self) -> Self {
        self.def.rep = Rep::OptIn;
        self
    }
    /// Sent in the record of a custom field that comes with its value, and when named.
    #[must_use]
    pub const fn with_value(mut self) -> Self {
        self.def.rep = Rep::WithValue;
        self
    }
    /// Sent in the full record if it has a value.
    #[must_use]
    pub const fn if_set(mut self) -> Self {
        self.def.rep = Rep::FullIfSet;
        self
    }
    /// Writable at creation and later.
    #[must_use]
    pub const fn writable(mut self) -> Self {
        self.def.write = Write::Always;
        self
    }
    /// Writable at creation only.
    #[must_use]
    pub const fn on_create(mut self) -> Self {
        self.def.write = Write::OnCreate;
        self
    }
    /// Writing it is an error: another operation does it.
    #[must_use]
    pub const fn refused(mut self) -> Self {
        self.def.write = Write::Refused;
        self
    }
    /// An old or second name of another field: reads what is stored under `key`.
    #[must_use]
    pub const fn stored_as(mut self, key: &'static str) -> Self {
        self.def.source = match self.def.source {
            Source::Inline(_) => Source::Inline(key),
            _ => Source::Stored(key),
        };
        self
    }
    /// Writing anything but the one value that it has is an error.
    #[must_use]
    pub const fn constant(mut self) -> Self {
        self.def.write = Write::Constant;
        self
    }
    /// A map of values of custom fields, of which there are none.
    #[must_use]
    pub const fn no_custom_fields(mut self) -> Self {
        self.def.write = Write::NoCustomFields;
        self
    }
    /// Naming it needs these scopes.
    #[must_use]
    pub const fn needs(mut self, scopes: &'static [&'static str]) -> Self {
        self.def.needs = scopes;
        self
    }
    /// Its weight in the cost of a request.
    #[must_use]
    pub const fn cost(mut self, cost: u8) -> Self {
        self.def.cost = cost;
        self
    }
    /// The links are sent as `{gid, resource_type}`.
    #[must_use]
    pub const fn bare(mut self) -> Self {
        self.def.bare = true;
        self
    }
    /// The links are sent as compact or full records.
    #[must_use]
    pub const fn record(mut self, rep: Rep) -> Self {
        self.def.record = Some(rep);
        self
    }
    /// Part of the compact form in which the node is nested; must be compact too.
    #[must_use]
    pub const fn head(mut self) -> Self {
        self.def.head = true;
        self.compact()
    }
    /// Only some nodes of the type have the field.
    #[must_use]
    pub const fn only(mut self, which: fn(&Node) -> bool) -> Self {
        self.def.only = Some(which);
        self
    }
    /// A text that names other objects.
    #[must_use]
    pub const fn mentions(mut self, mentions: Mentions) -> Self {
        self.def.mentions = mentions;
        self
    }
    /// A value only for those who see what the link under this stored key leads to; others get the default.
    #[must_use]
    pub const fn behind(mut self, link: &'static str) -> Self {
        self.def.behind = Some(link);
        self
    }
    /// Those who write it are told of a change of the contract.
    #[must_use]
    pub const fn deprecated(mut self, change: Deprecation) -> Self {
        self.def.deprecated = Some(change);
        self
    }
    /// Another default, as JSON.
    #[must_use]
    pub const fn default(mut self, json: &'static str) -> Self {
        self.def.default = json;
        self
    }
    /// What the field means.
    #[must_use]
    pub const fn doc(mut self, doc: &'static str) -> Self {
        self.def.doc = doc;
        self
    }
}
