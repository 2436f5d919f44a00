//! Writer and group commit: it takes all waiting jobs, commits them together, and answers all of them once the commit is durable.
//!
//! If the cache has all answers that some change sets need, these are applied to the state of the cache and written in one
//! trip, which begins with a statement that fails if the state has changed. While that commit becomes durable, the next
//! change sets are applied to the state after it, and the rows of their new nodes are sent. For all other change sets the
//! state is locked first.
mod group_ahead;
mod group_commit;
mod group_transaction;
mod locked_batch;
mod write_job;
mod writer_thread;

use self::write_job::{DynWrite, PendingCommit, PendingWrite};
use self::writer_thread::WriterThread;
use crate::database::Database;
use crate::database_error::DatabaseError;
use crate::transaction::PgTransaction;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use workgraph_core::engine::waves::FactCache;
use workgraph_core::storage::{Changes, CommitClock, CommitReceipt, GraphStoreError};

/// Maximum number of jobs in the queue; if it is full, callers wait for room.
const QUEUE: usize = 1024;

/// Handle of the writer's thread, which ends after this is dropped and the jobs in the queue are done.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Box<dyn DynWrite>>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(
        database: Database,
        cache: Arc<Mutex<FactCache>>,
        clock: CommitClock,
    ) -> Result<Self, DatabaseError> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let thread = WriterThread::new(database, cache, clock);
        std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || thread.run(jobs))
            .map_err(|error| DatabaseError::Failed(error.to_string()))?;
        Ok(Self { queue })
    }

    /// Runs work in a transaction that holds the lock of the store's state; an error undoes its writes. The work may run more
    /// than once. When this returns, the commit is durable.
    pub(crate) async fn work<T, E>(
        &self,
        work: impl Fn(&mut PgTransaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        let (job, answer) = PendingWrite::new(work);
        self.finish(Box::new(job), answer).await
    }

    /// Commits a change set. When this returns, the commit is durable.
    pub(crate) async fn commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        let (job, answer) = PendingCommit::new(changes);
        self.finish(Box::new(job), answer).await
    }

    async fn finish<T, E: From<DatabaseError>>(
        &self,
        job: Box<dyn DynWrite>,
        answer: oneshot::Receiver<Result<T, E>>,
    ) -> Result<T, E> {
        let closed = || E::from(DatabaseError::Unavailable("the store is closed".into()));
        self.queue.send(job).await.map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }
}
