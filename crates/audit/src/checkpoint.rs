//! Checkpoints: what a log had come to at an instant, signed (Ed25519, RFC 8032), as one line of text.
//!
//! `audit-checkpoint 1 AT BASE DIGEST HEAD DIGEST SIGNATURE`, with spaces between, numbers in decimal,
//! the rest in hexadecimal. The signature covers the line before it.
use crate::chain::{Digest, Mark};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use std::fmt;

/// How a line begins.
const FORM: &str = "audit-checkpoint 1";

/// What a log had come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// When it was signed, in milliseconds since 1970.
    pub at: u64,
    /// The last row that had been dropped for its age; [`Mark::START`] if none had.
    pub base: Mark,
    /// The last row.
    pub head: Mark,
}

impl Checkpoint {
    /// What is signed.
    fn text(&self) -> String {
        let Self { at, base, head } = self;
        format!(
            "{FORM} {at} {} {} {} {}",
            base.seq,
            hex(&base.digest),
            head.seq,
            hex(&head.digest)
        )
    }
}

/// A key that signs checkpoints. It belongs nowhere near the log.
pub struct Key(Ed25519KeyPair);

/// The half of a [`Key`] that everybody may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublicKey(pub [u8; 32]);

/// Not the seed of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadKey;

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is not the seed of an Ed25519 key")
    }
}

impl std::error::Error for BadKey {}

/// Why a line is no checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadLine {
    /// It is not in the form of one.
    Form,
    /// Its signature is not of this key.
    Signature,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "this line is not in the form of a checkpoint",
            Self::Signature => "the line's signature is not of this key",
        })
    }
}

impl std::error::Error for BadLine {}

impl Key {
    /// The key of this seed, which is 32 random bytes (RFC 8032 section 5.1.5).
    ///
    /// # Errors
    /// When they make no key.
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, BadKey> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed);
        pair.map(Self).map_err(|_| BadKey)
    }

    /// Its public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(bytes)
    }

    /// The checkpoint as a signed line, without a line feed.
    #[must_use]
    pub fn sign(&self, checkpoint: &Checkpoint) -> String {
        let text = checkpoint.text();
        let signature = self.0.sign(text.as_bytes());
        format!("{text} {}", hex(signature.as_ref()))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.public()).finish()
    }
}

/// Reads a signed line.
///
/// # Errors
/// When it is none, or was not signed with this key.
pub fn read(line: &str, key: &PublicKey) -> Result<Checkpoint, BadLine> {
    let (text, signature) = line.rsplit_once(' ').ok_or(BadLine::Form)?;
    let signature: [u8; 64] = unhex(signature).ok_or(BadLine::Form)?;
    let checkpoint = parse(text)
        .filter(|c| c.text() == text)
        .ok_or(BadLine::Form)?;
    let key = UnparsedPublicKey::new(&ED25519, key.0);
    let sound = key.verify(text.as_bytes(), &signature);
    sound.map(|()| checkpoint).map_err(|_| BadLine::Signature)
}

fn parse(text: &str) -> Option<Checkpoint> {
    let mut parts = text.strip_prefix(FORM)?.strip_prefix(' ')?.split(' ');
    let at = parts.next()?.parse().ok()?;
    let mut mark = || {
        let seq = parts.next()?.parse().ok()?;
        let digest: Digest = unhex(parts.next()?)?;
        Some(Mark { seq, digest })
    };
    let (base, head) = (mark()?, mark()?);
    let sound = parts.next().is_none() && base.seq <= head.seq;
    sound.then_some(Checkpoint { at, base, head })
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    let lower = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
    if digits.len() != 2 * N || !digits.iter().all(lower) {
        return None;
    }
    let mut out = [0; N];
    for (byte, pair) in out.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> (Key, Checkpoint) {
        let head = Mark::START.then(b"one").then(b"two");
        let checkpoint = Checkpoint {
            at: 1_800_000_000_000,
            base: Mark::START,
            head,
        };
        (Key::from_seed(&[7; 32]).unwrap(), checkpoint)
    }

    #[test]
    fn a_line_says_what_was_signed_and_no_other_key_signed_it() {
        let (key, checkpoint) = example();
        let line = key.sign(&checkpoint);
        assert_eq!(read(&line, &key.public()), Ok(checkpoint));
        let other = Key::from_seed(&[8; 32]).unwrap().public();
        assert_eq!(read(&line, &other), Err(BadLine::Signature));
    }

    #[test]
    fn a_line_with_any_character_changed_is_refused() {
        let (key, checkpoint) = example();
        let line = key.sign(&checkpoint);
        for at in 0..line.len() {
            let mut bytes = line.clone().into_bytes();
            bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(read(&changed, &key.public()).is_err(), "{changed}");
        }
        for changed in ["", "audit-checkpoint 1", &format!("{line} "), &line[1..]] {
            assert!(read(changed, &key.public()).is_err(), "{changed}");
        }
    }
}
