//! Cache of values that were derived from the store and stay true until a write outdates them.
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

/// Cache whose entries are all outdated at once.
///
/// A reader takes [`EpochCache::epoch`] *before* it opens its snapshot and keeps the derived value under that epoch.
/// The writer calls [`EpochCache::invalidate`] after a commit is durable and before it answers. So an entry from before
/// a commit is never used after the commit's answer: either its epoch is the old one, or its snapshot was opened after
/// the commit.
#[derive(Debug)]
pub(crate) struct EpochCache<K, V> {
    epoch: AtomicU64,
    entries: RwLock<FxHashMap<K, (u64, V)>>,
    most: usize,
}

impl<K: Eq + Hash, V: Clone> EpochCache<K, V> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            epoch: AtomicU64::new(0),
            entries: RwLock::default(),
            most,
        }
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(crate) fn invalidate(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn get(&self, key: &K, epoch: u64) -> Option<V> {
        let entries = self.entries.read();
        entries
            .get(key)
            .filter(|(at, _)| *at == epoch)
            .map(|(_, value)| value.clone())
    }

    /// Keeps an entry; when there is no room, all others are dropped first.
    pub(crate) fn put(&self, key: K, value: V, epoch: u64) {
        if self.epoch() != epoch {
            return;
        }
        let mut entries = self.entries.write();
        if entries.len() >= self.most && !entries.contains_key(&key) {
            entries.clear();
        }
        entries.insert(key, (epoch, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_used_until_it_is_outdated() {
        let cache = EpochCache::new(8);
        let epoch = cache.epoch();
        cache.put("a", 1, epoch);
        assert_eq!(cache.get(&"a", cache.epoch()), Some(1));
        cache.invalidate();
        assert_eq!(cache.get(&"a", cache.epoch()), None);
    }

    #[test]
    fn what_was_read_before_a_change_is_not_kept_after_it() {
        let cache = EpochCache::new(8);
        let epoch = cache.epoch();
        cache.invalidate();
        cache.put("a", 1, epoch);
        assert_eq!(cache.get(&"a", cache.epoch()), None);
    }

    #[test]
    fn there_are_never_more_entries_than_allowed() {
        let cache = EpochCache::new(3);
        for n in 0..100 {
            cache.put(n, n, 0);
            assert!(cache.entries.read().len() <= 3);
            assert_eq!(cache.get(&n, 0), Some(n));
        }
    }
}
