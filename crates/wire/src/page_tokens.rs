//! Page tokens with keys of any serde type: the start of the next page, sealed and bound to data of the caller.
//!
//! A token is base64url without padding (RFC 4648 section 5) of `version 1 | key id 2 | nonce 12 | ciphertext | tag 16` (bytes,
//! big-endian): ChaCha20-Poly1305 (RFC 8439) with a key derived from a key of the ring, for this purpose only. The
//! plaintext is `binding 16 | expiry 8, if there is one | key`, where the binding is the start of the SHA-256 of its JSON, and
//! the key is JSON. The nonce is the start of an HMAC of the plaintext, so the same input gives the same token: no random bytes
//! are needed, and two tokens are equal only if they mean the same.

use std::fmt;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::NONCE_LEN;
use ring::digest::{Context, SHA256};
use ring::hmac;
use serde_core::Serialize;
use serde_core::de::DeserializeOwned;

use crate::cipher::{self, TAG};
use crate::cursor::seconds;
use crate::keyring::{KeyLookup, KeyRing};

/// Maximum size of a key as JSON, in bytes. A token has at most 1,440 characters.
pub const KEY_BYTES_MAX: usize = 1024;

/// Versions of the format, besides that of a [`Cursor`](crate::Cursor), which is 1.
const ENDLESS: u8 = 2;
const EXPIRING: u8 = 3;
const PURPOSE: &[u8] = b"workgraph keyed page token";
const NONCE_PURPOSE: &[u8] = b"workgraph keyed page nonce";
const HEAD: usize = 1 + 2 + NONCE_LEN;
const BINDING: usize = 16;
const LONGEST: usize = (HEAD + BINDING + 8 + KEY_BYTES_MAX + TAG).div_ceil(3) * 4;

/// Seals and opens page tokens with the keys of a ring.
///
/// A key consists of the sort values of the last row sent, the most significant first, and ends with a unique value, such as an
/// id: text, numbers, null, ids, tuples, or a struct that derives `Serialize` and `Deserialize`. It is stored as JSON, so floats
/// must be finite and an `Option` must not contain an `Option`.
///
/// A binding is everything that selects and sorts the rows, and for whom: the route, the user, the filters. A token only opens
/// with an equal binding. Leave out data that may change between pages, such as the page size. Maps in it must be ordered.
///
/// ```
/// use workgraph_wire::{KeyRing, PageTokenError, PageTokens};
///
/// let pages = PageTokens::new(KeyRing::new(1, [42; 32])); // 32 secret random bytes
/// let binding = ("GET /people", "user 7", "by name");
/// let token = pages.seal(&("Ann", 31), &binding)?;
///
/// let (name, id) = pages.open::<(String, u64)>(&token, &binding)?;
/// assert_eq!((name.as_str(), id), ("Ann", 31));
/// let others = pages.open::<(String, u64)>(&token, &("GET /people", "user 8", "by name"));
/// assert_eq!(others, Err(PageTokenError::OtherBinding));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The length of a token reveals the length of its key, and equal tokens reveal equal positions. An opened key still counts as
/// input: pass it to a query as a parameter.
#[derive(Debug, Clone)]
pub struct PageTokens(KeyRing);

/// Reason why a page token was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageTokenError {
    /// Not a token: wrong alphabet, length or version.
    Malformed,
    /// Changed, or not sealed with a key of the ring.
    Forged,
    /// Made for another binding.
    OtherBinding,
    /// The key has a different type than requested.
    OtherType,
    /// Past its expiry, or sealed with a key that has been retired.
    Expired,
    /// The token has an expiry, and no time was given: see [`PageTokens::open_at`].
    TimeNeeded,
}

impl fmt::Display for PageTokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not a page token",
            Self::Forged => "the page token was changed, or was not made here",
            Self::OtherBinding => "the page token belongs to another list",
            Self::OtherType => "the page token holds a position of another kind",
            Self::Expired => "the page token has expired; begin again without it",
            Self::TimeNeeded => "the page token has an expiry and was opened without a time",
        })
    }
}

impl std::error::Error for PageTokenError {}

/// Reason why a key can't be sealed: a mistake in the calling program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SealError {
    /// The key has this many bytes as JSON, more than [`KEY_BYTES_MAX`].
    KeyTooLong(usize),
    /// The key can't be written as JSON, for this reason.
    Key(String),
    /// The binding can't be written as JSON, for this reason.
    Binding(String),
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyTooLong(bytes) => write!(
                f,
                "the key of the page token has {bytes} bytes as JSON, at most {KEY_BYTES_MAX}"
            ),
            Self::Key(reason) => write!(f, "the key of the page token has no JSON: {reason}"),
            Self::Binding(reason) => {
                write!(f, "the binding of the page token has no JSON: {reason}")
            }
        }
    }
}

impl std::error::Error for SealError {}

impl PageTokens {
    /// Returns page tokens that are sealed with the current key of a ring, and opened with any of its keys.
    #[must_use]
    pub const fn new(keys: KeyRing) -> Self {
        Self(keys)
    }

    /// Returns the ring, to rotate or retire a key.
    #[must_use]
    pub const fn keys_mut(&mut self) -> &mut KeyRing {
        &mut self.0
    }

    /// Makes a token that opens as long as its key is in the ring.
    ///
    /// # Errors
    /// Fails if the key is too long, or the key or the binding can't be written as JSON.
    pub fn seal(
        &self,
        key: &(impl Serialize + ?Sized),
        binding: &(impl Serialize + ?Sized),
    ) -> Result<String, SealError> {
        self.sealed(key, binding, None)
    }

