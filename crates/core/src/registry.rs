//! The vocabulary in which resource types are declared: fields, shapes, sources and relations.
//!
//! A resource type is one `static` [`Resource`]; projection, validation, scopes, storage and the
//! documents all read it. Nothing here runs: it is data that `const fn`s put together.
use crate::node::Node;
use crate::project::Scene;
use std::marker::PhantomData;

/// The kinds of node. The numbers are stored; never reuse one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Type {
    /// A workspace or organization: the tenant.
    Workspace = 1,
    /// A person.
    User = 2,
    /// A group of people in an organization.
    Team = 3,
    /// That a user belongs to a workspace.
    WorkspaceMembership = 4,
    /// That a user belongs to a team.
    TeamMembership = 5,
    /// A project.
    Project = 6,
    /// That a user or team belongs to a project.
    ProjectMembership = 7,
    /// A section of a project or of a user task list.
    Section = 8,
    /// A task or subtask.
    Task = 9,
    /// A tag.
    Tag = 10,
    /// The tasks assigned to a user in a workspace.
    UserTaskList = 11,
    /// A comment or a record of a change.
    Story = 12,
    /// The definition of a custom field.
    CustomField = 13,
    /// An option of an enum or multi_enum custom field.
    EnumOption = 14,
    /// That the tasks of a project have a custom field.
    CustomFieldSetting = 15,
    /// A subscription to events. Made from a row of its own table when it is shown, never stored as a node.
    Webhook = 17,
    /// Something that happened. Made from the journal when it is shown, never stored as a node.
    Event = 18,
    /// Long work that goes on after the request that asked for it.
    Job = 20,
    /// A project kept as a pattern for new ones.
    ProjectTemplate = 21,
    /// A task kept as a pattern for new ones.
    TaskTemplate = 22,
    /// A task of a project template.
    Recipe = 23,
}

impl Type {
    /// Every type, in the order of its number.
    pub const ALL: &'static [Self] = &[
        Self::Workspace,
        Self::User,
        Self::Team,
        Self::WorkspaceMembership,
        Self::TeamMembership,
        Self::Project,
        Self::ProjectMembership,
        Self::Section,
        Self::Task,
        Self::Tag,
        Self::UserTaskList,
        Self::Story,
        Self::CustomField,
        Self::EnumOption,
        Self::CustomFieldSetting,
        Self::Webhook,
        Self::Event,
        Self::Job,
        Self::ProjectTemplate,
        Self::TaskTemplate,
        Self::Recipe,
    ];

    /// The type with this stored number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|t| *t as u8 == code)
    }
}

/// Something for every type, found by the type's number.
#[derive(Debug)]
pub(crate) struct ByType<T>(Vec<Option<T>>);

impl<T> ByType<T> {
    /// Makes it for each type.
    pub(crate) fn new(make: impl Fn(Type) -> T) -> Self {
        Self(
            (0..=u8::MAX)
                .map(|code| Type::from_code(code).map(&make))
                .collect(),
        )
    }
    /// What there is for a type.
    pub(crate) fn get(&self, ty: Type) -> Option<&T> {
        self.0.get(ty as usize).and_then(Option::as_ref)
    }
}

/// A kind of edge. Numbers are stored; those that are read together stand together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rel(pub u8);

