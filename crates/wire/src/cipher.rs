//! The cipher behind page tokens and sealed secrets: ChaCha20-Poly1305 (RFC 8439).

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

/// Number of bytes that sealing adds to a text.
pub(crate) const TAG: usize = 16;

/// Seals `text` in place. `beside` is authenticated with it and must be the same when opening.
pub(crate) fn seal(
    key: &[u8; 32],
    nonce: [u8; NONCE_LEN],
    beside: &[u8],
    text: &mut Vec<u8>,
) -> Option<()> {
    let nonce = Nonce::assume_unique_for_key(nonce);
    let sealed = cipher(key)?.seal_in_place_append_tag(nonce, Aad::from(beside), text);
    sealed.ok()
}

/// Opens a sealed text in place and returns it without its tag, or `None` if any of the four inputs differs from those of
/// `seal`.
pub(crate) fn open<'a>(
    key: &[u8; 32],
    nonce: [u8; NONCE_LEN],
    beside: &[u8],
    sealed: &'a mut [u8],
) -> Option<&'a [u8]> {
    let nonce = Nonce::assume_unique_for_key(nonce);
    let opened = cipher(key)?.open_in_place(nonce, Aad::from(beside), sealed);
    opened.ok().map(|text| &*text)
}

/// Derives the key for one purpose from a key of a ring.
pub(crate) fn derive(key: &[u8; 32], purpose: &[u8]) -> Option<[u8; 32]> {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), purpose);
    tag.as_ref().first_chunk().copied()
}

fn cipher(key: &[u8; 32]) -> Option<LessSafeKey> {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key);
    key.ok().map(LessSafeKey::new)
}
