//! Graph in memory, which can undo each change.
mod memory_writes;
mod touches;

use self::touches::Touches;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Included};
use std::sync::Arc;
use workgraph_core::audit::AuditRow;
use workgraph_core::model::body::Body;
use workgraph_core::model::gid::{GID_END, Gid};
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Relation, Type};
use workgraph_core::search::{
    ColumnSet, EntryList, EntryScan, IndexColumn, IndexEntry, NodeWords, WordQuery,
};
use workgraph_core::storage::custom_field_index::IndexKey;
use workgraph_core::storage::snapshot::{Depth, PrefixList, Snapshot, WordScan};
use workgraph_core::storage::{Edge, GraphStoreError, JournalEntry, Seq};

#[derive(Clone, PartialEq, Debug)]
pub(super) struct StoredNode {
    node: Node,
    created: Seq,
    trashed: bool,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct MemoryGraph {
    pub(super) nodes: BTreeMap<Gid, StoredNode>,
    edges: BTreeMap<(Gid, Relation, Gid), Edge>,
    /// Key (target, relation, rank, source) of every edge.
    ins: BTreeSet<(Gid, Relation, i64, i64)>,
    aliases: BTreeMap<String, Gid>,
    /// Keys of custom field values, by node and field.
    values: BTreeMap<(Gid, Gid), BTreeSet<IndexKey>>,
    /// Index entries of live nodes, with their words.
    entries: BTreeMap<Gid, (IndexEntry, NodeWords)>,
    /// True for the fault that a node's first index entry is never updated.
    pub(super) old_entries: bool,
    pub(super) journal: Vec<JournalEntry>,
    pub(super) audit: Vec<AuditRow>,
    /// Names of apps.
    pub(super) apps: BTreeMap<u64, String>,
    /// Keys that commits touched.
    pub(super) touches: Touches,
    /// Steps that undo the changes of the transaction, the last change last.
    pub(super) undo: Vec<Undo>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Undo {
    Node(Gid, Option<StoredNode>),
    Trash(Gid),
    Edge((Gid, Relation, Gid), Option<Edge>),
    Alias(String, Option<Gid>),
    Values((Gid, Gid), Option<BTreeSet<IndexKey>>),
    Entry(Gid, Option<(IndexEntry, NodeWords)>),
    /// An appended entry, with the number of touched keys before it.
    Append(usize),
    Record,
}

impl MemoryGraph {
    /// Undoes the changes of the transaction.
    pub(super) fn roll_back(&mut self) {
        self.touches.pending.clear();
        while let Some(step) = self.undo.pop() {
            match step {
                Undo::Node(gid, Some(stored)) => drop(self.nodes.insert(gid, stored)),
                Undo::Node(gid, None) => drop(self.nodes.remove(&gid)),
                Undo::Trash(gid) => {
                    if let Some(stored) = self.nodes.get_mut(&gid) {
                        stored.trashed = false;
                    }
                }
                Undo::Edge(key, edge) => drop(self.swap_edge(key, edge)),
                Undo::Alias(key, Some(gid)) => drop(self.aliases.insert(key, gid)),
                Undo::Alias(key, None) => drop(self.aliases.remove(&key)),
                Undo::Values(at, Some(keys)) => drop(self.values.insert(at, keys)),
                Undo::Values(at, None) => drop(self.values.remove(&at)),
                Undo::Entry(gid, Some(entry)) => drop(self.entries.insert(gid, entry)),
                Undo::Entry(gid, None) => drop(self.entries.remove(&gid)),
                Undo::Append(touched) => {
                    self.journal.pop();
                    self.touches.committed.truncate(touched);
                }
                Undo::Record => drop(self.audit.pop()),
            }
        }
    }

    /// Replaces, inserts or removes an edge; returns the previous edge.
    fn swap_edge(&mut self, key: (Gid, Relation, Gid), edge: Option<Edge>) -> Option<Edge> {
        let old = match edge {
            Some(edge) => self.edges.insert(key, edge),
            None => self.edges.remove(&key),
        };
        if let Some(old) = &old {
            self.ins.remove(&in_key(old));
        }
        if let Some(edge) = &edge {
            self.ins.insert(in_key(edge));
        }
        old
    }

    /// Returns true if an edge begins or ends at a gid.
    #[cfg(feature = "models")]
    pub(super) fn has_edges(&self, gid: Gid) -> bool {
        self.edges
            .keys()
            .any(|(src, _, dst)| *src == gid || *dst == gid)
    }

    #[cfg(feature = "models")]
    pub(super) fn live_nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes
            .values()
            .filter(|stored| !stored.trashed)
            .map(|stored| &stored.node)
    }

    fn live(&self, gid: Gid) -> Option<&StoredNode> {
        self.nodes.get(&gid).filter(|stored| !stored.trashed)
    }

    fn give(
        &self,
        edge: &Edge,
        far: Gid,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> bool {
        let Some(stored) = self.live(far) else {
            return false;
        };
        each(*edge, cut(&stored.node, depth));
        true
    }

    fn entering(&self, dst: Gid, rel: Relation) -> impl DoubleEndedIterator<Item = &Edge> {
        let all = (dst, rel, i64::MIN, i64::MIN)..=(dst, rel, i64::MAX, i64::MAX);
        self.ins.range(all).filter_map(|key| self.at(key))
    }

    fn at(&self, &(dst, rel, _, src): &(Gid, Relation, i64, i64)) -> Option<&Edge> {
        self.edges.get(&(Gid::from_i64(src)?, rel, dst))
    }

    fn leaving(&self, src: Gid, lo: Relation, hi: Relation) -> impl Iterator<Item = &Edge> {
        let (first, last) = (
            Gid::new(1).unwrap_or(src),
            Gid::new(GID_END - 1).unwrap_or(src),
        );
        let band = (lo <= hi).then(|| self.edges.range((src, lo, first)..=(src, hi, last)));
        band.into_iter().flatten().map(|(_, edge)| edge)
    }
}

fn in_key(edge: &Edge) -> (Gid, Relation, i64, i64) {
    (edge.dst, edge.rel, edge.rank, edge.src.as_i64())
}

/// Returns as much of a node as `depth` asks for.
fn cut(node: &Node, depth: Depth) -> Option<Arc<Node>> {
    match depth {
        Depth::Edge => None,
        Depth::Head => Some(Arc::new(Node {
            version: 0,
            body: Body::default(),
            ..node.clone()
        })),
        Depth::Full => Some(Arc::new(node.clone())),
    }
}

impl Snapshot for MemoryGraph {
    fn seq(&mut self) -> Result<Seq, GraphStoreError> {
        Ok(self.journal.last().map_or(0, |event| event.seq))
    }

    fn alias(&mut self, key: &str) -> Result<Option<Gid>, GraphStoreError> {
        Ok(self
            .aliases
            .get(key)
            .copied()
            .filter(|gid| self.live(*gid).is_some()))
    }

    fn node(&mut self, gid: Gid, depth: Depth) -> Result<Option<Arc<Node>>, GraphStoreError> {
        Ok(self
            .live(gid)
            .and_then(|stored| cut(&stored.node, depth.max(Depth::Head))))
    }

    fn edges_out(
        &mut self,
        src: Gid,
        lo: Relation,
        hi: Relation,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        for edge in self.leaving(src, lo, hi) {
            if depth == Depth::Edge {
                // The targets are not read.
                each(*edge, None);
            } else {
                self.give(edge, edge.dst, depth, each);
            }
        }
        Ok(())
    }

    fn edge_between(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
    ) -> Result<Option<Edge>, GraphStoreError> {
        Ok(self.edges.get(&(src, rel, dst)).copied())
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
        let rest = self
            .leaving(src, rel, rel)
            .filter(|e| e.dst.as_i64() > after);
        let live = rest.filter(|e| self.live(e.dst).is_some());
        for edge in live.take(limit) {
            self.give(edge, edge.dst, depth, each);
        }
        Ok(())
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
        let rest = (
            Excluded((dst, rel, after.0, after.1)),
            Included((dst, rel, i64::MAX, i64::MAX)),
        );
        let edges = self.ins.range(rest).filter_map(|key| self.at(key));
        for edge in edges.filter(|e| self.live(e.src).is_some()).take(limit) {
            self.give(edge, edge.src, depth, each);
        }
        Ok(())
    }

    fn list_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        limit: usize,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        let edges = self.entering(dst, rel).take(limit);
        edges.for_each(|edge| each(edge.src));
        Ok(())
    }

    fn last_edge_before(
        &mut self,
        dst: Gid,
        rel: Relation,
        before: (i64, i64),
    ) -> Result<Option<Edge>, GraphStoreError> {
        let rest = (
            Included((dst, rel, i64::MIN, i64::MIN)),
            Excluded((dst, rel, before.0, before.1)),
        );
        Ok(self
            .ins
            .range(rest)
            .next_back()
            .and_then(|key| self.at(key))
            .copied())
    }

    fn count_in(&mut self, dst: Gid, rel: Relation) -> Result<u64, GraphStoreError> {
        Ok(self
            .entering(dst, rel)
            .filter(|e| self.live(e.src).is_some())
            .count() as u64)
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
        let listed = |stored: &&StoredNode| {
            let node = &stored.node;
            !stored.trashed
                && node.ty == ty
                && node.workspace == Some(workspace)
                && node.gid.as_i64() > after
        };
        if ty == Type::Story {
            return Ok(());
        }
        for stored in self.nodes.values().filter(listed).take(limit) {
            each(stored.node.gid, stored.created, cut(&stored.node, depth));
        }
        Ok(())
    }

    fn scan_values(
        &mut self,
        field: Gid,
        (from, to): (&IndexKey, &IndexKey),
        after: Option<(&IndexKey, Gid)>,
        limit: usize,
        each: &mut dyn FnMut(IndexKey, Gid),
    ) -> Result<(), GraphStoreError> {
        let of_field = self.values.iter().filter(|((_, of), _)| *of == field);
        let live = of_field.filter(|((node, _), _)| self.live(*node).is_some());
        let mut found: Vec<(&IndexKey, Gid)> = live
            .flat_map(|((node, _), keys)| keys.iter().map(|key| (key, *node)))
            .filter(|(key, _)| from <= *key && *key <= to)
            .filter(|found| after.is_none_or(|after| *found > after))
            .collect();
        found.sort();
        for (key, node) in found.into_iter().take(limit) {
            each(key.clone(), node);
        }
        Ok(())
    }

    fn keys_of(&mut self, node: Gid, field: Gid) -> Result<Vec<IndexKey>, GraphStoreError> {
        let keys = self.values.get(&(node, field));
        Ok(keys.into_iter().flatten().cloned().collect())
    }

    fn index_entry(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> Result<Option<IndexEntry>, GraphStoreError> {
        let entry = self.entries.get(&gid).map(|(entry, _)| *entry);
        Ok(entry.filter(|c| c.workspace == workspace && c.ty == ty))
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
        let given = list.gives(column);
        let entries = self.entries.values().map(|(entry, _)| entry);
        // The greatest gids first, the usual order of searches.
        let found = entries
            .rev()
            .filter(|c| c.workspace == workspace && c.ty == ty && list.has(c));
        found
            .take(limit)
            .for_each(|entry| each(entry.gid, entry.value(column).filter(|_| given)));
        Ok(())
    }

    fn column_sets(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
    ) -> Result<Vec<ColumnSet>, GraphStoreError> {
        let entries = self.entries.values().map(|(entry, _)| entry);
        let found = entries.filter(|c| c.workspace == workspace && c.ty == ty);
        let shapes: BTreeSet<ColumnSet> = found.map(IndexEntry::shape).collect();
        Ok(shapes.into_iter().collect())
    }

    fn scan_index_entries(
        &mut self,
        scan: &EntryScan,
        each: &mut dyn FnMut(IndexEntry),
    ) -> Result<(), GraphStoreError> {
        let entries = self.entries.values().map(|(entry, _)| entry);
        let mut found: Vec<(i64, Gid, &IndexEntry)> = entries
            .filter(|c| c.workspace == scan.workspace && c.ty == scan.ty)
            .filter(|c| scan.shape.is_none_or(|shape| c.shape() == shape))
            .filter_map(|c| Some((c.value(scan.column)?, c.gid, c)))
            .filter(|(value, ..)| (scan.from..=scan.to).contains(value))
            .collect();
        found.sort_by_key(|(value, gid, _)| (*value, *gid));
        if scan.descending {
            found.reverse();
        }
        let passed = |at: (i64, Gid)| match scan.after {
            None => false,
            Some(after) if scan.descending => at >= after,
            Some(after) => at <= after,
        };
        let rest = found
            .into_iter()
            .skip_while(|(value, gid, _)| passed((*value, *gid)));
        rest.take(scan.limit).for_each(|(_, _, entry)| each(*entry));
        Ok(())
    }

    fn list_prefix_matches(
        &mut self,
        list: &PrefixList<'_>,
        each: &mut dyn FnMut(Gid, bool),
    ) -> Result<(), GraphStoreError> {
        let words = WordQuery {
            words: vec![list.prefix.to_owned()],
            match_prefixes: true,
            names_only: list.names,
        };
        let entries = self
            .entries
            .values()
            .map(|(entry, text)| (entry, words.matches(text)));
        let found =
            entries.filter(|(c, fits)| c.workspace == list.workspace && c.ty == list.ty && *fits);
        found
            .take(list.limit)
            .for_each(|(entry, _)| each(entry.gid, true));
        Ok(())
    }

    fn scan_words(
        &mut self,
        scan: &WordScan<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        let words = WordQuery {
            names_only: scan.names,
            ..scan.words.clone()
        };
        let entries = self.entries.values();
        let mut found: Vec<Gid> = entries
            .filter(|(c, text)| {
                c.workspace == scan.workspace && c.ty == scan.ty && words.matches(text)
            })
            .map(|(c, _)| c.gid)
            .collect();
        if scan.descending {
            found.reverse();
        }
        let passed = |gid: Gid| match scan.after {
            None => false,
            Some(after) if scan.descending => gid >= after,
            Some(after) => gid <= after,
        };
        let rest = found.into_iter().skip_while(|gid| passed(*gid));
        rest.take(scan.limit).for_each(each);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_as_the_port_says_and_undone() {
        let mut state = MemoryGraph::default();
        workgraph_testkit::conformance::index(&mut state).unwrap();
        state.roll_back();
        assert!(state.values.is_empty() && state.aliases.is_empty());
    }

    #[test]
    fn lists_of_entries_have_and_give_what_the_port_says() {
        workgraph_testkit::conformance::lists(&mut MemoryGraph::default()).unwrap();
        let mut twin = MemoryGraph {
            old_entries: true,
            ..MemoryGraph::default()
        };
        assert!(workgraph_testkit::conformance::lists(&mut twin).is_err());
    }
}
