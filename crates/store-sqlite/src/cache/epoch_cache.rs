//! Cache of values that were derived from the store and stay valid until a write outdates them.
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
///
/// It has its own cache lines, because readers write its lock at each use.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct EpochCache<K, V> {
    epoch: AtomicU64,
    entries: RwLock<FxHashMap<K, (u64, V)>>,
    /// Maximum number of entries; 0 keeps none.
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

    /// Returns the value of a key from the cache, or else from `read`, and keeps it under this epoch. A key without a value is
    /// not kept.
    pub(crate) fn get_or_read<E>(
        &self,
        key: K,
        epoch: u64,
        read: impl FnOnce() -> Result<Option<V>, E>,
    ) -> Result<Option<V>, E> {
        if let Some(value) = self.get(&key, epoch) {
            return Ok(Some(value));
        }
        let value = read()?;
        if let Some(value) = &value {
            self.put(key, value.clone(), epoch);
        }
        Ok(value)
    }

    /// Keeps an entry; if there is no room, all others are dropped first.
    pub(crate) fn put(&self, key: K, value: V, epoch: u64) {
        if self.most == 0 || self.epoch() != epoch {
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
    fn a_value_is_read_once_in_an_epoch_and_its_absence_each_time() {
        let cache = EpochCache::new(8);
        let read = |value: Option<i32>| {
            let found = cache.get_or_read("a", cache.epoch(), || Ok::<_, ()>(value));
            found.unwrap()
        };
        assert_eq!(
            (read(None), read(Some(1)), read(Some(2))),
            (None, Some(1), Some(1))
        );
        cache.invalidate();
        assert_eq!(read(Some(2)), Some(2));
        assert_eq!(cache.get_or_read("b", cache.epoch(), || Err(3)), Err(3));
    }

    #[test]
    fn a_cache_without_room_keeps_nothing_and_counts_its_epochs() {
        let cache = EpochCache::new(0);
        cache.put("a", 1, 0);
        assert_eq!(cache.get(&"a", 0), None);
        cache.invalidate();
        assert_eq!(cache.epoch(), 1);
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
