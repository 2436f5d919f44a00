//! Numbers in JSON text that a [`Number`](serde_json::Number) can't keep: they are quoted before the text is parsed, so that
//! readers of numbers get all digits.

use std::borrow::Cow;

/// Maximum number of significant digits that every double keeps.
const DOUBLE_DIGITS: usize = 15;

/// Returns the text with quotes around each number that is neither a 64-bit integer nor shown unchanged by the nearest
/// double. Other text stays unchanged, even if it is not JSON.
pub(crate) fn exact_numbers(text: &str) -> Cow<'_, str> {
    let mut quoted = String::new();
    let mut copied = 0;
    let (mut at, bytes) = (0, text.as_bytes());
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at + 1),
            b'-' | b'0'..=b'9' => {
                let rest = bytes.get(at..).unwrap_or_default();
                let end = at + rest.iter().take_while(|b| is_of_number(**b)).count();
                if let Some(number) = text.get(at..end).filter(|number| !is_kept(number))
                    && !is_key(bytes, end)
                {
                    quoted.push_str(text.get(copied..at).unwrap_or_default());
                    quoted.push('"');
                    quoted.push_str(number);
                    quoted.push('"');
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    quoted.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(quoted)
}

const fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Returns the position after the string that starts at `from`.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// Returns true if a colon follows, so that a number before it is in the place of a key: an error, which must stay one.
fn is_key(bytes: &[u8], from: usize) -> bool {
    let rest = bytes.get(from..).unwrap_or_default();
    rest.trim_ascii_start().first() == Some(&b':')
}

/// Returns true if a number is kept as written, or is not a number.
fn is_kept(number: &str) -> bool {
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    if digits <= DOUBLE_DIGITS || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return true;
    }
    // Compares with the text that the JSON writer makes of the double: of two texts that are equally short and near, the
    // standard library may choose the other one.
    let shown =
        serde_json::from_str::<f64>(number).and_then(|double| serde_json::to_string(&double));
    let Ok(shown) = shown else {
        return true;
    };
    significant(number) == significant(&shown)
}

/// Returns the significant digits of a number. The nearest double has the same magnitude, so comparing these digits is
/// enough to decide equality.
fn significant(number: &str) -> String {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_a_double_changes_are_quoted() {
        for kept in [
            r#"{"a":76561198275305775,"b":[0.1,-12.5e3,18446744073709551615,-9223372036854775808]}"#,
            "[0.30000000000000004,1.7976931348623157e308,5e-324,100000000000000000000,0.10000000000000000]",
            r#"{"12345678901234567.5":"12345678901234567.5 \" 12345678901234567.5"}"#,
            "{12345678901234567.5 : 1}",
            "2077219290470344.2",
            "[01.2345678901234567890, 1.2.3456789012345678, -, 1e999999999999999999]",
            "",
            "\"",
            "\"\\",
        ] {
            assert_eq!(exact_numbers(kept), kept);
        }
        for (sent, read) in [
            ("12345678901234567.5", r#""12345678901234567.5""#),
            ("2077219290470344.3", r#""2077219290470344.3""#),
            (
                r#"{"a": [-0.1000000000000000055511151231257827, 18446744073709551616], "b": "x"}"#,
                r#"{"a": ["-0.1000000000000000055511151231257827", "18446744073709551616"], "b": "x"}"#,
            ),
        ] {
            assert_eq!(exact_numbers(sent), read);
        }
    }
}
