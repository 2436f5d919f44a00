//! Sealed secrets: secrets that the server must read again but only stores sealed.
//!
//! A sealed secret is `sealed:1:` and base64url of `key id 2 | nonce 12 | ciphertext | tag 16` (bytes,
//! big-endian): ChaCha20-Poly1305 with a key derived from a key of the ring, for this purpose only.
//! It is bound to the owner of the secret and opens for no other owner.
use std::fmt;

use crate::cipher;
use crate::keyring::{KeyLookup, KeyRing};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::NONCE_LEN;

const PURPOSE: &[u8] = b"workgraph kept secret";
/// Prefix of every sealed secret, with the version of the format.
const MARK: &str = "sealed:1:";

/// Reason why a sealed secret was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretError {
    /// The text is not sealed.
    NotSealed,
    /// The text was changed, belongs to another owner, or was sealed with another key with the same id.
    Tampered,
    /// The ring does not have the key, or no longer has it.
    NoKey,
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSealed => "the secret is not sealed",
            Self::Tampered => "the sealed secret was changed, or sealed with another key",
            Self::NoKey => "the key of the sealed secret is not in the key ring",
        })
    }
}

impl std::error::Error for SecretError {}

/// Seals a secret with the current key. `owner` names the owner of the secret, such as `webhook 12`; `nonce`
/// must be fresh random bytes. Returns `None` if the secret is too long for any cipher.
#[must_use]
pub fn seal(keys: &KeyRing, nonce: [u8; NONCE_LEN], owner: &str, secret: &str) -> Option<String> {
    let (kid, key) = keys.sealing();
    let mut text = secret.as_bytes().to_vec();
    cipher::seal(
        &cipher::derive(key, PURPOSE)?,
        nonce,
        &bound(kid, owner),
        &mut text,
    )?;
    let bytes = [&kid.to_be_bytes(), &nonce[..], &text].concat();
    Some(format!("{MARK}{}", URL_SAFE_NO_PAD.encode(bytes)))
}

/// Opens a sealed secret of an owner.
///
/// # Errors
/// Fails if it is not sealed, not of this owner, or its key is retired or unknown.
pub fn open(keys: &KeyRing, owner: &str, sealed: &str) -> Result<String, SecretError> {
    let (kid, bytes) = read(sealed)?;
    let key = match keys.find(kid) {
        KeyLookup::Live(key) => key,
        KeyLookup::Retired | KeyLookup::Unknown => return Err(SecretError::NoKey),
    };
    let garbled = SecretError::Tampered;
    let (nonce, text) = bytes.split_first_chunk::<NONCE_LEN>().ok_or(garbled)?;
    let mut text = text.to_vec();
    let key = cipher::derive(key, PURPOSE).ok_or(garbled)?;
    let opened = cipher::open(&key, *nonce, &bound(kid, owner), &mut text).ok_or(garbled)?;
    String::from_utf8(opened.to_vec()).map_err(|_| garbled)
}

/// Returns true if a secret of an owner is sealed with the current key. The key id proves nothing, since another
/// ring may use it for another key: the secret must open.
#[must_use]
pub fn is_current(keys: &KeyRing, owner: &str, sealed: &str) -> bool {
    let is_numbered = read(sealed).is_ok_and(|(kid, _)| kid == keys.current());
    is_numbered && open(keys, owner, sealed).is_ok()
}

/// Returns the id of the key, and the bytes after it.
fn read(sealed: &str) -> Result<(u16, Vec<u8>), SecretError> {
    let text = sealed.strip_prefix(MARK).ok_or(SecretError::NotSealed)?;
    let bytes = URL_SAFE_NO_PAD.decode(text);
    let bytes = bytes.map_err(|_| SecretError::Tampered)?;
    let (kid, rest) = bytes
        .split_first_chunk::<2>()
        .ok_or(SecretError::Tampered)?;
    Ok((u16::from_be_bytes(*kid), rest.to_vec()))
}

/// Returns the bytes that are authenticated but not part of the ciphertext.
fn bound(kid: u16, owner: &str) -> Vec<u8> {
    [MARK.as_bytes(), &kid.to_be_bytes(), owner.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "a0b1c2d3e4f5a0b1c2d3e4f5a0b1c2d3";

    fn ring() -> KeyRing {
        KeyRing::new(1, [7; 32])
    }

    fn sealed(keys: &KeyRing) -> String {
        seal(keys, [9; 12], "webhook 12", SECRET).unwrap()
    }

    #[test]
    fn a_sealed_secret_opens_for_its_owner_alone_and_shows_nothing() {
        let (keys, text) = (ring(), sealed(&ring()));
        assert!(!text.contains(SECRET));
        assert_eq!(open(&keys, "webhook 12", &text), Ok(SECRET.to_owned()));
        assert_eq!(open(&keys, "webhook 1", &text), Err(SecretError::Tampered));
        assert_eq!(
            open(&keys, "webhook 12", SECRET),
            Err(SecretError::NotSealed)
        );
        let is_current = |text| is_current(&keys, "webhook 12", text);
        assert!(is_current(&text) && !is_current(SECRET));
    }

    #[test]
    fn a_secret_of_another_key_with_the_same_number_is_not_current_and_does_not_open() {
        let (text, other) = (sealed(&ring()), KeyRing::new(1, [8; 32]));
        assert!(!is_current(&other, "webhook 12", &text));
        assert_eq!(
            open(&other, "webhook 12", &text),
            Err(SecretError::Tampered)
        );
        assert_ne!(ring().digest(), other.digest());
        assert!(!other.has_digest(ring().digest()));
    }

    #[test]
    fn no_changed_byte_opens() {
        let (keys, text) = (ring(), sealed(&ring()));
        for at in MARK.len()..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(open(&keys, "webhook 12", &changed).is_err(), "{at}");
        }
        for end in 0..text.len() {
            assert!(open(&keys, "webhook 12", &text[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn keys_that_are_rotated_open_and_those_that_are_retired_do_not() {
        let (mut keys, text) = (ring(), sealed(&ring()));
        keys.rotate(2, [8; 32]).unwrap();
        assert_eq!(open(&keys, "webhook 12", &text), Ok(SECRET.to_owned()));
        assert!(!is_current(&keys, "webhook 12", &text));
        let again = sealed(&keys);
        assert!(is_current(&keys, "webhook 12", &again));
        keys.retire(1).unwrap();
        assert_eq!(open(&keys, "webhook 12", &text), Err(SecretError::NoKey));
        assert_eq!(open(&keys, "webhook 12", &again), Ok(SECRET.to_owned()));
    }

    /// The derived key differs from the key of page tokens.
    #[test]
    fn the_key_is_of_this_purpose() {
        assert_ne!(cipher::derive(&[7; 32], PURPOSE), Some([7; 32]));
    }
}
