//! The response cache: bytes of single records, valid until the next commit.
//!
//! The reply to a get depends on the graph, the caller and the request, never on the time. If the store knows the
//! number of its last commit without a trip ([`GraphStore::version`]), or returns it with the token look-up, the same
//! request gets the same bytes until that number changes. Token, limits and scopes are still checked each time.
//!
//! [`GraphStore::version`]: workgraph_core::storage::GraphStore::version
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::{BuildHasher, Hash};
use std::sync::OnceLock;
use workgraph_auth::ScopeSet;
use workgraph_core::storage::ViewerKey;
use workgraph_operations::operation::NumberedOperation;

/// Maximum size of all entries, in bytes.
pub(super) const BYTES_MAX: usize = 16 << 20;
/// Maximum size of a cached reply, in bytes.
const CACHED_BODY_MAX: usize = 16 << 10;
/// Number of shards, each with its own lock.
const SHARDS: usize = 64;
/// Number of requests per shard that are remembered after they were sent once.
const CANDIDATES: usize = 256;
/// Approximate bytes of an entry apart from its text: the entry and its slot in the map.
const ENTRY_BYTES: usize = 192;

/// The inputs that a reply depends on.
#[derive(Clone, Copy, Hash)]
pub(crate) struct ResponseCacheKey<'r> {
    pub(crate) viewer: ViewerKey,
    pub(crate) app: Option<u64>,
    pub(crate) scopes: ScopeSet,
    pub(crate) allowed_workspaces: Option<&'r [u64]>,
    pub(crate) path: &'r str,
    pub(crate) query: &'r str,
    /// The address that links begin with, if it is not the one in the settings.
    pub(crate) base_url: Option<&'r str>,
}

/// Cache of replies, split into shards with a lock each.
pub(crate) struct ResponseCache {
    /// A server with many stores has many caches, so shards are made at their first use.
    shards: Box<[OnceLock<Box<Mutex<Shard>>>]>,
    /// Maximum bytes of the younger generation of a shard, and of the older one.
    generation_bytes: usize,
}

/// A shard of the cache, on its own cache lines. Entries that were not used while half the capacity was filled are evicted
/// together.
#[repr(align(64))]
struct Shard {
    young: FxHashMap<u64, ResponseCacheEntry>,
    old: FxHashMap<u64, ResponseCacheEntry>,
    young_bytes: usize,
    /// Hashes of requests that were sent once, the last two for each slot: only repeated requests are cached. Empty before the
    /// first request.
    candidates: Box<[[u64; 2]]>,
}

impl Shard {
    fn new() -> Self {
        Self {
            young: FxHashMap::default(),
            old: FxHashMap::default(),
            young_bytes: 0,
            candidates: Box::default(),
        }
    }

    /// Returns true if the request is remembered from before, and remembers it.
    fn is_repeated(&mut self, hash: u64) -> bool {
        if self.young.contains_key(&hash) || self.old.contains_key(&hash) {
            return true;
        }
        if self.candidates.is_empty() {
            self.candidates = vec![[0; 2]; CANDIDATES / 2].into();
        }
        let place = index(hash / SHARDS as u64, CANDIDATES / 2);
        let Some(last) = self.candidates.get_mut(place) else {
            return false;
        };
        let [newest, oldest] = *last;
        *last = [hash, newest];
        newest == hash || oldest == hash
    }

    fn insert(&mut self, hash: u64, entry: ResponseCacheEntry, most: usize) {
        self.old.remove(&hash);
        if let Some(outdated) = self.young.remove(&hash) {
            self.young_bytes -= outdated.bytes();
        }
        if self.young_bytes + entry.bytes() > most {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        if entry.bytes() <= most {
            self.young_bytes += entry.bytes();
            self.young.insert(hash, entry);
        }
    }

    /// Returns the entry of a request, and marks it as used.
    fn get(&mut self, hash: u64, most: usize) -> Option<&ResponseCacheEntry> {
        if let Some(entry) = self.old.remove(&hash) {
            self.insert(hash, entry, most);
        }
        self.young.get(&hash)
    }
}

/// Reply that a shard keeps.
pub(crate) struct CachedResponse {
    pub(crate) body: Bytes,
    pub(crate) cost: u32,
    /// The operation that produced the reply, and its number.
    pub(crate) row: NumberedOperation,
}

struct ResponseCacheEntry {
    row: NumberedOperation,
    viewer: ViewerKey,
    app: Option<u64>,
    scopes: ScopeSet,
    allowed_workspaces: Option<Box<[u64]>>,
    base_url: Option<Box<str>>,
    version: u64,
    cost: u32,
    /// Body without spare capacity; every response shares it.
    body: Bytes,
    /// Path of the request, followed by its query.
    asked: Box<[u8]>,
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
            base_url: asked.base_url.map(Box::from),
            version,
            cost,
            body: Bytes::copy_from_slice(body),
            asked: [asked.path.as_bytes(), asked.query.as_bytes()]
                .concat()
                .into(),
            path: asked.path.len(),
        }
    }

    const fn bytes(&self) -> usize {
        let address = match &self.base_url {
            Some(address) => address.len(),
            None => 0,
        };
        ENTRY_BYTES + self.body.len() + self.asked.len() + address
    }

    /// Returns the body, if this is the reply to the request.
    fn body(&self, asked: &ResponseCacheKey<'_>, version: u64) -> Option<&Bytes> {
        let (path, query) = self.asked.split_at_checked(self.path)?;
        let same = self.version == version
            && self.viewer == asked.viewer
            && self.app == asked.app
            && self.scopes == asked.scopes
            && self.allowed_workspaces.as_deref() == asked.allowed_workspaces
            && self.base_url.as_deref() == asked.base_url
            && path == asked.path.as_bytes()
            && query == asked.query.as_bytes();
        same.then_some(&self.body)
    }
}

