//! Pages of lists: what is listed, on which conditions, and the rows that were found.
use super::Seq;
use crate::gid::Gid;
use crate::registry::{Dir, Rel, Type};
use crate::time::Time;

/// Which node of an edge a list gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Give {
    /// The node at the other end.
    Far,
    /// The third party.
    Aux,
}

/// What a page is a page of. The anchor is an index into [`Want::refs`](super::Want::refs).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listing {
    /// Edges of one relation at the anchor.
    Edges {
        /// The anchor.
        anchor: usize,
        /// The relation.
        rel: Rel,
        /// Away from the anchor or towards it.
        dir: Dir,
        /// What to give of each edge.
        give: Give,
    },
    /// Sources of `inner` edges into the sources of `outer` edges into the anchor: the tasks of a
    /// project, section by section.
    Through {
        /// The anchor.
        anchor: usize,
        /// Section → anchor.
        outer: Rel,
        /// Task → section.
        inner: Rel,
    },
    /// All nodes of a type that belong to the workspace, in the order of their gids.
    Home {
        /// The workspace.
        anchor: usize,
        /// The type.
        ty: Type,
    },
    /// All nodes of a type that belong to the workspaces of the viewer, each once, in the order of
    /// their gids: users who have a seat there, or nodes whose home one of them is.
    Homes {
        /// The type.
        ty: Type,
    },
    /// The anchor alone.
    Only {
        /// The anchor.
        anchor: usize,
    },
    /// As `Edges`, but by title (case folded), then gid. Reads the whole list, at most
    /// [`ALPHABETICAL_CAP`] rows of it.
    Alphabetical {
        /// The anchor.
        anchor: usize,
        /// The relation.
        rel: Rel,
        /// Away from the anchor or towards it.
        dir: Dir,
    },
}

impl Listing {
    /// The anchor, if there is one.
    #[must_use]
    pub const fn anchor(&self) -> Option<usize> {
        match self {
            Self::Edges { anchor, .. }
            | Self::Through { anchor, .. }
            | Self::Home { anchor, .. }
            | Self::Only { anchor }
            | Self::Alphabetical { anchor, .. } => Some(*anchor),
            Self::Homes { .. } => None,
        }
    }
}

/// The most rows an alphabetical list considers.
pub const ALPHABETICAL_CAP: usize = 2_000;

/// A condition on the rows of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Filter {
    /// Of this type.
    Is(Type),
    /// Of this workspace.
    Home(Gid),
    /// Open, or completed at or after the instant.
    CompletedSince(Time),
    /// Modified at or after the instant.
    ModifiedSince(Time),
    /// A stored flag has this value (absent means false).
    Flag(&'static str, bool),
    /// Nothing is stored under this key: the field has its default.
    Unset(&'static str),
    /// The other end of the edge is this node.
    Far(Gid),
    /// The node has an edge of this relation to that node.
    Linked(Rel, Gid),
}

/// A page of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Page {
    /// What is listed.
    pub from: Listing,
    /// Conditions on the rows.
    pub filters: Vec<Filter>,
    /// The keyset of the last row of the page before.
    pub after: Option<Vec<i64>>,
    /// How many rows to give at most.
    pub limit: usize,
    /// Rows committed later are not part of the walk; none means "now".
    pub upto: Option<Seq>,
    /// Whether seeing the anchor means seeing every row.
    pub open: bool,
    /// Rows that earlier pages of this walk went through.
    pub seen: u32,
    /// Rows after which a walk is cut: the very-large-set limit.
    pub cap: u32,
}

impl Page {
    /// The first so many rows of a list, without conditions, in a walk that is not cut.
    #[must_use]
    pub const fn of(from: Listing, open: bool, limit: usize) -> Self {
        Self {
            from,
            filters: Vec::new(),
            after: None,
            limit,
            upto: None,
            open,
            seen: 0,
            cap: u32::MAX,
        }
    }
}

/// The rows of a page.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rows {
    /// The nodes, in order.
    pub gids: Vec<Gid>,
    /// Where the next page starts, if there is one.
    pub next: Option<Vec<i64>>,
    /// The bound of the walk.
    pub upto: Seq,
    /// Rows the walk has gone through so far, unreadable ones included.
    pub seen: u32,
    /// The walk reached the cap and there is more.
    pub cut: bool,
    /// Cards, and entries of lists, that a search read.
    pub read: u64,
}
