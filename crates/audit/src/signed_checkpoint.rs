//! Checkpoints: the head of a log at an instant, signed (Ed25519, RFC 8032), as one line of text.
//!
//! `audit-checkpoint 1 AT BASE DIGEST HEAD DIGEST SIGNATURE`, with spaces between, numbers in decimal,
//! the rest in hexadecimal. The signature covers the line before it.
use crate::hash_chain::{ChainPosition, RowDigest};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use std::fmt;
use thiserror::Error;

/// First words of a line, with the version of the format.
const FORM: &str = "audit-checkpoint 1";

/// Signed statement of the first and the last row of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// The time of the signature, in milliseconds since 1970.
    pub signed_at_ms: u64,
    /// The last row that was dropped because of its age; [`ChainPosition::START`] if no row was dropped.
    pub base: ChainPosition,
    /// Position of the last row that the checkpoint covers.
    pub head: ChainPosition,
}

impl Checkpoint {
    /// Returns the part of the line that the signature covers.
    fn text(&self) -> String {
        let Self {
            signed_at_ms: at,
            base,
            head,
        } = self;
        format!(
            "{FORM} {at} {} {} {} {}",
            base.seq,
            hex(&base.digest),
            head.seq,
            hex(&head.digest)
        )
    }
}

/// Key that signs checkpoints. It must not be kept near the log.
pub struct CheckpointKey(Ed25519KeyPair);

/// Public half of a [`CheckpointKey`]; it is not secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointPublicKey(pub [u8; 32]);

/// Error: the bytes are not the seed of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("this is not the seed of an Ed25519 key")]
pub struct InvalidKeySeed;

/// The reason why a line is not a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum CheckpointError {
    /// The line does not have the form of a checkpoint.
    #[error("this line is not in the form of a checkpoint")]
    Form,
    /// The signature was not made with this key.
    #[error("the line's signature is not of this key")]
    Signature,
}

impl CheckpointKey {
    /// Makes the key of this seed, which is 32 random bytes (RFC 8032 section 5.1.5).
    ///
    /// # Errors
    /// [`InvalidKeySeed`] if the bytes do not yield a key.
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, InvalidKeySeed> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed);
        pair.map(Self).map_err(|_| InvalidKeySeed)
    }

    /// Returns the public half of the key.
    #[must_use]
    pub fn public(&self) -> CheckpointPublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        CheckpointPublicKey(bytes)
    }

    /// Returns the checkpoint as a signed line, without a line feed.
    #[must_use]
    pub fn sign(&self, checkpoint: &Checkpoint) -> String {
        let text = checkpoint.text();
        let signature = self.0.sign(text.as_bytes());
        format!("{text} {}", hex(signature.as_ref()))
    }
}

impl fmt::Debug for CheckpointKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.public()).finish()
    }
}

/// Reads a signed line.
///
/// # Errors
/// Fails if the line has another form, or was not signed with this key.
pub fn read_checkpoint(
    line: &str,
    key: &CheckpointPublicKey,
) -> Result<Checkpoint, CheckpointError> {
    let (checkpoint, text, signature) = split(line)?;
    let key = UnparsedPublicKey::new(&ED25519, key.0);
    let sound = key.verify(text.as_bytes(), &signature);
    sound
        .map(|()| checkpoint)
        .map_err(|_| CheckpointError::Signature)
}

/// Reads a line without verifying its signature, for a key that is lost.
///
/// # Errors
/// Fails if the line has another form.
pub fn read_unverified_checkpoint(line: &str) -> Result<Checkpoint, CheckpointError> {
    split(line).map(|(checkpoint, ..)| checkpoint)
}

/// Returns the checkpoint of a line, its text and its signature.
fn split(line: &str) -> Result<(Checkpoint, &str, [u8; 64]), CheckpointError> {
    let (text, signature) = line.rsplit_once(' ').ok_or(CheckpointError::Form)?;
    let signature: [u8; 64] = unhex(signature).ok_or(CheckpointError::Form)?;
    let checkpoint = parse(text)
        .filter(|c| c.text() == text)
        .ok_or(CheckpointError::Form)?;
    Ok((checkpoint, text, signature))
}

fn parse(text: &str) -> Option<Checkpoint> {
    let mut parts = text.strip_prefix(FORM)?.strip_prefix(' ')?.split(' ');
    let at = parts.next()?.parse().ok()?;
    let mut mark = || {
        let seq = parts.next()?.parse().ok()?;
        let digest: RowDigest = unhex(parts.next()?)?;
        Some(ChainPosition { seq, digest })
    };
    let (base, head) = (mark()?, mark()?);
    let sound = parts.next().is_none() && base.seq <= head.seq;
    sound.then_some(Checkpoint {
        signed_at_ms: at,
        base,
        head,
    })
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

    fn example() -> (CheckpointKey, Checkpoint) {
        let head = ChainPosition::START.next(b"one").next(b"two");
        let checkpoint = Checkpoint {
            signed_at_ms: 1_800_000_000_000,
            base: ChainPosition::START,
            head,
        };
        (CheckpointKey::from_seed(&[7; 32]).unwrap(), checkpoint)
    }

    #[test]
    fn a_line_says_what_was_signed_and_no_other_key_signed_it() {
        let (key, checkpoint) = example();
        let line = key.sign(&checkpoint);
        assert_eq!(read_checkpoint(&line, &key.public()), Ok(checkpoint));
        let other = CheckpointKey::from_seed(&[8; 32]).unwrap().public();
        assert_eq!(
            read_checkpoint(&line, &other),
            Err(CheckpointError::Signature)
        );
    }

    #[test]
    fn a_line_with_any_character_changed_is_refused() {
        let (key, checkpoint) = example();
        let line = key.sign(&checkpoint);
        for at in 0..line.len() {
            let mut bytes = line.clone().into_bytes();
            bytes[at] = if bytes[at] == b'1' { b'2' } else { b'1' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(
                read_checkpoint(&changed, &key.public()).is_err(),
                "{changed}"
            );
        }
        for changed in ["", "audit-checkpoint 1", &format!("{line} "), &line[1..]] {
            assert!(
                read_checkpoint(changed, &key.public()).is_err(),
                "{changed}"
            );
        }
    }
}
