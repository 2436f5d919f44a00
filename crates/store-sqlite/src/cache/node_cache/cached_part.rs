//! Parts of a gid that are cached, and how each is kept in a generation and in a hot cache.
use super::generation::Generation;
use super::{OutEdges, StateNumber};
use crate::cache::hot_cache::HotEntry;
use std::sync::Arc;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::search::IndexEntry;
use workgraph_core::storage::Edge;

/// Part of the data that is cached for a gid, such as the node or its outgoing edges. The code of each cache is the same for
/// all parts.
pub(crate) trait CachedPart: Sized {
    /// Number that distinguishes the parts of a gid; below 4.
    const NUMBER: u64;
    /// Returns the approximate size of the part in bytes.
    fn bytes(&self) -> usize;
    /// Returns a copy that shares no memory with the part.
    fn deep_copy(&self) -> Self;
    /// Finds the part in a generation, if it was read in this state or before. Returns it with the state in which it was read.
    fn find(generation: &Generation, gid: Gid, at: StateNumber) -> Option<(StateNumber, Self)>;
    /// Puts the part into a generation.
    fn put(&self, generation: &mut Generation, gid: Gid, at: StateNumber);
    /// Returns the part's field in an entry of a hot cache.
    fn hot_slot(entry: &mut HotEntry) -> &mut Option<Self>;
}

/// Node with its body.
impl CachedPart for Arc<Node> {
    const NUMBER: u64 = 1;
    fn bytes(&self) -> usize {
        self.head.len() + self.body.weight()
    }
    fn deep_copy(&self) -> Self {
        Self::new(Node::clone(self))
    }
    fn find(generation: &Generation, gid: Gid, at: StateNumber) -> Option<(StateNumber, Self)> {
        generation.node(gid, at)
    }
    fn put(&self, generation: &mut Generation, _: Gid, at: StateNumber) {
        generation.put_node(self, at);
    }
    fn hot_slot(entry: &mut HotEntry) -> &mut Option<Self> {
        &mut entry.node
    }
}

/// All outgoing edges of a node.
impl CachedPart for OutEdges {
    const NUMBER: u64 = 2;
    fn bytes(&self) -> usize {
        match self {
            Self::Few(edges) => edges.bytes(),
            Self::Many => 0,
        }
    }
    fn deep_copy(&self) -> Self {
        match self {
            Self::Few(edges) => Self::Few(edges.deep_copy()),
            Self::Many => Self::Many,
        }
    }
    fn find(generation: &Generation, gid: Gid, at: StateNumber) -> Option<(StateNumber, Self)> {
        generation.out(gid, at)
    }
    fn put(&self, generation: &mut Generation, gid: Gid, at: StateNumber) {
        generation.put_out(gid, self, at);
    }
    fn hot_slot(entry: &mut HotEntry) -> &mut Option<Self> {
        &mut entry.out
    }
}

/// Short list into a node ([`Relation::is_short`](workgraph_core::model::registry::Relation::is_short)), in order.
impl CachedPart for Arc<[Edge]> {
    const NUMBER: u64 = 3;
    fn bytes(&self) -> usize {
        size_of_val(&**self)
    }
    fn deep_copy(&self) -> Self {
        Self::from(&**self)
    }
    fn find(generation: &Generation, gid: Gid, at: StateNumber) -> Option<(StateNumber, Self)> {
        generation.list(gid, at)
    }
    fn put(&self, generation: &mut Generation, gid: Gid, at: StateNumber) {
        generation.put_list(gid, self, at);
    }
    fn hot_slot(entry: &mut HotEntry) -> &mut Option<Self> {
        &mut entry.list
    }
}

/// Index entry of a node.
impl CachedPart for IndexEntry {
    const NUMBER: u64 = 0;
    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
    fn deep_copy(&self) -> Self {
        *self
    }
    fn find(generation: &Generation, gid: Gid, at: StateNumber) -> Option<(StateNumber, Self)> {
        generation.index_entry(gid, at)
    }
    fn put(&self, generation: &mut Generation, _: Gid, at: StateNumber) {
        generation.put_index_entry(*self, at);
    }
    fn hot_slot(entry: &mut HotEntry) -> &mut Option<Self> {
        &mut entry.index_entry
    }
}
