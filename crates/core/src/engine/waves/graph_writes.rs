//! Collected writes of commits, as the state after them.
use crate::audit::AuditRow;
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::{Edge, Seq};
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::model::registry::Relation;
use crate::search::{IndexEntry, NodeWords};
use crate::storage::FactKey;
use crate::storage::JournalEntry;
use crate::storage::snapshot::Transaction;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Key of an edge: source, relation and target.
pub type EdgeKey = (Gid, Relation, Gid);

/// Node that commits write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenNode {
    /// The node, in its last version.
    pub node: Arc<Node>,
    /// Commit that creates the node, or that writes its last version.
    pub seq: Seq,
    /// True if the node is new.
    pub is_new: bool,
}

/// Writes of one or more consecutive commits, as an [`Overlay`](super::Overlay) collects them. They hold only the last state
/// of each part, so they can be made table by table: [`GraphWrites::flush`] shows the order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GraphWrites {
    /// Commit of the state to which the writes are applied: the state of the facts, or a later one after
    /// [`GraphWrites::move_to`].
    pub base: Seq,
    /// Nodes to write. A trashed node stays trashed.
    pub nodes: BTreeMap<Gid, WrittenNode>,
    /// Nodes to trash, each with its commit. Their index entries are removed.
    pub trashed: BTreeMap<Gid, Seq>,
    /// Edges to remove.
    pub dropped_edges: BTreeSet<EdgeKey>,
    /// Edges to write.
    pub edges: BTreeMap<EdgeKey, Edge>,
    /// Aliases to remove, each only if it belongs to this node.
    pub dropped_aliases: BTreeSet<(String, Gid)>,
    /// Aliases to give to nodes after the removals.
    pub aliases: BTreeMap<String, Gid>,
    /// Keys of custom field values to replace, by node and field; no keys if the value is cleared.
    pub values: BTreeMap<(Gid, Gid), Vec<IndexKey>>,
    /// Index entries to replace; the words only if [`IndexEntry::words_hash`] differs.
    pub index_entries: BTreeMap<Gid, (IndexEntry, NodeWords)>,
    /// Entries of the journal, one for each commit.
    pub journal: Vec<JournalEntry>,
    /// Rows of the audit log, each to be [appended after](AuditRow::appended_after) the last one.
    pub audit_rows: Vec<AuditRow>,
    /// True if memberships change, so that viewers are outdated.
    pub invalidates_viewers: bool,
    /// Keys of everything that is written.
    pub touched: BTreeSet<FactKey>,
    /// Keys of everything that was read to find the writes.
    pub reads: BTreeSet<FactKey>,
}

impl GraphWrites {
    /// Returns true if there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.journal.is_empty()
    }

    /// Returns the last commit of the writes.
    #[must_use]
    pub fn last_seq(&self) -> Seq {
        self.base + self.journal.len() as Seq
    }

    /// Returns true if one of the keys is a key of the reads: the writes are then outdated and must be computed again.
    pub fn is_outdated(&self, touched: impl IntoIterator<Item = FactKey>) -> bool {
        touched.into_iter().any(|key| self.reads.contains(&key))
    }

    /// Moves the writes to a later state; the commits in between must have touched none of the reads. The commits get the
    /// numbers after that state.
    pub fn move_to(&mut self, base: Seq) {
        let old = self.base;
        let moved = |seq: &mut Seq| {
            // Edges that only move within their lists keep the commits that made them.
            if *seq > old {
                *seq = *seq - old + base;
            }
        };
        self.nodes
            .values_mut()
            .for_each(|node| moved(&mut node.seq));
        self.trashed.values_mut().for_each(moved);
        self.edges
            .values_mut()
            .for_each(|edge| moved(&mut edge.seq));
        self.journal
            .iter_mut()
            .for_each(|entry| moved(&mut entry.seq));
        self.base = base;
    }

    /// Performs the writes in a transaction.
    ///
    /// # Errors
    /// Returns an error if the store fails, or an alias is taken.
    pub fn flush(&self, txn: &mut dyn Transaction) -> Result<(), GraphStoreError> {
        for written in self.nodes.values() {
            txn.put_node(&written.node, written.seq)?;
        }
        for (gid, seq) in &self.trashed {
            txn.trash_node(*gid, *seq)?;
        }
        for (src, rel, dst) in &self.dropped_edges {
            txn.drop_edge(*src, *rel, *dst)?;
        }
        for edge in self.edges.values() {
            txn.put_edge(edge)?;
        }
        for (key, gid) in &self.dropped_aliases {
            txn.drop_alias(key, *gid)?;
        }
        for (key, gid) in &self.aliases {
            txn.put_alias(key, *gid)?;
        }
        for ((node, field), keys) in &self.values {
            txn.put_values(*node, *field, keys)?;
        }
        for (entry, text) in self.index_entries.values() {
            txn.put_index_entry(entry, text)?;
        }
        if self.invalidates_viewers {
            txn.invalidate_viewers()?;
        }
        for row in &self.audit_rows {
            txn.append_audit_row(row.clone())?;
        }
        for entry in &self.journal {
            txn.append_journal(entry)?;
        }
        Ok(())
    }
}
