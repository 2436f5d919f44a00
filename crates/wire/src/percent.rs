//! Percent-coding of queries and forms (RFC 3986 section 2.1), strict when reading.

/// Reason for which a text could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PercentError {
    /// A `%` without two hexadecimal digits.
    Percent,
    /// The bytes are not UTF-8.
    Utf8,
    /// The text holds a NUL.
    Nul,
}

/// Decodes `raw`; if `plus` is true, `+` means a space.
pub(crate) fn decode(raw: &[u8], plus: bool) -> Result<String, PercentError> {
    let mut out = Vec::with_capacity(raw.len());
    let mut bytes = raw.iter().copied();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let high = bytes.next().and_then(digit).ok_or(PercentError::Percent)?;
                let low = bytes.next().and_then(digit).ok_or(PercentError::Percent)?;
                (high << 4) | low
            }
            b'+' if plus => b' ',
            other => other,
        });
    }
    if out.contains(&0) {
        return Err(PercentError::Nul);
    }
    String::from_utf8(out).map_err(|_| PercentError::Utf8)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Appends `text`, coded as a name or value of a query.
pub(crate) fn encode(out: &mut String, text: &str) {
    const HEX: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
    ];
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~,:@/()*".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend(HEX.get(usize::from(byte >> 4)));
            out.extend(HEX.get(usize::from(byte & 15)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding_is_strict() {
        assert_eq!(decode(b"a%20b+c%C3%A9", true), Ok("a b cé".to_owned()));
        assert_eq!(decode(b"a+b", false), Ok("a+b".to_owned()));
        for bad in [&b"%"[..], b"%2", b"%zz", b"%+1", b"100%"] {
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
}
