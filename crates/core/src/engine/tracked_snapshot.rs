//! A snapshot that records the keys of everything that is read from it.
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::{Edge, Seq};
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type};
use crate::search::{ColumnSet, EntryList, EntryScan, IndexColumn, IndexEntry};
use crate::storage::FactKey;
use crate::storage::snapshot::{Depth, InOutItem, PrefixList, Snapshot, WordScan};
use std::sync::Arc;

/// A [`Snapshot`] over another one, with the [keys](FactKey) of all reads. They equal the keys of
/// [`GraphRead::keys`](crate::engine::waves::GraphRead::keys): the random histories of the testkit compare both.
pub struct TrackedSnapshot<'s> {
    inner: &'s mut dyn Snapshot,
    keys: Vec<FactKey>,
}

/// Number of reads of a typical decision.
const READS_USUAL: usize = 32;

impl<'s> TrackedSnapshot<'s> {
    /// Returns a snapshot without recorded reads.
    #[must_use]
    pub fn over(inner: &'s mut dyn Snapshot) -> Self {
        Self {
            inner,
            keys: Vec::with_capacity(READS_USUAL),
        }
    }

    /// Returns the keys of all reads; some may be listed twice.
    #[must_use]
    pub fn into_keys(self) -> Vec<FactKey> {
        self.keys
    }

    /// Records that a node was read, unless that was the last thing recorded.
    fn note_node(&mut self, gid: Gid) {
        let key = FactKey::node(gid);
        if self.keys.last() != Some(&key) {
            self.keys.push(key);
        }
    }

    fn note_entries(&mut self, workspace: Option<Gid>, ty: Type) {
        self.keys.push(FactKey::entries(workspace, ty));
    }
}

