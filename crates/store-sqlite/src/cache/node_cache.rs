//! Cache of nodes, of their outgoing edges, of short lists into them and of their index entries, kept as last read until a write
//! touches them.
//!
//! States of the graph are numbered. Before the writer commits, it removes the entries that it touched from the cache
//! ([`NodeCache::begin`]). A snapshot shows the state at the time when it was taken, or a newer one. It uses entries that were
//! read in that state or before: entries that a later commit touched have been removed. The reads of a snapshot are kept only
//! while no commit has begun since, so nothing outdated is kept. A commit adds the nodes that it created, which are usually read
//! next ([`NodeCache::end`]).
mod cached_part;
mod generation;

pub(crate) use self::cached_part::CachedPart;
use self::generation::Generation;
use crate::edge_list::EdgeList;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::storage::Edge;

/// Maximum number of locks: enough that threads seldom wait for one, and that few entries are dropped at a time.
const SHARDS: usize = 256;
/// Bytes of cache per lock.
const SHARD_BYTES: usize = 256 << 10;

/// Number of slots for pages that were read once.
const PAGES: usize = 256;

/// Number of a state of the graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct StateNumber(u64);

/// All outgoing edges of a node, live or not, in the order of (rel, dst).
#[derive(Clone, Debug)]
pub(crate) enum OutEdges {
    Few(Arc<[Edge]>),
    /// More than [`EDGES_MAX`](crate::edge_list::EDGES_MAX).
    Many,
}

impl From<EdgeList> for OutEdges {
    fn from(list: EdgeList) -> Self {
        match list {
            EdgeList::Row(edges) => Self::Few(edges.into()),
            EdgeList::Table => Self::Many,
        }
    }
}

/// Two generations of entries. When the young one fills half of the room, it becomes the old one, and the previous old one is
/// dropped. An entry of the old generation that is used moves to the young one.
#[derive(Debug, Default)]
struct CacheShard {
    young: Generation,
    old: Generation,
}

impl CacheShard {
    fn remove(&mut self, gid: Gid) {
        self.old.remove(gid);
        self.young.remove(gid);
    }

    /// Makes the young generation the old one if it has filled half of the room.
    fn age(&mut self, most: usize) {
        if self.young.bytes() > most / 2 {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
    }
}

/// Cache of nodes, edges, short lists and index entries, in shards.
#[derive(Debug)]
pub(super) struct NodeCache {
    /// Twice the number of the state, plus one during a commit.
    state: AtomicU64,
    shards: Box<[Mutex<CacheShard>]>,
    /// Maximum size in bytes of a shard.
    most: usize,
    /// First node of the last page in each slot, for pages that were read without their nodes' bodies.
    pages: [AtomicU64; PAGES],
}

impl NodeCache {
    /// Creates a cache of about this many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        // A power of two, so that some bits of a hash select a shard.
        let shards = (bytes / SHARD_BYTES).next_power_of_two().min(SHARDS);
        Self {
            state: AtomicU64::new(0),
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            most: bytes / shards,
            pages: [const { AtomicU64::new(0) }; PAGES],
        }
    }

    /// Records that the page beginning with this node was read. Returns true if it was read recently.
    pub(super) fn again(&self, first: Gid) -> bool {
        let at = usize::try_from(mix(first) >> 56).unwrap_or_default();
        let slot = self.pages.get(at);
        slot.is_some_and(|slot| slot.swap(first.get(), Ordering::Relaxed) == first.get())
    }

    /// Returns the state of a snapshot that is taken after this call.
    pub(super) fn state(&self) -> StateNumber {
        StateNumber(self.state.load(Ordering::Acquire) / 2)
    }

    /// Marks the beginning of a commit, with the gids that it touches: nodes, index entries, sources of edges, and targets of
    /// short relations.
    pub(super) fn begin<'g>(&self, touched: impl IntoIterator<Item = &'g Gid>) {
        self.state.fetch_add(1, Ordering::AcqRel);
        for gid in touched {
            if let Some(mut shard) = self.shard(*gid) {
                shard.remove(*gid);
            }
        }
    }

    /// Marks the end of a commit that created these nodes, with all their edges.
    pub(super) fn end(&self, created: &[(Arc<Node>, OutEdges)]) {
        // No other entry is kept until the new state begins.
        let new = StateNumber(self.state.load(Ordering::Acquire) / 2 + 1);
        for (node, out) in created {
            self.keep_if(node.gid, node, new, || true);
            self.keep_if(node.gid, out, new, || true);
        }
        self.state.fetch_add(1, Ordering::AcqRel);
    }

    /// Marks the end of a commit that failed: the entries that it touched are unknown.
    pub(super) fn end_failed(&self) {
        for shard in &*self.shards {
            *shard.lock() = CacheShard::default();
        }
        self.state.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns a part of a gid for a snapshot of this state. An old entry becomes young again.
    pub(super) fn get<P: CachedPart>(&self, gid: Gid, at: StateNumber) -> Option<P> {
        let mut shard = self.shard(gid)?;
        if let Some((_, found)) = P::find(&shard.young, gid, at) {
            return Some(found);
        }
        let (read, found) = P::find(&shard.old, gid, at)?;
        found.put(&mut shard.young, gid, read);
        shard.age(self.most);
        Some(found)
    }

    /// Keeps a complete part, as a snapshot of this state showed it.
    pub(super) fn keep<P: CachedPart>(&self, gid: Gid, part: &P, at: StateNumber) {
        self.keep_if(gid, part, at, || {
            self.state.load(Ordering::Acquire) == at.0 * 2
        });
    }

    /// Keeps a complete part if a condition holds under the lock that a commit needs after it has marked its beginning.
    fn keep_if<P: CachedPart>(
        &self,
        gid: Gid,
        part: &P,
        at: StateNumber,
        is_current: impl FnOnce() -> bool,
    ) {
        // A part that takes much of the room would push many others out.
        if part.bytes() > self.most / 4 {
            return;
        }
        let Some(mut shard) = self.shard(gid) else {
            return;
        };
        if is_current() {
            part.put(&mut shard.young, gid, at);
            shard.age(self.most);
        }
    }

    fn shard(&self, gid: Gid) -> Option<MutexGuard<'_, CacheShard>> {
        let at = (mix(gid) >> 56) as usize & (self.shards.len() - 1);
        self.shards.get(at).map(Mutex::lock)
    }
}

/// Hashes a gid: gids count up in their low bits and in the bits of their time.
fn mix(gid: Gid) -> u64 {
    gid.get().wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests;
