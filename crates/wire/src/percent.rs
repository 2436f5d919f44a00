//! Percent-coding of paths, queries and forms (RFC 3986 section 2.1), strict when reading.
use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};

/// Reason for which a text could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PercentError {
    /// A `%` without two hexadecimal digits.
    Percent,
    /// The bytes are not UTF-8.
    Utf8,
    /// The text holds a NUL.
    Nul,
}

/// Characters that are coded in the names and values of queries that this crate writes.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b',')
    .remove(b':')
    .remove(b'@')
    .remove(b'/')
    .remove(b'(')
    .remove(b')')
    .remove(b'*');

/// Characters that are coded wherever a text stands: all but the unreserved ones (RFC 3986 section 2.3).
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Decodes `raw`; if `plus` is true, `+` means a space.
///
/// # Errors
/// A `%` without two hexadecimal digits, a NUL, or bytes that are not UTF-8.
pub fn decode(raw: &[u8], plus: bool) -> Result<String, PercentError> {
    // Nearly all texts are as they read.
    if !raw.iter().any(|byte| matches!(byte, b'%' | b'+' | 0)) {
        let text = str::from_utf8(raw).map_err(|_| PercentError::Utf8)?;
        return Ok(text.to_owned());
    }
    let mut escapes = raw.split(|byte| *byte == b'%').skip(1);
    let is_whole = |after: &[u8]| matches!(after, [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    if !escapes.all(is_whole) {
        return Err(PercentError::Percent);
    }
    let bytes: Vec<u8> = if plus && raw.contains(&b'+') {
        let space = |byte: &u8| if *byte == b'+' { b' ' } else { *byte };
        percent_decode(&raw.iter().map(space).collect::<Vec<u8>>()).collect()
    } else {
        Cow::from(percent_decode(raw)).into_owned()
    };
    if bytes.contains(&0) {
        return Err(PercentError::Nul);
    }
    String::from_utf8(bytes).map_err(|_| PercentError::Utf8)
}

/// Decodes the escapes of a text and leaves each `%` that begins none as it is. A text whose escapes are not UTF-8
/// keeps them, but that of the quote, which browsers write in names of files.
#[must_use]
pub fn decode_whole_escapes(text: &str) -> String {
    match percent_decode(text.as_bytes()).decode_utf8() {
        Ok(decoded) => decoded.into_owned(),
        Err(_) => text.replace("%22", "\""),
    }
}

/// Appends `text`, coded as a name or value of a query.
pub(crate) fn encode(out: &mut String, text: &str) {
    out.extend(utf8_percent_encode(text, QUERY));
}

/// Codes everything but unreserved characters, so that the text reads back in a path, a query, a form and a fragment
/// alike.
#[must_use]
pub fn encode_component(text: &str) -> String {
    utf8_percent_encode(text, COMPONENT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_is_strict() {
        assert_eq!(decode(b"a%20b+c%C3%A9", true), Ok("a b cé".to_owned()));
        assert_eq!(decode(b"a+b", false), Ok("a+b".to_owned()));
        for bad in [&b"%"[..], b"%2", b"%zz", b"%+1", b"%%41", b"100%"] {
            assert_eq!(decode(bad, true), Err(PercentError::Percent), "{bad:?}");
        }
        for bad in [&b"%ff"[..], b"%c3", b"%c0%af", b"%ed%a0%80", b"\xff"] {
            assert_eq!(decode(bad, true), Err(PercentError::Utf8), "{bad:?}");
        }
        assert_eq!(decode(b"a%00", true), Err(PercentError::Nul));
    }

    #[test]
    fn encoding_leaves_only_what_a_query_allows() {
        let mut out = String::new();
        encode(&mut out, "a b&c=d+e%é,f.g|h");
        assert_eq!(out, "a%20b%26c%3Dd%2Be%25%C3%A9,f.g%7Ch");
    }

    #[test]
    fn a_component_keeps_unreserved_characters_alone() {
        assert_eq!(encode_component("-._~aZ0"), "-._~aZ0");
        for c in ('\0'..='\x7f').filter(|c| !c.is_ascii_alphanumeric() && !"-._~".contains(*c)) {
            assert_eq!(
                encode_component(&c.to_string()),
                format!("%{:02X}", u32::from(c))
            );
        }
        assert_eq!(encode_component("é/+"), "%C3%A9%2F%2B");
    }
}