impl Snapshot for TrackedSnapshot<'_> {
    fn seq(&mut self) -> Result<Seq, GraphStoreError> {
        self.inner.seq()
    }

    fn alias(&mut self, key: &str) -> Result<Option<Gid>, GraphStoreError> {
        let found = self.inner.alias(key)?;
        self.keys.push(FactKey::alias(key));
        self.keys.extend(found.map(FactKey::node));
        Ok(found)
    }

    fn node(&mut self, gid: Gid, depth: Depth) -> Result<Option<Arc<Node>>, GraphStoreError> {
        self.note_node(gid);
        self.inner.node(gid, depth)
    }

    fn edges_out(
        &mut self,
        src: Gid,
        lo: Relation,
        hi: Relation,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        self.note_node(src);
        let keys = &mut self.keys;
        let reads_nodes = depth > Depth::Edge;
        self.inner.edges_out(src, lo, hi, depth, &mut |edge, node| {
            keys.extend(reads_nodes.then(|| FactKey::node(edge.dst)));
            each(edge, node);
        })
    }

    fn edge_between(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
    ) -> Result<Option<Edge>, GraphStoreError> {
        self.note_node(src);
        self.inner.edge_between(src, rel, dst)
    }

    fn scan_out(
        &mut self,
        src: Gid,
        rel: Relation,
        after: i64,
        limit: usize,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        self.note_node(src);
        let keys = &mut self.keys;
        self.inner
            .scan_out(src, rel, after, limit, depth, &mut |edge, node| {
                // Edges to trashed nodes are left out at any depth.
                keys.push(FactKey::node(edge.dst));
                each(edge, node);
            })
    }

    fn scan_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        after: (i64, i64),
        limit: usize,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        self.keys.push(FactKey::list(dst, rel));
        let keys = &mut self.keys;
        let reads_nodes = depth > Depth::Edge;
        self.inner
            .scan_in(dst, rel, after, limit, depth, &mut |edge, node| {
                keys.extend(reads_nodes.then(|| FactKey::node(edge.src)));
                each(edge, node);
            })
    }

    fn list_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        limit: usize,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        self.keys.push(FactKey::list(dst, rel));
        self.inner.list_in(dst, rel, limit, each)
    }

    fn scan_in_out(
        &mut self,
        dst: Gid,
        rel: Relation,
        after: (i64, i64),
        limit: usize,
        band: (Relation, Relation),
        each: &mut dyn FnMut(InOutItem),
    ) -> Result<(), GraphStoreError> {
        self.keys.push(FactKey::list(dst, rel));
        let keys = &mut self.keys;
        self.inner
            .scan_in_out(dst, rel, after, limit, band, &mut |item| {
                if let InOutItem::Row(edge, _) = &item {
                    keys.push(FactKey::node(edge.src));
                }
                each(item);
            })
    }

    fn last_edge_before(
        &mut self,
        dst: Gid,
        rel: Relation,
        before: (i64, i64),
    ) -> Result<Option<Edge>, GraphStoreError> {
        self.keys.push(FactKey::list(dst, rel));
        self.inner.last_edge_before(dst, rel, before)
    }

    fn count_in(&mut self, dst: Gid, rel: Relation) -> Result<u64, GraphStoreError> {
        self.keys.push(FactKey::list(dst, rel));
        self.inner.count_in(dst, rel)
    }

    fn scan_workspace(
        &mut self,
        workspace: Gid,
        ty: Type,
        after: i64,
        limit: usize,
        depth: Depth,
        each: &mut dyn FnMut(Gid, Seq, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        self.keys.push(FactKey::workspace(workspace, ty));
        let keys = &mut self.keys;
        let reads_nodes = depth > Depth::Edge;
        self.inner
            .scan_workspace(workspace, ty, after, limit, depth, &mut |gid, seq, node| {
                keys.extend(reads_nodes.then(|| FactKey::node(gid)));
                each(gid, seq, node);
            })
    }

    fn scan_values(
        &mut self,
        field: Gid,
        range: (&IndexKey, &IndexKey),
        after: Option<(&IndexKey, Gid)>,
        limit: usize,
        each: &mut dyn FnMut(IndexKey, Gid),
    ) -> Result<(), GraphStoreError> {
        self.keys.push(FactKey::values(field));
        let keys = &mut self.keys;
        self.inner
            .scan_values(field, range, after, limit, &mut |key, gid| {
                keys.push(FactKey::node(gid));
                each(key, gid);
            })
    }

    fn keys_of(&mut self, node: Gid, field: Gid) -> Result<Vec<IndexKey>, GraphStoreError> {
        self.note_node(node);
        self.inner.keys_of(node, field)
    }

    fn index_entry(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> Result<Option<IndexEntry>, GraphStoreError> {
        self.note_node(gid);
        self.inner.index_entry(workspace, ty, gid)
    }

    fn list_index_entries(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        list: EntryList,
        column: IndexColumn,
        limit: usize,
        each: &mut dyn FnMut(Gid, Option<i64>),
    ) -> Result<(), GraphStoreError> {
        self.note_entries(workspace, ty);
        self.inner
            .list_index_entries(workspace, ty, list, column, limit, each)
    }

    fn column_sets(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
    ) -> Result<Vec<ColumnSet>, GraphStoreError> {
        self.note_entries(workspace, ty);
        self.inner.column_sets(workspace, ty)
    }

    fn scan_index_entries(
        &mut self,
        scan: &EntryScan,
        each: &mut dyn FnMut(IndexEntry),
    ) -> Result<(), GraphStoreError> {
        self.note_entries(scan.workspace, scan.ty);
        self.inner.scan_index_entries(scan, each)
    }

    fn list_prefix_matches(
        &mut self,
        list: &PrefixList<'_>,
        each: &mut dyn FnMut(Gid, bool),
    ) -> Result<(), GraphStoreError> {
        self.note_entries(list.workspace, list.ty);
        self.inner.list_prefix_matches(list, each)
    }

    fn scan_words(
        &mut self,
        scan: &WordScan<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        self.note_entries(scan.workspace, scan.ty);
        self.inner.scan_words(scan, each)
    }
}
