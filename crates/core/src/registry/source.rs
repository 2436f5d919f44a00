//! Where values come from, and the types of custom field.
use super::{Dir, Rel};
use crate::node::Node;
use crate::project::Scene;

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
    /// What the app that asks keeps with the node; the body has it under this key, by app
    /// ([`external`](crate::external)).
    PerApp(&'static str),
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
            Self::PerApp(key) => write!(f, "stored by app as {key}"),
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
