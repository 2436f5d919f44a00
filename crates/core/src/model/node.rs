//! Nodes as they are stored.
//!
//! A body is a compact JSON object that [`crate::model::draft`] wrote: keys are plain field names, values are already in the form
//! that clients get. Reading finds a value's bytes; no value is decoded twice.
use crate::model::body::Body;
use crate::model::gid::Gid;
use crate::model::json_members::members;
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
    pub body: Body,
}

impl Node {
    /// Version of the record of a deleted node, of which only gid and types are known.
    pub const TOMBSTONE: u64 = u64::MAX;

    /// Returns the raw JSON stored under `key`, if any.
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&str> {
        self.body.find(key)
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
}
