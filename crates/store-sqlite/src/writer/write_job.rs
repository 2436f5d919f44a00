//! Jobs of the writer: the work, its outcome, and the caller that waits for it.
use crate::transaction::SqliteTransaction;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::sync::oneshot;
use workgraph_auth::AuthStoreError;
use workgraph_core::storage::{Changes, CommitClock, CommitReceipt, GraphStoreError};

/// One job for the writer.
pub(super) enum WriteJob {
    Graph(Box<PendingWrite<Changes, CommitReceipt, GraphStoreError>>),
    Other(Box<dyn DynWrite>),
}

/// Work of any kind and outcome, behind one interface.
pub(super) trait DynWrite: Send {
    /// Does the work; returns true if its writes should be kept.
    fn run(&mut self, tx: &mut SqliteTransaction<'_>) -> bool;
    /// Returns the reason of its failure, if it failed.
    fn failure(&self) -> Option<String>;
    /// Sends the outcome, or the failure of the whole batch, to the waiting caller.
    fn answer(self: Box<Self>, failure: Option<&str>);
}

impl<W, T> DynWrite for PendingWrite<W, T, AuthStoreError>
where
    W: Fn(&mut SqliteTransaction<'_>) -> Result<T, AuthStoreError> + Send,
    T: Send,
{
    fn run(&mut self, tx: &mut SqliteTransaction<'_>) -> bool {
        let done = attempt(|| (self.work)(tx));
        self.settle(done.unwrap_or_else(|| Err(AuthStoreError::Unavailable(PANICKED.into()))))
    }
    fn failure(&self) -> Option<String> {
        PendingWrite::failure(self)
    }
    fn answer(self: Box<Self>, failure: Option<&str>) {
        let otherwise = failure.map_or(Ok(()), |reason| {
            Err(AuthStoreError::Unavailable(reason.into()))
        });
        PendingWrite::answer(*self, otherwise);
    }
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
        (
            Self {
                work,
                outcome: None,
                reply,
            },
            answer,
        )
    }
    fn settle(&mut self, outcome: Result<T, E>) -> bool {
        self.outcome.insert(outcome).is_ok()
    }
    fn failure(&self) -> Option<String>
    where
        E: std::fmt::Display,
    {
        self.outcome.as_ref()?.as_ref().err().map(E::to_string)
    }
    fn answer(self, otherwise: Result<(), E>) {
        let outcome = match (otherwise, self.outcome) {
            (Ok(()), Some(outcome)) => outcome,
            (Err(error), _) => Err(error),
            (Ok(()), None) => return,
        };
        // The caller may have stopped waiting; the writes stay.
        let _ = self.reply.send(outcome);
    }
}

impl WriteJob {
    /// Stamps the job's changes with their times, if it has any.
    pub(super) fn stamp(&mut self, clock: &mut CommitClock) {
        if let Self::Graph(task) = self {
            clock.stamp(&mut task.work);
        }
    }
    /// Does the work; returns true if its writes should be kept. A panic is a failure of this job alone.
    pub(super) fn run(&mut self, tx: &mut SqliteTransaction<'_>) -> bool {
        match self {
            Self::Graph(task) => {
                let done = attempt(|| workgraph_core::engine::apply::apply(tx, &task.work));
                task.settle(done.unwrap_or_else(|| Err(GraphStoreError::Failed(PANICKED.into()))))
            }
            Self::Other(work) => work.run(tx),
        }
    }
    /// Returns the reason of its failure.
    pub(super) fn failure(&self) -> String {
        let reason = match self {
            Self::Graph(task) => task.failure(),
            Self::Other(work) => work.failure(),
        };
        reason.unwrap_or_default()
    }
    /// Sends the outcome, or the failure of the whole batch, to the waiting caller.
    pub(super) fn answer(self, failure: Option<&str>) {
        match self {
            Self::Graph(task) => task.answer(
                failure.map_or(Ok(()), |reason| Err(GraphStoreError::Failed(reason.into()))),
            ),
            Self::Other(work) => work.answer(failure),
        }
    }
}

const PANICKED: &str = "a change set panicked";

pub(super) fn attempt<T>(work: impl FnOnce() -> T) -> Option<T> {
    // Half-done work is undone: with its savepoint, or with the batch, which is started again.
    catch_unwind(AssertUnwindSafe(work)).ok()
}
