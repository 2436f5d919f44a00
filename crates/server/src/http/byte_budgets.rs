//! Bytes that the server holds for its clients: incoming bodies and outgoing replies.
//!
//! Every byte counts for its connection, for its holder and in the total. The holder is the user of the token, or the
//! network of a client without one. A holder with no bytes may always add one item of any size; beyond that the bounds
//! apply. The last quarter of the total is reserved for holders of few bytes, so that nobody can use up all of it.
use crate::config::schema::HttpConfig;
use crate::http::connections::ClientConnection;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use workgraph_api::request::TransportMemory;

/// Refusal of a client when it, or the server, holds too many bytes.
pub(crate) const NO_ROOM: &str =
    "Too many bytes of requests and replies are under way; try again later";

/// Bytes that a holder may have in the last quarter of the total.
const SMALL_HOLDING: usize = 64 << 10;
/// Shards of the table of holders, each with its own lock.
const SHARDS: usize = 16;

/// Owner of held bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ByteHolder {
    /// The gid of a user, for all of their tokens.
    User(u64),
    /// The network of a client whose token is unknown.
    Network(IpAddr),
}

/// Bounds and current numbers of held bytes.
#[derive(Debug)]
pub(crate) struct ByteBudgets {
    total_max: usize,
    connection_max: usize,
    user_max: usize,
    total: AtomicUsize,
    holders: [Mutex<FxHashMap<ByteHolder, usize>>; SHARDS],
    /// Number of bodies and replies that were refused.
    refused: AtomicU64,
}

impl ByteBudgets {
    /// Returns budgets with the bounds of these settings.
    pub(crate) fn new(http: &HttpConfig) -> Arc<Self> {
        Arc::new(Self {
            total_max: http.buffered_bytes,
            connection_max: http.buffered_bytes_per_connection,
            user_max: http.buffered_bytes_per_user,
            total: AtomicUsize::new(0),
            holders: std::array::from_fn(|_| Mutex::default()),
            refused: AtomicU64::new(0),
        })
    }

    /// Returns an empty lease, on a connection and for a holder.
    pub(crate) fn lease(
        self: &Arc<Self>,
        connection: &Arc<ClientConnection>,
        holder: ByteHolder,
    ) -> ByteLease {
        ByteLease {
            budgets: Arc::clone(self),
            connection: Arc::clone(connection),
            holder,
            bytes: 0,
        }
    }

    /// Returns the number of held bytes.
    pub(crate) fn kept(&self) -> usize {
        self.total.load(Relaxed)
    }

    /// Returns the number of bodies and replies that were refused because there was no room.
    pub(crate) fn refusals(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    fn shard(&self, holder: ByteHolder) -> Option<&Mutex<FxHashMap<ByteHolder, usize>>> {
        let mut hasher = FxHasher::default();
        holder.hash(&mut hasher);
        // The upper bits of this hash are the well mixed ones.
        self.holders.get((hasher.finish() >> 60) as usize % SHARDS)
    }

    /// Adds bytes to a holder and its connection. Unless `is_forced`, only does so within all bounds.
    fn add(
        &self,
        connection: &ClientConnection,
        holder: ByteHolder,
        bytes: usize,
        is_forced: bool,
    ) -> bool {
        let Some(shard) = self.shard(holder) else {
            return false;
        };
        let mut shard = shard.lock();
        let held = shard.get(&holder).copied().unwrap_or_default();
        let after = held.saturating_add(bytes);
        let connection_max = match connection.is_proxied() {
            // A proxy connection has the requests of many clients.
            true => usize::MAX,
            false => self.connection_max,
        };
        let total_max = match after <= SMALL_HOLDING {
            true => self.total_max,
            false => self.total_max / 4 * 3,
        };
        let fits = |kept: usize, most: usize| kept == 0 || kept.saturating_add(bytes) <= most;
        let may = is_forced
            || fits(held, self.user_max)
                && fits(connection.kept_bytes().load(Relaxed), connection_max);
        let more = |total: usize| {
            let may = may && (is_forced || fits(total, total_max));
            may.then(|| total.saturating_add(bytes))
        };
        if self.total.fetch_update(Relaxed, Relaxed, more).is_err() {
            drop(shard);
            self.refused.fetch_add(1, Relaxed);
            return false;
        }
        connection.kept_bytes().fetch_add(bytes, Relaxed);
        shard.insert(holder, after);
        true
    }

    fn remove(&self, connection: &ClientConnection, holder: ByteHolder, bytes: usize) {
        self.total.fetch_sub(bytes, Relaxed);
        connection.kept_bytes().fetch_sub(bytes, Relaxed);
        if let Some(shard) = self.shard(holder) {
            let mut shard = shard.lock();
            if let Some(held) = shard.get_mut(&holder) {
                *held = held.saturating_sub(bytes);
                if *held == 0 {
                    shard.remove(&holder);
                }
            }
        }
    }
}

impl TransportMemory for ByteBudgets {
    fn has_room(&self, user: u64) -> bool {
        let holder = ByteHolder::User(user);
        let held = self
            .shard(holder)
            .and_then(|shard| shard.lock().get(&holder).copied());
        let held = held.unwrap_or_default();
        held == 0 || held < self.user_max && self.kept() < self.total_max / 4 * 3
    }
}

/// Lease of bytes in the budgets of a holder and a connection. Dropping it frees the bytes.
#[derive(Debug)]
pub(crate) struct ByteLease {
    budgets: Arc<ByteBudgets>,
    connection: Arc<ClientConnection>,
    holder: ByteHolder,
    bytes: usize,
}

impl ByteLease {
    /// Adds bytes. If there is no room for them, adds nothing and returns false.
    #[must_use]
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let grown = self
            .budgets
            .add(&self.connection, self.holder, bytes, false);
        if grown {
            self.bytes += bytes;
        }
        grown
    }

