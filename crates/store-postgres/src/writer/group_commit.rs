//! Group commit: change sets that are applied together, each to the state after those before it.
use super::write_job::DynWrite;
use crate::database_error::DatabaseError;
use crate::transaction::PgTransaction;
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use workgraph_core::engine::waves::{AppliedChanges, FactCache, Facts, GraphWrites};
use workgraph_core::storage::{Changes, CommitReceipt, GraphStoreError};

/// Change sets as applied to the state after a commit.
pub(super) struct CommittedGroup {
    /// Facts of the state to which the change sets were applied; `None` if that state has changes that are not durable.
    facts: Option<Facts>,
    writes: GraphWrites,
    outcomes: Vec<Result<CommitReceipt, GraphStoreError>>,
}

fn failed(error: GraphStoreError) -> DatabaseError {
    match error {
        GraphStoreError::Unavailable(reason) => DatabaseError::Unavailable(reason),
        other => DatabaseError::Failed(other.to_string()),
    }
}

pub(super) fn sets(jobs: &[Box<dyn DynWrite>]) -> Vec<&Changes> {
    jobs.iter().filter_map(|job| job.changes()).collect()
}

impl CommittedGroup {
    fn new(facts: Option<Facts>, applied: AppliedChanges) -> Self {
        let AppliedChanges { writes, outcomes } = applied;
        Self {
            facts,
            writes,
            outcomes,
        }
    }

    /// Applies change sets to the state that the transaction has locked, or locks with the first wave.
    pub(super) fn in_waves(
        transaction: &mut PgTransaction<'_>,
        jobs: &[Box<dyn DynWrite>],
        cache: &Mutex<FactCache>,
    ) -> Result<Self, DatabaseError> {
        let sets = sets(jobs);
        let attempt = AssertUnwindSafe(|| match transaction.state {
            None => {
                let applied = transaction.lock_and_apply(&sets, cache)?;
                Ok(applied.map(|(facts, applied)| Self::new(Some(facts), applied)))
            }
            Some(_) => {
                let applied = transaction.apply_in_waves(&sets)?;
                Ok(applied.map(|applied| Self::new(None, applied)))
            }
        });
        let group = catch_unwind(attempt).unwrap_or(Ok(None)).map_err(failed)?;
        let apart = || DatabaseError::Failed("change sets cannot be applied together".into());
        group.ok_or_else(apart)
    }

    pub(super) fn writes(&self) -> &GraphWrites {
        &self.writes
    }

    /// Returns true if the state to which the change sets were applied is durable.
    pub(super) fn is_first(&self) -> bool {
        self.facts.is_some()
    }

    /// Sends the writes, without waiting for them.
    pub(super) fn send(&self, transaction: &mut PgTransaction<'_>) -> Result<(), DatabaseError> {
        transaction.put_group(&self.writes)
    }

    /// Sets the outcomes of the jobs.
    pub(super) fn settle<'j>(&self, jobs: impl Iterator<Item = &'j mut Box<dyn DynWrite>>) {
        for (job, outcome) in jobs.zip(&self.outcomes) {
            job.settle(outcome.clone());
        }
    }

    /// Gives the committed writes to the cache.
    pub(super) fn keep(self, cache: &Mutex<FactCache>) {
        if let Some(facts) = self.facts
            && !self.writes.is_empty()
        {
            cache.lock().commit(facts, self.writes);
        }
    }
}
