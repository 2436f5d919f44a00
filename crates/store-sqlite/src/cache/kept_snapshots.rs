//! Kept snapshots: a connection keeps its snapshot open between two reads, for as long as it is the newest.
//!
//! Only this process writes the file, so a count of its commits shows whether a snapshot is the newest. Most reads therefore
//! need no begin, no end and no file locks.
use super::invalidations::{InvalidationKind, Omissions};
use super::node_cache::StateNumber;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use workgraph_core::storage::Seq;

/// Open snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenSnapshot {
    /// Number of commits that it certainly shows.
    pub(crate) commits: u64,
    /// Sequence number of the last commit it shows.
    pub(crate) seq: Seq,
    /// State that it shows, or an earlier one.
    pub(crate) state: StateNumber,
}

/// Conditions under which the snapshots of connections are kept open and used again.
#[derive(Debug)]
pub(crate) struct KeptSnapshots {
    /// Number of commits made.
    commits: AtomicU64,
    /// True if snapshots may currently be kept.
    keeping: AtomicBool,
    /// True if snapshots may ever be kept.
    enabled: bool,
    omissions: Omissions,
}

impl KeptSnapshots {
    pub(super) fn new(enabled: bool, omissions: Omissions) -> Self {
        Self {
            commits: AtomicU64::new(0),
            keeping: AtomicBool::new(enabled),
            enabled,
            omissions,
        }
    }

    /// Returns the number of commits that this process made.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    /// Counts a commit. Must be called before all consequences of the commit: invalidation of caches, answers to callers.
    pub(crate) fn count_commit(&self) {
        self.commits.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns true if a snapshot shows this number of commits, which was read earlier.
    pub(crate) fn shows(&self, snapshot: &OpenSnapshot, commits: u64) -> bool {
        snapshot.commits == commits || self.omissions.contains(InvalidationKind::Snapshots)
    }

    /// Returns true if a snapshot that shows this number of commits may be kept after the read.
    pub(crate) fn may_keep(&self, commits: u64) -> bool {
        let newest =
            self.commits() == commits || self.omissions.contains(InvalidationKind::Snapshots);
        newest && self.keeping.load(Ordering::Acquire)
    }

    /// Returns true if a commit ends the kept snapshots.
    pub(crate) fn end_with_commit(&self) -> bool {
        !self.omissions.contains(InvalidationKind::Snapshots)
    }

    /// Forbids keeping snapshots, until [`resume`](Self::resume).
    pub(crate) fn suspend(&self) {
        self.keeping.store(false, Ordering::Release);
    }

    /// Allows keeping snapshots again, if they are kept at all.
    pub(crate) fn resume(&self) {
        self.keeping.store(self.enabled, Ordering::Release);
    }
}
