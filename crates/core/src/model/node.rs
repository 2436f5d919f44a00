//! Nodes as they are stored, and the raw reading of their bodies.
//!
//! A body is a compact JSON object that [`crate::model::draft`] wrote: keys are plain field names, values are already in the form
//! that clients get. Reading finds a value's bytes; no value is decoded twice.
use crate::model::gid::Gid;
use crate::model::node_types::Type;
use std::borrow::Cow;

/// A node of the graph: one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Identifier of the node.
    pub gid: Gid,
    /// Type of the resource.
    pub ty: Type,
    /// Workspace that the node belongs to; users and workspaces have none.
    pub workspace: Option<Gid>,
    /// Number of times that the node was written; 0 if only the head was read, [`Node::TOMBSTONE`] for a deleted node.
    pub version: u64,
    /// The compact JSON object that is sent where the node is nested.
    pub head: Box<str>,
    /// The JSON object with all stored fields; empty if only the head was read.
    pub body: Box<str>,
}

impl Node {
    /// Version of the record of a deleted node, of which only gid and types are known.
    pub const TOMBSTONE: u64 = u64::MAX;

    /// Returns the raw JSON stored under `key`, if any.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&str> {
        members(&self.body).find(|(k, _)| *k == key).map(|(_, v)| v)
    }

    /// Returns the gid stored under `key`, if there is one.
    #[must_use]
    pub fn link(&self, key: &str) -> Option<Gid> {
        Gid::parse(self.raw(key)?.trim_matches('"'))
    }

    /// Returns the decoded title, if the head has one.
    #[must_use]
    pub fn title(&self) -> String {
        members(&self.head)
            .find(|(k, _)| matches!(*k, "name" | "title"))
            .map(|(_, v)| decode_json_string(v).into_owned())
            .unwrap_or_default()
    }

    /// Returns true if only the head was read.
    #[must_use]
    pub fn is_head(&self) -> bool {
        self.version == 0
    }
}

/// Returns the members of a compact JSON object, raw: `(key, value)` in stored order.
#[must_use]
pub fn members(object: &str) -> Members<'_> {
    Members {
        rest: object.strip_prefix('{').unwrap_or(""),
    }
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

/// Returns the end of the string that starts at `at`.
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

/// Decodes a raw JSON string; text without escapes is borrowed.
#[must_use]
pub fn decode_json_string(raw: &str) -> Cow<'_, str> {
    let inner = raw
        .strip_prefix('"')
        .and_then(|r| r.strip_suffix('"'))
        .unwrap_or(raw);
    if inner.contains('\\') {
        Cow::Owned(serde_json::from_str(raw).unwrap_or_default())
    } else {
        Cow::Borrowed(inner)
    }
}

/// Appends `text` as a JSON string.
pub fn write_json_string(out: &mut Vec<u8>, text: &str) {
    // Writing to a Vec cannot fail, and any &str is a JSON string.
    let _infallible = serde_json::to_writer(out, text);
}

/// Returns `text` as a JSON string.
#[must_use]
pub fn json_string(text: &str) -> String {
    if text.bytes().any(|b| matches!(b, 0..0x20 | b'"' | b'\\')) {
        return serde_json::Value::from(text).to_string();
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    out.push_str(text);
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quoted_text_is_json(text in any::<String>()) {
            prop_assert_eq!(serde_json::from_str::<String>(&json_string(&text)).unwrap(), text);
        }
    }

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
