//! Our codec as an input for the laws, and mutants of it with one flaw each.

use std::time::UNIX_EPOCH;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::*;
use crate::cursor::Cursor;
use crate::keyring::KeyRing;

pub(super) type CodecPosition = (Vec<i64>, u64, u32);

/// Flaw of a mutant codec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Seals every token for the same listing.
    Unbound,
    /// Encodes without sealing: fixed-width fields after the listing.
    Unsealed,
    /// Encodes decimal text without sealing.
    Decimal,
    /// Accepts a token at the second of its expiry.
    Late,
    /// Stops reading where a valid token would end.
    Trailing,
    /// Starts reading where a valid token would begin and fills in missing text at its end.
    Padding,
    /// Uses one nonce for all tokens.
    OneNonce,
    /// Loses a field of the position.
    Forgets,
    /// Drops the old key when it rotates.
    DropsKey,
    /// Reports a token of a retired key as invalid.
    Amnesia,
    /// Keeps keys that were retired.
    Hoards,
}

/// Our codec, possibly with a flaw.
pub(super) struct TestedCodec {
    keys: KeyRing,
    flaw: Option<Flaw>,
}

impl TestedCodec {
    pub(super) fn new(key: [u8; 32], flaw: Option<Flaw>) -> Self {
        Self {
            keys: KeyRing::new(1, key),
            flaw,
        }
    }

    fn read(
        &self,
        token: &str,
        listing: [u8; 16],
        now: SystemTime,
    ) -> Result<CodecPosition, CursorError> {
        let cursor = Cursor::open(token, &self.keys, listing, now)?;
        Ok((cursor.after, cursor.max_seq, cursor.rows_sent))
    }
}

/// Returns the key id of a token: two bytes after the version.
fn kid(token: &str) -> Option<u16> {
    let head = URL_SAFE_NO_PAD.decode(token.get(..4)?).ok()?;
    Some(u16::from_be_bytes(*head.last_chunk()?))
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Returns the fields of an unsealed token, as bytes or as text.
fn unsealed(case: &CodecCase<CodecPosition>, decimal: bool) -> Vec<u8> {
    let (after, upto, sent) = &case.position;
    let mut fields = vec![
        i128::from(seconds(case.expires)),
        i128::from(*upto),
        i128::from(*sent),
    ];
    fields.extend(after.iter().map(|n| i128::from(*n)));
    if decimal {
        let text: Vec<_> = fields.iter().map(ToString::to_string).collect();
        return [&case.listing[..], text.join(":").as_bytes()].concat();
    }
    fields.iter().fold(case.listing.to_vec(), |out, n| {
        [out, n.to_be_bytes().to_vec()].concat()
    })
}

fn read_unsealed(
    token: &str,
    listing: [u8; 16],
    now: SystemTime,
    decimal: bool,
) -> Option<Result<CodecPosition, CursorError>> {
    let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
    let fields = bytes.strip_prefix(&listing)?;
    let fields: Vec<i128> = if decimal {
        let text = String::from_utf8_lossy(fields);
        text.split(':').filter_map(|n| n.parse().ok()).collect()
    } else {
        let exact = fields.len() % 16 == 0;
        exact.then(|| {
            fields
                .chunks(16)
                .map(|c| i128::from_be_bytes(c.try_into().unwrap()))
                .collect()
        })?
    };
    let [expires, upto, sent, after @ ..] = &fields[..] else {
        return None;
    };
    if now >= UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(*expires).ok()?))? {
        return Some(Err(CursorError::Expired));
    }
    let after = after
        .iter()
        .map(|n| i64::try_from(*n).ok())
        .collect::<Option<_>>()?;
    Some(Ok((
        after,
        u64::try_from(*upto).ok()?,
        u32::try_from(*sent).ok()?,
    )))
}

impl Codec for TestedCodec {
    type Position = CodecPosition;

    fn seal(&self, case: &CodecCase<CodecPosition>) -> String {
        let unbound = self.flaw == Some(Flaw::Unbound);
        let nonce = if self.flaw == Some(Flaw::OneNonce) {
            [0; 12]
        } else {
            case.nonce
        };
        match self.flaw {
            Some(Flaw::Unsealed) => {
                return URL_SAFE_NO_PAD.encode([&case.nonce[..], &unsealed(case, false)].concat());
            }
            Some(Flaw::Decimal) => {
                return URL_SAFE_NO_PAD.encode([&case.nonce[..], &unsealed(case, true)].concat());
            }
            _ => {}
        }
        let (after, upto, sent) = case.position.clone();
        let listing = if unbound { [0; 16] } else { case.listing };
        let sent = if self.flaw == Some(Flaw::Forgets) {
            0
        } else {
            sent
        };
        Cursor {
            listing,
            after,
            max_seq: upto,
            rows_sent: sent,
            expires: case.expires,
        }
        .seal(&self.keys, nonce)
    }

    fn open(
        &self,
        token: &str,
        listing: [u8; 16],
        now: SystemTime,
    ) -> Result<CodecPosition, CursorError> {
        let plain = |decimal| {
            // The nonce has 12 bytes, which are 16 characters.
            let fields = token.get(16..).unwrap_or_default();
            read_unsealed(fields, listing, now, decimal).unwrap_or(Err(CursorError::Invalid))
        };
        match self.flaw {
            Some(Flaw::Unbound) => self.read(token, [0; 16], now),
            Some(Flaw::Unsealed) => plain(false),
            Some(Flaw::Decimal) => plain(true),
            Some(Flaw::Late) => self.read(token, listing, now - Duration::from_nanos(1)),
            Some(Flaw::Trailing) => {
                let mut heads = (0..=token.len()).rev().filter_map(|end| token.get(..end));
                heads
                    .find_map(|head| self.read(head, listing, now).ok())
                    .map_or_else(|| self.read(token, listing, now), Ok)
            }
            Some(Flaw::Padding) => {
                let ends = ('A'..='Z')
                    .chain('a'..='z')
                    .chain('0'..='9')
                    .chain(['-', '_']);
                let mut tokens = ends.map(|end| format!("{token}{end}"));
                let direct = self.read(token, listing, now);
                direct.or_else(|error| {
                    tokens
                        .find_map(|t| self.read(&t, listing, now).ok())
                        .ok_or(error)
                })
            }
            Some(Flaw::Amnesia) if kid(token) != Some(self.keys.current()) => {
                Err(CursorError::Invalid)
            }
            _ => self.read(token, listing, now),
        }
    }
}

impl RotatingCodec for TestedCodec {
    fn rotate(&mut self) {
        let old = self.keys.current();
        let kid = old + 1;
        let key = [u8::try_from(kid).unwrap(); 32];
        self.keys.rotate(kid, key).unwrap();
        if self.flaw == Some(Flaw::DropsKey) {
            self.keys.retire(old).unwrap();
        }
    }

    fn retire(&mut self) {
        if self.flaw != Some(Flaw::Hoards) {
            for kid in 0..self.keys.current() {
                self.keys.retire(kid).unwrap();
            }
        }
    }
}