    /// Makes a token that is refused from `expires` on, in whole seconds (fractions are cut off).
    ///
    /// # Errors
    /// Fails as [`seal`](Self::seal) does.
    pub fn seal_until(
        &self,
        key: &(impl Serialize + ?Sized),
        binding: &(impl Serialize + ?Sized),
        expires: SystemTime,
    ) -> Result<String, SealError> {
        self.sealed(key, binding, Some(expires))
    }

    /// Opens a token without an expiry, and returns its key.
    ///
    /// # Errors
    /// Says what is wrong with the token. A binding that can't be written as JSON matches no token.
    pub fn open<K: DeserializeOwned>(
        &self,
        token: &str,
        binding: &(impl Serialize + ?Sized),
    ) -> Result<K, PageTokenError> {
        self.opened(token, binding, None)
    }

    /// Opens a token at a given time, and returns its key. A token without an expiry opens at any time.
    ///
    /// # Errors
    /// Fails as [`open`](Self::open) does, and with [`PageTokenError::Expired`] from the expiry on.
    pub fn open_at<K: DeserializeOwned>(
        &self,
        token: &str,
        binding: &(impl Serialize + ?Sized),
        now: SystemTime,
    ) -> Result<K, PageTokenError> {
        self.opened(token, binding, Some(now))
    }

    fn sealed(
        &self,
        key: &(impl Serialize + ?Sized),
        binding: &(impl Serialize + ?Sized),
        expires: Option<SystemTime>,
    ) -> Result<String, SealError> {
        let binding = digest(binding).map_err(|error| SealError::Binding(error.to_string()))?;
        let mut text = binding.to_vec();
        text.extend(expires.map(|at| seconds(at).to_be_bytes()).iter().flatten());
        let start = text.len();
        serde_json::to_writer(&mut text, key).map_err(|error| SealError::Key(error.to_string()))?;
        let length = text.len() - start;
        if length > KEY_BYTES_MAX {
            return Err(SealError::KeyTooLong(length));
        }
        let (id, ring_key) = self.0.sealing();
        let version = if expires.is_some() { EXPIRING } else { ENDLESS };
        let nonce = nonce(ring_key, version, &text);
        let mut token = head(version, id).to_vec();
        // No cipher refuses a text of this length.
        let refused = || SealError::KeyTooLong(length);
        let cipher_key = cipher::derive(ring_key, PURPOSE).ok_or_else(refused)?;
        cipher::seal(&cipher_key, nonce, &token, &mut text).ok_or_else(refused)?;
        token.extend_from_slice(&nonce);
        token.extend_from_slice(&text);
        Ok(URL_SAFE_NO_PAD.encode(token))
    }

    fn opened<K: DeserializeOwned>(
        &self,
        token: &str,
        binding: &(impl Serialize + ?Sized),
        now: Option<SystemTime>,
    ) -> Result<K, PageTokenError> {
        use PageTokenError::{Expired, Forged, Malformed, OtherBinding, OtherType, TimeNeeded};
        if token.len() > LONGEST {
            return Err(Malformed);
        }
        // The engine refuses padding and leftover bits, so each token has exactly one spelling.
        let mut bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| Malformed)?;
        let (head, rest) = bytes.split_first_chunk_mut::<3>().ok_or(Malformed)?;
        let [version, id @ ..] = *head;
        let (nonce, sealed) = rest.split_first_chunk_mut::<NONCE_LEN>().ok_or(Malformed)?;
        let expiry_bytes = match version {
            ENDLESS => 0,
            EXPIRING => 8,
            _ => return Err(Malformed),
        };
        if sealed.len() < BINDING + expiry_bytes + TAG {
            return Err(Malformed);
        }
        let key = match self.0.find(u16::from_be_bytes(id)) {
            KeyLookup::Live(key) => cipher::derive(key, PURPOSE).ok_or(Forged)?,
            KeyLookup::Retired => return Err(Expired),
            KeyLookup::Unknown => return Err(Forged),
        };
        let text = cipher::open(&key, *nonce, head, sealed).ok_or(Forged)?;
        let (bound, text) = text.split_first_chunk::<BINDING>().ok_or(Forged)?;
        if digest(binding).ok().as_ref() != Some(bound) {
            return Err(OtherBinding);
        }
        let text = match text.split_first_chunk::<8>() {
            Some((expires, text)) if version == EXPIRING => {
                let lifetime = Duration::from_secs(u64::from_be_bytes(*expires));
                let expires = UNIX_EPOCH.checked_add(lifetime).ok_or(Forged)?;
                if now.ok_or(TimeNeeded)? >= expires {
                    return Err(Expired);
                }
                text
            }
            _ => text,
        };
        serde_json::from_slice(text).map_err(|_| OtherType)
    }
}

/// Returns the first bytes of a token, which are authenticated.
fn head(version: u8, key_id: u16) -> [u8; 3] {
    let [high, low] = key_id.to_be_bytes();
    [version, high, low]
}

/// Returns the nonce of a token: the start of an HMAC of its plaintext.
fn nonce(key: &[u8; 32], version: u8, text: &[u8]) -> [u8; NONCE_LEN] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let mut hash = hmac::Context::with_key(&key);
    hash.update(NONCE_PURPOSE);
    hash.update(&[version]);
    hash.update(text);
    let tag = hash.sign();
    tag.as_ref().first_chunk().copied().unwrap_or_default()
}

fn digest(binding: &(impl Serialize + ?Sized)) -> Result<[u8; BINDING], serde_json::Error> {
    let mut hash = DigestWriter(Context::new(&SHA256));
    serde_json::to_writer(&mut hash, binding)?;
    let digest = hash.0.finish();
    Ok(digest.as_ref().first_chunk().copied().unwrap_or_default())
}

/// Writer of bytes into a digest.
struct DigestWriter(Context);

impl io::Write for DigestWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
