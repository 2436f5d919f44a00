//! The index of custom field values: what search compares instead of reading tasks.
//!
//! Whoever writes a value writes its keys ([`crate::graph::Changes::values`]), in the same commit, so
//! the index is never behind. A store keeps entries `(field, key, node)`; those of a node and field
//! are replaced as a whole. What is cleared has no entry, so "is set" means "has an entry".
//!
//! | Type of field | Keys |
//! |---|---|
//! | text | the text in lower case |
//! | number | the number |
//! | date | milliseconds since 1970 of the instant, or of midnight UTC of the day |
//! | enum, multi_enum | the gid of each option |
//! | people, reference | the gid of each user or object |
use crate::gid::Gid;
use std::cmp::Ordering;

/// A key. Numbers come before texts.
#[derive(Clone, PartialEq, Debug)]
pub enum Key {
    /// A number, a date or a gid (which is below 2^53 and so exact).
    Number(f64),
    /// A text in lower case, in the order of its bytes.
    Text(String),
}

impl Key {
    /// Not after any key.
    pub const FIRST: Self = Self::Number(f64::NEG_INFINITY);

    /// The key of a number; there is none for what is not finite.
    #[must_use]
    pub fn number(number: f64) -> Option<Self> {
        // Both zeros are one key.
        number.is_finite().then_some(Self::Number(number + 0.0))
    }

    /// The key of a gid.
    #[must_use]
    pub fn gid(gid: Gid) -> Self {
        // Below 2^53, so nothing is lost.
        Self::Number(gid.get() as f64)
    }

    /// The key of a text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_lowercase())
    }

    /// The first and the last key of texts that start with this one, for [`scan_values`].
    ///
    /// [`scan_values`]: crate::snapshot::Snapshot::scan_values
    #[must_use]
    pub fn starting_with(text: &str) -> (Self, Self) {
        let start = text.to_lowercase();
        let end = format!("{start}{}", char::MAX);
        (Self::Text(start), Self::Text(end))
    }
}

impl Eq for Key {}
impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
        }
    }
}

/// The keys that a node has for a field from now on; none when the value is cleared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The node, a task.
    pub node: Gid,
    /// The custom field.
    pub field: Gid,
    /// The keys.
    pub keys: Vec<Key>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_what_they_stand_for() {
        let gid = |n| Key::gid(Gid::new(n).unwrap());
        let sorted = [
            Key::FIRST,
            Key::number(-2.5).unwrap(),
            Key::number(-0.0).unwrap(),
            gid(7),
            gid((1 << 53) - 2),
            gid((1 << 53) - 1),
            Key::text(""),
            Key::text("ABC"),
            Key::text("abd"),
            Key::text("\u{10000}"),
        ];
        assert!(sorted.is_sorted_by(|a, b| a < b), "{sorted:?}");
        assert_eq!(Key::number(0.0), Key::number(-0.0));
        assert_eq!(Key::number(f64::NAN), None);
        let (from, to) = Key::starting_with("Ab");
        assert!(from <= Key::text("ABBEY") && Key::text("ABBEY") <= to);
        assert!(Key::text("ac") > to && Key::text("aa") < from);
    }
}
