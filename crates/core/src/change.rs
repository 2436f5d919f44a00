//! Changes: what one request writes, and what happened by it.
use crate::audit::{Acting, Told};
use crate::gid::Gid;
use crate::graph::Seq;
use crate::index::Entry;
use crate::node::Node;
use crate::registry::{Rel, Type};
use crate::time::Time;

/// A node to be written: a new one, or the next version of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Put {
    /// The node; its version is the new one, 1 for a new node.
    pub node: Node,
}

/// Where a new edge goes in its target's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The relation is not placed: the rank is given.
    Rank(i64),
    /// Before all others.
    First,
    /// After all others.
    Last,
    /// The rank is one more than the highest there is, 1 for the first. An edge that is there already
    /// stays as it is, and nothing leads to a node that is gone.
    Next,
    /// Right before the edge from this node.
    Before(Gid),
    /// Right after the edge from this node.
    After(Gid),
}

/// A new edge, or a new place for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Where it starts.
    pub src: Gid,
    /// What it means.
    pub rel: Rel,
    /// Where it leads.
    pub dst: Gid,
    /// Its place.
    pub place: Place,
    /// The third party.
    pub aux: Option<Gid>,
}

/// A condition that must hold when the changes are applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    /// The node is live and still has this version.
    Version(Gid, u64),
    /// The node is live.
    Live(Gid),
    /// No live node has such an edge into this one.
    Empty(Gid, Rel),
    /// At least this many live nodes have such an edge into this one.
    AtLeast(Gid, Rel, u64),
    /// Fewer than this many live nodes have such an edge into this one.
    Below(Gid, Rel, u64),
    /// At most this many live nodes have such an edge into this one.
    AtMost(Gid, Rel, u64),
    /// The edges of this relation from the node lead where they led: [`fingerprint`] of their targets.
    Links(Gid, Rel, u64),
    /// There is no edge of this relation from the first node to the second.
    Unlinked(Gid, Rel, Gid),
}

/// A number that in all likelihood tells a list of targets from every other.
pub fn fingerprint(targets: impl Iterator<Item = Gid>) -> u64 {
    // FNV-1a over the numbers; nobody chooses gids.
    targets.fold(0xcbf2_9ce4_8422_2325, |sum, gid| {
        (sum ^ gid.get())
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(29)
    })
}

/// What happened to a node, for webhooks, the events API and the audit log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// The node.
    pub gid: Gid,
    /// Its type.
    pub ty: Type,
    /// What happened.
    pub action: Action,
}

/// The actions of the contract.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Created, or put into the parent.
    Added {
        /// What it was put into.
        parent: Option<Gid>,
    },
    /// Taken out of the parent.
    Removed {
        /// What it was taken out of.
        parent: Gid,
    },
    /// A field changed; links name the other node.
    Changed {
        /// The field.
        field: &'static str,
        /// A node that was added to a list.
        added: Option<Gid>,
        /// A node that was removed from a list.
        removed: Option<Gid>,
    },
    /// Trashed.
    Deleted,
}

/// A commit as the journal keeps it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its sequence number.
    pub seq: Seq,
    /// When it was committed.
    pub at: Time,
    /// Who did it; none for the system.
    pub actor: Option<Gid>,
    /// What happened.
    pub facts: Vec<Fact>,
    /// What is to be known of the nodes that the facts name, and of what those are in, as it was
    /// when the commit happened.
    pub nodes: Vec<About>,
}

/// A node as the journal knows it: enough to tell of it when it is gone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// The node.
    pub gid: Gid,
    /// Its type.
    pub ty: Type,
    /// Its `resource_subtype`, if it was read and the type has one.
    pub subtype: Option<Box<str>>,
    /// What it is directly in: the task of a story; the projects, the parent and the workspace of a
    /// task; the workspace and the teams of a project.
    pub within: Vec<Gid>,
}

/// Everything one request changes. All of it is applied, or none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// Who does it; none for the system.
    pub actor: Option<Gid>,
    /// When.
    pub at: Time,
    /// Conditions; if one fails the commit is a conflict and nothing is applied.
    pub guards: Vec<Guard>,
    /// Nodes to write.
    pub puts: Vec<Put>,
    /// Nodes to trash, with their subtasks.
    pub trash: Vec<Gid>,
    /// Edges to remove.
    pub unlinks: Vec<(Gid, Rel, Gid)>,
    /// Edges to make or move. Applied in order, after the removals.
    pub links: Vec<Link>,
    /// Names to give up, each by its holder; one that another node holds stays. Before names are taken.
    pub unnamed: Vec<(String, Gid)>,
    /// Names to take; a name that another node has is [`StoreError::Taken`](crate::graph::StoreError::Taken).
    pub aliases: Vec<(String, Gid)>,
    /// Values of custom fields, as search finds them.
    pub values: Vec<Entry>,
    /// What happened.
    pub facts: Vec<Fact>,
    /// What stands in the audit log beside what follows from the facts.
    pub told: Vec<Told>,
    /// Who acts, for the audit log; `None` for the service itself on behalf of [`Changes::actor`].
    pub acting: Option<Box<Acting>>,
}

impl Changes {
    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.puts.is_empty()
            && self.trash.is_empty()
            && self.unlinks.is_empty()
            && self.links.is_empty()
            && self.unnamed.is_empty()
            && self.aliases.is_empty()
            && self.values.is_empty()
            && self.told.is_empty()
    }
}

/// A commit that is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Committed {
    /// Its sequence number.
    pub seq: Seq,
}

/// The epoch, for changes whose time the driver fills in.
impl Default for Time {
    fn default() -> Self {
        Self::from_millis(0)
    }
}
