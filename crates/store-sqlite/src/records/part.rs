//! What is remembered of a gid, part by part: how each is kept, on a shelf and near a connection.
use super::shelf::Shelf;
use super::{Out, State};
use crate::near::Entry;
use std::sync::Arc;
use workgraph_core::gid::Gid;
use workgraph_core::graph::Edge;
use workgraph_core::node::Node;

/// A part. Everything that remembers is written once, for any of them.
pub(crate) trait Part: Sized {
    /// Tells the parts of a gid from each other; below 4.
    const NUMBER: u64;
    /// About how many bytes it takes.
    fn bytes(&self) -> usize;
    /// A copy that shares nothing with it.
    fn apart(&self) -> Self;
    /// Finds it on a shelf, if it was read in this state or before, with the state it was read in.
    fn find(shelf: &Shelf, gid: Gid, at: State) -> Option<(State, Self)>;
    /// Puts it on a shelf.
    fn put(&self, shelf: &mut Shelf, gid: Gid, at: State);
    /// Its place among what is near.
    fn near(entry: &mut Entry) -> &mut Option<Self>;
}

/// The node itself.
impl Part for Arc<Node> {
    const NUMBER: u64 = 1;
    fn bytes(&self) -> usize {
        self.head.len() + self.body.len()
    }
    fn apart(&self) -> Self {
        Self::new(Node::clone(self))
    }
    fn find(shelf: &Shelf, gid: Gid, at: State) -> Option<(State, Self)> {
        shelf.node(gid, at)
    }
    fn put(&self, shelf: &mut Shelf, _: Gid, at: State) {
        shelf.put_node(self, at);
    }
    fn near(entry: &mut Entry) -> &mut Option<Self> {
        &mut entry.node
    }
}

/// All edges away from it.
impl Part for Out {
    const NUMBER: u64 = 2;
    fn bytes(&self) -> usize {
        match self {
            Self::Few(edges) => edges.bytes(),
            Self::Many => 0,
        }
    }
    fn apart(&self) -> Self {
        match self {
            Self::Few(edges) => Self::Few(edges.apart()),
            Self::Many => Self::Many,
        }
    }
    fn find(shelf: &Shelf, gid: Gid, at: State) -> Option<(State, Self)> {
        shelf.out(gid, at)
    }
    fn put(&self, shelf: &mut Shelf, gid: Gid, at: State) {
        shelf.put_out(gid, self, at);
    }
    fn near(entry: &mut Entry) -> &mut Option<Self> {
        &mut entry.out
    }
}

/// A short list into it ([`Rel::is_short`](workgraph_core::registry::Rel::is_short)), in order.
impl Part for Arc<[Edge]> {
    const NUMBER: u64 = 3;
    fn bytes(&self) -> usize {
        size_of_val(&**self)
    }
    fn apart(&self) -> Self {
        Self::from(&**self)
    }
    fn find(shelf: &Shelf, gid: Gid, at: State) -> Option<(State, Self)> {
        shelf.list(gid, at)
    }
    fn put(&self, shelf: &mut Shelf, gid: Gid, at: State) {
        shelf.put_list(gid, self, at);
    }
    fn near(entry: &mut Entry) -> &mut Option<Self> {
        &mut entry.list
    }
}
