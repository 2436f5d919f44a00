//! Attempts to apply changes to an overlay over facts.
use super::attempt_facts::{AttemptCache, AttemptFacts};
use super::facts::Facts;
use super::graph_read::GraphRead;
use super::graph_writes::GraphWrites;
use super::overlay::Overlay;
use crate::engine::apply;
use crate::graph_store_error::GraphStoreError;
use crate::storage::{Changes, CommitReceipt};
use std::collections::BTreeSet;

/// Outcome of an attempt to apply change sets.
#[derive(Debug)]
pub enum Applied {
    /// The facts answered every read.
    Ready(Box<AppliedChanges>),
    /// Reads that the facts do not answer.
    Lacks(Vec<GraphRead>),
}

/// Change sets as applied to the state of some facts.
#[derive(Debug)]
pub struct AppliedChanges {
    /// The writes of all change sets that were not refused.
    pub writes: GraphWrites,
    /// The receipt of each change set, or the reason why it was refused. Like the writes, the reason is true of the state
    /// that was read, and is outdated when the writes are. The commit numbers are the numbers before
    /// [`GraphWrites::move_to`].
    pub outcomes: Vec<Result<CommitReceipt, GraphStoreError>>,
}

/// Applies change sets one after the other, each to the state after the change sets before it. A refused change set is left
/// out.
#[must_use]
pub fn apply_attempt(facts: &Facts, sets: &[&Changes]) -> Applied {
    apply_on(AttemptFacts::Given(facts), sets)
}

/// Applies change sets in the same way, with a cache for the reads that the facts lack.
#[must_use]
pub fn apply_attempt_with(
    facts: &mut Facts,
    cache: &dyn AttemptCache,
    sets: &[&Changes],
) -> Applied {
    apply_on(AttemptFacts::Growing(facts, cache), sets)
}

fn apply_on(mut facts: AttemptFacts<'_>, sets: &[&Changes]) -> Applied {
    let mut refused: Vec<Option<GraphStoreError>> = vec![None; sets.len()];
    let mut reads = BTreeSet::new();
    loop {
        let mut overlay = Overlay::over_attempt(facts.again());
        let mut outcomes = Vec::with_capacity(sets.len());
        let mut is_spoiled = false;
        for (changes, refused) in sets.iter().zip(&mut refused) {
            if let Some(error) = refused {
                outcomes.push(Err(error.clone()));
                continue;
            }
            let before = overlay.progress();
            let outcome = apply_one(&mut overlay, changes);
            if let Err(error) = &outcome
                && !overlay.is_lacking()
            {
                *refused = Some(error.clone());
                // Most refused change sets fail at a guard, before they write.
                is_spoiled = overlay.progress() != before;
            }
            outcomes.push(outcome);
            if is_spoiled {
                break;
            }
        }
        if overlay.is_lacking() {
            return Applied::Lacks(overlay.lacking());
        }
        let mut writes = overlay.into_writes();
        // A refusal depends on its reads, too.
        reads.append(&mut writes.reads);
        if !is_spoiled {
            writes.reads = reads;
            return Applied::Ready(Box::new(AppliedChanges { writes, outcomes }));
        }
    }
}

/// Applies one change set. If a read had no answer, it continues past a guard that fails: the result is worthless, but its other
/// reads can be made in the same wave.
fn apply_one(
    overlay: &mut Overlay<'_>,
    changes: &Changes,
) -> Result<CommitReceipt, GraphStoreError> {
    let guarded = apply::check_guards(overlay, changes);
    if !overlay.is_lacking() {
        guarded?;
    }
    apply::write(overlay, changes)
}
