//! A snapshot of facts: it answers reads from facts; a read without an answer gets an empty one and is noted.
use super::attempt_facts::AttemptFacts;
use super::facts::Facts;
use super::graph_read::{GraphAnswer, GraphRead};
use super::misses::Misses;
use crate::access::Viewer;
use crate::engine::loader;
use crate::graph_store_error::GraphStoreError;
use crate::model::edge::{Edge, Seq};
use crate::model::gid::Gid;
use crate::model::index_key::IndexKey;
use crate::model::node::Node;
use crate::model::registry::{Relation, Type};
use crate::search::{ColumnSet, EntryList, EntryScan, IndexColumn, IndexEntry};
use crate::storage::snapshot::{Depth, InOutItem, PrefixList, Snapshot, WordScan};
use crate::storage::{DecisionReads, ViewerKey};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// A [`Snapshot`] of [`Facts`]. A read that they do not answer is noted and gets an empty answer: results computed from this
/// snapshot count only if [`FactsSnapshot::lacking`] is empty in the end.
#[derive(Debug)]
pub struct FactsSnapshot<'f> {
    facts: AttemptFacts<'f>,
    misses: Misses,
    /// Reads that were made, if they are recorded.
    asked: Option<FxHashSet<GraphRead>>,
}

impl<'f> FactsSnapshot<'f> {
    /// Returns a snapshot that reads from fixed facts.
    #[must_use]
    pub fn of(facts: &'f Facts) -> Self {
        Self::over(AttemptFacts::Given(facts))
    }

    /// Returns a snapshot of the facts of an attempt.
    pub(super) fn over(facts: AttemptFacts<'f>) -> Self {
        Self {
            facts,
            misses: Misses::in_full(),
            asked: None,
        }
    }

    /// Returns a snapshot of facts that notes missing reads exactly as requested, without additional rows or depth.
    pub(super) fn exact(facts: &'f Facts) -> Self {
        Self {
            facts: AttemptFacts::Given(facts),
            misses: Misses::exact(),
            asked: None,
        }
    }

    /// Returns a snapshot of facts that records its reads.
    pub(super) fn recording(facts: AttemptFacts<'f>) -> Self {
        Self {
            facts,
            misses: Misses::default(),
            asked: Some(FxHashSet::default()),
        }
    }

    /// Returns the viewer of a key from the cache of the attempt.
    pub(super) fn cached_viewer(&self, key: ViewerKey) -> Option<Arc<Viewer>> {
        match &self.facts {
            AttemptFacts::Growing(_, cache) => cache.viewer(key),
            AttemptFacts::Given(_) => None,
        }
    }

    /// Computes the viewer of a key. If no read lacked an answer, the cache of the attempt keeps it.
    pub(super) fn compute_viewer(&mut self, key: ViewerKey) -> Result<Viewer, GraphStoreError> {
        if let AttemptFacts::Given(_) = self.facts {
            return loader::viewer(self, key);
        }
        self.asked = Some(FxHashSet::default());
        let viewer = loader::viewer(self, key);
        let asked = self.asked.take().unwrap_or_default();
        if let (Ok(viewer), false) = (&viewer, self.is_lacking())
            && let AttemptFacts::Growing(facts, cache) = &self.facts
        {
            let mut keys = FxHashSet::default();
            for read in &asked {
                facts.keys_of(read, &mut |key| {
                    keys.insert(key);
                });
            }
            cache.keep_viewer(key, &Arc::new(viewer.clone()), keys.into_iter().collect());
        }
        viewer
    }

    /// Returns the recorded reads.
    pub(super) fn asked(&self) -> impl Iterator<Item = &GraphRead> {
        self.asked.iter().flatten()
    }

    /// Returns true if the reads of a decision are known to be true of the state of the facts.
    pub(super) fn holds(&self, reads: &DecisionReads) -> bool {
        self.facts.hold(reads)
    }

    pub(super) const fn facts(&self) -> &Facts {
        self.facts.known()
    }

    /// Returns true if a read had no answer.
    #[must_use]
    pub fn is_lacking(&self) -> bool {
        !self.misses.is_empty()
    }

