//! Overlay: a transaction over facts. Its reads see its own writes, and its writes are collected.
mod reads;
mod writing;

use super::attempt_facts::AttemptFacts;
use super::facts::Facts;
use super::facts_snapshot::FactsSnapshot;
use super::graph_read::{GraphAnswer, GraphRead};
use super::graph_writes::{EdgeKey, GraphWrites};
use crate::model::edge::Edge;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::Relation;
use crate::storage::snapshot::Depth;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Sources of the edges that are written or removed, by list.
#[derive(Debug, Default)]
pub(super) struct ChangedLists(BTreeMap<(Gid, Relation), BTreeSet<Gid>>);

impl ChangedLists {
    /// Returns the lists that writes change.
    pub(super) fn of(writes: &GraphWrites) -> Self {
        let mut lists = Self::default();
        let changed = writes.edges.keys().chain(&writes.dropped_edges);
        changed.for_each(|key| lists.add(*key));
        lists
    }

    /// Returns the lists, each by its target and relation.
    pub(super) fn keys(&self) -> impl Iterator<Item = (Gid, Relation)> {
        self.0.keys().copied()
    }

    fn add(&mut self, (src, rel, dst): EdgeKey) {
        self.0.entry((dst, rel)).or_default().insert(src);
    }

    fn get(&self, dst: Gid, rel: Relation) -> Option<&BTreeSet<Gid>> {
        self.0.get(&(dst, rel))
    }
}

/// A [`Transaction`](crate::storage::snapshot::Transaction) over facts.
///
/// A node of version 1 is new: no edge, alias, value or index entry of its gid existed before. A node of a later version is
/// live if it was live before; no write revives a trashed node.
#[derive(Debug)]
pub struct Overlay<'f> {
    base: FactsSnapshot<'f>,
    writes: GraphWrites,
    changed_lists: ChangedLists,
    /// Number of writes made so far.
    progress: usize,
}

impl<'f> Overlay<'f> {
    /// Returns an overlay without writes.
    #[must_use]
    pub fn over(facts: &'f Facts) -> Self {
        Self::over_attempt(AttemptFacts::Given(facts))
    }

    /// Returns an overlay without writes, over the facts of an attempt.
    pub(super) fn over_attempt(facts: AttemptFacts<'f>) -> Self {
        let base = facts.known().seq();
        Self {
            base: FactsSnapshot::recording(facts),
            writes: GraphWrites {
                base,
                ..GraphWrites::default()
            },
            changed_lists: ChangedLists::default(),
            progress: 0,
        }
    }

    /// Returns an overlay with writes that were collected over the same facts.
    pub(super) fn with_writes(
        facts: &'f Facts,
        writes: GraphWrites,
        changed_lists: ChangedLists,
    ) -> Self {
        Self {
            base: FactsSnapshot::exact(facts),
            writes,
            changed_lists,
            progress: 0,
        }
    }

    /// Returns the reads that had no answer, and the writes with the lists that they change.
    pub(super) fn into_parts(self) -> (Vec<GraphRead>, GraphWrites, ChangedLists) {
        (self.base.lacking(), self.writes, self.changed_lists)
    }

    /// Returns true if a read had no answer: the writes are then meaningless.
    #[must_use]
    pub fn is_lacking(&self) -> bool {
        self.base.is_lacking()
    }

    /// Returns the reads that had no answer.
    #[must_use]
    pub fn lacking(self) -> Vec<GraphRead> {
        self.base.lacking()
    }

    /// Returns the number of writes so far.
    pub(super) fn progress(&self) -> usize {
        self.progress
    }

    /// Returns the writes, with the keys of the reads.
    #[must_use]
    pub fn into_writes(mut self) -> GraphWrites {
        let facts = self.base.facts();
        for read in self.base.asked() {
            facts.keys_of(read, &mut |key| {
                self.writes.reads.insert(key);
            });
        }
        self.writes
    }

    /// Returns true if a node is new.
    fn is_new(&self, gid: Gid) -> bool {
        self.writes.nodes.get(&gid).is_some_and(|n| n.is_new)
    }

    /// Returns true if the node was live before.
    fn was_live(&mut self, gid: Gid) -> bool {
        let depth = Depth::Head;
        matches!(
            self.base.ask(GraphRead::Node { gid, depth }),
            Some(GraphAnswer::Node(Some(_)))
        )
    }

    /// Returns true if the node is live.
    fn is_live(&mut self, gid: Gid) -> bool {
        !self.writes.trashed.contains_key(&gid) && (self.is_new(gid) || self.was_live(gid))
    }

    fn live_node(&mut self, gid: Gid, depth: Depth) -> Option<Arc<Node>> {
        if self.writes.trashed.contains_key(&gid) {
            return None;
        }
        let Some(written) = self.writes.nodes.get(&gid) else {
            let depth = depth.max(Depth::Head);
            return match self.base.ask(GraphRead::Node { gid, depth }) {
                Some(GraphAnswer::Node(node)) => node,
                _ => None,
            };
        };
        let (node, is_new) = (Arc::clone(&written.node), written.is_new);
        (is_new || self.was_live(gid)).then_some(node)
    }

    /// Returns the edge of a key as it was before the writes.
    fn old_edge(&mut self, (src, rel, dst): EdgeKey) -> Option<Edge> {
        if self.is_new(src) || self.is_new(dst) {
            return None;
        }
        self.base.ask_edge(GraphRead::EdgeBetween { src, rel, dst })
    }

    /// Returns true if an edge is written or removed.
    fn is_changed(&self, key: &EdgeKey) -> bool {
        self.writes.edges.contains_key(key) || self.writes.dropped_edges.contains(key)
    }

    /// Returns the edges written to a list.
    fn new_edges_into(&self, dst: Gid, rel: Relation) -> Vec<Edge> {
        let sources = self.changed_lists.get(dst, rel).into_iter().flatten();
        let edges = sources.filter_map(|src| self.writes.edges.get(&(*src, rel, dst)));
        edges.copied().collect()
    }

    /// Returns the number of edges that may have been in a list before and are now written or removed.
    fn changed_rows_into(&self, dst: Gid, rel: Relation) -> usize {
        let sources = self.changed_lists.get(dst, rel).into_iter().flatten();
        sources.filter(|src| !self.is_new(**src)).count()
    }

    /// Returns the edges written from a node with relations in `lo..=hi`.
    fn new_edges_from(&self, src: Gid, lo: Relation, hi: Relation) -> Vec<Edge> {
        let first = (src, lo, Gid::new(1).unwrap_or(src));
        let edges = self.writes.edges.range(first..).map(|(_, edge)| *edge);
        edges
            .take_while(|edge| edge.src == src && edge.rel <= hi)
            .collect()
    }
}
