//! Primitives that a store offers for loading and committing.
//!
//! [`crate::engine::load`] and [`crate::engine::apply`] hold the logic common to all stores: following plans, access filtering,
//! page bounds, list positions, trashing subtrees. A store only maps these primitives to its own reads and writes.
use crate::audit::AuditRow;
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::{Edge, Seq};
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type};
use crate::search::{
    ColumnSet, EntryList, EntryScan, IndexColumn, IndexEntry, NodeWords, WordQuery,
};
use crate::storage::{DecisionReads, JournalEntry};
use std::sync::Arc;

/// Depth to which a node is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Depth {
    /// Only the edge: the node itself is not read.
    Edge,
    /// The head: version 0 and body `{}`.
    Head,
    /// The whole node, head and body.
    Full,
}

/// Item of [`Snapshot::scan_in_out`].
#[derive(Debug)]
pub enum InOutItem {
    /// A row of the list: its edge, and its source in full.
    Row(Edge, Arc<Node>),
    /// An edge away from the source of the row before.
    Out(Edge),
}

/// Scan for nodes of one type in one workspace that have all of some words, in the order of their gids.
#[derive(Clone, Copy, Debug)]
pub struct WordScan<'w> {
    /// Workspace, or `None` for nodes that belong to none.
    pub workspace: Option<Gid>,
    /// Type of the nodes.
    pub ty: Type,
    /// Words that a node must have.
    pub words: &'w WordQuery,
    /// True if only names are searched, even if the query says otherwise.
    pub names: bool,
    /// True if the order is from the greatest gid to the least.
    pub descending: bool,
    /// Gid after which the scan starts, in that order.
    pub after: Option<Gid>,
    /// Maximum number of nodes to return.
    pub limit: usize,
}

/// Query for nodes of one type in one workspace that have a word with some prefix.
#[derive(Clone, Copy, Debug)]
pub struct PrefixList<'w> {
    /// Workspace, or `None` for nodes that belong to none.
    pub workspace: Option<Gid>,
    /// Type of the nodes.
    pub ty: Type,
    /// Prefix that the words begin with.
    pub prefix: &'w str,
    /// True if only words of names are searched.
    pub names: bool,
    /// Maximum number of rows to read, including rows of parts that are not searched.
    pub limit: usize,
}

/// One consistent state of the graph. Trashed nodes are invisible, and so are edges to or from them in methods that say "live".
pub trait Snapshot {
    /// Returns the last commit that this state shows.
    ///
    /// # Errors
    /// Returns an error if the store fails; the same holds for every method.
    fn seq(&mut self) -> Result<Seq, GraphStoreError>;
    /// Returns the live node with this alias.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn alias(&mut self, key: &str) -> Result<Option<Gid>, GraphStoreError>;
    /// Returns a live node, read to this depth or deeper.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn node(&mut self, gid: Gid, depth: Depth) -> Result<Option<Arc<Node>>, GraphStoreError>;
    /// Visits edges from `src` with relations in `lo..=hi` to live nodes, in the order of (rel, dst), each with its target read
    /// to this depth or deeper. At depth [`Depth::Edge`] the targets are not read: edges to trashed nodes may be included, and
    /// `seq` may be 0.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn edges_out(
        &mut self,
        src: Gid,
        lo: Relation,
        hi: Relation,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError>;
    /// Returns the edge between two nodes, live or not.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn edge_between(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
    ) -> Result<Option<Edge>, GraphStoreError>;
    /// Visits edges from `src` to live nodes with gids above `after`, in the order of the gids.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn scan_out(
        &mut self,
        src: Gid,
        rel: Relation,
        after: i64,
        limit: usize,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError>;
    /// Visits edges into `dst` from live nodes that come after (rank, source), in that order.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn scan_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        after: (i64, i64),
        limit: usize,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError>;
    /// Visits nodes, live or not, with an edge of a relation into `dst`: at most `limit`, in no order.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn list_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        limit: usize,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError>;
    /// Visits the rows of [`Snapshot::scan_in`] at [`Depth::Full`], each row followed by the edges of
    /// [`Snapshot::edges_out`] from its source at [`Depth::Edge`] for the relations of `band`.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn scan_in_out(
        &mut self,
        dst: Gid,
        rel: Relation,
        after: (i64, i64),
        limit: usize,
        band: (Relation, Relation),
        each: &mut dyn FnMut(InOutItem),
    ) -> Result<(), GraphStoreError> {
        let mut rows = Vec::new();
        self.scan_in(dst, rel, after, limit, Depth::Full, &mut |edge, node| {
            rows.extend(node.map(|node| (edge, node)));
        })?;
        for (edge, node) in rows {
            each(InOutItem::Row(edge, node));
            self.edges_out(edge.src, band.0, band.1, Depth::Edge, &mut |out, _| {
                each(InOutItem::Out(out));
            })?;
        }
        Ok(())
    }
    /// Returns the last edge into `dst`, live or not, before (rank, source).
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn last_edge_before(
        &mut self,
        dst: Gid,
        rel: Relation,
        before: (i64, i64),
    ) -> Result<Option<Edge>, GraphStoreError>;
    /// Returns the number of live nodes with an edge of a relation into `dst`.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn count_in(&mut self, dst: Gid, rel: Relation) -> Result<u64, GraphStoreError>;
    /// Visits live nodes of a type in a workspace with gids above `after`, in that order, each with the commit that created it.
    /// Tasks are found by their index entries; stories are not in such lists.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn scan_workspace(
        &mut self,
        workspace: Gid,
        ty: Type,
        after: i64,
        limit: usize,
        depth: Depth,
        each: &mut dyn FnMut(Gid, Seq, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError>;
    /// Visits live nodes with a value of a custom field whose key is in `from..=to`, in the order of (key, node), after the given
    /// pair. [`crate::storage::custom_field_index`] defines the keys. Search by custom field uses this: a number above 3 is
    /// `from` its successor, "starts with" is [`IndexKey::prefix_range`], "contains" tests each key of the field. A node with
    /// several keys in the range is visited once for each.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn scan_values(
        &mut self,
        field: Gid,
        range: (&IndexKey, &IndexKey),
        after: Option<(&IndexKey, Gid)>,
        limit: usize,
        each: &mut dyn FnMut(IndexKey, Gid),
    ) -> Result<(), GraphStoreError>;
    /// Returns the keys that a node has for a custom field, in order; none if it has no value. The node need not be live.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn keys_of(&mut self, node: Gid, field: Gid) -> Result<Vec<IndexKey>, GraphStoreError>;
    /// Returns the index entry of a node, if the node is live, of this type and in this workspace.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn index_entry(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> Result<Option<IndexEntry>, GraphStoreError>;
    /// Visits the given nodes that have an index entry of a type in a workspace, each with the time of its last change.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn list_modified(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gids: &[Gid],
        each: &mut dyn FnMut(Gid, i64),
    ) -> Result<(), GraphStoreError> {
        for gid in gids {
            if let Some(entry) = self.index_entry(workspace, ty, *gid)? {
                each(*gid, entry.modified);
            }
        }
        Ok(())
    }
    /// Visits nodes of a type in a workspace with index entries in a list, at most `limit`, in no order; each with the value of
    /// its entry in a column, if the list [gives](EntryList::gives) it.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn list_index_entries(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        list: EntryList,
        column: IndexColumn,
        limit: usize,
        each: &mut dyn FnMut(Gid, Option<i64>),
    ) -> Result<(), GraphStoreError>;
    /// Returns the column sets of the index entries of a type in a workspace, each once, in order.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn column_sets(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
    ) -> Result<Vec<ColumnSet>, GraphStoreError>;
    /// Visits index entries by the value of a column.
    ///
    /// # Errors
    /// Returns an error if the store fails, or does not keep index entries in the order of this column.
    fn scan_index_entries(
        &mut self,
        scan: &EntryScan,
        each: &mut dyn FnMut(IndexEntry),
    ) -> Result<(), GraphStoreError>;
    /// Visits nodes that have a word with this prefix, by the index entry last written for each, in no order. A node with several
    /// such words is visited once for each of them. Rows of parts that are not searched are visited with false, so that they can
    /// be counted as read.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn list_prefix_matches(
        &mut self,
        list: &PrefixList<'_>,
        each: &mut dyn FnMut(Gid, bool),
    ) -> Result<(), GraphStoreError>;
    /// Visits nodes that have all of some words, by the index entry last written for each.
    ///
    /// # Errors
    /// Returns an error if the store fails. A transaction may refuse, since it need not find its own writes.
    fn scan_words(
        &mut self,
        scan: &WordScan<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError>;
}

