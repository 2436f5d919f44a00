//! Pages of lists: the source of a page, its filters, and its rows.
use super::{NodeRef, Seq};
use crate::model::gid::Gid;
use crate::model::registry::{Direction, Relation, Type};
use crate::model::time::{Date, Time};

/// Node of an edge that a list returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeEnd {
    /// The node at the other end.
    OtherEnd,
    /// The auxiliary node.
    Aux,
}

/// Source of the rows of a page. The anchor is an index into [`ReadQuery::node_refs`](super::ReadQuery::node_refs).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListSource {
    /// Edges of one relation at the anchor.
    Edges {
        /// Index of the anchor.
        anchor: usize,
        /// Relation of the edges.
        rel: Relation,
        /// Direction of the edges: away from the anchor or towards it.
        dir: Direction,
        /// Node of each edge that is returned.
        give: EdgeEnd,
    },
    /// Nodes two edges from the anchor, such as the tasks of a project, section by section: their `inner` edges lead to
    /// nodes whose `outer` edges lead to the anchor.
    TwoStep {
        /// Index of the anchor.
        anchor: usize,
        /// Relation of the edges from a section to the anchor.
        outer: Relation,
        /// Relation of the edges from a task to a section.
        inner: Relation,
    },
    /// All nodes of a type that belong to the workspace, in the order of their gids.
    InWorkspace {
        /// Index of the workspace.
        anchor: usize,
        /// Type of the nodes.
        ty: Type,
    },
    /// All nodes of a type in the viewer's workspaces, each once, in the order of their gids: users with a membership there, or
    /// nodes of one of the workspaces.
    InViewerWorkspaces {
        /// Type of the nodes.
        ty: Type,
    },
    /// The time periods of some years.
    TimePeriods {
        /// Index of the workspace.
        anchor: usize,
        /// First year with periods to list.
        first_year: i32,
        /// Last year, included.
        last_year: i32,
    },
    /// The reactions to the anchor, in the order of the gids of their users.
    Reactions {
        /// Index of the anchor.
        anchor: usize,
        /// Relation of the edges to the users who like the anchor; the relation of the anchor's type replaces it.
        likes: Relation,
    },
    /// The anchor alone.
    SingleNode {
        /// Index of the anchor.
        anchor: usize,
    },
    /// As `Edges`, but by title (case folded), then gid. Reads the whole list, at most
    /// [`ALPHABETICAL_CAP`] rows of it.
    Alphabetical {
        /// Index of the anchor.
        anchor: usize,
        /// Relation of the edges.
        rel: Relation,
        /// Direction of the edges: away from the anchor or towards it.
        dir: Direction,
    },
}

impl ListSource {
    /// Returns the index of the anchor, if there is one.
    #[must_use]
    pub const fn anchor(&self) -> Option<usize> {
        match self {
            Self::Edges { anchor, .. }
            | Self::TwoStep { anchor, .. }
            | Self::InWorkspace { anchor, .. }
            | Self::TimePeriods { anchor, .. }
            | Self::Reactions { anchor, .. }
            | Self::SingleNode { anchor }
            | Self::Alphabetical { anchor, .. } => Some(*anchor),
            Self::InViewerWorkspaces { .. } => None,
        }
    }
}

/// Maximum number of rows that an alphabetical list considers.
pub const ALPHABETICAL_CAP: usize = 2_000;

/// A condition on the rows of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowFilter {
    /// The node is of this type.
    Is(Type),
    /// The node belongs to this workspace.
    InWorkspace(Gid),
    /// The task is open, or was completed at or after the instant.
    CompletedSince(Time),
    /// The node was modified at or after the instant.
    ModifiedSince(Time),
    /// The node was created at or after the instant.
    CreatedSince(Time),
    /// A stored flag has this value (absent means false).
    Flag(&'static str, bool),
    /// The body has nothing under this key: the field has its default.
    Unset(&'static str),
    /// The body has a value under this key other than the default of the field.
    Set(&'static str),
    /// The other end of the edge is this node.
    OtherEnd(Gid),
    /// The node has an edge of this relation to that node.
    Linked(Relation, Gid),
    /// The node links to the node of a parameter.
    LinksTo(LinkFilter),
    /// The day stored under a key is this day or a later one.
    DayFrom(&'static str, Date),
    /// The day stored under a key is this day or an earlier one.
    DayUntil(&'static str, Date),
    /// The value stored under a key, or its default, is one of these, as JSON.
    OneOf {
        /// Key of the stored value.
        key: &'static str,
        /// Value that counts for nodes without a stored value.
        default: &'static str,
        /// Values that pass the filter.
        values: Vec<String>,
    },
}

/// A parameter that names a node to which the rows of a page link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkFilter {
    /// Name of the parameter, for errors.
    pub parameter: &'static str,
    /// Types of the nodes that it may name.
    pub types: &'static [Type],
    /// The node; it is also one of [`ReadQuery::node_refs`](super::ReadQuery::node_refs).
    pub node: NodeRef,
    /// Link from the rows to the node.
    pub by: RowLink,
    /// True if the viewer need not see the node, which must then be in one of the viewer's workspaces.
    pub unseen: bool,
}

/// Link between a row of a page and a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowLink {
    /// The row stores the gid of the node under this key.
    Key(&'static str),
    /// The node is the workspace of the row.
    Workspace,
    /// The row stores the gid of another node under this key, and that other node has an edge of the relation to the node.
    Through(&'static str, Relation),
    /// An edge of this relation leads from the row to the node, or the other way round.
    Edge(Relation, Direction),
}

/// Query for one page of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageQuery {
    /// Source that the rows come from.
    pub source: ListSource,
    /// Filters that the rows must pass.
    pub filters: Vec<RowFilter>,
    /// Keyset of the last row of the previous page.
    pub after: Option<Vec<i64>>,
    /// Maximum number of rows to return.
    pub limit: usize,
    /// Bound of the walk: rows committed later are left out; `None` means the last commit.
    pub max_seq: Option<Seq>,
    /// True if a viewer who sees the anchor may see every row.
    pub anchor_grants_access: bool,
    /// Number of rows that earlier pages of this walk read.
    pub rows_seen: u32,
    /// Number of rows after which a walk is cut off: the very-large-set limit.
    pub row_cap: u32,
}

impl PageQuery {
    /// Returns a query for the first `limit` rows of a list, without filters and without a cap.
    #[must_use]
    pub const fn of(from: ListSource, open: bool, limit: usize) -> Self {
        Self {
            source: from,
            filters: Vec::new(),
            after: None,
            limit,
            max_seq: None,
            anchor_grants_access: open,
            rows_seen: 0,
            row_cap: u32::MAX,
        }
    }
}

/// Rows of a page, and the position of the next page.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PageRows {
    /// Gids of the nodes, in order.
    pub gids: Vec<Gid>,
    /// Keyset after which the next page starts, if there is one.
    pub next: Option<Vec<i64>>,
    /// Bound of the walk, a commit sequence number.
    pub max_seq: Seq,
    /// Number of rows that the walk has read so far, including those that the viewer may not see.
    pub rows_seen: u32,
    /// True if the walk reached the cap and there are more rows.
    pub is_truncated: bool,
    /// Number of index entries, whole or in lists, that a search read.
    pub entries_read: u64,
}