    /// Adds bytes that must be held even if there is no room.
    pub(crate) fn grow_regardless(&mut self, bytes: usize) {
        if self.budgets.add(&self.connection, self.holder, bytes, true) {
            self.bytes += bytes;
        }
    }

    /// Moves the lease to another holder. Returns false if that one has no room for even one more byte.
    #[must_use]
    pub(crate) fn move_to(&mut self, holder: ByteHolder) -> bool {
        let mut moved = self.budgets.lease(&self.connection, holder);
        if self.holder == holder {
            return true;
        }
        let bytes = std::mem::take(&mut self.bytes);
        self.budgets.remove(&self.connection, self.holder, bytes);
        let fits = moved.grow(bytes.max(1));
        if !fits {
            moved.grow_regardless(bytes);
        }
        std::mem::swap(self, &mut moved);
        fits
    }
}

impl Drop for ByteLease {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budgets
                .remove(&self.connection, self.holder, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::connections::ConnectionTracker;
    use crate::metrics::Metrics;

    fn budgets() -> (Arc<ByteBudgets>, Arc<ConnectionTracker>) {
        let mut http = crate::config::Config::default().http;
        http.buffered_bytes = 4 << 20;
        http.buffered_bytes_per_user = 2 << 20;
        http.buffered_bytes_per_connection = 1 << 20;
        let tracker = ConnectionTracker::new(&http, Arc::new(Metrics::new()));
        (ByteBudgets::new(&http), tracker)
    }

    const PART: usize = 512 << 10;

    #[test]
    fn a_connection_a_user_and_all_together_keep_bounded_bytes_and_small_holders_find_room() {
        let (budgets, tracker) = budgets();
        let connections: Vec<_> = (0..9u8)
            .map(|n| tracker.register(IpAddr::from([10, 0, 0, n])).unwrap())
            .collect();
        let lease = |connection: usize, user: u64, bytes: usize| {
            let connection = &connections[connection].0;
            let mut lease = budgets.lease(connection, ByteHolder::User(user));
            lease.grow(bytes).then_some(lease)
        };
        let two = [lease(0, 1, PART).unwrap(), lease(0, 1, PART).unwrap()];
        assert!(lease(0, 2, PART).is_none(), "the connection is full");
        let four = [lease(1, 1, PART).unwrap(), lease(1, 1, PART).unwrap()];
        assert!(lease(2, 1, PART).is_none(), "the user is full");
        let six = [lease(2, 2, PART).unwrap(), lease(3, 2, PART).unwrap()];
        assert!(lease(4, 3, PART).is_none(), "the rest is for small ones");
        let small = lease(4, 3, SMALL_HOLDING).unwrap();
        assert!(lease(5, 3, 1).is_none(), "it is small no more");
        drop((two, four, six, small));
        assert_eq!(budgets.kept(), 0);
        assert!(budgets.holders.iter().all(|shard| shard.lock().is_empty()));
        assert!(lease(0, 1, 64 << 20).is_some(), "one thing has room alone");
        assert_eq!((budgets.kept(), budgets.refusals()), (0, 4));
    }

    #[test]
    fn a_lease_moves_with_its_bytes_to_the_user_when_the_token_is_known() {
        let (budgets, tracker) = budgets();
        let address = IpAddr::from([10, 0, 0, 1]);
        let connection = tracker.register(address).unwrap();
        let network = ByteHolder::Network(address);
        let mut lease = budgets.lease(&connection.0, network);
        assert!(lease.grow(PART) && lease.move_to(ByteHolder::User(7)));
        let held = |holder| {
            let shard = budgets.shard(holder).unwrap().lock();
            shard.get(&holder).copied()
        };
        assert_eq!(
            (held(network), held(ByteHolder::User(7))),
            (None, Some(PART))
        );
        drop(lease);
        assert_eq!((budgets.kept(), held(ByteHolder::User(7))), (0, None));
    }
}
