//! Table of the accounts of all keys, in shards; accounts that equal a new one are dropped.

use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, OnceLock};

use crate::limit_exceeded::LimitCounts;
use crate::limiter_account::LimiterAccount;
use crate::rules::Rules;
use crate::sync::{Mutex, MutexGuard, SHARDS, lock};

/// Number of accounts below which a shard never sweeps itself. Above it, a shard sweeps when it would grow beyond twice the
/// number that the last sweep left.
const SMALLEST: usize = 64;

/// Number of accounts allocated together; they stay at the same address.
const CHUNK: usize = 128;

/// Accounts by key.
///
/// Only neutral accounts are dropped, and an account with an active permit is never neutral, so a permit may keep the
/// position of its account.
#[derive(Debug)]
pub(crate) struct AccountTable<K> {
    /// Shards, each created with its first key.
    shards: Box<[OnceLock<Arc<AccountShard<K>>>]>,
    rules: Arc<Rules>,
}

#[derive(Debug)]
#[repr(C)]
pub(crate) struct AccountShard<K> {
    accounts: Mutex<ShardState<K>>,
    /// Limits of the limiter.
    pub(crate) rules: Arc<Rules>,
    /// Padding that keeps the next shard off these cache lines.
    _apart: [u64; 8],
}

/// Accounts of a shard, and the counts of all its decisions.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ShardState<K> {
    pub(crate) table: Accounts<K>,
    /// Number of admitted requests.
    pub(crate) admitted: u64,
    pub(crate) counts: Box<[LimitCounts]>,
}

/// Table of positions with linear probing, and the accounts in chunks.
///
/// The fields that every request needs come first, so that they share cache lines with the lock.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Accounts<K> {
    /// Entries of the table: 0 for none, else a position plus 1 in the low bits and a part of the hash in the others. The
    /// length is a power of two and exceeds the number of positions by a third, so the low bits have room for a position.
    index: Box<[u32]>,
    /// Accounts by position. Chunks without accounts are freed; a chunk that has never been full ends with the highest
    /// used position.
    chunks: Vec<Vec<LimiterAccount<K>>>,
    /// Positions without an account, lowest last.
    free: Vec<u32>,
    /// Latest time of any dropped account, so that setting the clock back gives no more room than there was.
    floor: u64,
    /// Number of accounts at which the shard sweeps.
    full: usize,
}

impl<K: Hash + Eq + Clone> AccountTable<K> {
    /// Makes an empty table.
    pub(crate) fn new(rules: &Arc<Rules>) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| OnceLock::new()).collect(),
            rules: Arc::clone(rules),
        }
    }

    /// Returns the shard of the key with this hash.
    #[inline]
    pub(crate) fn shard(&self, hash: u64) -> &Arc<AccountShard<K>> {
        #[expect(
            clippy::indexing_slicing,
            reason = "the remainder is below the number of shards"
        )]
        let shard = &self.shards[usize::try_from(hash >> 56).unwrap_or(0) % SHARDS];
        shard.get_or_init(|| Arc::new(AccountShard::new(&self.rules)))
    }

    /// Drops every account that equals a new one at `now` (milliseconds), one shard after the other.
    pub(crate) fn sweep(&self, hasher: &impl BuildHasher, now: u64) {
        for shard in self.used() {
            shard.lock().table.sweep(&shard.rules, hasher, now);
        }
    }

    /// Folds a function over the shards.
    pub(crate) fn fold<T>(&self, start: T, mut add: impl FnMut(&mut T, &ShardState<K>)) -> T {
        let mut sum = start;
        for shard in self.used() {
            add(&mut sum, &shard.lock());
        }
        sum
    }

    fn used(&self) -> impl Iterator<Item = &Arc<AccountShard<K>>> {
        self.shards.iter().filter_map(OnceLock::get)
    }
}

impl<K> AccountShard<K> {
    fn new(rules: &Arc<Rules>) -> Self {
        Self {
            accounts: Mutex::new(ShardState {
                table: Accounts::new(),
                admitted: 0,
                counts: vec![LimitCounts::default(); rules.len()].into(),
            }),
            rules: Arc::clone(rules),
            _apart: [0; 8],
        }
    }

    /// Locks the accounts.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, ShardState<K>> {
        lock(&self.accounts)
    }
}

impl<K> Accounts<K> {
    fn new() -> Self {
        Self {
            index: Box::default(),
            chunks: Vec::new(),
            free: Vec::new(),
            floor: 0,
            full: 0,
        }
    }

    /// Returns the account at a position that was found or opened, and has not been swept since.
    #[inline]
    pub(crate) fn at(&mut self, position: u32) -> &mut LimiterAccount<K> {
        #[expect(clippy::indexing_slicing, reason = "a position in use is in its chunk")]
        &mut self.chunks[position as usize / CHUNK][position as usize % CHUNK]
    }

    /// Returns the number of accounts.
    pub(crate) fn len(&self) -> usize {
        self.positions() - self.free.len()
    }

