//! The token cache: the last token that a client sent, so that its next request with that token needs no look-up.
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use subtle::ConstantTimeEq as _;
use workgraph_auth::{Account, Secret, TokenRecord};

/// A token record, and the account that it acts for.
pub(crate) type TokenLookup = Arc<(TokenRecord, Account)>;

/// The last token of one client, valid until something about tokens changes
/// ([`TokenStore::version`](workgraph_auth::TokenStore::version)). Each connection has its own cache: most connections
/// send the same token with every request.
#[derive(Default)]
pub struct ConnectionTokenCache(Mutex<Option<CachedTokenEntry>>);

struct CachedTokenEntry {
    text: Secret,
    version: u64,
    found: TokenLookup,
}

impl ConnectionTokenCache {
    /// Returns the look-up of this token, if it was the last one and has this version.
    pub(crate) fn get(&self, text: &str, version: u64) -> Option<TokenLookup> {
        let entry = self.0.lock();
        let last = entry.as_ref().filter(|last| last.version == version)?;
        // A proxy sends requests of several clients over one connection. Comparing in constant time keeps each client from
        // learning how similar its token is to another one.
        constant_time_eq(last.text.expose(), text).then(|| Arc::clone(&last.found))
    }

    /// Stores the look-up of a token, made at this version or later.
    pub(super) fn put(&self, text: &str, version: u64, found: &TokenLookup) {
        *self.0.lock() = Some(CachedTokenEntry {
            text: Secret::new(text.to_owned()),
            version,
            found: Arc::clone(found),
        });
    }
}

impl fmt::Debug for ConnectionTokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionTokenCache(..)")
    }
}

/// Returns true if two texts are equal, in a time that only depends on their lengths.
fn constant_time_eq(one: &str, other: &str) -> bool {
    // Eight bytes at a time: this runs for every request, and comparing single bytes takes five times as long.
    let (one_words, one_rest) = one.as_bytes().as_chunks::<8>();
    let (other_words, other_rest) = other.as_bytes().as_chunks::<8>();
    let mut same = one.len().ct_eq(&other.len()) & one_rest.ct_eq(other_rest);
    for (a, b) in one_words.iter().zip(other_words) {
        same &= u64::from_ne_bytes(*a).ct_eq(&u64::from_ne_bytes(*b));
    }
    same.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;
    use workgraph_auth::{SecretDigest, Tier};

    #[test]
    fn a_token_is_known_until_another_one_is_shown_or_anything_changes() {
        let found = |id| {
            let record =
                TokenRecord::personal(id, SecretDigest([0; 32]), 1, SystemTime::UNIX_EPOCH);
            Arc::new((record, Account::new(1, Tier::new(1))))
        };
        let last = ConnectionTokenCache::default();
        assert!(last.get("abc", 4).is_none());
        last.put("abc", 4, &found(7));
        assert_eq!(last.get("abc", 4).unwrap().0.id, 7);
        for near in ["", "ab", "abd", "abcd", "abcdefgh"] {
            assert!(last.get(near, 4).is_none(), "{near}");
        }
        assert!(last.get("abc", 5).is_none(), "a token was changed");
        last.put("def", 4, &found(8));
        assert!(last.get("abc", 4).is_none());
        assert_eq!(last.get("def", 4).unwrap().0.id, 8);
        assert_eq!(format!("{last:?}"), "ConnectionTokenCache(..)");
    }
}
