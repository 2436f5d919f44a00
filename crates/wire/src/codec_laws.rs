//! Laws of page-token codecs, which can be run against any codec.
//!
//! A law is a plain function of a codec and a case, so a test can pass random cases or fixed ones.
//! `open` may refuse as invalid or as expired; where a law says "refused", both are accepted.

use std::fmt;
use std::time::{Duration, SystemTime};

use crate::cursor::CursorError;

#[cfg(test)]
mod mutant_codecs;
#[cfg(test)]
mod tests;

/// Page-token codec under test.
pub trait Codec {
    /// The content of a token, apart from its listing and expiry.
    type Position: Clone + PartialEq + fmt::Debug;

    /// Makes a token.
    fn seal(&self, case: &CodecCase<Self::Position>) -> String;

    /// Opens a token.
    ///
    /// # Errors
    /// Fails if the token is not accepted for this listing at this time.
    fn open(
        &self,
        token: &str,
        listing: [u8; 16],
        now: SystemTime,
    ) -> Result<Self::Position, CursorError>;
}

/// Codec whose keys change.
pub trait RotatingCodec: Codec {
    /// Seals with a new key from now on; tokens of earlier keys still open.
    fn rotate(&mut self);

    /// Forgets every key but the current one.
    fn retire(&mut self);
}

/// Input of one seal: the token's content and a nonce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodecCase<P> {
    /// The content of the token.
    pub position: P,
    /// The digest of the listing that the token is bound to.
    pub listing: [u8; 16],
    /// The expiry: a whole second, at least two seconds after the start of 1970.
    pub expires: SystemTime,
    /// Random bytes for this token.
    pub nonce: [u8; 12],
}

impl<P> CodecCase<P> {
    /// Returns the last second at which the token is accepted.
    fn live(&self) -> SystemTime {
        self.expires
            .checked_sub(Duration::from_secs(1))
            .unwrap_or(self.expires)
    }
}

/// Description of a violated law.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodecViolation(pub String);

impl fmt::Display for CodecViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CodecViolation {}

/// Law about one case.
pub type CodecLaw<C> = fn(&C, &CodecCase<<C as Codec>::Position>) -> Result<(), CodecViolation>;

