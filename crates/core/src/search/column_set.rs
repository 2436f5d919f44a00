//! Column sets: the columns in which an index entry has a value.
use super::index_column::IndexColumn;

/// Set of the columns in which an index entry has a value, and of its flags. Entries are stored by column set, and within a
/// set in the order of their last modification. So entries without a value are also listed, in the usual order of searches.
///
/// Hundreds of sets are possible; a workspace has a dozen or two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ColumnSet(u16);

impl ColumnSet {
    /// Columns with a bit in the set. A store keeps the number of a set, so the position of a column must never be reused for
    /// another.
    const COLUMNS: [IndexColumn; 8] = [
        IndexColumn::Completed,
        IndexColumn::Due,
        IndexColumn::Start,
        IndexColumn::Responsible,
        IndexColumn::Creator,
        IndexColumn::Assigner,
        IndexColumn::Subtask,
        IndexColumn::Subtype,
    ];
    /// Position of the bit for [`IndexEntry::is_completed`](crate::search::IndexEntry::is_completed).
    const DONE: usize = 8;
    /// Position of the bit for [`IndexEntry::due_at_instant`](crate::search::IndexEntry::due_at_instant).
    const TIMED: usize = 9;

    /// Returns the set with a stored number.
    #[must_use]
    pub const fn from_number(number: u16) -> Self {
        Self(number)
    }

    /// Returns the stored number of the set.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }

    const fn bit(self, at: usize) -> bool {
        self.0 >> at & 1 == 1
    }

    /// Returns true if the set's entries have a value in the column, or `None` if the set has no
    /// bit for it.
    #[must_use]
    pub fn has(self, column: IndexColumn) -> Option<bool> {
        let at = Self::COLUMNS.iter().position(|c| *c == column)?;
        Some(self.bit(at))
    }

    /// Returns true if the set's entries are completed.
    #[must_use]
    pub const fn done(self) -> bool {
        self.bit(Self::DONE)
    }

    /// Returns true if the set's entries are due at an instant.
    #[must_use]
    pub const fn timed(self) -> bool {
        self.bit(Self::TIMED)
    }

    /// Returns the set with the columns for which `has_value` is true, and the two flags.
    pub(super) fn of(
        has_value: impl Fn(IndexColumn) -> bool,
        is_completed: bool,
        due_at_instant: bool,
    ) -> Self {
        let bit = |at: usize, on: bool| u16::from(on) << at;
        let columns = Self::COLUMNS.iter().enumerate();
        let has = columns.map(|(at, column)| bit(at, has_value(*column)));
        let flags = bit(Self::DONE, is_completed) | bit(Self::TIMED, due_at_instant);
        Self(has.fold(flags, |shape, bit| shape | bit))
    }
}
