//! The response cache: bytes of single records, valid until the next commit.
//!
//! The reply to a get depends on the graph, the caller and the request, never on the time. A store that knows the
//! number of its last commit without a trip ([`GraphStore::version`]) allows the same request to get the same bytes
//! until that number changes; so does one that tells its last commit with the look-up of the token. Token, limits and scopes are still checked each time.
//!
//! [`GraphStore::version`]: workgraph_core::storage::GraphStore::version
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use workgraph_auth::ScopeSet;
use workgraph_core::storage::ViewerKey;
use workgraph_operations::operation::NumberedOperation;

/// The most replies that are kept.
pub(super) const SLOTS: usize = 1024;
/// The largest reply that is kept, in bytes: all of them together stay under 16 MiB.
const CACHED_BODY_MAX: usize = 16 << 10;

/// The inputs on which a reply depends.
#[derive(Clone, Copy, Hash)]
pub(crate) struct ResponseCacheKey<'r> {
    pub(crate) viewer: ViewerKey,
    pub(crate) app: Option<u64>,
    pub(crate) scopes: ScopeSet,
    pub(crate) allowed_workspaces: Option<&'r [u64]>,
    pub(crate) path: &'r str,
    pub(crate) query: &'r str,
}

/// The cached replies. Each request has one slot, which it shares with others.
pub(crate) struct ResponseCache {
    slots: Vec<Mutex<ResponseCacheSlot>>,
}

/// A slot on cache lines of its own, with all compared values but the path: the holder of the lock has these.
#[derive(Default)]
#[repr(align(64))]
struct ResponseCacheSlot {
    /// Hash of the last request in this slot. Only a repeated request is kept.
    last_key_hash: u64,
    entry: Option<ResponseCacheEntry>,
}

/// A cached reply.
pub(crate) struct CachedResponse {
    pub(crate) body: Vec<u8>,
    pub(crate) cost: u32,
    /// The operation that made it, and its number.
    pub(crate) row: NumberedOperation,
}

struct ResponseCacheEntry {
    row: NumberedOperation,
    viewer: ViewerKey,
    app: Option<u64>,
    scopes: ScopeSet,
    allowed_workspaces: Option<Box<[u64]>>,
    version: u64,
    cost: u32,
    /// Body, path and query, one after the other. The part that is compared at each use is then in the middle of an
    /// allocation, not beside small ones that other threads write.
    text: Box<[u8]>,
    body: usize,
    path: usize,
}

impl ResponseCacheEntry {
    fn new(
        asked: &ResponseCacheKey<'_>,
        version: u64,
        row: NumberedOperation,
        body: &[u8],
        cost: u32,
    ) -> Self {
        Self {
            row,
            viewer: asked.viewer,
            app: asked.app,
            scopes: asked.scopes,
            allowed_workspaces: asked.allowed_workspaces.map(Box::from),
            version,
            cost,
            text: [body, asked.path.as_bytes(), asked.query.as_bytes()]
                .concat()
                .into(),
            body: body.len(),
            path: asked.path.len(),
        }
    }

    /// Returns the body, if this is the reply to the request.
    fn body(&self, asked: &ResponseCacheKey<'_>, version: u64) -> Option<&[u8]> {
        let (body, key) = self.text.split_at_checked(self.body)?;
        let (path, query) = key.split_at_checked(self.path)?;
        let same = self.version == version
            && self.viewer == asked.viewer
            && self.app == asked.app
            && self.scopes == asked.scopes
            && self.allowed_workspaces.as_deref() == asked.allowed_workspaces
            && path == asked.path.as_bytes()
            && query == asked.query.as_bytes();
        same.then_some(body)
    }
}

impl ResponseCache {
    /// Makes a cache of this many replies, [`SLOTS`] or none.
    pub(super) fn new(slots: usize) -> Self {
        let slots = std::iter::repeat_with(Mutex::default).take(slots).collect();
        Self { slots }
    }

