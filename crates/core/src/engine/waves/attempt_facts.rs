//! Facts of an attempt, with the cache that adds to them.
use super::facts::Facts;
use super::graph_read::{GraphAnswer, GraphRead};
use super::misses::is_bounded;
use crate::access::Viewer;
use crate::storage::FactKey;
use crate::storage::{DecisionReads, ViewerKey};
use std::fmt;
use std::sync::Arc;

/// Cache that an attempt reads from. Its answers must be true of the state of the facts.
pub trait AttemptCache {
    /// Returns the answer to a read that the facts do not answer, if the cache has it.
    fn answer(&self, read: &GraphRead) -> Option<GraphAnswer>;
    /// Returns true if no commit after the state that a decision saw, up to the state of the facts, has touched its reads;
    /// false if that is not known.
    fn holds(&self, reads: &DecisionReads) -> bool;
    /// Returns a cached viewer.
    fn viewer(&self, key: ViewerKey) -> Option<Arc<Viewer>>;
    /// Keeps a viewer, which stays valid as long as none of these keys is touched.
    fn keep_viewer(&self, key: ViewerKey, viewer: &Arc<Viewer>, depends_on: Vec<FactKey>);
}

/// Facts that an attempt reads: fixed ones, or ones that a cache completes.
pub(super) enum AttemptFacts<'f> {
    /// Fixed facts, without a cache.
    Given(&'f Facts),
    /// Facts to which answers of a cache are added when they are needed.
    Growing(&'f mut Facts, &'f dyn AttemptCache),
}

impl AttemptFacts<'_> {
    pub(super) const fn known(&self) -> &Facts {
        match self {
            Self::Given(facts) => facts,
            Self::Growing(facts, _) => facts,
        }
    }

    /// Returns true if the reads of a decision are known to be true of the state of the facts.
    pub(super) fn hold(&self, reads: &DecisionReads) -> bool {
        match self {
            Self::Given(facts) => reads.seq == facts.seq(),
            Self::Growing(_, cache) => cache.holds(reads),
        }
    }

    /// Returns the same facts again, for another attempt.
    pub(super) fn again(&mut self) -> AttemptFacts<'_> {
        match self {
            Self::Given(facts) => AttemptFacts::Given(facts),
            Self::Growing(facts, cache) => AttemptFacts::Growing(facts, *cache),
        }
    }

    /// Returns the answer to a read from the cache, which may have it under `made`, the read in its widened form, or under
    /// the read as requested.
    pub(super) fn cached(&mut self, read: &GraphRead, made: &GraphRead) -> Option<GraphAnswer> {
        let Self::Growing(facts, cache) = self else {
            return None;
        };
        if is_bounded(made) {
            return None;
        }
        let (found, answer) = match cache.answer(made) {
            Some(answer) => (made, answer),
            None if made == read => return None,
            None => (read, cache.answer(read)?),
        };
        // An answer of the wrong kind is not a fact: the read is then made.
        facts.insert(found, answer).ok()?;
        facts.answer(read)
    }
}

impl fmt::Debug for AttemptFacts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.known().fmt(f)
    }
}
