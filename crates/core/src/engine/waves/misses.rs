//! Reads that an attempt lacked, in the form that the next wave uses.
use super::facts::Facts;
use super::graph_read::GraphRead;
use crate::model::gid::Gid;
use crate::storage::alias;
use crate::storage::snapshot::Depth;
use rustc_hash::{FxHashMap, FxHashSet};

/// Minimum number of rows that a scan reads when it continues after known rows.
const READ_ON: usize = 32;
/// Minimum number of gids that are read from a list without an order.
const LISTED: usize = 1_024;
/// Approximate number of rows, with their nodes, that all scans of one wave read.
const WAVE_ROWS: usize = 2_048;

/// Reads that had no answer.
#[derive(Debug, Default)]
pub(super) struct Misses {
    /// Depth to which each node is read.
    nodes: FxHashMap<Gid, Depth>,
    reads: Vec<GraphRead>,
    seen: FxHashSet<GraphRead>,
    /// Number of rows that the scans among the reads ask for.
    rows: usize,
    /// True if nodes are read in full at once: a load that shows nodes by their heads mostly reads them in full afterwards, for
    /// the viewer's level.
    in_full: bool,
    /// True if reads are noted exactly as requested, for look-ups in a cache.
    is_exact: bool,
}

impl Misses {
    /// Returns an empty set of misses that reads nodes in full.
    pub(super) fn in_full() -> Self {
        Self {
            in_full: true,
            ..Self::default()
        }
    }

    /// Returns an empty set of misses that notes reads exactly as requested.
    pub(super) fn exact() -> Self {
        Self {
            is_exact: true,
            ..Self::default()
        }
    }

    /// Returns true if no read was noted.
    pub(super) fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.nodes.is_empty()
    }

    /// Returns the noted reads, to be made together.
    pub(super) fn into_reads(self) -> Vec<GraphRead> {
        let mut nodes: Vec<(Gid, Depth)> = self.nodes.into_iter().collect();
        nodes.sort_unstable();
        let nodes = nodes.into_iter();
        let nodes = nodes.map(|(gid, depth)| GraphRead::Node { gid, depth });
        nodes.chain(self.reads).collect()
    }

    /// Returns a read in the form that the wave uses: it may read more of a node or list than requested, so that the next
    /// reads are answered, too.
    pub(super) fn widened(&self, mut read: GraphRead, facts: &Facts) -> GraphRead {
        if let GraphRead::Node { depth, .. } = &mut read {
            if self.in_full {
                *depth = Depth::Full;
            }
            return read;
        }
        if self.is_exact {
            return read;
        }
        let known = facts.known_before(&read);
        let (limit, rows) = match &mut read {
            GraphRead::ScanIn { limit, depth, .. }
            | GraphRead::ScanWorkspace { limit, depth, .. } => (limit, *depth > Depth::Edge),
            GraphRead::ScanInOut { limit, .. } => (limit, true),
            GraphRead::ScanIndexEntries(scan) => (&mut scan.limit, false),
            GraphRead::ScanWords { limit, .. } | GraphRead::ScanValues { limit, .. } => {
                (limit, false)
            }
            GraphRead::ListIn { limit, .. }
            | GraphRead::ListIndexEntries { limit, .. }
            | GraphRead::ListPrefixMatches { limit, .. } => {
                // The engine reads little of these at first, and then more and more.
                *limit = (*limit).max(LISTED);
                (limit, false)
            }
            _ => return read,
        };
        // Scans that continue grow, so that a long list takes few waves: scans with nodes twofold, other scans fourfold.
        if known > 0 {
            let more = if rows { known } else { known.saturating_mul(3) };
            *limit = (*limit).max(more).max(READ_ON);
        }
        read
    }

    /// Notes a read that already has the form for the wave.
    pub(super) fn note(&mut self, read: GraphRead) {
        if let GraphRead::Node { gid, depth } = read {
            let noted = self.nodes.entry(gid).or_insert(depth);
            *noted = (*noted).max(depth);
            return;
        }
        if let GraphRead::Alias(key) = &read
            && alias::user_of_heir(key).is_some_and(|user| self.nodes.contains_key(&user))
        {
            // The successor of a user is read once the user is known to be removed.
            return;
        }
        if !self.is_exact
            && let Some(wanted) = rows_wanted(&read)
        {
            // Without a limit, this wave would read all lists that the attempt reads one after the other, so later lists
            // wait.
            if self.rows >= WAVE_ROWS && wanted < usize::MAX >> 1 {
                return;
            }
            self.rows = self.rows.saturating_add(wanted.min(WAVE_ROWS / 8));
        }
        self.push(read);
    }

    fn push(&mut self, read: GraphRead) {
        if self.seen.insert(read.clone()) {
            self.reads.push(read);
        }
    }
}

/// Returns the number of rows that a scan requests, if it reads their nodes.
fn rows_wanted(read: &GraphRead) -> Option<usize> {
    match read {
        GraphRead::ScanIn { limit, depth, .. } | GraphRead::ScanWorkspace { limit, depth, .. } => {
            (*depth > Depth::Edge).then_some(*limit)
        }
        GraphRead::ScanInOut { limit, .. } => Some(*limit),
        _ => None,
    }
}

/// Returns true if a read ends after some rows of a list. The number of rows that it requests may depend on the rows of the
/// previous list. An attempt that finds no rows requests the same number from each list, and those are the reads that a
/// cache has.
pub(super) const fn is_bounded(read: &GraphRead) -> bool {
    match read {
        GraphRead::ScanOut { limit, .. }
        | GraphRead::ScanIn { limit, .. }
        | GraphRead::ScanInOut { limit, .. }
        | GraphRead::ListIn { limit, .. }
        | GraphRead::ScanWorkspace { limit, .. }
        | GraphRead::ScanValues { limit, .. }
        | GraphRead::ListIndexEntries { limit, .. }
        | GraphRead::ListPrefixMatches { limit, .. }
        | GraphRead::ScanWords { limit, .. } => *limit < usize::MAX >> 1,
        GraphRead::ScanIndexEntries(_) => true,
        _ => false,
    }
}
