//! Result of a [`ReadQuery`](super::ReadQuery): nodes, edges and levels, true of one commit.
use super::{
    DecisionReads, Edge, FactKey, NodeRef, PageRows, Seq, UnansweredRead, UnansweredReads,
};
use crate::access::{Level, Viewer};
use crate::interrupt::MaybeInterrupt;
use crate::model::gid::Gid;
use crate::model::node::Node;
use crate::model::registry::Relation;
use crate::model::time::Date;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::sync::Arc;

/// Reason for refusing an edge that might close a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ring {
    /// The edge would close a ring.
    Closed,
    /// The chain has more nodes than are checked.
    TooLong,
}

/// Result of a read query: nodes, edges and levels, true of one commit.
#[derive(Clone, Debug)]
pub struct ReadView {
    /// User or service account of the request.
    pub viewer: Arc<Viewer>,
    /// App of the request's token.
    pub app: Option<u64>,
    /// Last commit that the snapshot shows.
    pub seq: Seq,
    /// References of [`ReadQuery::node_refs`](super::ReadQuery::node_refs), each with the live node that it names.
    pub resolved_refs: Vec<(NodeRef, Option<Gid>)>,
    /// Keys of everything that was read, if the query asked for them.
    pub reads: Vec<FactKey>,
    /// Rows of the page.
    pub rows: PageRows,
    /// Interrupt of the work on the view, taken from the query.
    pub interrupt: MaybeInterrupt,
    /// Number of steps of the load, of about a hundred nanoseconds each. It depends on query and data, not on the store.
    pub steps: u64,
    pub(crate) nodes: FxHashMap<Gid, Arc<Node>>,
    pub(crate) levels: FxHashMap<Gid, Level>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) out: FxHashMap<Gid, EdgeBand>,
    pub(crate) ins: FxHashMap<(Gid, Relation), (u32, u32)>,
    /// Spans of edges into nodes with ranks from the first to the last of a range.
    pub(crate) between: FxHashMap<(Gid, Relation, i64, i64), (u32, u32)>,
    pub(crate) counts: FxHashMap<(Gid, Relation), u64>,
    /// Progress of goals, from 0 to 1.
    pub(crate) progress: FxHashMap<Gid, f64>,
    /// Edges that were looked up one by one, each by its two nodes.
    pub(crate) singles: FxHashMap<(Gid, Relation, Gid), Option<Edge>>,
    /// Nodes from which the edges of a relation were followed.
    pub(crate) followed: Vec<(Gid, Relation)>,
    pub(crate) heights: FxHashMap<Gid, usize>,
    /// Persons who replaced removed users, by the gids of the users.
    pub(crate) heirs: FxHashMap<Gid, Gid>,
    /// Reads of a decision that the view does not answer. `None` outside a decision: such reads then simply find nothing.
    pub(crate) unanswered: Option<UnansweredReads>,
}

/// Run of edges from one node: all with relations in `lo..=hi`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeBand {
    pub(crate) lo: Relation,
    pub(crate) hi: Relation,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// True if the heads of the targets were read along.
    pub(crate) heads: bool,
}

/// Number of edges in a typical read of one record.
const EDGES_USUAL: usize = 64;

/// Returns a map with room for the nodes of one record, so that it does not grow step by step.
fn roomy<V>() -> FxHashMap<Gid, V> {
    FxHashMap::with_capacity_and_hasher(14, FxBuildHasher)
}

