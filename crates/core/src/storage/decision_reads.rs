//! Reads of a decision: they must still be true when its changes are committed.
//!
//! A decision is made on the state after some commit. If no later commit has touched a [key](FactKey) of its reads, the same
//! decision would be made on the newest state, so its changes are applied as if it had been made there, alone. Otherwise the
//! commit is a conflict, and the caller decides again. So decisions are serializable, whatever they read.
use crate::model::edge::Seq;
use crate::storage::FactKey;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Keys of everything that a decision read, and the commit that it saw last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecisionReads {
    /// Last commit of the state that was read.
    pub seq: Seq,
    /// Keys of the reads, in no order; some may be listed twice.
    pub keys: Vec<FactKey>,
}

impl DecisionReads {
    /// Returns the combined reads of a decision that has two views.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.keys.extend(other.keys);
        Self {
            seq: self.seq.min(other.seq),
            ..self
        }
    }
}

/// Maximum number of keys in a log: about a second of many writes, in about two megabytes.
const KEYS_MAX: usize = 1 << 15;

/// Log of the keys that the last commits touched.
#[derive(Clone, Debug)]
pub struct TouchLog {
    /// Commit from which on the log is complete: all keys that later commits touched are known.
    floor: Seq,
    /// Last commit.
    seq: Seq,
    /// Last commit that touched each key.
    last: FxHashMap<FactKey, Seq>,
    /// Keys in the order of their commits.
    order: VecDeque<(FactKey, Seq)>,
    keys_max: usize,
}

impl TouchLog {
    /// Returns an empty log that begins after a commit.
    #[must_use]
    pub fn starting_at(seq: Seq) -> Self {
        Self {
            floor: seq,
            seq,
            last: FxHashMap::default(),
            order: VecDeque::new(),
            keys_max: KEYS_MAX,
        }
    }

    /// Returns the last commit.
    #[must_use]
    pub const fn seq(&self) -> Seq {
        self.seq
    }

    /// Returns true if no commit after the state that a decision saw has touched its reads; false if that is not known.
    #[must_use]
    pub fn holds(&self, reads: &DecisionReads) -> bool {
        let is_later = |key| self.last.get(key).is_some_and(|last| *last > reads.seq);
        let is_newest = reads.seq >= self.seq;
        is_newest || (reads.seq >= self.floor && !reads.keys.iter().any(is_later))
    }

    /// Adds the keys that a commit touched. Commits are added in their order.
    pub fn record(&mut self, seq: Seq, touched: impl IntoIterator<Item = FactKey>) {
        self.seq = seq;
        for key in touched {
            self.last.insert(key, seq);
            self.order.push_back((key, seq));
        }
        while self.order.len() > self.keys_max
            && let Some((key, seq)) = self.order.pop_front()
        {
            self.floor = self.floor.max(seq);
            if self.last.get(&key) == Some(&seq) {
                self.last.remove(&key);
            }
        }
    }

    /// Undoes the commits after this one. Their keys count as touched by it.
    pub fn undo_after(&mut self, seq: Seq) {
        self.seq = seq;
        for (key, last) in self.order.iter_mut().rev() {
            if *last <= seq {
                break;
            }
            *last = seq;
            self.last.insert(*key, seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(numbers: &[i64]) -> Vec<FactKey> {
        numbers.iter().copied().map(FactKey::from_number).collect()
    }

    fn reads(seq: Seq, numbers: &[i64]) -> DecisionReads {
        let keys = keys(numbers);
        DecisionReads { seq, keys }
    }

    #[test]
    fn reads_hold_until_one_of_them_is_touched() {
        let mut log = TouchLog::starting_at(5);
        log.record(6, keys(&[1, 2]));
        log.record(7, keys(&[3]));
        assert!(log.holds(&reads(5, &[4])));
        assert!(!log.holds(&reads(5, &[4, 2])));
        assert!(log.holds(&reads(6, &[4, 2])));
        assert!(!log.holds(&reads(6, &[3])));
        assert!(!log.holds(&reads(4, &[])), "commits before 5 are unknown");
    }

    #[test]
    fn commits_that_were_undone_touched_nothing_for_later_readers() {
        let mut log = TouchLog::starting_at(5);
        log.record(6, keys(&[1]));
        log.record(7, keys(&[1, 2]));
        log.undo_after(6);
        assert!(log.holds(&reads(6, &[1, 2])));
        assert!(!log.holds(&reads(5, &[1])));
    }

    proptest! {
        /// Checks a log that keeps few keys against all commits: the log may call a true read outdated, but never an
        /// outdated read true.
        #[test]
        fn a_short_log_never_takes_outdated_reads_for_true(
            commits in prop::collection::vec(prop::collection::vec(0..6i64, 0..4), 0..30),
            seen in 0..30u64,
            read in prop::collection::vec(0..6i64, 0..4),
        ) {
            let mut log = TouchLog { keys_max: 8, ..TouchLog::starting_at(0) };
            for (seq, touched) in (1..).zip(&commits) {
                log.record(seq, keys(touched));
            }
            let later = commits.iter().skip(usize::try_from(seen).unwrap());
            let is_true = later.flatten().all(|key| !read.contains(key));
            prop_assert!(is_true || !log.holds(&reads(seen, &read)));
            let is_short = commits.iter().map(Vec::len).sum::<usize>() <= 8;
            prop_assert!(!is_short || log.holds(&reads(seen, &read)) == is_true);
            prop_assert!(log.order.len() <= 8 && log.last.len() <= 8);
        }
    }
}
