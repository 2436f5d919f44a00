//! Table of the accounts of all keys, in shards; accounts that equal a new one are dropped.

use std::sync::Arc;

use crate::admission_request::LimitKey;
use crate::atomic_settings::LimitSet;
use crate::limit::{Limit, PerLimit};
use crate::limiter_account::LimiterAccount;
use crate::sync::{Mutex, SHARDS, lock};

/// Smallest number of accounts at which a shard sweeps itself. Else it does so when it would grow beyond twice the
/// number that the last sweep left.
const SMALLEST: usize = 64;

/// Number of accounts that are allocated together; they stay at the same address.
const CHUNK: usize = 128;

/// Accounts by key.
///
/// An account is dropped only when it is neutral, and one with a permit out is not: so a permit may keep the position of
/// its account.
#[derive(Debug)]
pub(crate) struct AccountTable {
    shards: Box<[Arc<AccountShard>]>,
}

#[derive(Debug)]
#[repr(C)]
pub(crate) struct AccountShard {
    pub(crate) accounts: Mutex<Accounts>,
    /// Keeps the next shard off these cache lines.
    _apart: [u64; 8],
}

/// Accounts of a shard: a table of positions with linear probing, and the accounts in chunks.
///
/// The fields that every request needs come first, so that they share cache lines with the lock.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Accounts {
    /// Entries of the table: 0 for none, else a position plus 1 in the low bits and a part of the hash in the others. The
    /// length is a power of two and exceeds the number of positions by a third, so the low bits have room for a position.
    index: Box<[u32]>,
    /// Accounts by position. A chunk without accounts is given back.
    chunks: Vec<Option<Box<[LimiterAccount]>>>,
    /// Number of requests admitted.
    pub(crate) admitted: u64,
    /// Positions without an account, the lowest last.
    free: Vec<u32>,
    /// Latest time of any account dropped, so that a clock set back finds no more room than it would have had.
    floor: u64,
    /// Number of accounts at which the shard sweeps.
    full: usize,
    /// Number of requests refused, by the limit that refused.
    pub(crate) refused: PerLimit<u64>,
    /// Number of requests that a limit in shadow mode would have refused, by limit.
    pub(crate) shadowed: PerLimit<u64>,
    /// Number of requests admitted that did not pass exactly the [`USUAL`] limits, by the set of limits they passed.
    pub(crate) unusual: [u64; LimitSet::SETS],
}

/// Limits that most requests pass; they are counted together.
pub(crate) const USUAL: LimitSet =
    LimitSet::of(&[Limit::Standard, Limit::ConcurrentReads, Limit::Cost]);

impl AccountTable {
    /// Makes an empty table.
    pub(crate) fn new() -> Self {
        let shard = |_| {
            Arc::new(AccountShard {
                accounts: Mutex::new(Accounts::default()),
                _apart: [0; 8],
            })
        };
        Self {
            shards: (0..SHARDS).map(shard).collect(),
        }
    }

    /// Returns the shard of a key.
    pub(crate) fn shard(&self, key: &LimitKey) -> &Arc<AccountShard> {
        #[expect(
            clippy::indexing_slicing,
            reason = "the remainder is below the number of shards"
        )]
        &self.shards[usize::try_from(hash(key) >> 56).unwrap_or(0) % SHARDS]
    }

    /// Drops every account that equals a new one at `now` (milliseconds), one shard after the other.
    pub(crate) fn sweep(&self, now: u64) {
        for shard in &self.shards {
            lock(&shard.accounts).sweep(now);
        }
    }

    /// Folds a function over the shards.
    pub(crate) fn fold<T>(&self, start: T, mut add: impl FnMut(&mut T, &Accounts)) -> T {
        let mut sum = start;
        for shard in &self.shards {
            add(&mut sum, &lock(&shard.accounts));
        }
        sum
    }
}

impl Accounts {
    /// Returns the position of a key's account, which is made if there is none.
    pub(crate) fn open(&mut self, key: &LimitKey, now: u64) -> u32 {
        let hash = hash(key);
        if let Some(position) = self.find(key, hash) {
            return position;
        }
        if self.len() >= self.full.max(SMALLEST) {
            self.sweep(now);
        }
        let position = self.allocate();
        *self.at(position) = LimiterAccount::new(*key, self.floor);
        self.insert_into_index(position, hash);
        position
    }

    /// Returns a key's account, if there is one.
    pub(crate) fn get(&self, key: &LimitKey) -> Option<&LimiterAccount> {
        let position = self.find(key, hash(key))?;
        self.peek(position)
    }

