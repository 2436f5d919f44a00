//! Properties of page tokens through the public interface; the laws themselves run inside the crate.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use workgraph_wire::{Cursor, CursorError, KeyRing, QueryParams, listing_digest};

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn cursor(listing: [u8; 16], after: Vec<i64>) -> Cursor {
    Cursor {
        listing,
        after,
        max_seq: 7,
        rows_sent: 50,
        expires: at(86_400),
    }
}

type Parts = [Vec<u8>; 5];

fn digest(parts: &Parts) -> [u8; 16] {
    listing_digest(&parts.each_ref().map(Vec::as_slice))
}

/// Digests parts that are joined without their lengths: the broken twin.
fn joined(parts: &Parts) -> [u8; 16] {
    listing_digest(&[&parts.concat()])
}

/// Returns true if moving the last byte of a part to the front of the next gives another listing.
fn keeps_borders(parts: &Parts, digest: fn(&Parts) -> [u8; 16]) -> bool {
    let mut moved = parts.clone();
    let [first, second, ..] = &mut moved;
    match first.pop() {
        Some(byte) => second.insert(0, byte),
        None => return true,
    }
    digest(parts) != digest(&moved)
}

proptest! {
    #[test]
    fn no_text_is_a_token(token in any::<String>(), bytes in prop::collection::vec(any::<u8>(), 0..160)) {
        let keys = KeyRing::new(1, [1; 32]);
        prop_assert!(Cursor::open(&token, &keys, [0; 16], at(0)).is_err());
        let token = URL_SAFE_NO_PAD.encode(&bytes);
        prop_assert!(Cursor::open(&token, &keys, [0; 16], at(0)).is_err());
        let plausible = [&[1, 0, 1][..], &bytes].concat();
        let refused = Cursor::open(&URL_SAFE_NO_PAD.encode(plausible), &keys, [0; 16], at(0));
        prop_assert_eq!(refused, Err(CursorError::Invalid));
    }

    #[test]
    fn a_token_has_one_spelling(after in prop::collection::vec(any::<i64>(), 0..=8), nonce in any::<[u8; 12]>()) {
        let keys = KeyRing::new(1, [1; 32]);
        let token = cursor([3; 16], after).seal(&keys, nonce);
        let bytes = URL_SAFE_NO_PAD.decode(&token).unwrap_or_default();
        for other in [URL_SAFE.encode(&bytes), STANDARD_NO_PAD.encode(&bytes)] {
            prop_assert!(other == token || Cursor::open(&other, &keys, [3; 16], at(0)).is_err());
        }
        prop_assert!(Cursor::open(&token, &keys, [3; 16], at(0)).is_ok());
    }

    #[test]
    fn any_other_key_refuses(key in any::<[u8; 32]>(), bit in 0..256_usize, nonce in any::<[u8; 12]>()) {
        let token = cursor([3; 16], vec![1]).seal(&KeyRing::new(1, key), nonce);
        let mut other = key;
        if let Some(byte) = other.get_mut(bit / 8) {
            *byte ^= 1 << (bit % 8);
        }
        prop_assert_eq!(Cursor::open(&token, &KeyRing::new(1, other), [3; 16], at(0)), Err(CursorError::Invalid));
        prop_assert_eq!(Cursor::open(&token, &KeyRing::new(2, key), [3; 16], at(0)), Err(CursorError::Invalid));
        let mut known = KeyRing::new(2, other);
        prop_assert_eq!(known.retire(1), Ok(()));
        prop_assert_eq!(Cursor::open(&token, &known, [3; 16], at(0)), Err(CursorError::Expired));
    }

    #[test]
    fn every_part_of_a_listing_counts(parts in any::<Parts>(), part in 0..5_usize, extra in any::<u8>()) {
        let mut other = parts.clone();
        if let Some(part) = other.get_mut(part) {
            part.push(extra);
        }
        prop_assert_ne!(digest(&parts), digest(&other));
        prop_assert!(keeps_borders(&parts, digest));
    }

    #[test]
    fn a_token_survives_its_way_through_a_query(after in prop::collection::vec(any::<i64>(), 0..=8), nonce in any::<[u8; 12]>()) {
        let keys = KeyRing::new(1, [1; 32]);
        let cursor = cursor([3; 16], after);
        let path = QueryParams::default().next_page_query(Some(100), &cursor.seal(&keys, nonce));
        let query = QueryParams::parse(&path).unwrap_or_default();
        let token = query.get("offset").ok().flatten().unwrap_or_default();
        prop_assert_eq!(Cursor::open(token, &keys, [3; 16], at(86_399)), Ok(cursor));
    }
}

#[test]
fn a_digest_without_lengths_loses_the_borders() {
    let parts = [b"user 1".to_vec(), b"app".to_vec(), vec![], vec![], vec![]];
    assert!(keeps_borders(&parts, digest) && !keeps_borders(&parts, joined));
}

#[test]
fn a_node_that_learns_the_next_key_early_opens_its_tokens() {
    let (mut ahead, mut behind) = (KeyRing::new(1, [1; 32]), KeyRing::new(1, [1; 32]));
    assert_eq!(
        (ahead.rotate(2, [2; 32]), behind.add(2, [2; 32])),
        (Ok(()), Ok(()))
    );
    let token = cursor([3; 16], vec![1]).seal(&ahead, [9; 12]);
    assert!(Cursor::open(&token, &behind, [3; 16], at(0)).is_ok());
}

#[test]
fn a_far_expiry_is_kept() {
    let keys = KeyRing::new(1, [1; 32]);
    let mut endless = cursor([3; 16], vec![1]);
    endless.expires = at(u64::from(u32::MAX) * 1_000);
    let token = endless.seal(&keys, [9; 12]);
    assert_eq!(
        Cursor::open(&token, &keys, [3; 16], at(u64::from(u32::MAX))),
        Ok(endless)
    );
}