    /// Returns the reads that had no answer, to be made together.
    #[must_use]
    pub fn lacking(self) -> Vec<GraphRead> {
        self.misses.into_reads()
    }

    /// Returns the answer to a read; notes the read and returns `None` if it is not known.
    pub(super) fn ask(&mut self, read: GraphRead) -> Option<GraphAnswer> {
        let mut answer = self.facts().answer(&read);
        if answer.is_none() {
            let made = self.misses.widened(read.clone(), self.facts());
            answer = self.facts.cached(&read, &made);
            if answer.is_none() {
                self.misses.note(made);
            }
        }
        if answer.is_some()
            && let Some(asked) = &mut self.asked
        {
            asked.insert(read);
        }
        answer
    }

    /// Returns edges with their nodes.
    pub(super) fn ask_edges(&mut self, read: GraphRead) -> Vec<(Edge, Option<Arc<Node>>)> {
        match self.ask(read) {
            Some(GraphAnswer::Edges(edges)) => edges,
            _ => Vec::new(),
        }
    }

    /// Reads an edge from the facts, or notes the read.
    pub(super) fn ask_edge(&mut self, read: GraphRead) -> Option<Edge> {
        match self.ask(read) {
            Some(GraphAnswer::Edge(edge)) => edge,
            _ => None,
        }
    }

    /// Reads gids from the facts, or notes the read.
    pub(super) fn ask_gids(&mut self, read: GraphRead) -> Vec<Gid> {
        match self.ask(read) {
            Some(GraphAnswer::Gids(gids)) => gids,
            _ => Vec::new(),
        }
    }
}

