//! Replies that are still true: the bytes of single records, for as long as nothing is committed.
//!
//! What a get answers depends on the graph, the caller and the request, never on the time. A store
//! that knows the number of its last commit without a trip ([`GraphStore::version`]) lets the same
//! request be answered with the same bytes until that number changes. Token, limits and scopes are
//! still checked each time.
//!
//! [`GraphStore::version`]: workgraph_core::graph::GraphStore::version
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};
use workgraph_auth::ScopeSet;
use workgraph_core::graph::ViewerKey;

/// How many replies are kept at most.
const SLOTS: usize = 1024;
/// The largest reply that is kept, in bytes: all of them together stay under 16 MiB.
const LARGEST: usize = 16 << 10;

/// What a reply is the reply to.
#[derive(Clone, Copy, Hash)]
pub(crate) struct Asked<'r> {
    pub(crate) viewer: ViewerKey,
    pub(crate) scopes: ScopeSet,
    pub(crate) reach: Option<&'r [u64]>,
    pub(crate) path: &'r str,
    pub(crate) query: &'r str,
}

/// The kept replies. Each request has one slot, which it shares with others.
pub(crate) struct Replies {
    slots: Vec<Mutex<Slot>>,
}

/// On cache lines of its own, with all that is compared but the path: whoever has the lock has these.
#[derive(Default)]
#[repr(align(64))]
struct Slot {
    /// The request that was last answered here: only one that comes again is worth keeping.
    last: u64,
    kept: Option<Kept>,
}

struct Kept {
    viewer: ViewerKey,
    scopes: ScopeSet,
    reach: Option<Box<[u64]>>,
    version: u64,
    cost: u32,
    /// Body, path and query, one after the other: what is compared at each use then lies in the middle of an allocation,
    /// not beside small ones that other threads write.
    text: Box<[u8]>,
    body: usize,
    path: usize,
}

impl Kept {
    fn new(asked: &Asked<'_>, version: u64, body: &[u8], cost: u32) -> Self {
        Self {
            viewer: asked.viewer,
            scopes: asked.scopes,
            reach: asked.reach.map(Box::from),
            version,
            cost,
            text: [body, asked.path.as_bytes(), asked.query.as_bytes()]
                .concat()
                .into(),
            body: body.len(),
            path: asked.path.len(),
        }
    }

    /// The body, if this is the reply to what is asked.
    fn body(&self, asked: &Asked<'_>, version: u64) -> Option<&[u8]> {
        let (body, key) = self.text.split_at_checked(self.body)?;
        let (path, query) = key.split_at_checked(self.path)?;
        let same = self.version == version
            && self.viewer == asked.viewer
            && self.scopes == asked.scopes
            && self.reach.as_deref() == asked.reach
            && path == asked.path.as_bytes()
            && query == asked.query.as_bytes();
        same.then_some(body)
    }
}

impl Replies {
    pub(crate) fn new() -> Self {
        let slots = std::iter::repeat_with(Mutex::default).take(SLOTS).collect();
        Self { slots }
    }

    fn slot(&self, hash: u64) -> Option<MutexGuard<'_, Slot>> {
        // The lower bits of the hash are its best.
        let at = usize::try_from(hash % SLOTS as u64).unwrap_or_default();
        let slot = self.slots.get(at)?;
        Some(slot.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The body and cost of the reply, if one of this version is kept.
    pub(crate) fn get(&self, asked: &Asked<'_>, version: u64) -> Option<(Vec<u8>, u32)> {
        let slot = self.slot(hash(asked))?;
        let kept = slot.kept.as_ref()?;
        Some((kept.body(asked, version)?.to_vec(), kept.cost))
    }

    /// Keeps a reply that was read when the store had this version, or a later one.
    pub(crate) fn put(&self, asked: &Asked<'_>, version: u64, body: &[u8], cost: u32) {
        let hash = hash(asked);
        let Some(mut slot) = self.slot(hash) else {
            return;
        };
        if slot.last != hash || body.len() > LARGEST {
            slot.last = hash;
            slot.kept = None;
            return;
        }
        slot.kept = Some(Kept::new(asked, version, body, cost));
    }
}

fn hash(asked: &Asked<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    asked.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workgraph_core::Gid;

    fn asked(path: &str) -> Asked<'_> {
        let user = Gid::new(7).unwrap();
        Asked {
            viewer: ViewerKey {
                user,
                service: None,
            },
            scopes: ScopeSet::full(),
            reach: None,
            path,
            query: "",
        }
    }

    #[test]
    fn a_reply_is_kept_when_it_is_asked_for_again_and_until_the_next_commit() {
        let replies = Replies::new();
        let asked = asked("/tasks/1");
        replies.put(&asked, 3, b"{}", 1);
        assert_eq!(replies.get(&asked, 3), None, "asked for once");
        replies.put(&asked, 3, b"{}", 1);
        assert_eq!(replies.get(&asked, 3), Some((b"{}".to_vec(), 1)));
        assert_eq!(replies.get(&asked, 4), None, "something was committed");
    }

    #[test]
    fn another_caller_scope_path_or_query_is_another_request() {
        let replies = Replies::new();
        let one = asked("/tasks/1");
        replies.put(&one, 3, b"{}", 1);
        replies.put(&one, 3, b"{}", 1);
        let mut other = one;
        other.viewer.user = Gid::new(8).unwrap();
        assert_eq!(replies.get(&other, 3), None);
        other = one;
        other.scopes = ScopeSet::empty();
        assert_eq!(replies.get(&other, 3), None);
        other = one;
        other.reach = Some(&[1]);
        assert_eq!(replies.get(&other, 3), None);
        assert_eq!(
            replies.get(
                &Asked {
                    path: "/tasks/2",
                    ..one
                },
                3
            ),
            None
        );
        assert_eq!(replies.get(&Asked { query: "a", ..one }, 3), None);
    }

    #[test]
    fn large_replies_are_not_kept() {
        let replies = Replies::new();
        let asked = asked("/tasks/1");
        let body = vec![b'x'; LARGEST + 1];
        replies.put(&asked, 3, &body, 1);
        replies.put(&asked, 3, &body, 1);
        assert_eq!(replies.get(&asked, 3), None);
    }
}
