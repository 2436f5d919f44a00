//! Tokens and codes that a world has issued, so that requests at the root can be matched to it.
use parking_lot::Mutex;
use std::collections::{BTreeSet, VecDeque};
use workgraph_auth::SecretDigest;

/// Maximum number of remembered secrets of a world.
const KNOWN_MAX: usize = 10_000;

/// Digests of the tokens and codes that a world has issued.
#[derive(Default)]
pub(crate) struct GivenSecrets(Mutex<Known>);

#[derive(Default)]
struct Known {
    order: VecDeque<[u8; 32]>,
    digests: BTreeSet<[u8; 32]>,
}

fn digest(secret: &str) -> [u8; 32] {
    let SecretDigest(digest) = SecretDigest::of(secret);
    digest
}

impl GivenSecrets {
    /// Adds a secret. If there are too many, forgets the oldest one.
    pub(crate) fn add(&self, secret: &str) {
        let mut known = self.0.lock();
        let digest = digest(secret);
        if !known.digests.insert(digest) {
            return;
        }
        known.order.push_back(digest);
        if known.order.len() > KNOWN_MAX
            && let Some(first) = known.order.pop_front()
        {
            known.digests.remove(&first);
        }
    }

    /// Returns true if the world issued the secret, and has not forgotten it.
    pub(crate) fn contains(&self, secret: &str) -> bool {
        self.0.lock().digests.contains(&digest(secret))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_secrets_are_known() {
        let given = GivenSecrets::default();
        for number in 0..=KNOWN_MAX {
            given.add(&number.to_string());
            given.add(&number.to_string());
        }
        assert!(!given.contains("0"));
        assert!(given.contains("1") && given.contains(&KNOWN_MAX.to_string()));
    }
}
