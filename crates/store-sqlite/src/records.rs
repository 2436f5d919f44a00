//! Nodes, the edges away from them and short lists into them as they were last read, kept until a write touches them.
//!
//! States of the graph are numbered. Before the writer commits, it takes what it touched out of the
//! cache ([`Records::begin`]). A snapshot is of the state there was when it was taken, or of a newer
//! one; it uses entries that were read in that state or before, for had anything touched them since
//! they would be gone. And what it reads is kept only while no commit has begun since, so nothing is
//! kept that a commit has outdated.
mod part;
mod shelf;

pub(crate) use self::part::Part;
use self::shelf::Shelf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use workgraph_core::gid::Gid;
use workgraph_core::graph::Edge;

/// Locks, so that threads seldom wait for one; and so many that few entries go at a time.
const SHARDS: usize = 256;
/// Nodes with more edges than this are not worth keeping whole.
pub(crate) const EDGES_MAX: usize = 64;

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

/// Shelves of two ages: when the young one fills half of the room it becomes the old one, and what was on the old one goes. What
/// is used from the old one becomes young again.
#[derive(Debug, Default)]
struct Shard {
    young: Shelf,
    old: Shelf,
}

impl Shard {
    fn remove(&mut self, gid: Gid) {
        self.old.remove(gid);
        self.young.remove(gid);
    }

    /// Makes room if there is none.
    fn age(&mut self, most: usize) {
        if self.young.bytes() > most / 2 {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
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

    /// A part of what is known of a gid, for a snapshot of this state. What is old is made young.
    pub(crate) fn get<P: Part>(&self, gid: Gid, at: State) -> Option<P> {
        let mut shard = self.shard(gid)?;
        if let Some((_, found)) = P::find(&shard.young, gid, at) {
            return Some(found);
        }
        let (read, found) = P::find(&shard.old, gid, at)?;
        found.put(&mut shard.young, gid, read);
        shard.age(self.most);
        Some(found)
    }

    /// Keeps what a snapshot of this state showed, all of it.
    pub(crate) fn keep<P: Part>(&self, gid: Gid, part: &P, at: State) {
        // What takes much of the room would drive many others out.
        if part.bytes() > self.most / 4 {
            return;
        }
        let Some(mut shard) = self.shard(gid) else {
            return;
        };
        // Looked at under the lock that a commit needs, after it said that it begins.
        if self.most > 0 && self.state.load(Ordering::Acquire) == at.0 * 2 {
            part.put(&mut shard.young, gid, at);
            shard.age(self.most);
        }
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
