//! Jobs of the writer: the work, its outcome, and the caller that waits for it.
use crate::database_error::DatabaseError;
use crate::transaction::PgTransaction;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::oneshot;
use workgraph_core::engine;
use workgraph_core::storage::{Changes, CommitClock, CommitReceipt, GraphStoreError};

/// Job of the writer, of any kind and outcome, so that one queue can hold all jobs.
pub(super) trait DynWrite: Send {
    /// Does the work; returns true if its writes should be kept.
    fn run(&mut self, transaction: &mut PgTransaction<'_>) -> bool;
    /// Returns the change set, if the work commits one.
    fn changes(&self) -> Option<&Changes> {
        None
    }
    /// Stamps the change set with its times, if the work commits one.
    fn stamp(&mut self, _clock: &mut CommitClock) {}
    /// Sets the receipt or refusal of the change set as the outcome of the work.
    fn settle(&mut self, _outcome: Result<CommitReceipt, GraphStoreError>) {}
    /// Sets an error as the outcome of the work.
    fn fail(&mut self, error: &DatabaseError);
    /// Returns true if the work was done and did not fail.
    fn succeeded(&self) -> bool;
    /// Sends the outcome, or the failure of the whole batch, to the waiting caller.
    fn answer(self: Box<Self>, failure: Option<&DatabaseError>);
}

/// Work to do, its outcome, and the channel to the caller that waits for it.
pub(super) struct PendingWrite<W, T, E> {
    work: W,
    outcome: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<W, T, E> PendingWrite<W, T, E> {
    pub(super) fn new(work: W) -> (Self, oneshot::Receiver<Result<T, E>>) {
        let (reply, answer) = oneshot::channel();
        let outcome = None;
        (
            Self {
                work,
                outcome,
                reply,
            },
            answer,
        )
    }
}

impl<W, T, E> DynWrite for PendingWrite<W, T, E>
where
    W: Fn(&mut PgTransaction<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<DatabaseError> + Send,
{
    fn run(&mut self, transaction: &mut PgTransaction<'_>) -> bool {
        // Half-done work is undone with its savepoint.
        let done = catch_unwind(AssertUnwindSafe(|| (self.work)(transaction)));
        self.outcome
            .insert(done.unwrap_or_else(|_| Err(panicked())))
            .is_ok()
    }

    fn fail(&mut self, error: &DatabaseError) {
        self.outcome = Some(Err(error.clone().into()));
    }

    fn succeeded(&self) -> bool {
        matches!(self.outcome, Some(Ok(_)))
    }

    fn answer(self: Box<Self>, failure: Option<&DatabaseError>) {
        answer(self.reply, self.outcome, failure);
    }
}

/// Change set to commit, its outcome, and the channel to the caller that waits for it.
pub(super) struct PendingCommit {
    changes: Changes,
    outcome: Option<Result<CommitReceipt, GraphStoreError>>,
    reply: oneshot::Sender<Result<CommitReceipt, GraphStoreError>>,
}

impl PendingCommit {
    pub(super) fn new(
        changes: Changes,
    ) -> (
        Self,
        oneshot::Receiver<Result<CommitReceipt, GraphStoreError>>,
    ) {
        let (reply, answer) = oneshot::channel();
        let outcome = None;
        (
            Self {
                changes,
                outcome,
                reply,
            },
            answer,
        )
    }
}

impl DynWrite for PendingCommit {
    fn run(&mut self, transaction: &mut PgTransaction<'_>) -> bool {
        let apply = || engine::apply::apply(transaction, &self.changes);
        let done = catch_unwind(AssertUnwindSafe(apply));
        self.outcome
            .insert(done.unwrap_or_else(|_| Err(panicked())))
            .is_ok()
    }

    fn changes(&self) -> Option<&Changes> {
        Some(&self.changes)
    }

    fn stamp(&mut self, clock: &mut CommitClock) {
        clock.stamp(&mut self.changes);
    }

    fn settle(&mut self, outcome: Result<CommitReceipt, GraphStoreError>) {
        self.outcome = Some(outcome);
    }

    fn fail(&mut self, error: &DatabaseError) {
        self.outcome = Some(Err(error.clone().into()));
    }

    fn succeeded(&self) -> bool {
        matches!(self.outcome, Some(Ok(_)))
    }

    fn answer(self: Box<Self>, failure: Option<&DatabaseError>) {
        answer(self.reply, self.outcome, failure);
    }
}

/// Sends the outcome of its work, or the failure of the whole batch, to a waiting caller.
fn answer<T, E: From<DatabaseError>>(
    reply: oneshot::Sender<Result<T, E>>,
    outcome: Option<Result<T, E>>,
    failure: Option<&DatabaseError>,
) {
    let outcome = match (failure, outcome) {
        (Some(error), _) => Err(error.clone().into()),
        (None, Some(outcome)) => outcome,
        (None, None) => return,
    };
    // The caller may have stopped waiting; the writes stay.
    let _ = reply.send(outcome);
}

/// Returns the error of work that panicked.
fn panicked<E: From<DatabaseError>>() -> E {
    DatabaseError::Failed("a change set panicked".into()).into()
}
