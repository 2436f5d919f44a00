//! Parameters: lists of names and values, as queries and forms carry them.
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Decoded parameter: name and value.
pub type Param = (String, String);

/// View of decoded parameters. Names that a caller does not ask for are ignored, and an empty value
/// counts as absent (RFC 6749 section 3.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params<'a>(pub(crate) &'a [Param]);

impl<'a> Params<'a> {
    /// Returns the value of a parameter; `Err` if it is there more than once, even with the same
    /// value.
    pub(crate) fn one(self, name: &'static str) -> Result<Option<&'a str>, RepeatedParam> {
        let mut found = self.0.iter().filter(|(n, _)| n == name);
        let first = found.next();
        if found.next().is_some() {
            return Err(RepeatedParam(name));
        }
        Ok(first
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.is_empty()))
    }
}

/// Error: a parameter that was given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RepeatedParam(pub(crate) &'static str);

/// Characters that are encoded: all but the unreserved ones (RFC 3986 section 2.3), so that a text
/// reads back in a query, a form and a fragment alike.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Joins `name=value` by `&`, with encoded values. Names are constants of this crate and need no
/// encoding.
pub(crate) fn join(fields: &[(&'static str, String)]) -> String {
    let each: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, COMPONENT)))
        .collect();
    each.join("&")
}

/// Decodes form encoding; `None` for a broken escape or invalid UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let text = text.replace('+', " ");
    let mut escapes = text.split('%').skip(1).map(str::as_bytes);
    let whole = escapes
        .all(|after| matches!(after, [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit()));
    let decoded = percent_decode_str(&text).decode_utf8().ok()?;
    whole.then(|| decoded.into_owned())
}

/// Reads a number in the only form in which this service writes it: no sign, no leading zero.
pub(crate) fn number(text: &str) -> Option<u64> {
    let n: u64 = text.parse().ok()?;
    (n.to_string() == text).then_some(n)
}