    /// Returns the account at a position that was found or opened, and not swept since.
    pub(crate) fn at(&mut self, position: u32) -> &mut LimiterAccount {
        #[expect(
            clippy::indexing_slicing,
            clippy::expect_used,
            reason = "a position in use is in its chunk"
        )]
        &mut self.chunks[position as usize / CHUNK]
            .as_mut()
            .expect("a position in use has a chunk")[position as usize % CHUNK]
    }

    /// Returns the number of accounts.
    pub(crate) fn len(&self) -> usize {
        self.positions() - self.free.len()
    }

    /// Returns the time that a new account starts from.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    /// Counts an answer to a request that these limits were checked for.
    #[inline]
    pub(crate) fn count(&mut self, refused: Option<Limit>, met: LimitSet) {
        match refused {
            None => {
                self.admitted += 1;
                if met != USUAL
                    && let Some(count) = self.unusual.get_mut(met.number())
                {
                    *count += 1;
                }
            }
            Some(limit) => *self.refused.of_mut(limit) += 1,
        }
    }

    /// Returns the number of admitted requests that passed each limit.
    pub(crate) fn passed(&self) -> PerLimit<u64> {
        let unusual: u64 = self.unusual.iter().sum();
        let mut passed = PerLimit::default();
        for limit in Limit::ALL {
            let usual = if USUAL.has(limit) {
                self.admitted - unusual
            } else {
                0
            };
            let others = (0..).map(LimitSet::numbered).zip(self.unusual);
            let others = others.filter(|(met, _)| met.has(limit));
            *passed.of_mut(limit) = usual + others.map(|(_, count)| count).sum::<u64>();
        }
        passed
    }

    fn positions(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    fn peek(&self, position: u32) -> Option<&LimiterAccount> {
        let chunk = self.chunks.get(position as usize / CHUNK)?.as_ref()?;
        chunk.get(position as usize % CHUNK)
    }

    fn find(&self, key: &LimitKey, hash: u64) -> Option<u32> {
        let mask = self.index.len().checked_sub(1)?;
        let wanted = tag(hash, mask);
        let mut at = start(hash, mask);
        loop {
            let entry = *self.index.get(at)?;
            if entry == 0 {
                return None;
            }
            let position = entry & narrow(mask);
            if entry ^ position == wanted
                && let Some(account) = self.peek(position - 1)
                && account.key == *key
            {
                return Some(position - 1);
            }
            at = (at + 1) & mask;
        }
    }

    /// Inserts a position into the index, which has room.
    fn insert_into_index(&mut self, position: u32, hash: u64) {
        let Some(mask) = self.index.len().checked_sub(1) else {
            return;
        };
        let mut at = start(hash, mask);
        while let Some(entry) = self.index.get_mut(at) {
            if *entry == 0 {
                *entry = tag(hash, mask) | (position + 1);
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// Returns a position without an account, with its chunk.
    fn allocate(&mut self) -> u32 {
        if self.free.is_empty() {
            let first = self.positions();
            self.chunks.push(None);
            self.free.extend((first..first + CHUNK).rev().map(narrow));
            if self.positions() * 4 > self.index.len() * 3 {
                self.rebuild(first);
            }
        }
        let position = self.free.pop().unwrap_or(0);
        if let Some(chunk @ None) = self.chunks.get_mut(position as usize / CHUNK) {
            *chunk = Some((0..CHUNK).map(|_| LimiterAccount::default()).collect());
        }
        position
    }

    /// Makes the index anew, for all positions; those from `vacant` on, and the free ones, have no account.
    fn rebuild(&mut self, vacant: usize) {
        let mut used = vec![true; vacant];
        for position in &self.free {
            if let Some(used) = used.get_mut(*position as usize) {
                *used = false;
            }
        }
        let length = (self.positions() * 4).div_ceil(3).next_power_of_two();
        self.index = vec![0; length].into();
        for (position, _) in used.iter().enumerate().filter(|(_, used)| **used) {
            let position = narrow(position);
            if let Some(hash) = self.peek(position).map(|account| hash(&account.key)) {
                self.insert_into_index(position, hash);
            }
        }
    }

    pub(crate) fn sweep(&mut self, now: u64) {
        let mut used = vec![true; self.positions()];
        for position in self.free.drain(..) {
            if let Some(used) = used.get_mut(position as usize) {
                *used = false;
            }
        }
        for (chunk, used) in self.chunks.iter_mut().zip(used.chunks_mut(CHUNK)) {
            let Some(accounts) = chunk else { continue };
            for (account, used) in accounts.iter_mut().zip(used.iter_mut()) {
                if *used && account.is_neutral(now) {
                    self.floor = self.floor.max(account.last());
                    *account = LimiterAccount::default();
                    *used = false;
                }
            }
            if used.iter().all(|used| !used) {
                *chunk = None;
            }
        }
        while let Some(None) = self.chunks.last() {
            self.chunks.pop();
        }
        let positions = self.positions();
        let vacant = used.iter().enumerate().take(positions).rev();
        self.free
            .extend(vacant.filter(|(_, used)| !**used).map(|(at, _)| narrow(at)));
        self.free.shrink_to_fit();
        self.chunks.shrink_to_fit();
        self.rebuild(positions);
        self.full = self.len() * 2;
    }
}

/// Returns the position in the index where a search begins.
fn start(hash: u64, mask: usize) -> usize {
    usize::try_from(hash & u64::from(u32::MAX)).unwrap_or(0) & mask
}

/// Returns the part of a hash that an entry of the index holds.
fn tag(hash: u64, mask: usize) -> u32 {
    u32::try_from(hash >> 32).unwrap_or(0) & !narrow(mask)
}

/// Returns a position as the index holds it.
fn narrow(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// Mixes the bytes of a key. Keys are halves of digests and need no secret to spread well; the multiplication helps
/// those that are not.
fn hash(key: &LimitKey) -> u64 {
    let key = u128::from_le_bytes(*key);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the halves of the key, then of the product"
    )]
    let folded = {
        let (low, high) = (key as u64, (key >> 64) as u64);
        let product =
            u128::from(low ^ 0x9e37_79b9_7f4a_7c15) * u128::from(high ^ 0xf39c_c060_5ced_c835);
        (product >> 64) as u64 ^ product as u64
    };
    folded
}