impl ResponseCache {
    /// Makes a cache of this many bytes, either [`BYTES_MAX`] or 0.
    pub(super) fn new(bytes: usize) -> Self {
        let shards = if bytes == 0 { 0 } else { SHARDS };
        Self {
            shards: (0..shards).map(|_| OnceLock::new()).collect(),
            generation_bytes: bytes / SHARDS / 2,
        }
    }

    /// Locks the shard of a hash; `None` if nothing has been stored in it yet.
    fn shard(&self, hash: u64) -> Option<MutexGuard<'_, Shard>> {
        let shard = self.shards.get(index(hash, SHARDS))?.get()?;
        Some(shard.lock())
    }

    /// Returns the cached reply of this version, if any.
    pub(crate) fn get(&self, asked: &ResponseCacheKey<'_>, version: u64) -> Option<CachedResponse> {
        let hash = hash(asked);
        let mut shard = self.shard(hash)?;
        let kept = shard.get(hash, self.generation_bytes)?;
        Some(CachedResponse {
            body: kept.body(asked, version)?.clone(),
            cost: kept.cost,
            row: kept.row,
        })
    }

    /// Caches a reply that was read when the store had this version or a later one.
    pub(crate) fn put(
        &self,
        asked: &ResponseCacheKey<'_>,
        version: u64,
        row: NumberedOperation,
        body: &[u8],
        cost: u32,
    ) {
        let hash = hash(asked);
        let Some(shard) = self.shards.get(index(hash, SHARDS)) else {
            return;
        };
        let shard = shard.get_or_init(|| Box::new(Mutex::new(Shard::new())));
        let mut shard = shard.lock();
        if body.len() <= CACHED_BODY_MAX && shard.is_repeated(hash) {
            let entry = ResponseCacheEntry::new(asked, version, row, body, cost);
            shard.insert(hash, entry, self.generation_bytes);
        }
    }
}

fn hash(asked: &ResponseCacheKey<'_>) -> u64 {
    FxBuildHasher.hash_one(asked)
}

/// Returns a slot index from the lower bits of a hash, which are its best ones.
fn index(bits: u64, places: usize) -> usize {
    usize::try_from(bits % places as u64).unwrap_or_default()
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
            base_url: None,
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
        Some((again.body.to_vec(), again.cost))
    }

    #[test]
    fn a_reply_is_kept_when_it_is_asked_for_again_and_until_the_next_commit() {
        let replies = ResponseCache::new(BYTES_MAX);
        let asked = asked("/tasks/1");
        put(&replies, &asked, b"{}");
        assert_eq!(get(&replies, &asked, 3), None, "asked for once");
        put(&replies, &asked, b"{}");
        assert_eq!(get(&replies, &asked, 3), Some((b"{}".to_vec(), 1)));
        assert_eq!(get(&replies, &asked, 4), None, "something was committed");
    }

    #[test]
    fn another_caller_scope_path_or_query_is_another_request() {
        let replies = ResponseCache::new(BYTES_MAX);
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
        let replies = ResponseCache::new(BYTES_MAX);
        let asked = asked("/tasks/1");
        let body = vec![b'x'; CACHED_BODY_MAX + 1];
        put(&replies, &asked, &body);
        put(&replies, &asked, &body);
        assert_eq!(get(&replies, &asked, 3), None);
    }

    #[test]
    fn many_repeated_requests_are_kept_within_the_room() {
        let replies = ResponseCache::new(BYTES_MAX);
        let paths: Vec<String> = (0..4_000)
            .map(|number| format!("/tasks/{number}"))
            .collect();
        let put_all = |size| {
            for path in paths.iter().chain(&paths) {
                put(&replies, &asked(path), &vec![b'x'; size]);
            }
        };
        let kept = || {
            let each = paths
                .iter()
                .filter_map(|path| get(&replies, &asked(path), 3));
            each.map(|(body, _)| body.len()).collect::<Vec<_>>()
        };
        put_all(1_000);
        assert!(kept().len() > 3_500, "{}", kept().len());
        // Larger bodies do not fit together.
        put_all(CACHED_BODY_MAX);
        assert!(kept().len() > 400, "{}", kept().len());
        assert!(kept().iter().sum::<usize>() < BYTES_MAX);
    }

    #[test]
    fn requests_that_are_sent_once_push_out_no_repeated_one() {
        let replies = ResponseCache::new(BYTES_MAX);
        let one = asked("/tasks/1");
        put(&replies, &one, b"{}");
        put(&replies, &one, b"{}");
        for number in 2..100_000 {
            put(&replies, &asked(&format!("/tasks/{number}")), b"{}");
        }
        assert_eq!(get(&replies, &one, 3), Some((b"{}".to_vec(), 1)));
    }
}
