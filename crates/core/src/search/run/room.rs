//! The room that a search has: how much it may find, look at and walk.
use crate::graph::Rows;

/// The rows found so far, and how many more may be looked at.
pub(super) struct Room<'r> {
    pub(super) rows: &'r mut Rows,
    pub(super) limit: usize,
    pub(super) cap: usize,
    /// How many more cards may be walked.
    pub(super) steps: usize,
    /// The walk is to show whether enough matches are near.
    pub(super) peek: Option<Peek>,
}

/// The beginning of a walk that is given up as soon as too few of its cards match.
#[derive(Clone, Copy)]
pub(super) struct Peek {
    /// How many cards it may have.
    pub(super) steps: usize,
    /// How many rows had been found before.
    pub(super) found: usize,
}

/// How many matches a walk should have met before it is judged by them: of those that are as frequent
/// as it needs, half as many are met nearly always.
const JUDGED: usize = 4;

impl Room<'_> {
    pub(super) fn is_full(&self) -> bool {
        self.rows.gids.len() >= self.limit || self.rows.seen as usize >= self.cap
    }

    /// Takes a step of a walk; false if there are no more.
    pub(super) fn step(&mut self) -> bool {
        if self.is_vain() {
            return false;
        }
        let left = self.steps.checked_sub(1);
        self.steps = left.unwrap_or(0);
        left.is_some()
    }

    /// Whether matches were so few that a walk of all its steps would hardly find enough.
    fn is_vain(&self) -> bool {
        let Some(peek) = self.peek else {
            return false;
        };
        let found = self.rows.gids.len().saturating_sub(peek.found);
        let taken = peek.steps.saturating_sub(self.steps);
        // The matches that it should have met by now, and twice those that it met; both times all steps.
        let wanted = self.limit.saturating_sub(peek.found).saturating_mul(taken);
        let met = found.saturating_mul(2).saturating_mul(peek.steps);
        wanted >= peek.steps.saturating_mul(JUDGED) && met < wanted
    }
}

/// Why a search ends before its candidates do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It has found, or looked at, as many as it may.
    Full,
    /// The walk became too long.
    Tired,
}