/// The relations of the graph: `source → target`, and what the third party ([`crate::graph::Edge::aux`]) is.
pub mod rel {
    use super::Rel;
    /// Task → section of a project it is in; aux is the project. Placed.
    pub const SECTION: Rel = Rel(1);
    /// Task → user who follows it.
    pub const FOLLOWERS: Rel = Rel(2);
    /// Task → tag.
    pub const TAGS: Rel = Rel(3);
    /// Subtask → parent task. Placed.
    pub const PARENT: Rel = Rel(4);
    /// Task → section of its assignee's task list; aux is the list. Placed.
    pub const MY_TASKS: Rel = Rel(5);
    /// Task → user who likes it; aux is the gid of the like.
    pub const LIKES: Rel = Rel(6);
    /// Task → task it waits for.
    pub const DEPENDS: Rel = Rel(7);
    /// Story → the task it is on.
    pub const STORY_OF: Rel = Rel(8);
    /// Story → user who likes it; aux is the gid of the like.
    pub const STORY_LIKES: Rel = Rel(9);
    /// Section → project or user task list. Placed.
    pub const SECTION_OF: Rel = Rel(10);
    /// Project → team it is shared with.
    pub const TEAM: Rel = Rel(11);
    /// Project → user who follows it.
    pub const PROJECT_FOLLOWERS: Rel = Rel(12);
    /// User → workspace; aux is the workspace membership.
    pub const WORKSPACES: Rel = Rel(13);
    /// Team → user; aux is the team membership; rank 1 marks a team admin.
    pub const TEAM_MEMBERS: Rel = Rel(14);
    /// Project → user or team; aux is the project membership; rank is the access level.
    pub const MEMBERS: Rel = Rel(15);
    /// Tag → user who follows it.
    pub const TAG_FOLLOWERS: Rel = Rel(16);
    /// User → a node they marked as a favourite. Shown, but no public operation writes it.
    pub const FAVORITES: Rel = Rel(17);
    /// Enum option → its custom field. Placed.
    pub const OPTION_OF: Rel = Rel(20);
    /// Custom field → project whose tasks have it; aux is the setting. Placed.
    pub const FIELD_ON: Rel = Rel(21);
    /// Job that is not at its end → user who asked for it; rank is its deadline.
    pub const ACTIVE: Rel = Rel(50);
    /// Job that is not at its end → the queue of jobs; rank is when it may be taken up.
    pub const QUEUE: Rel = Rel(51);
    /// Original → job that copies it; aux is the copy; rank counts the copies.
    pub const COPIED: Rel = Rel(52);
    /// Project template → team it is shared with.
    pub const TEMPLATE_TEAM: Rel = Rel(53);
    /// Recipe → tag that its copies get.
    pub const RECIPE_TAGS: Rel = Rel(54);
    /// Task template → project it is used in.
    pub const TEMPLATE_OF: Rel = Rel(55);
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

/// Where a field's value comes from.
#[derive(Clone, Copy)]
pub enum Source {
    /// The node's gid.
    Gid,
    /// The name of the node's type.
    Kind,
    /// The node's body, under this key (usually the field's own name).
    Stored(&'static str),
    /// The gid in the body under this key.
    Inline(&'static str),
    /// The array of gids in the body under this key.
    Gids(&'static str),
    /// The custom fields of a task with its values, which the body keeps under this key by field.
    Values(&'static str),
    /// In an item of `Values`: a part of the value. A definition alone does not have it.
    Value(Part),
    /// The workspace the node belongs to.
    Home,
    /// The nodes at the other end of these edges.
    Edges(Rel, Dir),
    /// The third parties of these edges (each once).
    Aux(Rel, Dir),
    /// In an item: the node the edge leads to.
    ItemTarget,
    /// In an item: the third party of the edge.
    ItemAux,
    /// In an item: the gid of the third party, which has no node.
    ItemAuxGid,
    /// How many such edges there are.
    Count(Rel, Dir),
    /// Whether the viewer is at the other end of such an edge.
    HasViewer(Rel),
    /// Always this JSON.
    Always(&'static str),
    /// Written by this function.
    Computed(fn(&Node, &Scene<'_>, &mut Vec<u8>)),
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stored(key) => write!(f, "stored as {key}"),
            Self::Inline(key) => write!(f, "gid stored as {key}"),
            Self::Gids(key) => write!(f, "gids stored as {key}"),
            Self::Values(key) => write!(f, "custom fields with values stored as {key}"),
            Self::Value(part) => write!(f, "{part:?} of the value"),
            Self::Edges(rel, dir) => write!(f, "edges {} {dir:?}", rel.0),
            Self::Aux(rel, dir) => write!(f, "third parties of edges {} {dir:?}", rel.0),
            Self::Count(rel, dir) => write!(f, "count of edges {} {dir:?}", rel.0),
            Self::HasViewer(rel) => write!(f, "viewer on edges {}", rel.0),
            Self::Always(json) => write!(f, "always {json}"),
            Self::Gid => f.write_str("gid"),
            Self::Kind => f.write_str("type name"),
            Self::Home => f.write_str("workspace"),
            Self::ItemTarget | Self::ItemAux | Self::ItemAuxGid => f.write_str("the edge"),
            Self::Computed(_) => f.write_str("computed"),
        }
    }
}

/// A part of the value that a task has for a custom field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Whether a project of the task still has the field.
    Enabled,
    /// The text, number or date.
    Plain(Kind),
    /// The option, options, users or objects.
    Linked(Kind),
    /// The text as HTML.
    Html,
    /// The value as one string, whatever the type.
    Display,
}

/// The types of custom field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A text.
    Text,
    /// A number.
    Number,
    /// One option.
    Enum,
    /// Options.
    MultiEnum,
    /// A day or an instant.
    Date,
    /// Users.
    People,
    /// Tasks, projects, ...
    Reference,
}

impl Kind {
    /// The words of the contract, in the order of the variants.
    pub const WORDS: &'static [&'static str] = &[
        "text",
        "number",
        "enum",
        "multi_enum",
        "date",
        "people",
        "reference",
    ];
    const ALL: [Self; 7] = [
        Self::Text,
        Self::Number,
        Self::Enum,
        Self::MultiEnum,
        Self::Date,
        Self::People,
        Self::Reference,
    ];
    /// The type of this name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let at = Self::WORDS.iter().position(|w| *w == word)?;
        Self::ALL.get(at).copied()
    }
    /// Whether values are gids of nodes.
    #[must_use]
    pub fn links(self) -> bool {
        matches!(
            self,
            Self::Enum | Self::MultiEnum | Self::People | Self::Reference
        )
    }
    /// The name.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.get(self as usize).copied().unwrap_or("text")
    }
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
    /// Its weight in the cost of a request, when named beyond the default record.
    pub cost: u8,
    /// What it means.
    pub doc: &'static str,
}

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
        cost: 1,
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
        /// Rich text, an empty body by default.
        html: str = () Shape::Html, Source::Stored, "\"<body></body>\"";
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
        /// JSON stored as it is, null by default.
        json: Opaque = () Shape::Json, Source::Stored, "null";
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
    /// All fields, in the order in which they are sent.
    pub fields: &'static [Def],
}

impl Resource {
    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static Def> {
        self.fields.iter().find(|d| d.name == name)
    }
}
