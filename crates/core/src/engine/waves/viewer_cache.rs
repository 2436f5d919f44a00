//! Cached viewers, each with the keys on which it depends.
use crate::access::Viewer;
use crate::storage::FactKey;
use crate::storage::ViewerKey;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Approximate bytes of a key on which a viewer depends, with the part of the viewer that was read from it.
pub(super) const KEY: usize = 128;

/// Cached viewer, and the keys on which it depends.
#[derive(Debug)]
struct KeptViewer {
    viewer: Arc<Viewer>,
    keys: Box<[FactKey]>,
}

/// Viewers that are true of one state of the graph.
#[derive(Debug, Default)]
pub(super) struct ViewerCache {
    viewers: FxHashMap<ViewerKey, KeptViewer>,
    by_key: FxHashMap<FactKey, FxHashSet<ViewerKey>>,
    bytes: usize,
}

impl ViewerCache {
    /// Returns the approximate size of the viewers in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns a cached viewer.
    pub(super) fn get(&self, key: ViewerKey) -> Option<Arc<Viewer>> {
        self.viewers.get(&key).map(|kept| Arc::clone(&kept.viewer))
    }

    /// Keeps a viewer that depends on these keys, up to a maximum number of bytes. If there is no room, all other viewers
    /// are dropped.
    pub(super) fn keep(
        &mut self,
        key: ViewerKey,
        viewer: Arc<Viewer>,
        keys: Vec<FactKey>,
        most: usize,
    ) {
        self.remove(key);
        let bytes = (keys.len() + 1) * KEY;
        if self.bytes + bytes > most {
            *self = Self::default();
        }
        if bytes > most {
            return;
        }
        for one in &keys {
            self.by_key.entry(*one).or_default().insert(key);
        }
        self.bytes += bytes;
        let keys = keys.into();
        self.viewers.insert(key, KeptViewer { viewer, keys });
    }

    /// Forgets the viewers that depend on a key.
    pub(super) fn forget(&mut self, key: FactKey) {
        let outdated = self.by_key.remove(&key);
        for viewer in outdated.into_iter().flatten() {
            self.remove(viewer);
        }
    }

    fn remove(&mut self, viewer: ViewerKey) {
        let Some(kept) = self.viewers.remove(&viewer) else {
            return;
        };
        self.bytes -= (kept.keys.len() + 1) * KEY;
        for key in &kept.keys {
            if let Some(others) = self.by_key.get_mut(key) {
                others.remove(&viewer);
                if others.is_empty() {
                    self.by_key.remove(key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::gid::Gid;

    fn gid(number: u64) -> Gid {
        Gid::new(number).unwrap()
    }

    fn key(number: u64) -> ViewerKey {
        ViewerKey {
            user: gid(number),
            service: None,
        }
    }

    #[test]
    fn a_viewer_is_kept_until_one_of_its_keys_is_touched() {
        let mut cache = ViewerCache::default();
        let keys = |numbers: &[u64]| numbers.iter().map(|n| FactKey::node(gid(*n))).collect();
        let viewer = |number| Arc::new(Viewer::without_memberships(gid(number)));
        cache.keep(key(1), viewer(1), keys(&[1, 5, 6]), 10 * KEY);
        cache.keep(key(2), viewer(2), keys(&[2, 5]), 10 * KEY);
        cache.forget(FactKey::node(gid(7)));
        assert!(cache.get(key(1)).is_some() && cache.get(key(2)).is_some());
        cache.forget(FactKey::node(gid(6)));
        assert!(cache.get(key(1)).is_none() && cache.get(key(2)).is_some());
        cache.keep(key(1), viewer(1), keys(&[1, 5]), 10 * KEY);
        cache.forget(FactKey::node(gid(5)));
        assert!(cache.get(key(1)).is_none() && cache.get(key(2)).is_none());
        assert!(cache.bytes() == 0 && cache.by_key.is_empty());
        for number in 1..100 {
            cache.keep(key(number), viewer(number), keys(&[number, 5]), 10 * KEY);
            assert!(cache.bytes() <= 10 * KEY && cache.get(key(number)).is_some());
        }
        cache.keep(key(1), viewer(1), keys(&[1, 2, 3]), 2 * KEY);
        assert!(cache.get(key(1)).is_none(), "it is too large");
    }
}
