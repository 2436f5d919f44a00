//! Tests of the token format; its laws are tested in the module `codec_laws`.

use super::*;

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn cursor(after: Vec<i64>) -> Cursor {
    Cursor {
        listing: [7; 16],
        after,
        max_seq: 90,
        rows_sent: 100,
        expires: at(1_000),
    }
}

#[test]
fn a_token_of_two_sort_values_has_ninety_characters() {
    let token = cursor(vec![i64::MIN, 12]).seal(&KeyRing::new(1, [1; 32]), [3; 12]);
    assert_eq!(token.len(), 90);
    assert!(
        token
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'),
        "{token}"
    );
}

#[test]
fn the_two_messages_are_those_of_the_contract() {
    assert_eq!(
        CursorError::Invalid.to_string(),
        "offset: Your pagination token is invalid."
    );
    assert_eq!(
        CursorError::Expired.to_string(),
        "offset: Your pagination token has expired."
    );
}

#[test]
fn garbage_is_invalid() {
    let keys = KeyRing::new(1, [1; 32]);
    for token in [
        "",
        "garbage",
        "AQAB",
        "é",
        "AAAA====",
        &"A".repeat(68),
        &"A".repeat(100_000),
    ] {
        assert_eq!(
            Cursor::open(token, &keys, [7; 16], at(1)),
            Err(CursorError::Invalid)
        );
    }
}

#[test]
fn too_many_sort_values_never_open() {
    let keys = KeyRing::new(1, [1; 32]);
    let token = cursor(vec![1; AFTER_MAX]).seal(&keys, [3; 12]);
    assert_eq!(
        Cursor::open(&token, &keys, [7; 16], at(1)),
        Ok(cursor(vec![1; AFTER_MAX]))
    );
    let token = cursor(vec![1; AFTER_MAX + 1]).seal(&keys, [3; 12]);
    assert_eq!(
        Cursor::open(&token, &keys, [7; 16], at(1)),
        Err(CursorError::Invalid)
    );
}

#[test]
fn fractions_of_a_second_are_cut() {
    let keys = KeyRing::new(1, [1; 32]);
    let mut c = cursor(vec![]);
    c.expires += Duration::from_millis(900);
    let token = c.seal(&keys, [3; 12]);
    assert_eq!(
        Cursor::open(&token, &keys, [7; 16], at(999)),
        Ok(cursor(vec![]))
    );
    assert_eq!(
        Cursor::open(&token, &keys, [7; 16], at(1_000)),
        Err(CursorError::Expired)
    );
}

#[test]
fn listings_tell_their_parts_apart() {
    assert_eq!(
        listing_digest(&[b"ab", b"c"]),
        listing_digest(&[b"ab", b"c"])
    );
    assert_ne!(
        listing_digest(&[b"ab", b"c"]),
        listing_digest(&[b"a", b"bc"])
    );
    assert_ne!(listing_digest(&[b"ab"]), listing_digest(&[b"ab", b""]));
    assert_ne!(listing_digest(&[]), listing_digest(&[b""]));
}

/// This token was made by a program in another language, from the description of the format. Clients hold tokens until they
/// expire, and nodes of one database open each other's.
#[test]
fn tokens_that_clients_hold_still_open() {
    let token = "AQABAwMDAwMDAwMDAwMDjgiGS2ZAynGy10nU1EtJsH1wHb9JdjyIYY9B4i_3LG9EpPwlq4iJL1xOdtAjPvyG8T51kg";
    let (keys, held) = (KeyRing::new(1, [1; 32]), cursor(vec![i64::MIN, 12]));
    assert_eq!(held.seal(&keys, [3; 12]), token);
    assert_eq!(Cursor::open(token, &keys, [7; 16], at(999)), Ok(held));
}