impl Snapshot for FactsSnapshot<'_> {
    fn seq(&mut self) -> Result<Seq, GraphStoreError> {
        Ok(self.facts().seq())
    }

    fn alias(&mut self, key: &str) -> Result<Option<Gid>, GraphStoreError> {
        Ok(match self.ask(GraphRead::Alias(key.into())) {
            Some(GraphAnswer::Gid(gid)) => gid,
            _ => None,
        })
    }

    fn node(&mut self, gid: Gid, depth: Depth) -> Result<Option<Arc<Node>>, GraphStoreError> {
        let depth = depth.max(Depth::Head);
        Ok(match self.ask(GraphRead::Node { gid, depth }) {
            Some(GraphAnswer::Node(node)) => node,
            _ => None,
        })
    }

    fn edges_out(
        &mut self,
        src: Gid,
        lo: Relation,
        hi: Relation,
        depth: Depth,
        each: &mut dyn FnMut(Edge, Option<Arc<Node>>),
    ) -> Result<(), GraphStoreError> {
        let edges = self.ask_edges(GraphRead::EdgesOut { src, lo, hi, depth });
        edges.into_iter().for_each(|(edge, node)| each(edge, node));
        Ok(())
    }

    fn edge_between(
        &mut self,
        src: Gid,
        rel: Relation,
        dst: Gid,
    ) -> Result<Option<Edge>, GraphStoreError> {
        Ok(self.ask_edge(GraphRead::EdgeBetween { src, rel, dst }))
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
        let edges = self.ask_edges(GraphRead::ScanOut {
            src,
            rel,
            after,
            limit,
            depth,
        });
        edges.into_iter().for_each(|(edge, node)| each(edge, node));
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
        let edges = self.ask_edges(GraphRead::ScanIn {
            dst,
            rel,
            after,
            limit,
            depth,
        });
        edges.into_iter().for_each(|(edge, node)| each(edge, node));
        Ok(())
    }

    fn list_in(
        &mut self,
        dst: Gid,
        rel: Relation,
        limit: usize,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        let gids = self.ask_gids(GraphRead::ListIn { dst, rel, limit });
        gids.into_iter().for_each(each);
        Ok(())
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
        let read = GraphRead::ScanInOut {
            dst,
            rel,
            after,
            limit,
            band,
        };
        if let Some(GraphAnswer::Rows(rows)) = self.ask(read) {
            for (edge, node, out) in rows {
                each(InOutItem::Row(edge, node));
                out.into_iter().for_each(|edge| each(InOutItem::Out(edge)));
            }
        }
        Ok(())
    }

    fn last_edge_before(
        &mut self,
        dst: Gid,
        rel: Relation,
        before: (i64, i64),
    ) -> Result<Option<Edge>, GraphStoreError> {
        Ok(self.ask_edge(GraphRead::LastEdgeBefore { dst, rel, before }))
    }

    fn count_in(&mut self, dst: Gid, rel: Relation) -> Result<u64, GraphStoreError> {
        Ok(match self.ask(GraphRead::CountIn { dst, rel }) {
            Some(GraphAnswer::Count(count)) => count,
            _ => 0,
        })
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
        let read = GraphRead::ScanWorkspace {
            workspace,
            ty,
            after,
            limit,
            depth,
        };
        if let Some(GraphAnswer::Nodes(nodes)) = self.ask(read) {
            let nodes = nodes.into_iter();
            nodes.for_each(|(gid, seq, node)| each(gid, seq, node));
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
        let read = GraphRead::ScanValues {
            field,
            from: from.clone(),
            to: to.clone(),
            after: after.map(|(key, gid)| (key.clone(), gid)),
            limit,
        };
        if let Some(GraphAnswer::Values(values)) = self.ask(read) {
            values.into_iter().for_each(|(key, gid)| each(key, gid));
        }
        Ok(())
    }

    fn keys_of(&mut self, node: Gid, field: Gid) -> Result<Vec<IndexKey>, GraphStoreError> {
        Ok(match self.ask(GraphRead::KeysOf { node, field }) {
            Some(GraphAnswer::Keys(keys)) => keys,
            _ => Vec::new(),
        })
    }

    fn index_entry(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
        gid: Gid,
    ) -> Result<Option<IndexEntry>, GraphStoreError> {
        let read = GraphRead::IndexEntry { workspace, ty, gid };
        Ok(match self.ask(read) {
            Some(GraphAnswer::Entry(entry)) => entry,
            _ => None,
        })
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
        let read = GraphRead::ListIndexEntries {
            workspace,
            ty,
            list,
            column,
            limit,
        };
        if let Some(GraphAnswer::Listed(rows)) = self.ask(read) {
            rows.into_iter().for_each(|(gid, value)| each(gid, value));
        }
        Ok(())
    }

    fn column_sets(
        &mut self,
        workspace: Option<Gid>,
        ty: Type,
    ) -> Result<Vec<ColumnSet>, GraphStoreError> {
        Ok(match self.ask(GraphRead::ColumnSets { workspace, ty }) {
            Some(GraphAnswer::ColumnSets(sets)) => sets,
            _ => Vec::new(),
        })
    }

    fn scan_index_entries(
        &mut self,
        scan: &EntryScan,
        each: &mut dyn FnMut(IndexEntry),
    ) -> Result<(), GraphStoreError> {
        if let Some(GraphAnswer::Entries(entries)) = self.ask(GraphRead::ScanIndexEntries(*scan)) {
            entries.into_iter().for_each(each);
        }
        Ok(())
    }

    fn list_prefix_matches(
        &mut self,
        list: &PrefixList<'_>,
        each: &mut dyn FnMut(Gid, bool),
    ) -> Result<(), GraphStoreError> {
        let read = GraphRead::ListPrefixMatches {
            workspace: list.workspace,
            ty: list.ty,
            prefix: list.prefix.into(),
            names: list.names,
            limit: list.limit,
        };
        if let Some(GraphAnswer::Listed(rows)) = self.ask(read) {
            rows.into_iter()
                .for_each(|(gid, fits)| each(gid, fits.is_some()));
        }
        Ok(())
    }

    fn scan_words(
        &mut self,
        scan: &WordScan<'_>,
        each: &mut dyn FnMut(Gid),
    ) -> Result<(), GraphStoreError> {
        let gids = self.ask_gids(GraphRead::ScanWords {
            workspace: scan.workspace,
            ty: scan.ty,
            words: scan.words.clone(),
            names: scan.names,
            descending: scan.descending,
            after: scan.after,
            limit: scan.limit,
        });
        gids.into_iter().for_each(each);
        Ok(())
    }
}
