//! Tickets: short texts in a URL. The holder of the URL may perform one action until the ticket expires.
//!
//! A ticket is base64url of `key id 2 | expiry 8 | tag 32` (bytes, big-endian). The tag is HMAC-SHA-256
//! (RFC 2104) over the expiry and the purpose of the ticket, with a key derived from a key of
//! the ring, for tickets only.
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::keyring::{KeyLookup, KeyRing};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

const PURPOSE: &[u8] = b"workgraph ticket";
const TAG: usize = 32;
const TICKET: usize = 2 + 8 + TAG;

/// Reason why a ticket is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketError {
    /// Not a ticket of this service, changed, or for another purpose.
    Invalid,
    /// Past its expiry, or made with a key that has been retired.
    Expired,
}

impl fmt::Display for TicketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Invalid => "The link is not valid",
            Self::Expired => "The link has expired; ask for a fresh one",
        })
    }
}

impl std::error::Error for TicketError {}

/// Makes a ticket for the purpose `what`, valid until an instant (in whole seconds; fractions are cut
/// off).
#[must_use]
pub fn issue(keys: &KeyRing, what: &str, expires: SystemTime) -> String {
    let (kid, key) = keys.sealing();
    let expires = expires.duration_since(UNIX_EPOCH).unwrap_or_default();
    let expires = expires.as_secs().to_be_bytes();
    let mut ticket = Vec::with_capacity(TICKET);
    ticket.extend_from_slice(&kid.to_be_bytes());
    ticket.extend_from_slice(&expires);
    let tag = hmac::sign(&derived(key), &signed_bytes(expires, what));
    ticket.extend_from_slice(tag.as_ref());
    URL_SAFE_NO_PAD.encode(ticket)
}

/// Checks a ticket for the purpose `what` at an instant. Tags are compared in constant time.
///
/// # Errors
/// Fails if the ticket is not valid for this purpose at this time.
pub fn check(keys: &KeyRing, what: &str, ticket: &str, now: SystemTime) -> Result<(), TicketError> {
    let invalid = TicketError::Invalid;
    let bytes = URL_SAFE_NO_PAD.decode(ticket).map_err(|_| invalid)?;
    let bytes: &[u8; TICKET] = bytes.as_slice().try_into().map_err(|_| invalid)?;
    let (kid, rest) = bytes.split_first_chunk::<2>().ok_or(invalid)?;
    let (expires, tag) = rest.split_first_chunk::<8>().ok_or(invalid)?;
    let key = match keys.find(u16::from_be_bytes(*kid)) {
        KeyLookup::Live(key) => derived(key),
        KeyLookup::Retired => return Err(TicketError::Expired),
        KeyLookup::Unknown => return Err(invalid),
    };
    hmac::verify(&key, &signed_bytes(*expires, what), tag).map_err(|_| invalid)?;
    let end = UNIX_EPOCH.checked_add(Duration::from_secs(u64::from_be_bytes(*expires)));
    if end.is_none_or(|end| now >= end) {
        return Err(TicketError::Expired);
    }
    Ok(())
}

fn derived(key: &[u8; 32]) -> hmac::Key {
    let key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), PURPOSE);
    hmac::Key::new(hmac::HMAC_SHA256, key.as_ref())
}

/// Returns the bytes that the tag of a ticket authenticates.
fn signed_bytes(expires: [u8; 8], what: &str) -> Vec<u8> {
    [&expires[..], what.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_ticket_lets_in_to_one_thing_until_it_expires() {
        let keys = KeyRing::new(1, [7; 32]);
        let ticket = issue(&keys, "a", at(100));
        assert_eq!(check(&keys, "a", &ticket, at(99)), Ok(()));
        assert_eq!(
            check(&keys, "a", &ticket, at(100)),
            Err(TicketError::Expired)
        );
        assert_eq!(
            check(&keys, "b", &ticket, at(99)),
            Err(TicketError::Invalid)
        );
        assert_ne!(ticket, issue(&keys, "a", at(101)), "each time is another");
    }

    #[test]
    fn no_changed_byte_is_taken() {
        let keys = KeyRing::new(1, [7; 32]);
        let ticket = issue(&keys, "a", at(100));
        let bytes = URL_SAFE_NO_PAD.decode(&ticket).unwrap();
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[index] ^= 1 << bit;
                let changed = URL_SAFE_NO_PAD.encode(changed);
                assert_eq!(
                    check(&keys, "a", &changed, at(1)),
                    Err(TicketError::Invalid),
                    "byte {index}"
                );
            }
        }
        for text in ["", "x", "!!", &ticket[1..], &format!("{ticket}A")] {
            assert_eq!(check(&keys, "a", text, at(1)), Err(TicketError::Invalid));
        }
    }

    #[test]
    fn tickets_outlive_the_rotation_of_their_key_but_not_its_end() {
        let mut keys = KeyRing::new(1, [7; 32]);
        let ticket = issue(&keys, "a", at(100));
        keys.rotate(2, [8; 32]).unwrap();
        assert_eq!(check(&keys, "a", &ticket, at(1)), Ok(()));
        keys.retire(1).unwrap();
        assert_eq!(check(&keys, "a", &ticket, at(1)), Err(TicketError::Expired));
    }
}
