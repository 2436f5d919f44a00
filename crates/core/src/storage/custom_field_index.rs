//! The index of custom field values: search compares its keys instead of reading tasks.
//!
//! Each commit that writes a value writes its keys, too ([`crate::storage::Changes::index_updates`]), so the index is
//! never behind. A store keeps entries `(field, key, node)`; those of a node and field are replaced as a whole. A
//! cleared value has no entry, so "is set" means "has an entry".
//!
//! | Type of field | Keys |
//! |---|---|
//! | text | the text in lower case |
//! | number | the number |
//! | date | milliseconds since 1970 of the instant, or of midnight UTC of the day |
//! | enum, multi_enum | the gid of each option |
//! | people, reference | the gid of each user or object |
use crate::model::gid::Gid;
use std::cmp::Ordering;

/// Key of the value index. Numbers come before texts.
#[derive(Clone, PartialEq, Debug)]
pub enum IndexKey {
    /// A number, a date or a gid (which is below 2^53 and so exact).
    Number(f64),
    /// A text in lower case, in the order of its bytes.
    Text(String),
}

impl IndexKey {
    /// The least key.
    pub const FIRST: Self = Self::Number(f64::NEG_INFINITY);

    /// Returns the key of a number; `None` for a number that is not finite.
    #[must_use]
    pub fn number(number: f64) -> Option<Self> {
        // Both zeros are one key.
        number.is_finite().then_some(Self::Number(number + 0.0))
    }

    /// Returns the key of a gid.
    #[must_use]
    pub fn gid(gid: Gid) -> Self {
        // Below 2^53, so nothing is lost.
        Self::Number(gid.get() as f64)
    }

    /// Returns the key of a text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_lowercase())
    }

    /// Returns the first and the last key of texts that start with this one, for [`scan_values`].
    ///
    /// [`scan_values`]: crate::storage::snapshot::Snapshot::scan_values
    #[must_use]
    pub fn prefix_range(text: &str) -> (Self, Self) {
        let start = text.to_lowercase();
        let end = format!("{start}{}", char::MAX);
        (Self::Text(start), Self::Text(end))
    }
}

impl Eq for IndexKey {}
impl PartialOrd for IndexKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for IndexKey {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
        }
    }
}

/// Keys of a node for a field after a commit; none when the value is cleared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueIndexEntry {
    /// Gid of the node, a task.
    pub node: Gid,
    /// Gid of the custom field.
    pub field: Gid,
    /// Keys of the value.
    pub keys: Vec<IndexKey>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_what_they_stand_for() {
        let gid = |n| IndexKey::gid(Gid::new(n).unwrap());
        let sorted = [
            IndexKey::FIRST,
            IndexKey::number(-2.5).unwrap(),
            IndexKey::number(-0.0).unwrap(),
            gid(7),
            gid((1 << 53) - 2),
            gid((1 << 53) - 1),
            IndexKey::text(""),
            IndexKey::text("ABC"),
            IndexKey::text("abd"),
            IndexKey::text("\u{10000}"),
        ];
        assert!(sorted.is_sorted_by(|a, b| a < b), "{sorted:?}");
        assert_eq!(IndexKey::number(0.0), IndexKey::number(-0.0));
        assert_eq!(IndexKey::number(f64::NAN), None);
        let (from, to) = IndexKey::prefix_range("Ab");
        assert!(from <= IndexKey::text("ABBEY") && IndexKey::text("ABBEY") <= to);
        assert!(IndexKey::text("ac") > to && IndexKey::text("aa") < from);
    }
}
