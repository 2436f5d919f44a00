//! What one connection has of the snapshot it holds open: copies of its own of what is read again and again.
//!
//! Nearly every load meets the same few nodes: the workspace, the project, its sections, the caller. From the
//! [`Records`](crate::records::Records) all threads would count the same references up and down, and wait for each
//! other's cache lines longer than the reading takes. What is here goes with the snapshot, so nothing outdates it.
use crate::records::{Out, Part};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use workgraph_core::gid::Gid;
use workgraph_core::graph::Edge;
use workgraph_core::node::Node;

/// The most nodes; with more, all go.
const MOST: usize = 256;
/// Parts with more bytes than this stay where they are shared.
const PART_MAX: usize = 4 << 10;
/// How many parts are known to have been met once.
const MET: usize = 512;

/// The copies of one gid's parts.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) node: Option<Arc<Node>>,
    pub(crate) out: Option<Out>,
    pub(crate) list: Option<Arc<[Edge]>>,
}

/// The copies.
#[derive(Debug)]
pub(crate) struct Near {
    entries: FxHashMap<Gid, Entry>,
    /// In each slot the part that was last met there: only what is met again is copied.
    met: Box<[u64]>,
}

impl Default for Near {
    fn default() -> Self {
        Self {
            entries: FxHashMap::default(),
            met: vec![0; MET].into(),
        }
    }
}

impl Near {
    /// Forgets everything: the snapshot has ended.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// A part of what is known of a gid.
    pub(crate) fn get<P: Part + Clone>(&mut self, gid: Gid) -> Option<P> {
        P::near(self.entries.get_mut(&gid)?).clone()
    }

    /// A part was met in this snapshot: if it was before, a copy of it is kept.
    pub(crate) fn meet<P: Part>(&mut self, gid: Gid, part: &P) {
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
        if self.entries.len() >= MOST {
            self.entries.clear();
        }
        *P::near(self.entries.entry(gid).or_default()) = Some(part.apart());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workgraph_core::registry::Type;

    fn node(number: u64, text: usize) -> Arc<Node> {
        Arc::new(Node {
            gid: Gid::new(number).unwrap(),
            ty: Type::Task,
            home: None,
            version: 1,
            head: "{}".into(),
            body: "x".repeat(text).into(),
        })
    }

    #[test]
    fn what_is_met_again_is_copied_until_the_snapshot_ends() {
        let mut near = Near::default();
        let (gid, shared) = (Gid::new(7).unwrap(), node(7, 9));
        near.meet(shared.gid, &shared);
        assert!(near.get::<Arc<Node>>(gid).is_none(), "met once");
        near.meet(gid, &Out::Many);
        assert!(near.get::<Out>(gid).is_none(), "another part of it");
        near.meet(shared.gid, &shared);
        let own = near.get::<Arc<Node>>(gid).unwrap();
        assert_eq!(own, shared);
        assert!(!Arc::ptr_eq(&own, &shared), "threads share no count");
        assert!(near.get::<Out>(gid).is_none() && near.get::<Arc<[Edge]>>(gid).is_none());
        near.meet(gid, &Out::Many);
        assert!(matches!(near.get::<Out>(gid), Some(Out::Many)));
        near.clear();
        assert!(near.get::<Arc<Node>>(gid).is_none() && near.get::<Out>(gid).is_none());
    }

    #[test]
    fn there_are_few_of_them_and_they_are_small() {
        let mut near = Near::default();
        let large = node(1, PART_MAX);
        for number in 1..=MOST as u64 + 9 {
            let small = node(number, 9);
            near.meet(small.gid, &small);
            near.meet(small.gid, &small);
            assert!(near.entries.len() <= MOST);
        }
        near.clear();
        near.meet(large.gid, &large);
        near.meet(large.gid, &large);
        assert!(near.entries.is_empty());
    }
}
