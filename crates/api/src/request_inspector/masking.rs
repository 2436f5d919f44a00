//! Masking: removes secrets from recorded requests.
use serde_json::Value;
use std::borrow::Cow;
use workgraph_wire::percent;

/// Replacement for a secret.
const MASK: &str = "***";
/// Maximum size of a body that is parsed for masking, in bytes.
const READ_MAX: usize = 256 << 10;
/// Maximum size of a stored masked body, in bytes.
const KEPT_MAX: usize = 4 << 10;
/// Words that mark the name of a secret.
const SECRET_WORDS: [&str; 11] = [
    "secret",
    "token",
    "password",
    "passwd",
    "signature",
    "credential",
    "authorization",
    "ticket",
    "api_key",
    "apikey",
    "cookie",
];
/// Names of further secret parameters in addresses: they contain none of the words above.
const SECRET_PARAMETERS: [&str; 5] = ["sig", "view", "key", "code", "policy"];
/// Maximum number of times that a part of an address is decoded in search of a secret.
const DECODINGS_MAX: usize = 4;

/// Returns true if a field with this name holds a secret.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Returns true if a parameter with this name in an address holds a secret.
fn is_secret_parameter(name: &str) -> bool {
    is_secret_name(name) || SECRET_PARAMETERS.contains(&name.to_ascii_lowercase().as_str())
}

/// Returns a text without the tokens and secrets of this server (`wgp_...` and the like), the text after `Bearer` or
/// `Basic`, and passwords and secret parameters in addresses.
pub(super) fn masked_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let before = out.chars().next_back();
        if let Some((kept, after)) = secret_at(rest, before) {
            out.push_str(kept);
            out.push_str(MASK);
            rest = after;
        } else {
            out.push(next);
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
        }
    }
    out
}

/// Returns the part before a secret and the text after it, if the text starts with a secret.
fn secret_at(text: &str, before: Option<char>) -> Option<(&str, &str)> {
    let in_word = before.is_some_and(char::is_alphanumeric);
    let split = |kept: usize, secret: usize| Some((text.get(..kept)?, text.get(kept + secret..)?));
    let run = |from: usize, is_part: fn(char) -> bool| {
        let tail = text.get(from..).unwrap_or_default();
        tail.find(|c| !is_part(c)).unwrap_or(tail.len())
    };
    let is_token = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_value = |c: char| !c.is_whitespace() && !"&\"'<>#,;\\".contains(c);
    let head = text.as_bytes();
    if let [b'w', b'g', kind, b'_', ..] = head
        && kind.is_ascii_lowercase()
    {
        let length = run(4, is_token);
        if length >= 8 {
            return split(4, length);
        }
    }
    if text.starts_with("://") {
        let length = run(3, |c| !c.is_whitespace() && !"/?#\"'<>".contains(c));
        let at = text.get(3..3 + length)?.rfind('@')?;
        return split(3, at);
    }
    if in_word {
        return None;
    }
    for scheme in ["bearer ", "basic "] {
        if head
            .get(..scheme.len())
            .is_some_and(|h| h.eq_ignore_ascii_case(scheme.as_bytes()))
        {
            let length = run(scheme.len(), is_value);
            return split(scheme.len(), length).filter(|_| length > 0);
        }
    }
    let in_address = matches!(before, Some('?' | '&' | ';' | '#'));
    if in_address || before.is_none_or(char::is_whitespace) {
        let name = run(0, |c| c.is_alphanumeric() || "_-.".contains(c));
        let is_pair = text.get(name..)?.starts_with('=');
        let word = text.get(..name)?;
        let is_secret = match in_address {
            true => is_secret_parameter(word),
            false => is_secret_name(word),
        };
        if is_pair && is_secret {
            return split(name + 1, run(name + 1, is_value));
        }
    }
    None
}

/// Returns true if a text certainly contains no secret, decoded or not, which is so for nearly all parts of addresses: it
/// has no special character that accompanies a secret, and no underscore that could end the prefix of a token.
fn is_plain(text: &str) -> bool {
    let is_known = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.,~".contains(byte);
    let is_prefix = |four: &[u8]| matches!(four, [b'w', b'g', _, b'_']);
    text.as_bytes().iter().all(is_known) && !text.as_bytes().windows(4).any(is_prefix)
}

