//! Parameters: lists of names and values, as queries and forms carry them.
use std::fmt::Write;

/// One decoded parameter.
pub type Pair = (String, String);

/// A view on decoded parameters. Names that a caller does not ask for are passed over, and an
/// empty value counts as none (RFC 6749 section 3.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params<'a>(pub(crate) &'a [Pair]);

impl<'a> Params<'a> {
    /// The value of a parameter; `Err` if it is there more than once, even with the same value.
    pub(crate) fn one(self, name: &'static str) -> Result<Option<&'a str>, Repeated> {
        let mut found = self.0.iter().filter(|(n, _)| n == name);
        let first = found.next();
        if found.next().is_some() {
            return Err(Repeated(name));
        }
        Ok(first
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty()))
    }
}

/// A parameter that was given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeated(pub(crate) &'static str);

/// Percent-encodes everything but unreserved characters (RFC 3986 section 2.3), so that the text
/// reads back in a query, a form and a fragment alike.
#[must_use]
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// `name=value` joined by `&`, values encoded. Names are ours and need no encoding.
pub(crate) fn join(fields: &[(&'static str, String)]) -> String {
    let each: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", encode(value)))
        .collect();
    each.join("&")
}

/// Decodes form encoding; `None` for a broken escape or what is no UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(out).ok()
}

/// A number written the one way in which we write it: no sign, no leading zero.
pub(crate) fn number(text: &str) -> Option<u64> {
    let n: u64 = text.parse().ok()?;
    (n.to_string() == text).then_some(n)
}
