//! Page tokens of integers, all of one length: the start of the next page, sealed so that only tokens from this service
//! are accepted. [`PageTokens`](crate::PageTokens) support any key.
//!
//! A token is base64url of `version 1 | key id 2 | nonce 12 | ciphertext | tag 16` (bytes, big-endian),
//! sealed with ChaCha20-Poly1305 (RFC 8439). Its listing is authenticated as well, so
//! a token of another user, app, route, filter or order doesn't open. The plaintext has a fixed width:
//! a token's length only reveals the number of sort values of the order.
//!
//! The values of an opened cursor still count as input: callers bind them as parameters and never put
//! them into the text of a query.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::NONCE_LEN;
use ring::digest::{Context, SHA256};

use crate::cipher::{self, TAG};
use crate::keyring::{KeyLookup, KeyRing};
use crate::messages;

/// Maximum number of sort values in a cursor.
pub const AFTER_MAX: usize = 8;

const VERSION: u8 = 1;
const PURPOSE: &[u8] = b"workgraph page token";
const HEAD: usize = 1 + 2 + NONCE_LEN;
/// Bytes of `max_seq`, `rows_sent` and `expires`.
const FIXED: usize = 8 + 4 + 8;

/// Position at which a page ended, and the listing that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The digest of the listing, from [`listing_digest`].
    pub listing: [u8; 16],
    /// The sort values of the last row sent, most significant first, at most [`AFTER_MAX`].
    pub after: Vec<i64>,
    /// The commit sequence number at which the walk began: later inserts aren't part of it.
    pub max_seq: u64,
    /// Rows seen so far in this walk, for the truncation limits.
    pub rows_sent: u32,
    /// The time from which the token is refused, in whole seconds (fractions are cut off).
    pub expires: SystemTime,
}

/// Reason why a token was refused. `Display` is the message for the client; both are status 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorError {
    /// Not a token of this service, changed, or of another listing.
    Invalid,
    /// Past its expiry, or sealed with a key that has been retired.
    Expired,
}

impl fmt::Display for CursorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => messages::OFFSET_INVALID,
            Self::Expired => messages::OFFSET_EXPIRED,
        })
    }
}

impl std::error::Error for CursorError {}

/// Returns the digest of a listing: of all data that a token is bound to, in an agreed order, such as user,
/// app, route, filters and sort order. Each part is hashed with its length, so moving bytes from one
/// part to the next gives another listing. Leave out parameters that may change between pages: `limit`
/// and `opt_fields`.
#[must_use]
pub fn listing_digest(parts: &[&[u8]]) -> [u8; 16] {
    let mut hash = Context::new(&SHA256);
    for part in parts {
        hash.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    let digest = hash.finish();
    digest.as_ref().first_chunk().copied().unwrap_or_default()
}

impl Cursor {
    /// Seals the cursor with the current key, as a page token. `nonce` must be fresh random bytes for every token.
    ///
    /// A cursor with more than [`AFTER_MAX`] sort values is a mistake of the caller; [`Cursor::open`]
    /// refuses its token.
    #[must_use]
    pub fn seal(&self, keys: &KeyRing, nonce: [u8; 12]) -> String {
        let (kid, key) = keys.sealing();
        let mut text = Vec::with_capacity(FIXED + self.after.len() * 8 + TAG);
        text.extend_from_slice(&self.max_seq.to_be_bytes());
        text.extend_from_slice(&self.rows_sent.to_be_bytes());
        text.extend_from_slice(&seconds(self.expires).to_be_bytes());
        for value in &self.after {
            text.extend_from_slice(&value.to_be_bytes());
        }
        let mut token = Vec::with_capacity(HEAD + text.len() + TAG);
        token.push(VERSION);
        token.extend_from_slice(&kid.to_be_bytes());
        token.extend_from_slice(&nonce);
        if cipher::seal(key, nonce, &bound(kid, self.listing), &mut text).is_some() {
            token.extend_from_slice(&text);
        }
        URL_SAFE_NO_PAD.encode(token)
    }

    /// Opens a page token for this listing at this time. The returned cursor contains `listing`.
    ///
    /// # Errors
    /// Fails with [`CursorError::Expired`] if `now` is at or past the expiry or the key was retired, otherwise
    /// with [`CursorError::Invalid`] for every byte sequence that isn't exactly a sealed token of this
    /// listing.
    pub fn open(
        token: &str,
        keys: &KeyRing,
        listing: [u8; 16],
        now: SystemTime,
    ) -> Result<Self, CursorError> {
        const LONGEST: usize = (HEAD + FIXED + AFTER_MAX * 8 + TAG).div_ceil(3) * 4;
        if token.len() > LONGEST {
            return Err(CursorError::Invalid);
        }
        // The engine refuses padding and leftover bits, so each cursor has exactly one spelling.
        let bytes = URL_SAFE_NO_PAD
            .decode(token)
            .map_err(|_| CursorError::Invalid)?;
        let mut rest = FieldReader(&bytes);
        let version = rest.take::<1>()?;
        let kid = u16::from_be_bytes(rest.take()?);
        let nonce = rest.take::<NONCE_LEN>()?;
        let values = rest
            .0
            .len()
            .checked_sub(FIXED + TAG)
            .ok_or(CursorError::Invalid)?;
        if version != [VERSION] || values % 8 != 0 || values / 8 > AFTER_MAX {
            return Err(CursorError::Invalid);
        }
        let key = match keys.find(kid) {
            KeyLookup::Live(key) => key,
            KeyLookup::Retired => return Err(CursorError::Expired),
            KeyLookup::Unknown => return Err(CursorError::Invalid),
        };
        let mut sealed = rest.0.to_vec();
        let text = cipher::open(key, nonce, &bound(kid, listing), &mut sealed)
            .ok_or(CursorError::Invalid)?;
        let mut rest = FieldReader(text);
        let upto = u64::from_be_bytes(rest.take()?);
        let sent = u32::from_be_bytes(rest.take()?);
        let expires = UNIX_EPOCH.checked_add(Duration::from_secs(u64::from_be_bytes(rest.take()?)));
        let expires = expires.ok_or(CursorError::Invalid)?;
        if now >= expires {
            return Err(CursorError::Expired);
        }
        let mut after = Vec::with_capacity(AFTER_MAX);
        while !rest.0.is_empty() {
            after.push(i64::from_be_bytes(rest.take()?));
        }
        Ok(Self {
            listing,
            after,
            max_seq: upto,
            rows_sent: sent,
            expires,
        })
    }
}

/// Returns the bytes that are authenticated but not part of the ciphertext.
fn bound(kid: u16, listing: [u8; 16]) -> [u8; PURPOSE.len() + 19] {
    let mut out = [0; PURPOSE.len() + 19];
    let kid = kid.to_be_bytes();
    let parts = PURPOSE.iter().chain(&[VERSION]).chain(&kid).chain(&listing);
    for (to, from) in out.iter_mut().zip(parts) {
        *to = *from;
    }
    out
}

/// Returns whole seconds since 1970; earlier times count as 1970. The latest time in a token
/// is the end of the signed 64-bit range, which is also the latest that [`SystemTime`] can
/// represent here.
pub(crate) fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

/// Reader of fixed-width fields from the front of a byte slice.
struct FieldReader<'a>(&'a [u8]);

impl FieldReader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], CursorError> {
        let (head, rest) = self.0.split_first_chunk().ok_or(CursorError::Invalid)?;
        self.0 = rest;
        Ok(*head)
    }
}

#[cfg(test)]
mod tests;
