//! Tokens: their form, and that nothing near a token passes for it.
use std::collections::HashSet;

use workgraph_auth::tokens::token_text::TOKEN_CHARS;
use workgraph_auth::{Secret, SecretDigest, TokenKind, TokenPrefixes, mint_token, token_digest};

use crate::random;

/// Look-up that returns true if a presented text is taken for one of the stored tokens.
type Lookup<'a> = &'a dyn Fn(&str) -> bool;

fn thousand() -> Vec<(Secret, SecretDigest)> {
    (0..1000)
        .map(|n| mint_token(TokenKind::ALL[n as usize % 4], &random(n)))
        .collect()
}

/// Returns every text near `token` that is not `token`: cut, extended, edited, with another prefix
/// or case.
fn neighbours(token: &str) -> Vec<String> {
    let mut near: Vec<String> = Vec::new();
    for cut in 0..token.len() {
        near.push(token[..cut].to_owned());
        near.push(token[token.len() - cut..].to_owned());
    }
    for extra in ["=", "A", "_", " ", "\0", "\n", "%00", "é", token] {
        near.push(format!("{token}{extra}"));
        near.push(format!("{extra}{token}"));
    }
    for at in 0..token.len() {
        let (head, tail) = (&token[..at], &token[at + 1..]);
        near.push(format!("{head}{tail}"));
        for other in ["A", "b", "0", "-", "_", "=", "%", " ", "é"] {
            near.push(format!("{head}{other}{tail}"));
            near.push(format!("{head}{other}{}", &token[at..]));
        }
        let old = token.as_bytes()[at] as char;
        for flipped in [old.to_ascii_uppercase(), old.to_ascii_lowercase()] {
            near.push(format!("{head}{flipped}{tail}"));
        }
    }
    near.push(token.to_ascii_uppercase());
    near.push(token.to_ascii_lowercase());
    near.push(token.chars().rev().collect());
    for kind in TokenKind::ALL {
        near.push(format!(
            "{}{}",
            TokenPrefixes::DEFAULT.of(kind),
            &token[4..]
        ));
    }
    near.retain(|text| text != token);
    near
}

/// Returns the first neighbour of a token that is taken for a token, if any.
fn passes(tokens: &[(Secret, SecretDigest)], lookup: Lookup<'_>) -> Option<String> {
    tokens.iter().find_map(|(secret, _)| {
        neighbours(secret.expose())
            .into_iter()
            .find(|text| lookup(text))
    })
}

#[test]
fn a_token_is_found_by_its_own_text() {
    let tokens = thousand();
    let stored: HashSet<SecretDigest> = tokens
        .iter()
        .map(|(_, token_digest)| *token_digest)
        .collect();
    assert_eq!(stored.len(), 1000);
    for (secret, expected) in &tokens {
        assert_eq!(token_digest(secret.expose()), Some(*expected));
        assert_eq!(SecretDigest::of(secret.expose()), *expected);
    }
}

/// B52. Cut, extended, edited and re-cased texts of a thousand tokens find nothing.
#[test]
fn nothing_near_a_token_passes_for_it() {
    let tokens = thousand();
    let stored: HashSet<SecretDigest> = tokens
        .iter()
        .map(|(_, token_digest)| *token_digest)
        .collect();
    let whole = |text: &str| token_digest(text).is_some_and(|digest| stored.contains(&digest));
    assert_eq!(passes(&tokens, &whole), None);
}

/// The digest alone keeps neighbours out; form and checksum only spare look-ups.
#[test]
fn the_digest_alone_suffices() {
    let tokens: Vec<_> = thousand().into_iter().step_by(20).collect();
    let stored: HashSet<SecretDigest> = tokens
        .iter()
        .map(|(_, token_digest)| *token_digest)
        .collect();
    assert_eq!(
        passes(&tokens, &|text| stored.contains(&SecretDigest::of(text))),
        None
    );
}

