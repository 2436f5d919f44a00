//! Nodes, the edges away from them and short lists into them as they were last read, kept until a write touches them.
//!
//! States of the graph are numbered. Before the writer commits, it takes what it touched out of the
//! cache ([`Records::begin`]). A snapshot is of the state there was when it was taken, or of a newer
//! one; it uses entries that were read in that state or before, for had anything touched them since
//! they would be gone. And what it reads is kept only while no commit has begun since, so nothing is
//! kept that a commit has outdated.
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use workgraph_core::gid::Gid;
use workgraph_core::graph::Edge;
use workgraph_core::node::Node;

/// Locks, so that threads seldom wait for one; and so many that few entries go at a time.
const SHARDS: usize = 256;
/// Nodes with more edges than this are not worth keeping whole.
pub(crate) const EDGES_MAX: usize = 64;
/// About what an entry takes besides the text of its node and its edges.
const ENTRY: usize = 192;

/// How many pages are known to have been read once.
const PAGES: usize = 256;

/// The number of a state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct State(u64);

/// All edges away from a node, live or not, in the order of (rel, dst).
#[derive(Clone, Debug)]
pub(crate) enum Out {
    Few(Arc<[Edge]>),
    /// More than [`EDGES_MAX`].
    Many,
}

/// What is known of a gid, each part with the state it was read in.
#[derive(Clone, Debug, Default)]
struct Entry {
    node: Option<(State, Arc<Node>)>,
    out: Option<(State, Out)>,
    /// All of its list by a short relation ([`Rel::is_short`]), in order.
    list: Option<(State, Arc<[Edge]>)>,
}

impl Entry {
    fn size(&self) -> usize {
        let node = |(_, n): &(State, Arc<Node>)| n.head.len() + n.body.len();
        let out = match &self.out {
            Some((_, Out::Few(edges))) => std::mem::size_of_val(&**edges),
            _ => 0,
        };
        let list = |(_, edges): &(State, Arc<[Edge]>)| std::mem::size_of_val(&**edges);
        ENTRY + self.node.as_ref().map_or(0, node) + out + self.list.as_ref().map_or(0, list)
    }
}

/// Entries of two ages: when the young ones fill half of the room they become the old ones, and the
/// old ones go. An entry that is used becomes young again.
#[derive(Debug, Default)]
struct Shard {
    young: FxHashMap<Gid, Entry>,
    old: FxHashMap<Gid, Entry>,
    /// Bytes of the young ones.
    bytes: usize,
}

impl Shard {
    /// The entry, made young, or a new one.
    fn entry(&mut self, gid: Gid) -> &mut Entry {
        let old = &mut self.old;
        self.young.entry(gid).or_insert_with(|| {
            let entry = old.remove(&gid).unwrap_or_default();
            self.bytes += entry.size();
            entry
        })
    }

    fn remove(&mut self, gid: Gid) {
        self.old.remove(&gid);
        if let Some(entry) = self.young.remove(&gid) {
            self.bytes -= entry.size().min(self.bytes);
        }
    }

    /// Makes room if there is none; what goes is for the caller to drop, without the lock.
    fn age(&mut self, most: usize) -> FxHashMap<Gid, Entry> {
        if self.bytes <= most / 2 {
            return FxHashMap::default();
        }
        self.bytes = 0;
        let young = std::mem::take(&mut self.young);
        std::mem::replace(&mut self.old, young)
    }
}

/// The cache.
#[derive(Debug)]
pub(crate) struct Records {
    /// Twice the number of the state, and one more while a commit is underway.
    state: AtomicU64,
    shards: Box<[Mutex<Shard>]>,
    /// The most bytes of a shard.
    most: usize,
    /// Pages that were read without their nodes' bodies: the first node of the last one in each slot.
    pages: [AtomicU64; PAGES],
}

