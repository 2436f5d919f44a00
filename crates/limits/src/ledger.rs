//! The accounts of all keys, in shards; accounts that equal a new one are dropped.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex};

use crate::account::{Account, lock};
use crate::settings::Key;

/// The number of shards, a power of two.
const SHARDS: usize = 64;

/// A shard sweeps itself when it would grow beyond twice what the last sweep left, and not below this.
const SMALLEST: usize = 64;

type Accounts = HashMap<Key, Arc<Mutex<Account>>, BuildHasherDefault<KeyHasher>>;

/// The accounts by key.
///
/// An account is dropped only when nobody holds it and it is neutral, and both are looked at under the shard's lock,
/// which is needed to hold an account. So nobody can be left with an account that is no longer in the ledger.
#[derive(Debug)]
pub(crate) struct Ledger {
    shards: Box<[Aligned]>,
}

/// A shard on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Aligned(Mutex<Shard>);

#[derive(Debug, Default)]
struct Shard {
    accounts: Accounts,
    /// The latest time of any account dropped, so that a clock set back finds no more room than it would have had.
    floor: u64,
    /// The number of accounts at which to sweep.
    full: usize,
}

impl Ledger {
    /// An empty ledger.
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Aligned::default()).collect(),
        }
    }

    /// The account of a key, which is kept at least as long as the returned handle.
    pub(crate) fn account(&self, key: &Key, now: u64) -> Arc<Mutex<Account>> {
        let Some(Aligned(shard)) = self.shards.get(shard_of(key)) else {
            return Arc::default(); // the number of shards is the range of `shard_of`
        };
        let mut shard = lock(shard);
        if let Some(account) = shard.accounts.get(key) {
            return Arc::clone(account);
        }
        if shard.accounts.len() >= shard.full.max(SMALLEST) {
            shard.sweep(now);
        }
        let account = Arc::new(Mutex::new(Account::new(shard.floor)));
        shard.accounts.insert(*key, Arc::clone(&account));
        account
    }

    /// Drops every account that equals a new one at `now` (milliseconds), one shard after the other.
    pub(crate) fn sweep(&self, now: u64) {
        for Aligned(shard) in &self.shards {
            lock(shard).sweep(now);
        }
    }

    /// The number of accounts.
    pub(crate) fn len(&self) -> usize {
        self.shards
            .iter()
            .map(|Aligned(shard)| lock(shard).accounts.len())
            .sum()
    }
}

impl Shard {
    fn sweep(&mut self, now: u64) {
        let floor = &mut self.floor;
        self.accounts.retain(|_, account| {
            let Some(account) = Arc::get_mut(account) else {
                return true;
            };
            let account = account
                .get_mut()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let neutral = account.is_neutral(now);
            if neutral {
                *floor = account.last().max(*floor);
            }
            !neutral
        });
        self.full = self.accounts.len() * 2;
        if self.accounts.capacity() / 4 > self.accounts.len() {
            self.accounts.shrink_to(self.accounts.len() * 2);
        }
    }
}

/// The shard of a key, by bits of its hash that the map of a shard hardly uses.
fn shard_of(key: &Key) -> usize {
    let mut hasher = KeyHasher::default();
    hasher.write(key);
    usize::try_from(hasher.finish() >> 40).unwrap_or(0) % SHARDS
}

/// Mixes the bytes of a key. Keys are halves of digests and need no secret to spread well; the multiplication helps
/// those that are not.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, _) = bytes.as_chunks::<8>();
        for word in words {
            let product = u128::from(self.0 ^ u64::from_le_bytes(*word)) * 0x9e37_79b9_7f4a_7c15;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "both halves are folded into one"
            )]
            let folded = (product >> 64) as u64 ^ product as u64;
            self.0 = folded;
        }
    }

    fn write_usize(&mut self, _length: usize) {} // every key has the same

    fn finish(&self) -> u64 {
        self.0
    }
}
