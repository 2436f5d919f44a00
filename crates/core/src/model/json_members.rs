//! Members of a compact JSON object, raw.

/// Returns the members of a compact JSON object, raw: `(key, value)` in stored order.
#[must_use]
pub fn members(object: &str) -> Members<'_> {
    Members {
        rest: object.strip_prefix('{').unwrap_or(""),
    }
}

/// Returns the raw value of the first member with a key. The positions of the members of a body may be known
/// ([`Body`](super::body::Body)); this scans the text.
#[must_use]
pub fn member<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let mut all = members(object);
    all.find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Iterator of [`members`]. It parses each member only when the caller needs it.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a str);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let text = self.rest.strip_prefix('"')?;
        // Keys are plain names: the next quote ends one, and a colon follows. They are so short that a simple loop is fastest.
        let quote = text.bytes().position(|b| b == b'"')?;
        let (key, rest) = text.split_at_checked(quote)?;
        let after = rest.get(2..)?;
        let (value, rest) = after.split_at_checked(value_end(after.as_bytes()))?;
        self.rest = rest.get(1..).unwrap_or("");
        Some((key, value))
    }
}

/// Returns the end of the JSON value at the start of some text.
#[inline]
fn value_end(text: &[u8]) -> usize {
    match text.split_first() {
        Some((b'"', rest)) => match memchr::memchr2(b'"', b'\\', rest) {
            // Nearly all values are strings without escapes.
            Some(end) if rest.get(end) == Some(&b'"') => end + 2,
            Some(_) => string_end(text, 0),
            None => text.len(),
        },
        Some((b'{' | b'[', _)) => nest_end(text),
        _ => {
            let ends = |b: &u8| matches!(b, b',' | b'}' | b']');
            text.iter().position(ends).unwrap_or(text.len())
        }
    }
}

/// Returns the position after the string that starts at `at`.
fn string_end(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(skip) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        at += skip + 1;
        if text.get(at - 1) == Some(&b'"') {
            return at;
        }
        // The character after a backslash is part of the string.
        at += 1;
    }
    text.len()
}

/// Returns the end of the object or list at the start of some text.
fn nest_end(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0usize);
    while let Some(b) = text.get(at) {
        match b {
            b'"' => {
                at = string_end(text, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_find_values_of_every_kind() {
        let body = r#"{"a":"x\"},{","b":[1,{"c":"]"}],"c":{"d":[]},"e":null,"f":-1.5e3,"g":"ü\\"}"#;
        let got: Vec<_> = members(body).collect();
        assert_eq!(
            got,
            [
                ("a", r#""x\"},{""#),
                ("b", r#"[1,{"c":"]"}]"#),
                ("c", r#"{"d":[]}"#),
                ("e", "null"),
                ("f", "-1.5e3"),
                ("g", r#""ü\\""#)
            ]
        );
        assert_eq!(members("{}").count(), 0);
        assert_eq!(members("").count(), 0);
    }

    proptest! {
        #[test]
        fn entries_agree_with_a_json_parser(values in proptest::collection::vec(any::<String>(), 0..6)) {
            let mut map = serde_json::Map::new();
            for (i, v) in values.iter().enumerate() {
                map.insert(format!("k{i}"), serde_json::json!([v, {"n": v}, i]));
                map.insert(format!("s{i}"), serde_json::json!(v));
            }
            let text = serde_json::Value::from(map.clone()).to_string();
            let got: Vec<_> = members(&text).map(|(k, v)| (k.to_owned(), serde_json::from_str(v).unwrap())).collect();
            let want: Vec<(String, serde_json::Value)> = map.into_iter().collect();
            prop_assert_eq!(got, want);
        }

        #[test]
        fn scanning_never_panics(text in ".{0,60}") {
            let _count = members(&text).take(100).count();
        }
    }
}
