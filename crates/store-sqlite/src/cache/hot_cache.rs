//! Hot cache of one connection: its own copies of the parts of its open snapshot that it reads often.
//!
//! Nearly every load reads the same few nodes: the workspace, the project, its sections, the caller. If all threads took them
//! from the [`NodeCache`](super::node_cache::NodeCache), they would change the same reference counts, and wait for each other's
//! cache lines longer than the reading takes. The copies end with the snapshot, so nothing outdates them.
use super::node_cache::{CachedPart, OutEdges};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::search::IndexEntry;
use workgraph_core::storage::Edge;

/// Maximum number of nodes in the hot cache; if there are more, all are dropped.
const NODES_MAX: usize = 256;
/// Maximum size in bytes of a part that is copied; larger parts stay in the shared cache only.
const PART_MAX: usize = 4 << 10;
/// Number of slots for parts that were read once.
const MET: usize = 512;

/// Copies of the parts of one gid.
#[derive(Debug, Default)]
pub(crate) struct HotEntry {
    pub(crate) node: Option<Arc<Node>>,
    pub(crate) out: Option<OutEdges>,
    pub(crate) list: Option<Arc<[Edge]>>,
    pub(crate) index_entry: Option<IndexEntry>,
}

/// Copies of the parts that one connection reads often.
#[derive(Debug)]
pub(crate) struct HotCache {
    entries: FxHashMap<Gid, HotEntry>,
    /// Last part that was read, by slot. Only a part that is read again is copied.
    met: Box<[u64]>,
}

impl Default for HotCache {
    fn default() -> Self {
        Self {
            entries: FxHashMap::default(),
            met: vec![0; MET].into(),
        }
    }
}

impl HotCache {
    /// Forgets everything, because the snapshot has ended.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Returns the copy of a part of a gid, if there is one.
    pub(crate) fn get<P: CachedPart + Clone>(&mut self, gid: Gid) -> Option<P> {
        P::hot_slot(self.entries.get_mut(&gid)?).clone()
    }

    /// Records that a part was read in this snapshot. If it was read before, a copy of it is kept.
    pub(crate) fn record_access<P: CachedPart>(&mut self, gid: Gid, part: &P) {
        if part.bytes() > PART_MAX {
            return;
        }
        let key = (gid.get() << 2) | P::NUMBER;
        let at = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let Some(met) = self.met.get_mut(at as usize % MET) else {
            return;
        };
        if std::mem::replace(met, key) != key {
            return;
        }
        if self.entries.len() >= NODES_MAX {
            self.entries.clear();
        }
        *P::hot_slot(self.entries.entry(gid).or_default()) = Some(part.deep_copy());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workgraph_core::model::registry::Type;

    fn node(number: u64, text: usize) -> Arc<Node> {
        Arc::new(Node {
            gid: Gid::new(number).unwrap(),
            ty: Type::Task,
            workspace: None,
            version: 1,
            head: "{}".into(),
            body: "x".repeat(text).into(),
        })
    }

    #[test]
    fn what_is_met_again_is_copied_until_the_snapshot_ends() {
        let mut hot = HotCache::default();
        let (gid, shared) = (Gid::new(7).unwrap(), node(7, 9));
        hot.record_access(shared.gid, &shared);
        assert!(hot.get::<Arc<Node>>(gid).is_none(), "met once");
        hot.record_access(gid, &OutEdges::Many);
        assert!(hot.get::<OutEdges>(gid).is_none(), "another part of it");
        hot.record_access(shared.gid, &shared);
        let own = hot.get::<Arc<Node>>(gid).unwrap();
        assert_eq!(own, shared);
        assert!(!Arc::ptr_eq(&own, &shared), "threads share no count");
        assert!(hot.get::<OutEdges>(gid).is_none() && hot.get::<Arc<[Edge]>>(gid).is_none());
        hot.record_access(gid, &OutEdges::Many);
        assert!(matches!(hot.get::<OutEdges>(gid), Some(OutEdges::Many)));
        hot.clear();
        assert!(hot.get::<Arc<Node>>(gid).is_none() && hot.get::<OutEdges>(gid).is_none());
    }

    #[test]
    fn there_are_few_of_them_and_they_are_small() {
        let mut hot = HotCache::default();
        let large = node(1, PART_MAX);
        for number in 1..=NODES_MAX as u64 + 9 {
            let small = node(number, 9);
            hot.record_access(small.gid, &small);
            hot.record_access(small.gid, &small);
            assert!(hot.entries.len() <= NODES_MAX);
        }
        hot.clear();
        hot.record_access(large.gid, &large);
        hot.record_access(large.gid, &large);
        assert!(hot.entries.is_empty());
    }
}
