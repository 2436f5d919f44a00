//! Automatic ids: their prefixes, and their search keys.
use crate::model::index_key::IndexKey;
use crate::model::node::{Node, decode_json_string};

/// Returns the prefix of a field that numbers tasks.
#[must_use]
pub fn prefix(field: &Node) -> Option<String> {
    let raw = field.raw("id_prefix").filter(|raw| *raw != "null")?;
    Some(decode_json_string(raw).into_owned())
}

/// Returns the search key of a number: the key of the displayed id.
#[must_use]
pub fn key(prefix: &str, number: i64) -> IndexKey {
    IndexKey::text(&format!("{prefix}-{number}"))
}

/// Returns the number that has this key.
#[must_use]
pub fn number_of(prefix: &str, of: &IndexKey) -> Option<i64> {
    let IndexKey::Text(text) = of else {
        return None;
    };
    let (_, digits) = text.rsplit_once('-')?;
    let number = digits.parse().ok()?;
    (key(prefix, number) == *of).then_some(number)
}