/// Masks a part of an address that may be percent-encoded.
fn masked_part(part: &str) -> Cow<'_, str> {
    if is_plain(part) {
        return Cow::Borrowed(part);
    }
    let mut text = part.to_owned();
    for _ in 0..DECODINGS_MAX {
        match percent::decode(text.as_bytes(), true) {
            Ok(plain) if masked_text(&plain) != plain => return Cow::Borrowed(MASK),
            Ok(plain) if plain == text => return Cow::Borrowed(part),
            Ok(plain) => text = plain,
            // A text that was already decoded may contain a single `%`.
            Err(_) if text != part => return Cow::Borrowed(part),
            Err(_) => return Cow::Borrowed(MASK),
        }
    }
    Cow::Borrowed(MASK)
}

/// Returns true if the parameter name in an address, which may be percent-encoded several times, names a secret or can't
/// be decoded.
fn has_secret_name(name: &str) -> bool {
    let mut text = name.to_owned();
    for _ in 0..DECODINGS_MAX {
        if is_secret_parameter(&text) {
            return true;
        }
        match percent::decode(text.as_bytes(), true) {
            Ok(plain) if plain == text => return false,
            Ok(plain) => text = plain,
            Err(_) => return text == name,
        }
    }
    true
}

/// Returns a path without secrets in its segments.
pub(super) fn masked_path(path: &str) -> String {
    let parts: Vec<_> = path.split('/').map(masked_part).collect();
    parts.join("/")
}

/// Returns a query or form without secret values.
pub(super) fn masked_query(query: &str) -> String {
    let masked = |pair: &str| {
        let Some((name, value)) = pair.split_once('=') else {
            return masked_part(pair).into_owned();
        };
        match has_secret_name(name) {
            true => format!("{}={MASK}", masked_part(name)),
            false => format!("{}={}", masked_part(name), masked_part(value)),
        }
    };
    let parts: Vec<String> = query.split('&').map(masked).collect();
    parts.join("&")
}

/// Returns a body without secrets, cut off at a maximum size. For a body that is neither JSON nor a form, returns its size.
pub(super) fn masked_body(body: &[u8], content_type: Option<&str>) -> String {
    if body.is_empty() {
        return String::new();
    }
    let counted = || format!("({} bytes that are not shown)", body.len());
    if body.len() > READ_MAX {
        return counted();
    }
    if let Ok(mut value) = serde_json::from_slice::<Value>(body) {
        mask_value(&mut value);
        return cut(&value.to_string(), KEPT_MAX);
    }
    let is_form = content_type.is_some_and(|kind| kind.contains("x-www-form-urlencoded"));
    match std::str::from_utf8(body) {
        Ok(form) if is_form => cut(&masked_query(form), KEPT_MAX),
        _ => counted(),
    }
}