    /// Returns the time from which a new account starts.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    fn positions(&self) -> usize {
        self.chunks.len() * CHUNK
    }

    fn peek(&self, position: u32) -> Option<&LimiterAccount<K>> {
        let chunk = self.chunks.get(position as usize / CHUNK)?;
        chunk.get(position as usize % CHUNK)
    }

    /// Inserts a position into the index, which has room.
    fn insert_into_index(&mut self, position: u32, hash: u64) {
        let Some(mask) = self.index.len().checked_sub(1) else {
            return;
        };
        let mut at = start(hash, mask);
        while let Some(entry) = self.index.get_mut(at) {
            if *entry == 0 {
                *entry = tag(hash, narrow(mask)) | (position + 1);
                return;
            }
            at = (at + 1) & mask;
        }
    }
}

impl<K: Hash + Eq + Clone> Accounts<K> {
    /// Returns the position of a key's account, creating the account if needed.
    #[inline]
    pub(crate) fn open(
        &mut self,
        key: &K,
        hash: u64,
        rules: &Rules,
        hasher: &impl BuildHasher,
        now: u64,
    ) -> u32 {
        match self.find(key, hash) {
            Some(position) => position,
            None => self.add(key, hash, rules, hasher, now),
        }
    }

    #[inline(never)]
    fn add(
        &mut self,
        key: &K,
        hash: u64,
        rules: &Rules,
        hasher: &impl BuildHasher,
        now: u64,
    ) -> u32 {
        if self.len() >= self.full.max(SMALLEST) {
            self.sweep(rules, hasher, now);
        }
        if self.free.is_empty() {
            self.grow(hasher);
        }
        let position = self.free.pop().unwrap_or(0);
        let account = LimiterAccount::new(key.clone(), self.floor);
        if let Some(chunk) = self.chunks.get_mut(position as usize / CHUNK) {
            match chunk.get_mut(position as usize % CHUNK) {
                Some(free) => *free = account,
                // The lowest free position of a chunk is in it or comes next.
                None => {
                    chunk.reserve_exact(CHUNK - chunk.len());
                    chunk.push(account);
                }
            }
        }
        self.insert_into_index(position, hash);
        position
    }

    /// Returns a key's account, if it exists.
    pub(crate) fn get(&self, key: &K, hash: u64) -> Option<&LimiterAccount<K>> {
        let position = self.find(key, hash)?;
        self.peek(position)
    }

    #[inline]
    fn find(&self, key: &K, hash: u64) -> Option<u32> {
        let mask = self.index.len().checked_sub(1)?;
        let positions = narrow(mask);
        let wanted = tag(hash, positions);
        let mut at = start(hash, mask);
        loop {
            let entry = *self.index.get(at)?;
            if entry == 0 {
                return None;
            }
            let position = entry & positions;
            if entry ^ position == wanted
                && let Some(account) = self.peek(position - 1)
                && account.key == *key
            {
                return Some(position - 1);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds the positions of a chunk.
    fn grow(&mut self, hasher: &impl BuildHasher) {
        let first = self.positions();
        self.chunks.push(Vec::new());
        self.free.extend((first..first + CHUNK).rev().map(narrow));
        if self.positions() * 4 > self.index.len() * 3 {
            self.rebuild(first, hasher);
        }
    }

    /// Rebuilds the index for all positions; positions from `vacant` on, and free positions, have no account.
    fn rebuild(&mut self, vacant: usize, hasher: &impl BuildHasher) {
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
            if let Some(account) = self.peek(position) {
                let hash = hasher.hash_one(&account.key);
                self.insert_into_index(position, hash);
            }
        }
    }

    pub(crate) fn sweep(&mut self, rules: &Rules, hasher: &impl BuildHasher, now: u64) {
        let mut used = vec![true; self.positions()];
        for position in self.free.drain(..) {
            if let Some(used) = used.get_mut(position as usize) {
                *used = false;
            }
        }
        for (chunk, used) in self.chunks.iter_mut().zip(used.chunks_mut(CHUNK)) {
            for (account, used) in chunk.iter_mut().zip(used.iter_mut()) {
                if *used && account.is_neutral(rules, now) {
                    self.floor = self.floor.max(account.last());
                    account.clear();
                    *used = false;
                }
            }
            if used.iter().all(|used| !used) {
                *chunk = Vec::new();
            }
        }
        while self.chunks.pop_if(|last| last.is_empty()).is_some() {}
        let positions = self.positions();
        let vacant = used.iter().enumerate().take(positions).rev();
        self.free
            .extend(vacant.filter(|(_, used)| !**used).map(|(at, _)| narrow(at)));
        self.free.shrink_to_fit();
        self.chunks.shrink_to_fit();
        self.rebuild(positions, hasher);
        self.full = self.len() * 2;
    }
}

/// Returns the position in the index at which a search begins.
fn start(hash: u64, mask: usize) -> usize {
    usize::try_from(hash & u64::from(u32::MAX)).unwrap_or(0) & mask
}

/// Returns the part of a hash that an index entry holds besides the bits of its position.
fn tag(hash: u64, positions: u32) -> u32 {
    u32::try_from(hash >> 32).unwrap_or(0) & !positions
}

/// Returns a position in the form of the index.
fn narrow(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
