//! Writer and group commit: it takes all waiting jobs, commits them together, and answers all once that is durable.
mod write_job;

use self::write_job::{DynWrite, PendingCommit, PendingWrite};
use crate::database::Database;
use crate::database_error::DatabaseError;
use crate::reader::OpenConnection;
use crate::transaction::{CollectedKeys, PgTransaction};
use crate::write_attempt::WriteAttempt;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use workgraph_core::storage::{Changes, CommitReceipt, GraphStoreError};

/// Most jobs that share one commit.
const BATCH: usize = 256;
/// Time after which a batch takes up no more jobs, so that the first ones need not wait long.
const BATCH_TIME: Duration = Duration::from_secs(1);
/// Most jobs in the queue; when it is full, callers wait until there is room.
const QUEUE: usize = 1024;
/// Most keys that a commit puts into the journal for the caches of other nodes. One that touches more, such as the deletion
/// of a large project, makes them forget everything.
const TOUCHED_MAX: usize = 4_096;
/// Number of batches between two removals of old attempts.
const SWEEP_INTERVAL: u32 = 256;

const BEGIN: &str = "BEGIN";
const SAVEPOINT: &str = "SAVEPOINT job";
const RELEASE: &str = "RELEASE job";
const UNDO: &str = "ROLLBACK TO job; RELEASE job";
const COMMIT: &str = "COMMIT";
const SWEEP: &str = "DELETE FROM write_attempt WHERE at < now() - interval '1 hour'";

/// Handle of the writer's thread, which ends once this is dropped and the jobs in the queue are done.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Box<dyn DynWrite>>,
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(database: Database) -> Result<Self, DatabaseError> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let mut thread = WriterThread {
            database,
            batches: 0,
        };
        std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || thread.run(jobs))
            .map_err(|error| DatabaseError::Failed(error.to_string()))?;
        Ok(Self { queue })
    }

    /// Runs work in a transaction that holds the lock of the store's state; an error undoes what the work wrote. The
    /// work may run more than once. When this returns, the commit is durable.
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

/// Way to write the jobs of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WriteMode {
    /// Change sets that follow each other are applied together, in waves.
    Waves,
    /// Each job by itself, under a savepoint, with a trip for each of its reads.
    OneByOne,
}

/// State of the writer's thread.
struct WriterThread {
    database: Database,
    batches: u32,
}

impl WriterThread {
    fn run(&mut self, mut queue: mpsc::Receiver<Box<dyn DynWrite>>) {
        let mut taken = Vec::with_capacity(BATCH);
        let mut waiting = VecDeque::new();
        loop {
            if waiting.is_empty() {
                if queue.blocking_recv_many(&mut taken, BATCH) == 0 {
                    return;
                }
                waiting.extend(taken.drain(..));
            }
            let (mut batch, mut mode) = (Vec::with_capacity(waiting.len()), WriteMode::OneByOne);
            if self.database.options().waves {
                mode = WriteMode::Waves;
            }
            let mut done = self.batch(&mut waiting, &mut batch, mode);
            if let Err(error) = &done
                && mode == WriteMode::Waves
                && !error.breaks_connection()
            {
                // One job that the database refuses must not fail the others.
                tracing::warn!(%error, jobs = batch.len(), "changes are written one by one");
                batch
                    .drain(..)
                    .rev()
                    .for_each(|job| waiting.push_front(job));
                done = self.batch(&mut waiting, &mut batch, WriteMode::OneByOne);
            }
            let failure = done.err();
            if let Some(reason) = &failure {
                tracing::error!(%reason, jobs = batch.len(), "a commit failed");
            }
            for job in batch {
                job.answer(failure.as_ref());
            }
        }
    }

