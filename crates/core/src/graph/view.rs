//! What was found for a [`Want`](super::Want): nodes, edges and levels from one snapshot.
use super::{Edge, Ref, Rows, Seq};
use crate::access::{Level, Viewer};
use crate::gid::Gid;
use crate::interrupt::MaybeInterrupt;
use crate::node::Node;
use crate::registry::Rel;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::sync::Arc;

/// What was found: nodes, edges and levels from one snapshot.
#[derive(Clone, Debug)]
pub struct View {
    /// Who asks.
    pub viewer: Arc<Viewer>,
    /// The app they ask by.
    pub app: Option<u64>,
    /// The last commit the snapshot shows.
    pub seq: Seq,
    /// Each of [`Want::refs`](super::Want::refs) with the live node it names.
    pub found: Vec<(Ref, Option<Gid>)>,
    /// The rows of the page.
    pub rows: Rows,
    /// Stops the work on it: the interrupt of what it was loaded for.
    pub interrupt: MaybeInterrupt,
    pub(crate) nodes: FxHashMap<Gid, Arc<Node>>,
    pub(crate) levels: FxHashMap<Gid, Level>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) out: FxHashMap<Gid, Band>,
    pub(crate) ins: FxHashMap<(Gid, Rel), (u32, u32)>,
    pub(crate) counts: FxHashMap<(Gid, Rel), u64>,
    pub(crate) singles: Vec<Edge>,
    pub(crate) heights: FxHashMap<Gid, usize>,
    /// The persons who stand in the place of users that are gone, by the gids of these.
    pub(crate) heirs: FxHashMap<Gid, Gid>,
}

/// A run of edges from one node, all with relations in `lo..=hi`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band {
    pub(crate) lo: Rel,
    pub(crate) hi: Rel,
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The heads of the targets were read along.
    pub(crate) heads: bool,
}

/// A map with room for what one record needs, so that it does not grow step by step.
fn roomy<V>() -> FxHashMap<Gid, V> {
    FxHashMap::with_capacity_and_hasher(14, FxBuildHasher)
}

impl View {
    /// An empty view.
    #[must_use]
    pub fn new(viewer: Arc<Viewer>, seq: Seq) -> Self {
        Self {
            viewer,
            app: None,
            seq,
            found: Vec::new(),
            rows: Rows::default(),
            interrupt: None,
            nodes: roomy(),
            levels: roomy(),
            edges: Vec::new(),
            out: roomy(),
            ins: FxHashMap::default(),
            counts: FxHashMap::default(),
            singles: Vec::new(),
            heights: FxHashMap::default(),
            heirs: FxHashMap::default(),
        }
    }
    /// The live node that a wanted ref names.
    #[must_use]
    pub fn resolve(&self, name: &Ref) -> Option<Gid> {
        self.found
            .iter()
            .find(|(r, _)| r == name)
            .and_then(|(_, gid)| *gid)
    }
    /// The person who took the place of a user that is gone; every other node is its own heir.
    #[must_use]
    pub fn heir(&self, gid: Gid) -> Gid {
        if self.heirs.is_empty() {
            return gid;
        }
        self.heirs.get(&gid).copied().unwrap_or(gid)
    }
    /// A live node, or the person who took its place.
    #[must_use]
    pub fn node(&self, gid: Gid) -> Option<&Node> {
        self.nodes.get(&self.heir(gid)).map(Arc::as_ref)
    }
    /// A live node that the viewer may see.
    #[must_use]
    #[inline]
    pub fn visible(&self, gid: Gid) -> Option<&Node> {
        self.node(gid).filter(|_| self.level(gid) > Level::None)
    }
    /// What the viewer may do with a node; `None` for what was not loaded.
    #[must_use]
    pub fn level(&self, gid: Gid) -> Level {
        self.levels
            .get(&self.heir(gid))
            .copied()
            .unwrap_or_default()
    }
    /// The edges of a relation from a node, in the order of their targets' gids.
    #[must_use]
    pub fn links(&self, gid: Gid, rel: Rel) -> &[Edge] {
        self.edges.get(self.span(gid, rel)).unwrap_or_default()
    }
    /// Where those edges are; edges that are loaded later come after them.
    pub(crate) fn span(&self, gid: Gid, rel: Rel) -> std::ops::Range<usize> {
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
    /// The edges of a relation into a node, in list order.
    #[must_use]
    pub fn sources(&self, gid: Gid, rel: Rel) -> &[Edge] {
        let Some((start, end)) = self.ins.get(&(gid, rel)) else {
            return &[];
        };
        self.edges
            .get(*start as usize..*end as usize)
            .unwrap_or_default()
    }
    /// The edge between two nodes, if it exists and was loaded.
    #[must_use]
    pub fn link(&self, source: Gid, rel: Rel, target: Gid) -> Option<&Edge> {
        let held = self.links(source, rel).iter().chain(&self.singles);
        held.into_iter()
            .find(|e| e.src == source && e.rel == rel && e.dst == target)
    }
    /// How many live sources of a relation a node has, if that was loaded.
    #[must_use]
    pub fn count(&self, gid: Gid, rel: Rel) -> u64 {
        self.counts.get(&(gid, rel)).copied().unwrap_or_default()
    }
    /// How many levels of subtasks a node has below it, if that was loaded.
    #[must_use]
    pub fn height(&self, gid: Gid) -> usize {
        self.heights.get(&gid).copied().unwrap_or_default()
    }
    /// Adds a node with its level, as tests of rules do by hand.
    #[must_use]
    pub fn with(mut self, node: Node, level: Level) -> Self {
        self.found.push((Ref::Gid(node.gid), Some(node.gid)));
        self.levels.insert(node.gid, level);
        self.nodes.insert(node.gid, Arc::new(node));
        self
    }
    /// Adds edges from a node, as tests of rules do by hand.
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
            Band {
                lo: Rel(0),
                hi: Rel(u8::MAX),
                start,
                end: self.edges.len() as u32,
                heads: true,
            },
        );
        self
    }
    /// Adds edges into a node in list order, as tests of rules do by hand.
    #[must_use]
    pub fn with_sources(mut self, gid: Gid, rel: Rel, edges: &[Edge]) -> Self {
        let start = self.edges.len() as u32;
        self.edges.extend_from_slice(edges);
        self.ins
            .insert((gid, rel), (start, self.edges.len() as u32));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::Draft;
    use crate::registry::{Type, rel};

    #[test]
    fn a_view_made_by_hand_reads_like_one_that_was_loaded() {
        let gid = |n| Gid::new(n).unwrap();
        let (task, section, tag, user) = (gid(1), gid(2), gid(3), gid(4));
        let edge = |src, rel, dst| Edge {
            src,
            rel,
            dst,
            rank: 0,
            seq: 1,
            aux: None,
        };
        let placed = edge(task, rel::SECTION, section);
        let view = View::new(Arc::new(Viewer::alone(user)), 1)
            .with(Draft::new(Type::Task, task, None).finish(), Level::Editor)
            .with_links(task, vec![edge(task, rel::TAGS, tag)])
            .with_links(task, vec![placed])
            .with_sources(section, rel::SECTION, &[placed]);
        assert_eq!(view.resolve(&Ref::Gid(task)), Some(task));
        assert_eq!(view.level(task), Level::Editor);
        assert_eq!(view.links(task, rel::SECTION), [placed]);
        assert_eq!(view.links(task, rel::TAGS).len(), 1);
        assert_eq!(view.sources(section, rel::SECTION), [placed]);
        assert!(view.link(task, rel::TAGS, section).is_none());
    }
}
