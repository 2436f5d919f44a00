//! Columns of index entries, by which searches compare and sort.

/// Column of index entries, for finding and sorting them. An entry is in the list of a column if it has a
/// [`value`](crate::search::IndexEntry::value) there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum IndexColumn {
    /// The gid, which every entry has.
    Gid,
    /// [`IndexEntry::created`](crate::search::IndexEntry::created).
    Created,
    /// [`IndexEntry::modified`](crate::search::IndexEntry::modified).
    Modified,
    /// [`IndexEntry::completed`](crate::search::IndexEntry::completed).
    Completed,
    /// [`IndexEntry::due`](crate::search::IndexEntry::due).
    Due,
    /// [`IndexEntry::likes`](crate::search::IndexEntry::likes), if there are any.
    Likes,
    /// [`IndexEntry::start`](crate::search::IndexEntry::start).
    Start,
    /// [`IndexEntry::responsible`](crate::search::IndexEntry::responsible).
    Responsible,
    /// [`IndexEntry::creator`](crate::search::IndexEntry::creator).
    Creator,
    /// [`IndexEntry::assigner`](crate::search::IndexEntry::assigner).
    Assigner,
    /// [`IndexEntry::subtype`](crate::search::IndexEntry::subtype), unless it is the usual one.
    Subtype,
    /// [`IndexEntry::is_subtask`](crate::search::IndexEntry::is_subtask).
    Subtask,
    /// [`IndexEntry::is_blocked`](crate::search::IndexEntry::is_blocked).
    Blocked,
    /// [`IndexEntry::is_blocking`](crate::search::IndexEntry::is_blocking).
    Blocking,
}

impl IndexColumn {
    /// Columns with a stored order of entries.
    pub const SORTED: [Self; 7] = [
        Self::Gid,
        Self::Created,
        Self::Modified,
        Self::Completed,
        Self::Due,
        Self::Likes,
        Self::Assigner,
    ];
    /// All columns.
    pub const ALL: [Self; 14] = [
        Self::Gid,
        Self::Created,
        Self::Modified,
        Self::Completed,
        Self::Due,
        Self::Likes,
        Self::Start,
        Self::Responsible,
        Self::Creator,
        Self::Assigner,
        Self::Subtype,
        Self::Subtask,
        Self::Blocked,
        Self::Blocking,
    ];
}
