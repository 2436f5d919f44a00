//! Differences between a recorded reply and the actual one.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// Maximum number of characters of a value that a difference shows.
const SHOWN_MAX: usize = 120;

/// Kind of a difference between two replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DifferenceKind {
    /// No reply was handed in for the request.
    NoReply,
    /// The status differs; the bodies are then not compared.
    Status,
    /// One body is JSON and the other is not, or both are texts that differ.
    Body,
    /// A recorded field is missing in the reply.
    MissingField,
    /// The reply has a field that was not recorded.
    AdditionalField,
    /// The value has a different type; null is a type, too.
    Type,
    /// The list has a different number of members.
    ListLength,
    /// The values have the same type, but differ.
    Value,
    /// The identifier belongs to a different object than before.
    Identifier,
}

/// Difference between a recorded reply and the actual one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Number of the exchange in the recording; the first is 1.
    pub entry: usize,
    /// Method of the recorded request.
    pub method: String,
    /// Path of the recorded request below the base of the API, without the query.
    pub path: String,
    /// Place in the body as a JSON pointer (RFC 6901); empty for the whole reply.
    pub pointer: String,
    /// Kind of the difference.
    pub kind: DifferenceKind,
    /// Recorded value, shortened if it is long.
    pub recorded: String,
    /// Value that came instead, shortened if it is long.
    pub came: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            entry,
            method,
            path,
            pointer,
            recorded,
            came,
            ..
        } = self;
        let path = if path.is_empty() { "/" } else { path };
        let place = match self.kind {
            DifferenceKind::NoReply => "reply",
            DifferenceKind::Status => "status",
            _ if pointer.is_empty() => "body",
            _ => pointer,
        };
        write!(
            f,
            "entry {entry}, {method} {path}, {place}: recorded {recorded}, came {came}"
        )
    }
}

/// Returns a value as a difference shows it.
pub(crate) fn shown(value: &Value) -> String {
    shortened(&value.to_string())
}

/// Returns the beginning of a text.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_shortened() {
        assert_eq!(shown(&Value::from("é")), "\"é\"");
        let text = shown(&Value::from("é".repeat(200)));
        assert_eq!(text.chars().count(), SHOWN_MAX + 1);
        assert!(text.ends_with("é…"));
    }
}