impl Records {
    /// A cache of about so many bytes; 0 keeps nothing.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            state: AtomicU64::new(0),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            most: bytes / SHARDS,
            pages: [const { AtomicU64::new(0) }; PAGES],
        }
    }

    /// Notes that the page that begins with this node was read; whether it was lately.
    pub(crate) fn again(&self, first: Gid) -> bool {
        let at = usize::try_from(mix(first) >> 56).unwrap_or_default();
        let slot = self.pages.get(at).filter(|_| self.most > 0);
        slot.is_some_and(|slot| slot.swap(first.get(), Ordering::Relaxed) == first.get())
    }

    /// The state of a snapshot that is taken after this call.
    pub(crate) fn state(&self) -> State {
        State(self.state.load(Ordering::Acquire) / 2)
    }

    /// Says that a commit begins, and what it touches: nodes, sources of edges, and targets of those of short relations.
    pub(crate) fn begin<'g>(&self, touched: impl IntoIterator<Item = &'g Gid>) {
        self.state.fetch_add(1, Ordering::AcqRel);
        for gid in touched {
            if let Some(mut shard) = self.shard(*gid) {
                shard.remove(*gid);
            }
        }
    }

    /// Says that the commit is over; if it failed nobody knows what it touched.
    pub(crate) fn end(&self, failed: bool) {
        if failed {
            for shard in &*self.shards {
                *lock(shard) = Shard::default();
            }
        }
        self.state.fetch_add(1, Ordering::AcqRel);
    }

    /// The node, for a snapshot of this state.
    pub(crate) fn node(&self, gid: Gid, at: State) -> Option<Arc<Node>> {
        self.part(gid, at, |entry| entry.node.as_ref())
    }

    /// The edges away from a node, for a snapshot of this state.
    pub(crate) fn out(&self, gid: Gid, at: State) -> Option<Out> {
        self.part(gid, at, |entry| entry.out.as_ref())
    }

    /// The short list into a node, for a snapshot of this state.
    pub(crate) fn list(&self, gid: Gid, at: State) -> Option<Arc<[Edge]>> {
        self.part(gid, at, |entry| entry.list.as_ref())
    }

    /// A part of an entry that was read in this state or before. The entry is young again.
    fn part<T: Clone>(
        &self,
        gid: Gid,
        at: State,
        part: impl Fn(&Entry) -> Option<&(State, T)>,
    ) -> Option<T> {
        let mut shard = self.shard(gid)?;
        let known = |entry: &Entry| {
            part(entry)
                .filter(|(read, _)| *read <= at)
                .map(|(_, p)| p.clone())
        };
        if let Some(found) = shard.young.get(&gid).and_then(known) {
            return Some(found);
        }
        let found = shard.old.get(&gid).and_then(known)?;
        shard.entry(gid);
        Some(found)
    }

    /// Keeps a node that a snapshot of this state showed, with its body.
    pub(crate) fn keep_node(&self, node: &Arc<Node>, at: State) {
        self.keep(node.gid, at, |entry| {
            entry.node = Some((at, Arc::clone(node)))
        });
    }

    /// Keeps the edges that a snapshot of this state showed: all away from the node.
    pub(crate) fn keep_out(&self, gid: Gid, out: Out, at: State) {
        self.keep(gid, at, |entry| entry.out = Some((at, out)));
    }

    /// Keeps the short list that a snapshot of this state showed: all of it.
    pub(crate) fn keep_list(&self, gid: Gid, list: Arc<[Edge]>, at: State) {
        self.keep(gid, at, |entry| entry.list = Some((at, list)));
    }

    fn keep(&self, gid: Gid, at: State, put: impl FnOnce(&mut Entry)) {
        let Some(mut shard) = self.shard(gid) else {
            return;
        };
        // Looked at under the lock that a commit needs, after it said that it begins.
        if self.most == 0 || self.state.load(Ordering::Acquire) != at.0 * 2 {
            return;
        }
        let entry = shard.entry(gid);
        let before = entry.size();
        put(entry);
        let after = entry.size();
        shard.bytes = (shard.bytes + after).saturating_sub(before);
        let gone = shard.age(self.most);
        drop(shard);
        drop(gone);
    }

    fn shard(&self, gid: Gid) -> Option<MutexGuard<'_, Shard>> {
        let at = (mix(gid) >> 56) as usize % SHARDS;
        self.shards.get(at).map(lock)
    }
}

/// Spreads gids, which count up in their low bits and in those of the time.
fn mix(gid: Gid) -> u64 {
    gid.get().wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    // A shard that a panic left behind may be missing entries, or count their bytes wrong.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
