//! Keys that seal page tokens: the current key, older ones that still open tokens, and the ids of retired
//! keys.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ring::hmac;

/// Reason why a key ring refused a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRingError {
    /// The key id is in use or was used before: with a second key under it, old tokens would be
    /// ambiguous.
    IdInUse,
    /// The current key can't be retired; rotate first.
    Current,
}

impl fmt::Display for KeyRingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IdInUse => "the key id is or was in use",
            Self::Current => "the current key can't be retired",
        })
    }
}

impl std::error::Error for KeyRingError {}

/// State of a key id in the ring.
pub(crate) enum KeyLookup<'a> {
    Live(&'a [u8; 32]),
    Retired,
    Unknown,
}

/// Returns the first 64 bits of an HMAC-SHA256 with a key, over a text reserved for this purpose.
fn digest(key: &[u8; 32]) -> u64 {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let tag = hmac::sign(&key, b"workgraph key digest");
    let first = tag.as_ref().first_chunk().copied();
    u64::from_be_bytes(first.unwrap_or_default())
}

/// Keys of 256 bits, each with an id of 16 bits. They come from the caller, and must be random and secret.
#[derive(Clone)]
pub struct KeyRing {
    current: u16,
    seal: [u8; 32],
    older: BTreeMap<u16, [u8; 32]>,
    retired: BTreeSet<u16>,
}

impl KeyRing {
    /// Makes a ring with one key, which seals and opens.
    #[must_use]
    pub fn new(kid: u16, key: [u8; 32]) -> Self {
        Self {
            current: kid,
            seal: key,
            older: BTreeMap::new(),
            retired: BTreeSet::new(),
        }
    }

    /// Returns the id of the sealing key.
    #[must_use]
    pub fn current(&self) -> u16 {
        self.current
    }

    /// Returns the digest of the sealing key: it distinguishes keys with the same id without revealing the key.
    #[must_use]
    pub fn digest(&self) -> u64 {
        digest(&self.seal)
    }

    /// Returns true if a key with this digest is in the ring.
    #[must_use]
    pub fn has_digest(&self, known: u64) -> bool {
        let mut keys = std::iter::once(&self.seal).chain(self.older.values());
        keys.any(|key| digest(key) == known)
    }

    /// Adds a key that only opens tokens: an earlier one at startup, or one that another node
    /// may already be sealing with.
    ///
    /// # Errors
    /// Fails with [`KeyRingError::IdInUse`].
    pub fn add(&mut self, kid: u16, key: [u8; 32]) -> Result<(), KeyRingError> {
        self.free(kid)?;
        self.older.insert(kid, key);
        Ok(())
    }

    /// Makes a new key the current one. Tokens of the previous key still open.
    ///
    /// # Errors
    /// Fails with [`KeyRingError::IdInUse`].
    pub fn rotate(&mut self, kid: u16, key: [u8; 32]) -> Result<(), KeyRingError> {
        self.free(kid)?;
        self.older.insert(self.current, self.seal);
        self.current = kid;
        self.seal = key;
        Ok(())
    }

    /// Removes a key. Tokens with its id are expired from now on. An id that was never in the ring
    /// is also remembered as retired, so that a restart can restore the retired ids.
    ///
    /// # Errors
    /// Fails with [`KeyRingError::Current`].
    pub fn retire(&mut self, kid: u16) -> Result<(), KeyRingError> {
        if kid == self.current {
            return Err(KeyRingError::Current);
        }
        self.older.remove(&kid);
        self.retired.insert(kid);
        Ok(())
    }

    pub(crate) fn sealing(&self) -> (u16, &[u8; 32]) {
        (self.current, &self.seal)
    }

    pub(crate) fn find(&self, kid: u16) -> KeyLookup<'_> {
        if kid == self.current {
            KeyLookup::Live(&self.seal)
        } else if let Some(key) = self.older.get(&kid) {
            KeyLookup::Live(key)
        } else if self.retired.contains(&kid) {
            KeyLookup::Retired
        } else {
            KeyLookup::Unknown
        }
    }

    fn free(&self, kid: u16) -> Result<(), KeyRingError> {
        match self.find(kid) {
            KeyLookup::Unknown => Ok(()),
            KeyLookup::Live(_) | KeyLookup::Retired => Err(KeyRingError::IdInUse),
        }
    }
}

/// Only shows ids, so that keys never reach a log.
impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing")
            .field("current", &self.current)
            .field("older", &self.older.keys())
            .field("retired", &self.retired)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_id_is_used_once() {
        let mut keys = KeyRing::new(1, [1; 32]);
        assert_eq!(keys.add(1, [9; 32]), Err(KeyRingError::IdInUse));
        assert_eq!(keys.rotate(1, [9; 32]), Err(KeyRingError::IdInUse));
        assert_eq!(keys.rotate(2, [2; 32]), Ok(()));
        assert_eq!(
            (keys.current(), keys.retire(2)),
            (2, Err(KeyRingError::Current))
        );
        assert_eq!(keys.retire(1), Ok(()));
        assert_eq!(keys.add(1, [9; 32]), Err(KeyRingError::IdInUse));
        assert_eq!(keys.retire(7), Ok(()));
        assert_eq!(keys.rotate(7, [9; 32]), Err(KeyRingError::IdInUse));
    }

    #[test]
    fn debug_output_has_no_key() {
        let mut keys = KeyRing::new(1, [0xab; 32]);
        keys.add(0, [0xcd; 32]).unwrap();
        let text = format!("{keys:?}");
        assert!(
            !text.contains("171") && !text.contains("205") && !text.contains("ab, "),
            "{text}"
        );
    }
}
