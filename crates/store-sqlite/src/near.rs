//! What one connection has of the snapshot it holds open: copies of its own of what is read again and again.
//!
//! Nearly every load meets the same few nodes: the workspace, the project, its sections, the caller. From the
//! [`Records`](crate::records::Records) all threads would count the same references up and down, and wait for each
//! other's cache lines longer than the reading takes. What is here goes with the snapshot, so nothing outdates it.
use crate::records::Out;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use workgraph_core::gid::Gid;
use workgraph_core::graph::Edge;
use workgraph_core::node::Node;

/// The most nodes; with more, all go.
const MOST: usize = 256;
/// Nodes with more text than this stay where they are shared, in bytes: together the others stay under 1 MiB.
const TEXT_MAX: usize = 4 << 10;
/// How many parts are known to have been met once.
const MET: usize = 512;

/// The parts of what is known of a node.
#[derive(Clone, Copy)]
enum Part {
    Node,
    Out,
    List,
}

#[derive(Debug, Default)]
struct Entry {
    node: Option<Arc<Node>>,
    out: Option<Out>,
    list: Option<Arc<[Edge]>>,
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

    /// The node.
    pub(crate) fn node(&self, gid: Gid) -> Option<Arc<Node>> {
        self.entries.get(&gid)?.node.clone()
    }

    /// The edges away from a node.
    pub(crate) fn out(&self, gid: Gid) -> Option<Out> {
        self.entries.get(&gid)?.out.clone()
    }

    /// The short list into a node.
    pub(crate) fn list(&self, gid: Gid) -> Option<Arc<[Edge]>> {
        self.entries.get(&gid)?.list.clone()
    }

    /// A node was met in this snapshot.
    pub(crate) fn meet_node(&mut self, node: &Arc<Node>) {
        if node.head.len() + node.body.len() <= TEXT_MAX
            && let Some(entry) = self.again(node.gid, Part::Node)
        {
            entry.node = Some(Arc::new(Node::clone(node)));
        }
    }

    /// The edges away from a node were met in this snapshot.
    pub(crate) fn meet_out(&mut self, gid: Gid, out: &Out) {
        if let Some(entry) = self.again(gid, Part::Out) {
            entry.out = Some(match out {
                Out::Few(edges) => Out::Few(Arc::from(&**edges)),
                Out::Many => Out::Many,
            });
        }
    }

    /// A short list was met in this snapshot.
    pub(crate) fn meet_list(&mut self, gid: Gid, list: &Arc<[Edge]>) {
        if let Some(entry) = self.again(gid, Part::List) {
            entry.list = Some(Arc::from(&**list));
        }
    }

    /// The place for a part, if it is not met for the first time.
    fn again(&mut self, gid: Gid, part: Part) -> Option<&mut Entry> {
        let key = (gid.get() << 2) | (part as u64 + 1);
        let at = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let met = self.met.get_mut(at as usize % MET)?;
        if std::mem::replace(met, key) != key {
            return None;
        }
        if self.entries.len() >= MOST {
            self.entries.clear();
        }
        Some(self.entries.entry(gid).or_default())
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
        near.meet_node(&shared);
        assert!(near.node(gid).is_none(), "met once");
        near.meet_out(gid, &Out::Many);
        assert!(near.out(gid).is_none(), "another part of it");
        near.meet_node(&shared);
        let own = near.node(gid).unwrap();
        assert_eq!(own, shared);
        assert!(!Arc::ptr_eq(&own, &shared), "threads share no count");
        assert!(near.out(gid).is_none() && near.list(gid).is_none());
        near.meet_out(gid, &Out::Many);
        assert!(matches!(near.out(gid), Some(Out::Many)));
        near.clear();
        assert!(near.node(gid).is_none() && near.out(gid).is_none());
    }

    #[test]
    fn there_are_few_of_them_and_they_are_small() {
        let mut near = Near::default();
        let large = node(1, TEXT_MAX);
        for number in 1..=MOST as u64 + 9 {
            let small = node(number, 9);
            near.meet_node(&small);
            near.meet_node(&small);
            assert!(near.entries.len() <= MOST);
        }
        near.clear();
        near.meet_node(&large);
        near.meet_node(&large);
        assert!(near.entries.is_empty());
    }
}
