//! Changes: the writes of one request, and the journal entry of its commit.
use crate::audit::{ActorContext, AuditEntry};
use crate::model::edge::Seq;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type};
use crate::model::time::Time;
use crate::storage::DecisionReads;
use crate::storage::custom_field_index::ValueIndexEntry;

/// A node to write: a new one, or the next version of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeWrite {
    /// The node; its version is the new one, 1 for a new node.
    pub node: Node,
}

/// Rank of an edge, which is its position in the list of its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListPosition {
    /// The given rank. In a list whose order editors choose, it is the rank that another edge leaves in the same commit.
    Rank(i64),
    /// Before all other edges.
    First,
    /// After all other edges.
    Last,
    /// The rank is one more than the highest one in the list, 1 for the first. An existing edge stays as it is, and no edge to a
    /// removed node is written.
    NextRank,
    /// The rank is a total: the rank of the existing edge, or 0, plus this number. A total is never less than 0.
    Plus(i64),
    /// Right before the edge from this node.
    Before(Gid),
    /// Right after the edge from this node.
    After(Gid),
}

/// A new edge, or a new position for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EdgeWrite {
    /// Node at which it starts.
    pub src: Gid,
    /// Kind of the edge.
    pub rel: Relation,
    /// Node to which it leads.
    pub dst: Gid,
    /// Position in the target's list.
    pub position: ListPosition,
    /// Gid of the auxiliary node.
    pub aux: Option<Gid>,
}

/// A condition that must hold when the changes are applied, besides the reads of their decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    /// The node is live and still has this version.
    Version(Gid, u64),
    /// The node is live.
    Live(Gid),
    /// Fewer than this many live nodes have an edge of this relation into the node.
    Below(Gid, Relation, u64),
    /// At most this many live nodes have an edge of this relation into the node.
    AtMost(Gid, Relation, u64),
    /// No edge of this relation leads from the first node to the second.
    Unlinked(Gid, Relation, Gid),
    /// The rank of the edge of this relation from a node to itself, or 0 without one, is at most this.
    TotalAtMost(Gid, Relation, i64),
}

/// Change of one node, for webhooks, the events API and the audit log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeRecord {
    /// Gid of the changed node.
    pub gid: Gid,
    /// Type of the changed node.
    pub ty: Type,
    /// Kind of the change.
    pub action: ChangeAction,
}

/// Action of a change, with the names of the contract.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChangeAction {
    /// Created, or added to the parent.
    Added {
        /// Parent to which the node was added.
        parent: Option<Gid>,
    },
    /// The node was removed from a parent.
    Removed {
        /// Parent from which the node was removed.
        parent: Gid,
    },
    /// A field changed; links name the other node.
    Changed {
        /// Name of the field.
        field: &'static str,
        /// A node that was added to a list.
        added: Option<Gid>,
        /// A node that was removed from a list.
        removed: Option<Gid>,
    },
    /// The node was trashed.
    Deleted,
}

/// A commit in its journal form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JournalEntry {
    /// Sequence number of the commit.
    pub seq: Seq,
    /// Time of the commit.
    pub time: Time,
    /// User who made the changes; `None` for the system.
    pub actor: Option<Gid>,
    /// Changes of the commit, one for each changed node or field.
    pub change_records: Vec<ChangeRecord>,
    /// Contexts of the nodes that the change records name, and of their containers, at the time of the commit.
    pub node_contexts: Vec<NodeContext>,
}

/// Context of a node in the journal: enough to render events about the node after it is deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeContext {
    /// Gid of the node.
    pub gid: Gid,
    /// Type of the node.
    pub ty: Type,
    /// Its `resource_subtype`, if it was read and the type has one.
    pub subtype: Option<Box<str>>,
    /// Nodes that contain this one directly: the task of a story; the projects, the parent and the workspace of a task; the
    /// workspace and the teams of a project.
    pub containers: Vec<Gid>,
}

/// All changes of one request. Either all changes are applied, or none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Changes {
    /// User who makes the changes; `None` for the system.
    pub actor: Option<Gid>,
    /// Time of the changes.
    pub time: Time,
    /// Reads that must still be true; if they are not, the commit is a conflict and nothing is applied. `None` if the changes
    /// depend on their guards alone.
    pub reads: Option<DecisionReads>,
    /// Conditions; if one fails the commit is a conflict and nothing is applied.
    pub guards: Vec<Guard>,
    /// Nodes to write.
    pub node_writes: Vec<NodeWrite>,
    /// Nodes to trash, with their subtasks.
    pub trashed: Vec<Gid>,
    /// Tasks in sections of deleted projects, each with its section: a task is trashed if nothing else lists it, and leaves the
    /// section otherwise.
    pub abandoned: Vec<(Gid, Gid)>,
    /// Edges to remove.
    pub edge_removals: Vec<(Gid, Relation, Gid)>,
    /// Edges to create or move. Applied in order, after the removals.
    pub edge_writes: Vec<EdgeWrite>,
    /// Aliases to remove, each with its node; an alias of another node stays. They are removed before aliases are added.
    pub remove_aliases: Vec<(String, Gid)>,
    /// Aliases to add; an alias of another node is [`GraphStoreError::AliasTaken`](crate::storage::GraphStoreError::AliasTaken).
    pub add_aliases: Vec<(String, Gid)>,
    /// Entries of the value index to replace.
    pub index_updates: Vec<ValueIndexEntry>,
    /// Changes of nodes, for the journal.
    pub change_records: Vec<ChangeRecord>,
    /// Entries of the audit log, in addition to the entries that follow from the change records.
    pub audit_entries: Vec<AuditEntry>,
    /// Actor, for the audit log; `None` for the service itself on behalf of [`Changes::actor`].
    pub actor_context: Option<Box<ActorContext>>,
}

impl Changes {
    /// Returns true if nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.node_writes.is_empty()
            && self.trashed.is_empty()
            && self.abandoned.is_empty()
            && self.edge_removals.is_empty()
            && self.edge_writes.is_empty()
            && self.remove_aliases.is_empty()
            && self.add_aliases.is_empty()
            && self.index_updates.is_empty()
            && self.audit_entries.is_empty()
    }
}

/// Receipt of a durable commit, with its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommitReceipt {
    /// Sequence number of the commit.
    pub seq: Seq,
}

/// The epoch, for changes with a time that the store fills in.
impl Default for Time {
    fn default() -> Self {
        Self::from_millis(0)
    }
}