/// Cuts a text off at this many bytes, and marks it as cut.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub('…'.len_utf8()));
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// Masks the secrets in a value, including field names.
fn mask_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = masked_text(text),
        Value::Array(items) => items.iter_mut().for_each(mask_value),
        Value::Object(fields) => {
            let all = std::mem::take(fields);
            for (name, mut value) in all {
                match is_secret_name(&name) && !value.is_null() {
                    true => value = Value::String(MASK.to_owned()),
                    false => mask_value(&mut value),
                }
                fields.insert(masked_text(&name), value);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A text that is considered plain is not changed by masking.
        #[test]
        fn a_plain_text_has_nothing_to_mask(text in "(wgp_|wg|bearer|[a-zA-Z0-9_.,~-]|[ =%+:/?&])*[a-z]{0,12}") {
            if is_plain(&text) {
                prop_assert_eq!(masked_text(&text), text.clone());
                prop_assert_eq!(percent::decode(text.as_bytes(), true), Ok(text));
            } else {
                prop_assert!(text.contains("wg") || text.contains([' ', '=', '%', '+', ':', '/', '?', '&']));
            }
        }
    }

    const TOKEN: &str = "wgp_HOAOHmJAhVhTYPCoF6cZkqW9sQFwbVuJ5eJMbbLfje8Rb2tXg";

    /// S296.
    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        let texts = [
            TOKEN.to_owned(),
            format!("x{TOKEN}"),
            format!("Authorization: bearer {TOKEN}"),
            "Basic SECRETVALUE".to_owned(),
            "https://h.example/f?ticket=SECRETVALUE&a=1".to_owned(),
            "https://h.example/f?a=1&view=SECRETVALUE".to_owned(),
            "https://b.example/o?X-Amz-Signature=SECRETVALUE".to_owned(),
            "https://user:SECRETVALUE@h.example/".to_owned(),
            "https://h.example/f#access_token=SECRETVALUE".to_owned(),
            "https://c.example/o?Policy=SECRETVALUE&a=1".to_owned(),
        ];
        for text in &texts {
            let masked = masked_text(text);
            assert!(masked.contains(MASK), "{text}");
            for secret in [&TOKEN[4..], "SECRETVALUE"] {
                assert!(!masked.contains(secret), "{masked}");
            }
            let body =
                serde_json::json!({ "data": [{ "html": text, (text.clone()): 1 }] }).to_string();
            let masked = masked_body(body.as_bytes(), None);
            assert!(
                !masked.contains("SECRETVALUE") && !masked.contains(&TOKEN[4..]),
                "{masked}"
            );
            let once = percent::encode_component(text).to_string();
            let twice = masked_query(&format!("a={}", percent::encode_component(&once)));
            assert!(
                !twice.contains("SECRETVALUE") && !twice.contains(&TOKEN[4..]),
                "{twice}"
            );
            let query = format!("a={}", percent::encode_component(text));
            let masked = masked_query(&query);
            assert!(
                !masked.contains("SECRETVALUE") && !masked.contains(&TOKEN[4..]),
                "{masked}"
            );
        }
        for name in [
            "client_secret",
            "X-Hook-Secret",
            "access_token",
            "Password",
            "Authorization",
        ] {
            let body =
                serde_json::json!({ "data": { name: { "deep": "SECRETVALUE" } } }).to_string();
            assert!(
                !masked_body(body.as_bytes(), None).contains("SECRETVALUE"),
                "{name}"
            );
            let form = format!("a=1&{name}=SECRETVALUE");
            let kind = Some("application/x-www-form-urlencoded");
            assert_eq!(
                masked_body(form.as_bytes(), kind),
                format!("a=1&{name}=***")
            );
        }
        for name in [
            "access%5Ftoken",
            "access%255Ftoken",
            "%2561ccess_token",
            "Policy",
            "%50olicy",
            "X-Amz-Signature",
            "sig",
        ] {
            let masked = masked_query(&format!("a=1&{name}=SECRETVALUE"));
            assert_eq!(masked, format!("a=1&{name}=***"));
        }
        for encodings in 1..=6 {
            let (mut token, mut address) = (
                TOKEN.replace('_', "%5f"),
                "https://h.example/#Policy=SECRETVALUE".to_owned(),
            );
            for _ in 0..encodings {
                token = percent::encode_component(&token).to_string();
                address = percent::encode_component(&address).to_string();
            }
            for text in [
                masked_path(&format!("/tasks/{token}")),
                masked_query(&format!("a={token}&b={address}")),
                masked_query(&token),
            ] {
                let shows = text.contains("SECRETVALUE") || text.contains(&TOKEN[8..]);
                assert!(!shows, "{encodings}: {text}");
            }
        }
        assert_eq!(masked_path(&format!("/tasks/{TOKEN}")), "/tasks/***");
        assert_eq!(
            masked_body(b"{\"client_secret\": \"SECRETVALUE\"", None),
            "(31 bytes that are not shown)"
        );
    }

    /// S296.
    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "",
            "wg_",
            "wgp_short",
            "https://h.example/a?b=c",
            "a bearer",
            "50% of & \u{1f600}",
            "name@x.example",
        ] {
            assert_eq!(masked_text(text), text);
        }
        let query = "opt_fields=name,assignee.name&limit=10&text=50%25";
        assert_eq!(masked_query(query), query);
        assert_eq!(masked_path("/tasks/123"), "/tasks/123");
        let long = format!("[\"{}\"]", "ä".repeat(10_000));
        let masked = masked_body(long.as_bytes(), None);
        assert!(
            masked.len() <= KEPT_MAX && masked.ends_with('…'),
            "{}",
            masked.len()
        );
    }
}