/// Returns every law about one case, by name.
#[must_use]
pub fn all<C: Codec>() -> [(&'static str, CodecLaw<C>); 7] {
    [
        ("round_trip", round_trip),
        ("bit_flips", bit_flips),
        ("truncations", truncations),
        ("extensions", extensions),
        ("listing", listing),
        ("expiry", expiry),
        ("fresh", fresh),
    ]
}

fn hold(kept: bool, broken: impl FnOnce() -> String) -> Result<(), CodecViolation> {
    if kept {
        Ok(())
    } else {
        Err(CodecViolation(broken()))
    }
}

fn refused<C: Codec>(
    codec: &C,
    token: &str,
    case: &CodecCase<C::Position>,
) -> Result<(), CodecViolation> {
    let got = codec.open(token, case.listing, case.live());
    hold(got.is_err(), || {
        format!("{token:?} was accepted as {got:?}")
    })
}

/// Checks that a token opens to the sealed position.
///
/// # Errors
/// Describes the violation, as for all laws below.
pub fn round_trip<C: Codec>(
    codec: &C,
    case: &CodecCase<C::Position>,
) -> Result<(), CodecViolation> {
    let got = codec.open(&codec.seal(case), case.listing, case.live());
    hold(got.as_ref() == Ok(&case.position), || {
        format!("{:?} came back as {got:?}", case.position)
    })
}

/// Checks that a token with any one bit of its text changed is refused.
///
/// # Errors
/// See [`round_trip`].
pub fn bit_flips<C: Codec>(codec: &C, case: &CodecCase<C::Position>) -> Result<(), CodecViolation> {
    let token = codec.seal(case).into_bytes();
    for at in 0..token.len() {
        for bit in 0..8 {
            let mut changed = token.clone();
            if let Some(byte) = changed.get_mut(at) {
                *byte ^= 1 << bit;
            }
            if let Ok(changed) = String::from_utf8(changed) {
                refused(codec, &changed, case)?;
            }
        }
    }
    Ok(())
}

/// Checks that a token with any part missing at its end or its beginning is refused.
///
/// # Errors
/// See [`round_trip`].
pub fn truncations<C: Codec>(
    codec: &C,
    case: &CodecCase<C::Position>,
) -> Result<(), CodecViolation> {
    let token = codec.seal(case);
    for at in 0..token.len() {
        refused(codec, token.get(..at).unwrap_or_default(), case)?;
        refused(codec, token.get(at + 1..).unwrap_or_default(), case)?;
    }
    Ok(())
}

/// Checks that a token with text added to its end or its beginning is refused: characters of its
/// alphabet, up to the size of a whole sort value, padding, white space, or a second token.
///
/// # Errors
/// See [`round_trip`].
pub fn extensions<C: Codec>(
    codec: &C,
    case: &CodecCase<C::Position>,
) -> Result<(), CodecViolation> {
    let token = codec.seal(case);
    let single = (0x20..0x7f_u8).map(|byte| char::from(byte).to_string());
    let runs = (2..=16).map(|n| "A".repeat(n));
    let others = ["==", "===", "\n", "\r\n", "\0", "\u{e9}"].map(str::to_owned);
    for extra in single.chain(runs).chain(others).chain([token.clone()]) {
        refused(codec, &format!("{token}{extra}"), case)?;
        refused(codec, &format!("{extra}{token}"), case)?;
    }
    Ok(())
}

/// Checks that a token is invalid for a listing that differs in any one bit.
///
/// # Errors
/// See [`round_trip`].
pub fn listing<C: Codec>(codec: &C, case: &CodecCase<C::Position>) -> Result<(), CodecViolation> {
    let token = codec.seal(case);
    let value = u128::from_be_bytes(case.listing);
    for bit in 0..128 {
        let other = (value ^ (1 << bit)).to_be_bytes();
        let got = codec.open(&token, other, case.live());
        hold(got == Err(CursorError::Invalid), || {
            format!("another listing (bit {bit}) got {got:?}")
        })?;
    }
    Ok(())
}

/// Checks that a token opens until just before its expiry, and is expired from then on.
///
/// # Errors
/// See [`round_trip`].
pub fn expiry<C: Codec>(codec: &C, case: &CodecCase<C::Position>) -> Result<(), CodecViolation> {
    let token = codec.seal(case);
    let tick = Duration::from_nanos(1);
    let before = case.expires.checked_sub(tick).unwrap_or(case.live());
    let got = codec.open(&token, case.listing, before);
    hold(got.is_ok(), || format!("just before its expiry: {got:?}"))?;
    for late in [
        Duration::ZERO,
        tick,
        Duration::from_secs(1),
        Duration::from_secs(1 << 30),
    ] {
        let got = codec.open(&token, case.listing, case.expires + late);
        hold(got == Err(CursorError::Expired), || {
            format!("{late:?} past its expiry: {got:?}")
        })?;
    }
    Ok(())
}

/// Checks that the same position sealed with another nonce gives another token, and that both open.
///
/// # Errors
/// See [`round_trip`].
pub fn fresh<C: Codec>(codec: &C, case: &CodecCase<C::Position>) -> Result<(), CodecViolation> {
    let mut other = case.clone();
    other.nonce = case.nonce.map(|byte| !byte);
    hold(codec.seal(case) != codec.seal(&other), || {
        "two seals are equal".to_owned()
    })?;
    round_trip(codec, &other)
}

/// Checks that tokens for orders of the same kind have equal lengths, regardless of their content. Both cases must be
/// of one kind.
///
/// # Errors
/// See [`round_trip`].
pub fn length<C: Codec>(
    codec: &C,
    one: &CodecCase<C::Position>,
    other: &CodecCase<C::Position>,
) -> Result<(), CodecViolation> {
    let (one, other) = (codec.seal(one), codec.seal(other));
    hold(one.len() == other.len(), || {
        format!("{one} and {other} differ in length")
    })
}

/// Checks that a token survives rotations, and that tokens made after them open, too.
///
/// # Errors
/// See [`round_trip`].
pub fn rotation<C: RotatingCodec>(
    codec: &mut C,
    case: &CodecCase<C::Position>,
) -> Result<(), CodecViolation> {
    let old = codec.seal(case);
    for turn in 1..=3 {
        codec.rotate();
        let got = codec.open(&old, case.listing, case.live());
        hold(got.as_ref() == Ok(&case.position), || {
            format!("after rotation {turn}: {got:?}")
        })?;
        round_trip(codec, case)?;
    }
    Ok(())
}

/// Checks that a token whose key was retired is expired, and that tokens of the current key still
/// open.
///
/// # Errors
/// See [`round_trip`].
pub fn retirement<C: RotatingCodec>(
    codec: &mut C,
    case: &CodecCase<C::Position>,
) -> Result<(), CodecViolation> {
    let old = codec.seal(case);
    codec.rotate();
    codec.retire();
    let got = codec.open(&old, case.listing, case.live());
    hold(got == Err(CursorError::Expired), || {
        format!("after its key was retired: {got:?}")
    })?;
    round_trip(codec, case)
}