impl ReadView {
    /// Returns an empty view.
    #[must_use]
    pub fn new(viewer: Arc<Viewer>, seq: Seq) -> Self {
        Self {
            viewer,
            app: None,
            seq,
            resolved_refs: Vec::new(),
            reads: Vec::new(),
            rows: PageRows::default(),
            interrupt: None,
            steps: 0,
            nodes: roomy(),
            levels: roomy(),
            edges: Vec::with_capacity(EDGES_USUAL),
            out: roomy(),
            ins: FxHashMap::default(),
            between: FxHashMap::default(),
            counts: FxHashMap::default(),
            progress: FxHashMap::default(),
            singles: FxHashMap::default(),
            followed: Vec::new(),
            heights: FxHashMap::default(),
            heirs: FxHashMap::default(),
            unanswered: None,
        }
    }
    /// Makes a decision on the view. If the decision reads data that was not loaded, it continues as if the data did not
    /// exist, and its outcome is dropped.
    ///
    /// # Errors
    /// Returns the reads that the view does not answer. With a query that is [extended](super::ReadQuery::extend) by them,
    /// the decision gets further.
    pub fn decide<D>(
        &mut self,
        decision: impl FnOnce(&Self) -> D,
    ) -> Result<D, Vec<UnansweredRead>> {
        self.unanswered = Some(UnansweredReads::default());
        let decided = decision(self);
        match self.unanswered.take().map(UnansweredReads::into_reads) {
            Some(reads) if !reads.is_empty() => Err(reads),
            _ => Ok(decided),
        }
    }
    /// Notes a read that the view does not answer, unless it is of a node that does not exist.
    #[cold]
    fn note(&self, of: &[Gid], read: UnansweredRead) {
        let Some(unanswered) = &self.unanswered else {
            return;
        };
        let is_absent = |gid: &Gid| {
            let mut refs = self.resolved_refs.iter();
            refs.any(|(name, found)| *name == NodeRef::Gid(*gid) && *found != Some(*gid))
        };
        if !of.iter().any(is_absent) {
            unanswered.add(read);
        }
    }
    /// Records that a decision read a node.
    #[cold]
    fn note_node(&self, gid: Gid) {
        self.note(&[gid], UnansweredRead::Node(NodeRef::Gid(gid)));
    }
    /// Takes the reads of a decision on this view.
    #[must_use]
    pub fn take_reads(&mut self) -> DecisionReads {
        DecisionReads {
            seq: self.seq,
            keys: std::mem::take(&mut self.reads),
        }
    }
    /// Makes room for the rows of a page.
    pub(crate) fn reserve(&mut self, rows: usize) {
        self.nodes.reserve(rows);
        self.levels.reserve(rows);
        self.out.reserve(rows);
    }
    /// Returns the live node that a reference of the query names.
    #[must_use]
    pub fn resolve(&self, name: &NodeRef) -> Option<Gid> {
        let found = self.resolved_refs.iter().find(|(r, _)| r == name);
        if found.is_none() {
            self.note(&[], UnansweredRead::Node(name.clone()));
        }
        found.and_then(|(_, gid)| *gid)
    }
    /// Returns the person who replaced a removed user; for every other node, its own gid.
    #[must_use]
    #[inline]
    pub fn heir(&self, gid: Gid) -> Gid {
        if self.heirs.is_empty() {
            return gid;
        }
        self.heirs.get(&gid).copied().unwrap_or(gid)
    }
    /// Returns a live node, or the person who replaced it.
    #[must_use]
    pub fn node(&self, gid: Gid) -> Option<&Node> {
        let found = self.head(gid);
        if found.is_some_and(|node| self.lacks_body(node)) {
            self.note_node(gid);
        }
        found
    }
    /// Returns a live node, or the person who replaced it, of which perhaps only the head was loaded: type, workspace, and the
    /// compact form.
    #[must_use]
    pub fn head(&self, gid: Gid) -> Option<&Node> {
        let found = self.nodes.get(&self.heir(gid)).map(Arc::as_ref);
        if found.is_none() {
            self.note_node(gid);
        }
        found
    }
    /// Returns true if a decision reads a node of which only the head was loaded: its fields would look as if they had no value.
    fn lacks_body(&self, node: &Node) -> bool {
        self.unanswered.is_some() && node.is_head()
    }
    /// Returns a live node that the viewer may see.
    #[must_use]
    #[inline]
    pub fn visible(&self, gid: Gid) -> Option<&Node> {
        let level = self.level(gid);
        let node = self.nodes.get(&self.heir(gid)).map(Arc::as_ref);
        if node.is_some_and(|node| self.lacks_body(node)) {
            self.note_node(gid);
        }
        node.filter(|_| level > Level::None)
    }
    /// Returns the viewer's level of access to a node; `None` for a node that does not exist.
    #[must_use]
    #[inline]
    pub fn level(&self, gid: Gid) -> Level {
        let found = self.levels.get(&self.heir(gid)).copied();
        found.unwrap_or_else(|| {
            self.note_node(gid);
            Level::None
        })
    }
    /// Returns the edges of a relation from a node, in the order of their targets' gids.
    #[must_use]
    pub fn links(&self, gid: Gid, rel: Relation) -> &[Edge] {
        if self.unanswered.is_some() && !self.has_links(gid, rel) {
            self.note(&[gid], UnansweredRead::EdgesOut(gid, rel));
        }
        self.edges.get(self.span(gid, rel)).unwrap_or_default()
    }
    /// Returns true if the edges of a relation from a node were loaded.
    pub(crate) fn has_links(&self, gid: Gid, rel: Relation) -> bool {
        let band = self.out.get(&gid);
        band.is_some_and(|band| band.lo <= rel && rel <= band.hi)
    }
    /// Returns the range of the edges of a relation from a node, among all loaded edges; edges that are loaded later come
    /// after it.
    pub(crate) fn span(&self, gid: Gid, rel: Relation) -> std::ops::Range<usize> {
        let Some(band) = self.out.get(&gid) else {
            return 0..0;
        };
        let start = band.start as usize;
        let run = self.edges.get(start..band.end as usize).unwrap_or_default();
        // Runs are short and sorted by relation.
        let from = run.iter().take_while(|e| e.rel < rel).count();
        let len = run.iter().skip(from).take_while(|e| e.rel == rel).count();
        start + from..start + from + len
    }
    /// Returns the edges of a relation into a node, in list order.
    #[must_use]
    pub fn sources(&self, gid: Gid, rel: Relation) -> &[Edge] {
        let span = self.ins.get(&(gid, rel));
        if span.is_none() {
            self.note(&[gid], UnansweredRead::EdgesIn(gid, rel));
        }
        self.edges_of(span)
    }
    /// Returns the edges of a relation into a node whose ranks are the numbers of days in a range, ends included.
    #[must_use]
    pub fn sources_on_days(&self, gid: Gid, rel: Relation, days: [Date; 2]) -> &[Edge] {
        let [first, last] = days.map(|day| i64::from(day.days()));
        let span = self.between.get(&(gid, rel, first, last));
        if span.is_none() {
            let read = UnansweredRead::EdgesBetween(gid, rel, first, last);
            self.note(&[gid], read);
        }
        self.edges_of(span)
    }
    fn edges_of(&self, span: Option<&(u32, u32)>) -> &[Edge] {
        let edges = span.and_then(|(start, end)| self.edges.get(*start as usize..*end as usize));
        edges.unwrap_or_default()
    }
    /// Returns the edge between two nodes, if it exists.
    #[must_use]
    pub fn link(&self, source: Gid, rel: Relation, target: Gid) -> Option<&Edge> {
        if let Some(single) = self.singles.get(&(source, rel, target)) {
            return single.as_ref();
        }
        if self.has_links(source, rel) {
            let edges = self.links(source, rel);
            return edges.iter().find(|edge| edge.dst == target);
        }
        self.note(&[source, target], UnansweredRead::Edge(source, rel, target));
        None
    }
    /// Returns the nodes that can be reached from a node along edges of a relation, each once, including the node itself;
    /// `None` if there were too many to load all of them.
    #[must_use]
    pub fn reached(&self, from: Gid, rel: Relation) -> Option<Vec<Gid>> {
        if !self.followed.contains(&(from, rel)) {
            self.note(&[from], UnansweredRead::Reachable(from, rel));
        }
        let mut seen = FxHashSet::from_iter([from]);
        let mut reached = vec![from];
        let mut next = 0;
        while let Some(gid) = reached.get(next).copied() {
            next += 1;
            let band = self.out.get(&gid)?;
            if rel < band.lo || band.hi < rel {
                return None;
            }
            let links = self.links(gid, rel).iter().map(|edge| edge.dst);
            reached.extend(links.filter(|dst| seen.insert(*dst)));
        }
        Some(reached)
    }
    /// Checks that no path of edges of a relation leads from a node to another, so that an edge back closes no ring. The view has
    /// the nodes on the paths from the first one ([`ReadQuery::reachable`](super::ReadQuery::reachable)).
    ///
    /// # Errors
    /// Fails if a path leads there, or if there are more nodes than are checked.
    pub fn require_no_ring(&self, from: Gid, rel: Relation, to: Gid) -> Result<(), Ring> {
        let reached = self.reached(from, rel).ok_or(Ring::TooLong)?;
        if reached.contains(&to) {
            return Err(Ring::Closed);
        }
        Ok(())
    }
    /// Returns the number of live sources of a relation into a node.
    #[must_use]
    pub fn count(&self, gid: Gid, rel: Relation) -> u64 {
        let found = self.counts.get(&(gid, rel)).copied();
        found.unwrap_or_else(|| {
            self.note(&[gid], UnansweredRead::Count(gid, rel));
            0
        })
    }
    /// Returns the number of levels of subtasks below a node.
    #[must_use]
    pub fn subtask_depth(&self, gid: Gid) -> usize {
        let found = self.heights.get(&gid).copied();
        found.unwrap_or_else(|| {
            self.note(&[gid], UnansweredRead::SubtaskDepth(gid));
            0
        })
    }
    /// Adds a node with its level, for tests of rules.
    #[must_use]
    pub fn with_node(mut self, node: Node, level: Level) -> Self {
        self.resolved_refs
            .push((NodeRef::Gid(node.gid), Some(node.gid)));
        self.levels.insert(node.gid, level);
        self.nodes.insert(node.gid, Arc::new(node));
        self
    }
    /// Adds edges from a node, for tests of rules.
    #[must_use]
    pub fn with_links(mut self, gid: Gid, mut edges: Vec<Edge>) -> Self {
        edges.extend(self.out.get(&gid).into_iter().flat_map(|b| {
            self.edges
                .get(b.start as usize..b.end as usize)
                .unwrap_or_default()
                .iter()
                .copied()
        }));
        edges.sort_unstable_by_key(|e| (e.rel, e.dst));
        let start = self.edges.len() as u32;
        self.edges.append(&mut edges);
        self.out.insert(
            gid,
            EdgeBand {
                lo: Relation(0),
                hi: Relation(u8::MAX),
                start,
                end: self.edges.len() as u32,
                heads: true,
            },
        );
        self
    }
    /// Adds edges into a node in list order, for tests of rules.
    #[must_use]
    pub fn with_sources(mut self, gid: Gid, rel: Relation, edges: &[Edge]) -> Self {
        let start = self.edges.len() as u32;
        self.edges.extend_from_slice(edges);
        self.ins
            .insert((gid, rel), (start, self.edges.len() as u32));
        self
    }
}

#[cfg(test)]
mod tests;