    fn slot(&self, hash: u64) -> Option<MutexGuard<'_, ResponseCacheSlot>> {
        // The lower bits of the hash are its best.
        let at = usize::try_from(hash % SLOTS as u64).unwrap_or_default();
        self.slots.get(at).map(Mutex::lock)
    }

    /// Returns the cached reply of this version, if there is one.
    pub(crate) fn get(&self, asked: &ResponseCacheKey<'_>, version: u64) -> Option<CachedResponse> {
        let slot = self.slot(hash(asked))?;
        let kept = slot.entry.as_ref()?;
        Some(CachedResponse {
            body: kept.body(asked, version)?.to_vec(),
            cost: kept.cost,
            row: kept.row,
        })
    }

    /// Caches a reply that was read when the store had this version, or a later one.
    pub(crate) fn put(
        &self,
        asked: &ResponseCacheKey<'_>,
        version: u64,
        row: NumberedOperation,
        body: &[u8],
        cost: u32,
    ) {
        let hash = hash(asked);
        let Some(mut slot) = self.slot(hash) else {
            return;
        };
        if slot.last_key_hash != hash || body.len() > CACHED_BODY_MAX {
            slot.last_key_hash = hash;
            slot.entry = None;
            return;
        }
        slot.entry = Some(ResponseCacheEntry::new(asked, version, row, body, cost));
    }
}

fn hash(asked: &ResponseCacheKey<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    asked.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workgraph_core::Gid;

    fn asked(path: &str) -> ResponseCacheKey<'_> {
        let user = Gid::new(7).unwrap();
        ResponseCacheKey {
            viewer: ViewerKey {
                user,
                service: None,
            },
            app: None,
            scopes: ScopeSet::full(),
            allowed_workspaces: None,
            path,
            query: "",
        }
    }

    fn put(replies: &ResponseCache, asked: &ResponseCacheKey<'_>, body: &[u8]) {
        let rows = workgraph_operations::TABLES.iter().copied().flatten();
        let row = rows.zip(1..).next().unwrap();
        replies.put(asked, 3, row, body, 1);
    }

    fn get(
        replies: &ResponseCache,
        asked: &ResponseCacheKey<'_>,
        version: u64,
    ) -> Option<(Vec<u8>, u32)> {
        let again = replies.get(asked, version)?;
        Some((again.body, again.cost))
    }

    #[test]
    fn a_reply_is_kept_when_it_is_asked_for_again_and_until_the_next_commit() {
        let replies = ResponseCache::new(SLOTS);
        let asked = asked("/tasks/1");
        put(&replies, &asked, b"{}");
        assert_eq!(get(&replies, &asked, 3), None, "asked for once");
        put(&replies, &asked, b"{}");
        assert_eq!(get(&replies, &asked, 3), Some((b"{}".to_vec(), 1)));
        assert_eq!(get(&replies, &asked, 4), None, "something was committed");
    }

    #[test]
    fn another_caller_scope_path_or_query_is_another_request() {
        let replies = ResponseCache::new(SLOTS);
        let one = asked("/tasks/1");
        put(&replies, &one, b"{}");
        put(&replies, &one, b"{}");
        let mut other = one;
        other.viewer.user = Gid::new(8).unwrap();
        assert_eq!(get(&replies, &other, 3), None);
        other = one;
        other.app = Some(9);
        assert_eq!(get(&replies, &other, 3), None);
        other = one;
        other.scopes = ScopeSet::empty();
        assert_eq!(get(&replies, &other, 3), None);
        other = one;
        other.allowed_workspaces = Some(&[1]);
        assert_eq!(get(&replies, &other, 3), None);
        assert_eq!(
            get(
                &replies,
                &ResponseCacheKey {
                    path: "/tasks/2",
                    ..one
                },
                3
            ),
            None
        );
        assert_eq!(
            get(&replies, &ResponseCacheKey { query: "a", ..one }, 3),
            None
        );
    }

    #[test]
    fn a_cache_without_room_keeps_nothing() {
        let replies = ResponseCache::new(0);
        let asked = asked("/tasks/1");
        put(&replies, &asked, b"{}");
        put(&replies, &asked, b"{}");
        assert_eq!(get(&replies, &asked, 3), None);
    }

    #[test]
    fn large_replies_are_not_kept() {
        let replies = ResponseCache::new(SLOTS);
        let asked = asked("/tasks/1");
        let body = vec![b'x'; CACHED_BODY_MAX + 1];
        put(&replies, &asked, &body);
        put(&replies, &asked, &body);
        assert_eq!(get(&replies, &asked, 3), None);
    }
}
