//! Change sets that are applied to the state after commits that are not durable yet.
use crate::waves::{ATTEMPTS_MAX, outcome};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::sync::Arc;
use workgraph_core::Viewer;
use workgraph_core::engine::waves::{
    AppliedChanges, AttemptCache, FactCache, Facts, GraphAnswer, GraphRead, PendingCommits,
    apply_attempt_with, commit_guesses,
};
use workgraph_core::storage::{Changes, DecisionReads, FactKey, GraphStoreError, Seq, ViewerKey};

/// State after the pending commits, as far as these commits and the cache before them show it.
struct StateAhead<'c> {
    cache: &'c Mutex<FactCache>,
    pending: RefCell<&'c mut PendingCommits>,
    seq: Seq,
}

impl<'c> StateAhead<'c> {
    fn new(cache: &'c Mutex<FactCache>, pending: &'c mut PendingCommits) -> Self {
        let seq = pending.last_seq().unwrap_or_else(|| cache.lock().seq());
        let pending = RefCell::new(pending);
        Self {
            cache,
            pending,
            seq,
        }
    }

    fn get(&self, read: &GraphRead) -> Option<GraphAnswer> {
        let (mut cache, mut pending) = (self.cache.lock(), self.pending.borrow_mut());
        let is_ahead = pending.last_seq().is_some();
        // Without pending commits the cache must still be at the same state.
        (is_ahead || cache.seq() == self.seq)
            .then(|| pending.answer(read, &mut cache))
            .flatten()
    }

    /// Adds the available answers to facts. Returns true if every read has an answer.
    fn fill(&self, facts: &mut Facts, reads: Vec<GraphRead>) -> Result<bool, GraphStoreError> {
        let mut are_all = true;
        for read in reads {
            match self.get(&read) {
                Some(answer) => facts.insert(&read, answer)?,
                None => are_all = false,
            }
        }
        Ok(are_all)
    }
}

impl AttemptCache for StateAhead<'_> {
    fn answer(&self, read: &GraphRead) -> Option<GraphAnswer> {
        self.get(read)
    }

    fn holds(&self, reads: &DecisionReads) -> bool {
        self.pending.borrow().hold(reads, &self.cache.lock())
    }

    fn viewer(&self, _: ViewerKey) -> Option<Arc<Viewer>> {
        // Changes are applied without a viewer.
        None
    }

    fn keep_viewer(&self, _: ViewerKey, _: &Arc<Viewer>, _: Vec<FactKey>) {}
}

/// Applies change sets to the state after the pending commits; `None` if an answer that they need is not available.
pub(crate) fn apply_ahead(
    sets: &[&Changes],
    cache: &Mutex<FactCache>,
    pending: &mut PendingCommits,
) -> Result<Option<(Facts, AppliedChanges)>, GraphStoreError> {
    let ahead = StateAhead::new(cache, pending);
    let mut facts = Facts::at(ahead.seq);
    // A guess without an available answer may be useless, so it is no failure.
    let guesses = sets.iter().flat_map(|changes| commit_guesses(changes));
    ahead.fill(&mut facts, guesses.collect())?;
    for _ in 0..ATTEMPTS_MAX {
        let lacking = match outcome(apply_attempt_with(&mut facts, &ahead, sets)) {
            Ok(applied) => return Ok(Some((facts, applied))),
            Err(reads) => reads,
        };
        if !ahead.fill(&mut facts, lacking)? {
            break;
        }
    }
    Ok(None)
}
