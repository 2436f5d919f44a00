//! What is known of the token that was shown last, so that the next request with it need not look it up.
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use workgraph_auth::{Account, Secret, TokenRecord};

/// A token as the store has it, and the account it acts as.
type Found = Arc<(TokenRecord, Account)>;

/// The token that came last from one client, for as long as nothing about tokens changes
/// ([`TokenStore::version`](workgraph_auth::TokenStore::version)). A connection has one of its own:
/// most connections show the same token with every request.
#[derive(Default)]
pub struct LastToken(Mutex<Option<Shown>>);

struct Shown {
    text: Secret,
    version: u64,
    found: Found,
}

impl LastToken {
    fn shown(&self) -> MutexGuard<'_, Option<Shown>> {
        // It is replaced whole, so a poisoned one is whole, too.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was found of this token, if it was the last one and is of this version.
    pub(crate) fn get(&self, text: &str, version: u64) -> Option<Found> {
        let shown = self.shown();
        let last = shown.as_ref().filter(|last| last.version == version)?;
        // A proxy sends what several clients show over one connection: none learns from the time it
        // takes how near it comes to the token of another.
        same(last.text.expose(), text).then(|| Arc::clone(&last.found))
    }

    /// Keeps what was found of a token, in a version or after it.
    pub(crate) fn put(&self, text: &str, version: u64, found: &Found) {
        *self.shown() = Some(Shown {
            text: Secret::new(text.to_owned()),
            version,
            found: Arc::clone(found),
        });
    }
}

impl fmt::Debug for LastToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastToken(..)")
    }
}

/// Whether two texts are the same, in a time that depends on their lengths alone.
fn same(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    let differ = pairs.fold(0, |differ, (a, b)| differ | (a ^ b));
    std::hint::black_box(differ) == 0 && one.len() == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;
    use workgraph_auth::{Digest, Tier};

    #[test]
    fn a_token_is_known_until_another_one_is_shown_or_anything_changes() {
        let found = |id| {
            let record = TokenRecord::personal(id, Digest([0; 32]), 1, SystemTime::UNIX_EPOCH);
            Arc::new((record, Account::new(1, Tier::Paid)))
        };
        let last = LastToken::default();
        assert!(last.get("abc", 4).is_none());
        last.put("abc", 4, &found(7));
        assert_eq!(last.get("abc", 4).unwrap().0.id, 7);
        for near in ["", "ab", "abd", "abcd"] {
            assert!(last.get(near, 4).is_none(), "{near}");
        }
        assert!(last.get("abc", 5).is_none(), "a token was changed");
        last.put("def", 4, &found(8));
        assert!(last.get("abc", 4).is_none());
        assert_eq!(last.get("def", 4).unwrap().0.id, 8);
        assert_eq!(format!("{last:?}"), "LastToken(..)");
    }
}
