//! Parameters: lists of names and values, as queries and forms carry them.

/// Decoded parameter: name and value.
pub type Param = (String, String);

/// View of decoded parameters. Names that a caller does not request are ignored, and an empty value
/// counts as absent (RFC 6749 section 3.1).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params<'a>(pub(crate) &'a [Param]);

impl<'a> Params<'a> {
    /// Returns the value of a parameter; `Err` if it occurs more than once, even with the same
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

/// Error of a parameter that was given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RepeatedParam(pub(crate) &'static str);

/// Joins `name=value` pairs with `&`, encoding the values. Names are constants of this crate and need no
/// encoding.
pub(crate) fn join(fields: &[(&'static str, String)]) -> String {
    let each: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", encode(value)))
        .collect();
    each.join("&")
}

/// Encodes all but the unreserved characters (RFC 3986 section 2.3), so that the text decodes in the same way in a query,
/// a form and a fragment.
pub(crate) fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let each = text.bytes().map(|byte| match byte {
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    each.collect()
}

/// Decodes form encoding; `None` for a broken escape or invalid UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let hex = |digit: u8| char::from(digit).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let (high, low) = (hex(rest.next()?)?, hex(rest.next()?)?);
                u8::try_from(high << 4 | low).ok()?
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Parses a number in the only form in which this service writes it: no sign, no leading zero.
pub(crate) fn number(text: &str) -> Option<u64> {
    let n: u64 = text.parse().ok()?;
    (n.to_string() == text).then_some(n)
}
