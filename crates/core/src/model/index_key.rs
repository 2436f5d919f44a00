//! Keys of the index of custom field values ([`crate::storage::custom_field_index`]).
use crate::model::gid::Gid;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

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

    /// Returns the key under which a gid is found.
    #[must_use]
    pub fn gid(gid: Gid) -> Self {
        // Below 2^53, so nothing is lost.
        Self::Number(gid.get() as f64)
    }

    /// Returns the gid that has this key, if a gid can have it.
    #[must_use]
    pub fn as_gid(&self) -> Option<Gid> {
        match self {
            // Gids are whole numbers below 2^53, so nothing is lost.
            Self::Number(number) if *number >= 0.0 && number.fract() == 0.0 => {
                Gid::new(*number as u64)
            }
            _ => None,
        }
    }

    /// Returns the key under which a text is found. Case is ignored.
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
impl Hash for IndexKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            // Equal numbers have equal hashes: both zeros are one.
            Self::Number(number) => (0u8, (number + 0.0).to_bits()).hash(state),
            Self::Text(text) => (1u8, text).hash(state),
        }
    }
}
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