/// A state that is being changed. Reads see the writes before them. All writes are lost unless the whole transaction succeeds.
pub trait Transaction: Snapshot {
    /// Writes a new node, or the next version of one. `seq` is the number of the commit. The first version of a node is 1, and is
    /// written once; a store need not check that.
    ///
    /// # Errors
    /// Returns an error if the store fails; the same holds for every method.
    fn put_node(&mut self, node: &Node, seq: Seq) -> Result<(), GraphStoreError>;
    /// Marks a node trashed.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn trash_node(&mut self, gid: Gid, seq: Seq) -> Result<(), GraphStoreError>;
    /// Writes an edge; an edge with the same source, relation and target is replaced. Its source was written before, in this
    /// transaction or an earlier one; a store need not check that.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn put_edge(&mut self, edge: &Edge) -> Result<(), GraphStoreError>;
    /// Removes an edge; returns false if it did not exist.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn drop_edge(&mut self, src: Gid, rel: Relation, dst: Gid) -> Result<bool, GraphStoreError>;
    /// Gives an alias to a node; fails with [`GraphStoreError::AliasTaken`] if another node has it.
    ///
    /// # Errors
    /// Returns an error if the alias is taken, or the store fails.
    fn put_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError>;
    /// Removes an alias from a node; has no effect if the node does not have it.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn drop_alias(&mut self, key: &str, gid: Gid) -> Result<(), GraphStoreError>;
    /// Replaces the keys that a node has for a custom field in the index that [`Snapshot::scan_values`] reads; duplicate keys
    /// count once.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn put_values(
        &mut self,
        node: Gid,
        field: Gid,
        keys: &[IndexKey],
    ) -> Result<(), GraphStoreError>;
    /// Replaces the index entry of a live node, and its words if [`IndexEntry::words_hash`] differs.
    /// [`Transaction::trash_node`] removes the index entry.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn put_index_entry(
        &mut self,
        entry: &IndexEntry,
        text: &NodeWords,
    ) -> Result<(), GraphStoreError>;
    /// Appends an entry to the journal.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn append_journal(&mut self, event: &JournalEntry) -> Result<(), GraphStoreError>;
    /// Appends a row to the audit log, [after](AuditRow::appended_after) its last row.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn append_audit_row(&mut self, row: AuditRow) -> Result<(), GraphStoreError>;
    /// Returns the name of an app; `None` if the app does not exist, or the store does not know the names of apps.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn app_name(&mut self, _app: u64) -> Result<Option<String>, GraphStoreError> {
        Ok(None)
    }
    /// Returns true if no commit after the state that a decision saw has touched its reads; false if that is not known.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn holds(&mut self, reads: &DecisionReads) -> Result<bool, GraphStoreError>;
    /// Marks all viewers as outdated, since memberships changed.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn invalidate_viewers(&mut self) -> Result<(), GraphStoreError>;
}
