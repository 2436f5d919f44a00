//! Sources of field values, and the types of custom fields.
use super::rel::{Direction, Relation};
use crate::model::computed_field::ComputedFieldContext;
use crate::model::node::Node;

/// Source of a field's value.
#[derive(Clone, Copy)]
pub enum FieldSource {
    /// The node's gid.
    Gid,
    /// The name of the node's type.
    TypeName,
    /// The node's body, under this key (usually the field's own name).
    Stored(&'static str),
    /// The gid in the body under this key.
    Inline(&'static str),
    /// The array of gids in the body under this key.
    Gids(&'static str),
    /// The custom fields of a task with its values, which the body stores by field under this key.
    Values(&'static str),
    /// In an item of `Values`: a part of the value. A definition alone does not have it.
    Value(ValuePart),
    /// Data that the requesting app keeps with the node; the body has it under this key, by app
    /// ([`external_data`](crate::model::external_data)).
    PerApp(&'static str),
    /// The workspace the node belongs to.
    Workspace,
    /// Nodes at the other end of these edges.
    Edges(Relation, Direction),
    /// The auxiliary nodes of these edges (each once).
    Aux(Relation, Direction),
    /// In an item: the node the edge leads to.
    ItemTarget,
    /// In an item: the auxiliary node of the edge.
    ItemAux,
    /// In an item: the auxiliary gid of the edge, which has no node.
    ItemAuxGid,
    /// Number of these edges.
    Count(Relation, Direction),
    /// True if the viewer is at the other end of an edge of this relation.
    HasViewer(Relation),
    /// One item about the edges of this relation, if there are any.
    Summary(Relation),
    /// This constant JSON.
    Always(&'static str),
    /// JSON that this function writes.
    Computed(fn(&Node, &ComputedFieldContext<'_>, &mut Vec<u8>)),
    /// The address of the record's page. It names the first auxiliary node of these edges that the viewer sees, such as
    /// the project of a task.
    Permalink(Option<Relation>),
    /// In a group of a goal: JSON that this function writes from the goal, and from its progress if that is computed.
    WithProgress(fn(&Node, Option<f64>, &mut Vec<u8>)),
}

impl std::fmt::Debug for FieldSource {
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
            Self::Summary(rel) => write!(f, "summary of edges {}", rel.0),
            Self::HasViewer(rel) => write!(f, "viewer on edges {}", rel.0),
            Self::Always(json) => write!(f, "always {json}"),
            Self::Permalink(_) => f.write_str("address of the page"),
            Self::Gid => f.write_str("gid"),
            Self::TypeName => f.write_str("type name"),
            Self::Workspace => f.write_str("workspace"),
            Self::ItemTarget | Self::ItemAux | Self::ItemAuxGid => f.write_str("the edge"),
            Self::Computed(_) | Self::WithProgress(_) => f.write_str("computed"),
        }
    }
}

/// A part of the value that a task has for a custom field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValuePart {
    /// True if a project of the task still has the field.
    Enabled,
    /// The text, number or date.
    Plain(CustomFieldType),
    /// The option, options, users or objects.
    Linked(CustomFieldType),
    /// The text as HTML.
    Html,
    /// The display value: one string for every type.
    Display,
}

/// Type of a custom field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CustomFieldType {
    /// Plain text.
    Text,
    /// Decimal number.
    Number,
    /// One option of a list.
    Enum,
    /// Several options of a list.
    MultiEnum,
    /// A day or an instant.
    Date,
    /// Any number of users.
    People,
    /// Tasks or projects.
    Reference,
}

impl CustomFieldType {
    /// Names of the types in the contract, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &[
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
    /// Returns the type of this name.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let at = Self::NAMES.iter().position(|w| *w == word)?;
        Self::ALL.get(at).copied()
    }
    /// Returns true if values are gids of nodes.
    #[must_use]
    pub fn links(self) -> bool {
        matches!(
            self,
            Self::Enum | Self::MultiEnum | Self::People | Self::Reference
        )
    }
    /// Returns the name of the type in the contract.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.get(self as usize).copied().unwrap_or("text")
    }
}