    /// Takes jobs and writes them in one transaction, and makes them durable; on an error nothing of any of them is
    /// kept.
    fn batch(
        &mut self,
        waiting: &mut VecDeque<Box<dyn DynWrite>>,
        batch: &mut Vec<Box<dyn DynWrite>>,
        mode: WriteMode,
    ) -> Result<(), DatabaseError> {
        self.batches = self.batches.wrapping_add(1);
        let database = self.database.clone();
        let connection = match database.runtime().block_on(database.write_connection()) {
            Ok(connection) => connection,
            Err(error) => {
                batch.extend(waiting.drain(..));
                return Err(error);
            }
        };
        let mut held = OpenConnection::new(&database, connection);
        let Some(connection) = held.get() else {
            return Ok(());
        };
        let mut transaction = PgTransaction::new(
            connection,
            database.runtime(),
            BEGIN,
            database.options().write_timeout,
        );
        let attempt = match transaction.lock_state() {
            Ok(id) => WriteAttempt::on_record(id),
            Err(error) => {
                batch.extend(waiting.drain(..));
                return Err(error);
            }
        };
        let done = self.write(&mut transaction, waiting, batch, mode);
        let committing = matches!(done, Ok(true));
        let done = match done {
            Ok(true) => transaction.store_state().and_then(|()| {
                transaction.send_command(COMMIT);
                transaction.flush()
            }),
            // Nothing is to be kept.
            Ok(false) => {
                transaction.send_command("ROLLBACK");
                transaction.flush()
            }
            Err(error) => Err(error),
        };
        database.count_batch(transaction.trips());
        drop(transaction);
        match done {
            Ok(()) => {
                // The connection goes back to its pool, outside of any transaction.
                drop(held.take());
                Ok(())
            }
            Err(error) if committing && error.breaks_connection() => {
                drop(held);
                let found = attempt.find_out(&database, error);
                database.runtime().block_on(found)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes jobs; returns true if anything of them is to be committed.
    fn write(
        &self,
        transaction: &mut PgTransaction<'_>,
        waiting: &mut VecDeque<Box<dyn DynWrite>>,
        batch: &mut Vec<Box<dyn DynWrite>>,
        mode: WriteMode,
    ) -> Result<bool, DatabaseError> {
        let begun = Instant::now();
        let mut keeps = false;
        while let Some(mut job) = waiting.pop_front() {
            if mode == WriteMode::Waves && job.changes().is_some() {
                let first = batch.len();
                batch.push(job);
                while let Some(next) = waiting.pop_front_if(|next| next.changes().is_some()) {
                    batch.push(next);
                }
                let group = batch.get_mut(first..).unwrap_or_default();
                keeps |= write_group(transaction, group)?;
                continue;
            }
            let before = transaction.state;
            transaction.send_command(SAVEPOINT);
            let kept = job.run(transaction);
            // Writes that were not waited for can fail now.
            let sent = transaction.flush();
            let fatal = sent
                .as_ref()
                .err()
                .filter(|error| error.breaks_connection())
                .cloned();
            if let Err(error) = sent
                && kept
            {
                job.fail(&error);
            }
            let succeeded = job.succeeded();
            batch.push(job);
            if let Some(error) = fatal {
                return Err(error);
            }
            if succeeded {
                keeps = true;
                transaction.send_command(RELEASE);
            } else {
                transaction.state = before;
                transaction.send_command(UNDO);
                transaction.flush()?;
            }
            if begun.elapsed() >= BATCH_TIME {
                break;
            }
        }
        if keeps && self.batches.is_multiple_of(SWEEP_INTERVAL) {
            transaction.send_command(SWEEP);
        }
        Ok(keeps)
    }
}

/// Applies change sets together, each to the state after those before it, and sends what they write. Returns true if
/// anything is to be committed.
fn write_group(
    transaction: &mut PgTransaction<'_>,
    group: &mut [Box<dyn DynWrite>],
) -> Result<bool, DatabaseError> {
    let failed = |error: GraphStoreError| match error {
        GraphStoreError::Unavailable(reason) => DatabaseError::Unavailable(reason),
        other => DatabaseError::Failed(other.to_string()),
    };
    let sets: Vec<&Changes> = group.iter().filter_map(|job| job.changes()).collect();
    let attempt = AssertUnwindSafe(|| transaction.apply_in_waves(&sets));
    let applied = catch_unwind(attempt).unwrap_or(Ok(None)).map_err(failed)?;
    let applied = applied
        .ok_or_else(|| DatabaseError::Failed("change sets cannot be applied together".into()))?;
    for (job, outcome) in group.iter_mut().zip(applied.outcomes) {
        job.settle(outcome);
    }
    if applied.writes.is_empty() {
        return Ok(false);
    }
    let touched = &applied.writes.touched;
    let touched =
        (touched.len() <= TOUCHED_MAX).then(|| touched.iter().map(|key| key.number()).collect());
    let last = applied.writes.last_seq();
    transaction.collected = Some(CollectedKeys { last, touched });
    let sent = applied.writes.flush(transaction);
    transaction.collected = None;
    sent.map_err(failed)?;
    Ok(true)
}