/// B52. Look-ups that are known to have gone wrong elsewhere are noticed.
#[test]
fn broken_lookups_are_noticed() {
    let tokens: Vec<_> = thousand().into_iter().take(3).collect();
    let any = |same: &dyn Fn(&str) -> bool| tokens.iter().any(|(secret, _)| same(secret.expose()));
    let broken: [(&str, Lookup<'_>); 5] = [
        ("truncated", &|text| {
            any(&|token| !text.is_empty() && token.starts_with(text))
        }),
        ("extended", &|text| any(&|token| text.starts_with(token))),
        ("case", &|text| {
            any(&|token| token.eq_ignore_ascii_case(text))
        }),
        ("kind", &|text| {
            any(&|token| token.get(4..) == text.get(4..))
        }),
        ("padding", &|text| {
            any(&|token| text.trim_end_matches('=') == token)
        }),
    ];
    for (what, lookup) in broken {
        assert!(passes(&tokens, lookup).is_some(), "{what}");
    }
}

/// B66. A text of good form that was never issued has a digest, and finds nothing.
#[test]
fn another_kind_of_the_same_bits_is_another_token() {
    let digests: HashSet<SecretDigest> = TokenKind::ALL
        .into_iter()
        .map(|kind| mint_token(kind, &random(1)).1)
        .collect();
    assert_eq!(digests.len(), 4);
}

#[test]
fn impossible_texts_have_no_digest() {
    let huge = "A".repeat(1 << 20);
    let no_kind = format!("wgx_{}", "A".repeat(TOKEN_CHARS - 4));
    let wide = "é".repeat(TOKEN_CHARS / 2) + "A";
    assert_eq!(wide.len(), TOKEN_CHARS);
    for text in [
        "",
        "wgp_",
        "0/0123456789abcdef",
        "null",
        "undefined",
        &huge,
        &no_kind,
        &wide,
    ] {
        assert_eq!(
            token_digest(text),
            None,
            "{}",
            text.get(..8).unwrap_or(text)
        );
    }
}

/// A garbled token costs no look-up: its checksum no longer fits.
#[test]
fn neighbours_of_a_token_have_no_digest() {
    for (secret, _) in thousand().iter().step_by(100) {
        for text in neighbours(secret.expose()) {
            assert_eq!(token_digest(&text), None, "{text}");
        }
    }
}

/// B66. Prefix, 256 random bits, checksum.
#[test]
fn the_form_is_stable() {
    let (secret, digest) = mint_token(TokenKind::Personal, &[0; 32]);
    let text = secret.expose();
    assert_eq!(text.len(), TOKEN_CHARS);
    assert_eq!(&text[..47], format!("wgp_{}", "A".repeat(43)));
    assert_eq!(digest.key(), digest.0[..16]);
    // Stored digests outlive the program: this token stays recognised by every later version.
    assert_eq!(
        text,
        "wgp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAySsjQA"
    );
}

#[test]
fn kinds_are_stored_by_name() {
    for kind in TokenKind::ALL {
        assert_eq!(TokenKind::from_name(kind.name()), Some(kind));
    }
    assert_eq!(TokenKind::from_name("Personal"), None);
    assert_eq!(TokenKind::from_name(""), None);
}

/// B63. Secrets do not print; that they have no `Display` is a test in the documentation.
#[test]
fn secrets_do_not_leak_through_debug() {
    let (secret, digest) = mint_token(TokenKind::Personal, &random(1));
    assert_eq!(format!("{secret:?}"), "Secret(..)");
    assert_eq!(format!("{secret:#?}"), "Secret(..)");
    let record = crate::record(TokenKind::Personal);
    let login = workgraph_auth::Login::new("a@b.example", Secret::new("$argon2id$x".to_owned()));
    for shown in [
        format!("{record:?}"),
        format!("{login:?}"),
        format!("{digest:?}"),
    ] {
        assert!(!shown.contains(&secret.expose()[4..12]), "{shown}");
        assert!(!shown.contains("argon"), "{shown}");
    }
}
