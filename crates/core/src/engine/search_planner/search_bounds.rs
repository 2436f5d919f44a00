//! Limits of a search: how many rows it may still find, look at and scan.
use crate::storage::PageRows;

/// Rows that a search has found so far, and the limits on its further work.
pub(super) struct SearchBounds<'r> {
    pub(super) rows: &'r mut PageRows,
    pub(super) limit: usize,
    pub(super) cap: usize,
    /// Number of entries that may still be scanned.
    pub(super) steps: usize,
    /// Set during a scan that only tests whether enough matches are near.
    pub(super) trial_scan: Option<TrialScan>,
}

/// Start of a scan, which ends early if too few entries match.
#[derive(Clone, Copy)]
pub(super) struct TrialScan {
    /// Maximum number of entries that it scans.
    pub(super) steps: usize,
    /// Number of rows found before it.
    pub(super) found: usize,
}

/// Number of expected matches after which a scan is judged. If matches are as frequent as the scan needs, it has nearly
/// always met at least half of them by then.
const JUDGED: usize = 4;

impl SearchBounds<'_> {
    pub(super) fn is_full(&self) -> bool {
        self.rows.gids.len() >= self.limit || self.rows.rows_seen as usize >= self.cap
    }

    /// Takes a step of a scan; returns false if no steps are left.
    pub(super) fn step(&mut self) -> bool {
        if self.is_vain() {
            return false;
        }
        let left = self.steps.checked_sub(1);
        self.steps = left.unwrap_or(0);
        left.is_some()
    }

    /// Returns true if there were so few matches that a full scan would hardly find enough.
    fn is_vain(&self) -> bool {
        let Some(trial_scan) = self.trial_scan else {
            return false;
        };
        let found = self.rows.gids.len().saturating_sub(trial_scan.found);
        let taken = trial_scan.steps.saturating_sub(self.steps);
        // Compares the number of matches expected by now with twice the number of matches met; both are multiplied by the
        // number of all steps.
        let wanted = self
            .limit
            .saturating_sub(trial_scan.found)
            .saturating_mul(taken);
        let met = found.saturating_mul(2).saturating_mul(trial_scan.steps);
        wanted >= trial_scan.steps.saturating_mul(JUDGED) && met < wanted
    }
}

/// Reason why a search ends before its candidates do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchEnd {
    /// The search has found, or looked at, as many rows as it may.
    Full,
    /// The scan became too long.
    TooLong,
}
