//! Percent-coding of paths, queries and forms (RFC 3986 section 2.1), strict when reading.
/// Reason why a text could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PercentError {
    /// A `%` without two hexadecimal digits.
    Percent,
    /// The bytes are not UTF-8.
    Utf8,
    /// The text contains a NUL.
    Nul,
}

/// Unreserved characters besides letters and digits (RFC 3986 section 2.3), which are never encoded.
const COMPONENT: &[u8] = b"-._~";

/// Characters that are not encoded in the names and values of queries written by this crate.
const QUERY: &[u8] = b"-._~,:@/()*";

/// Decodes `raw`; if `plus` is true, `+` means a space.
///
/// # Errors
/// Fails for a `%` without two hexadecimal digits, a NUL, or bytes that are not UTF-8.
pub fn decode(raw: &[u8], plus: bool) -> Result<String, PercentError> {
    // Nearly all texts contain no escapes.
    if !has_escape(raw) {
        let text = std::str::from_utf8(raw).map_err(|_| PercentError::Utf8)?;
        return Ok(text.to_owned());
    }
    let mut escapes = raw.split(|byte| *byte == b'%').skip(1);
    let is_whole = |after: &[u8]| matches!(after, [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    if !escapes.all(is_whole) {
        return Err(PercentError::Percent);
    }
    let bytes = unescape(raw, plus);
    if bytes.contains(&0) {
        return Err(PercentError::Nul);
    }
    String::from_utf8(bytes).map_err(|_| PercentError::Utf8)
}

/// Returns true if bytes have an escape or a NUL. All bytes are looked at, without a branch for each, so that the compiler can
/// look at many at once.
fn has_escape(raw: &[u8]) -> bool {
    let is_special = |byte| matches!(byte, b'%' | b'+' | 0);
    raw.iter()
        .fold(false, |found, byte| found | is_special(*byte))
}

/// Decodes the escapes of a text and leaves every other `%` unchanged. If the result is not UTF-8, only the
/// escaped quote (`%22`) is decoded, which browsers use in file names.
#[must_use]
pub fn decode_whole_escapes(text: &str) -> String {
    String::from_utf8(unescape(text.as_bytes(), false))
        .unwrap_or_else(|_| text.replace("%22", "\""))
}

/// Appends `text`, encoded as a name or value of a query.
pub(crate) fn encode(out: &mut String, text: &str) {
    escape(out, text, QUERY);
}

/// Encodes everything but unreserved characters, so that the text decodes in the same way in a path, a query, a form and a
/// fragment.
#[must_use]
pub fn encode_component(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    escape(&mut out, text, COMPONENT);
    out
}

/// Appends `text` with every byte encoded except letters, digits and the characters in `plain`.
fn escape(out: &mut String, text: &str, plain: &[u8]) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(upper_hex(byte >> 4));
            out.push(upper_hex(byte & 15));
        }
    }
}

/// Decodes the escapes of a text and leaves every other `%` unchanged; if `plus` is true, `+` means a space.
fn unescape(raw: &[u8], plus: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let [first, after @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, after @ ..] => hex(*high).zip(hex(*low)).zip(Some(after)),
            _ => None,
        };
        match escaped {
            Some(((high, low), after)) => {
                bytes.push(high << 4 | low);
                rest = after;
            }
            None => {
                bytes.push(if plus && *first == b'+' { b' ' } else { *first });
                rest = after;
            }
        }
    }
    bytes
}

fn upper_hex(nibble: u8) -> char {
    char::from(if nibble < 10 {
        b'0' + nibble
    } else {
        b'A' - 10 + nibble
    })
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
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
