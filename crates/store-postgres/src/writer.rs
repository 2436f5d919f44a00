//! Writer and group commit: it takes all waiting jobs, commits them together, and answers all once that is durable.
//!
//! Change sets that the cache knows enough about are applied to the state that it shows, and written in one trip, which
//! begins with a statement that fails if the state is another one by now. For all others the state is locked first.
mod group_commit;
mod write_job;

use self::group_commit::CommittedGroup;
use self::write_job::{DynWrite, PendingCommit, PendingWrite};
use crate::database::Database;
use crate::database_error::DatabaseError;
use crate::deadline::Deadline;
use crate::reader::OpenConnection;
use crate::store_state::AuditLogEnd;
use crate::transaction::PgTransaction;
use crate::write_attempt::WriteAttempt;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use workgraph_core::engine::waves::FactCache;
use workgraph_core::storage::{Changes, CommitReceipt, GraphStoreError};

/// Most jobs that share one commit.
const BATCH: usize = 256;
/// Time after which a batch takes up no more jobs, so that the first ones need not wait long.
const BATCH_TIME: Duration = Duration::from_secs(1);
/// Most jobs in the queue; when it is full, callers wait until there is room.
const QUEUE: usize = 1024;
/// Number of batches between two removals of old attempts.
const SWEEP_INTERVAL: u32 = 256;
/// Number of batches that lock the state first, after one found that another node had changed it.
const CAUTIOUS_BATCHES: u32 = 8;

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
    pub(crate) fn start(
        database: Database,
        cache: Arc<Mutex<FactCache>>,
    ) -> Result<Self, DatabaseError> {
        let (queue, jobs) = mpsc::channel(QUEUE);
        let mut thread = WriterThread {
            database,
            cache,
            batches: 0,
            audit: None,
            cautious: 0,
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
    /// Cache of the store, which gets what is committed.
    cache: Arc<Mutex<FactCache>>,
    batches: u32,
    /// End of the audit log after the last batch, if that is known.
    audit: Option<Option<AuditLogEnd>>,
    /// Number of batches that are to lock the state first.
    cautious: u32,
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
        let (mut trips, mut done) = (0, None);
        if mode == WriteMode::Waves && self.cautious == 0 {
            done = self.batch_at_once(&mut held, waiting, batch, &mut trips);
        }
        let done = match done {
            Some(done) => done,
            None => self.batch_under_lock(&mut held, waiting, batch, mode, &mut trips),
        };
        database.count_batch(trips);
        if done.is_ok() {
            // The connection goes back to its pool, outside of any transaction.
            drop(held.take());
        }
        done
    }

    /// Applies the change sets at the head of the queue to the state that the cache shows, and writes them in one trip;
    /// `None` if they must be written under the lock.
    fn batch_at_once(
        &mut self,
        held: &mut OpenConnection,
        waiting: &mut VecDeque<Box<dyn DynWrite>>,
        batch: &mut Vec<Box<dyn DynWrite>>,
        trips: &mut u32,
    ) -> Option<Result<(), DatabaseError>> {
        let count = waiting
            .iter()
            .take_while(|job| job.changes().is_some())
            .count();
        let group = waiting.make_contiguous().get_mut(..count)?;
        let group = CommittedGroup::from_cache(group, &self.cache, self.audit)?;
        let database = self.database.clone();
        let mut transaction = self.transaction(&database, held)?;
        let done = transaction
            .move_state(group.writes(), self.audit.flatten())
            .and_then(|()| group.send(&mut transaction))
            .and_then(|()| self.commit(&mut transaction));
        *trips += transaction.trips();
        let (state, attempt) = (transaction.state, transaction.attempt.take());
        drop(transaction);
        if matches!(done, Err(DatabaseError::Outdated)) {
            self.cautious = CAUTIOUS_BATCHES;
            return None;
        }
        let done = self.find_out_if_broken(held, attempt, done);
        if done.is_ok() {
            if group.has_audit_rows() {
                self.audit = state.map(|state| state.audit);
            }
            group.settle(waiting.iter_mut().take(count));
            group.keep(&self.cache);
        }
        batch.extend(waiting.drain(..count));
        Some(done)
    }

    /// Locks the state, takes jobs, writes them, and makes them durable.
    fn batch_under_lock(
        &mut self,
        held: &mut OpenConnection,
        waiting: &mut VecDeque<Box<dyn DynWrite>>,
        batch: &mut Vec<Box<dyn DynWrite>>,
        mode: WriteMode,
        trips: &mut u32,
    ) -> Result<(), DatabaseError> {
        self.cautious = self.cautious.saturating_sub(1);
        let database = self.database.clone();
        let Some(mut transaction) = self.transaction(&database, held) else {
            return Ok(());
        };
        let mut group = None;
        let done = self.write(&mut transaction, waiting, batch, mode, &mut group);
        let committing = matches!(done, Ok(true));
        let done = match done {
            Ok(true) => {
                let stored = transaction.store_state();
                stored.and_then(|()| self.commit(&mut transaction))
            }
            // Nothing is to be kept.
            Ok(false) => {
                transaction.send_command("ROLLBACK");
                transaction.flush()
            }
            Err(error) => Err(error),
        };
        *trips += transaction.trips();
        let (state, attempt) = (transaction.state, transaction.attempt.take());
        drop(transaction);
        if state.is_none() && done.is_err() {
            // The others would wait for the lock as long.
            batch.extend(waiting.drain(..));
        }
        let attempt = attempt.filter(|_| committing);
        let done = self.find_out_if_broken(held, attempt, done);
        self.audit = state.filter(|_| done.is_ok()).map(|state| state.audit);
        if done.is_ok()
            && let Some(group) = group
        {
            group.keep(&self.cache);
        }
        done
    }

    /// Returns a transaction that writes, on an open connection.
    fn transaction<'c>(
        &self,
        database: &'c Database,
        held: &'c OpenConnection,
    ) -> Option<PgTransaction<'c>> {
        let (runtime, timeout) = (database.runtime(), database.options().write_timeout);
        let connection = held.get()?;
        Some(PgTransaction::new(connection, runtime, BEGIN, timeout).writing())
    }

    /// Makes a transaction durable.
    fn commit(&self, transaction: &mut PgTransaction<'_>) -> Result<(), DatabaseError> {
        if self.batches.is_multiple_of(SWEEP_INTERVAL) {
            transaction.send_command(SWEEP);
        }
        transaction.send_command(COMMIT);
        transaction.flush()
    }

    /// Asks what became of a transaction that was being committed when its connection broke, if the attempt is given.
    fn find_out_if_broken(
        &self,
        held: &mut OpenConnection,
        attempt: Option<WriteAttempt>,
        done: Result<(), DatabaseError>,
    ) -> Result<(), DatabaseError> {
        match (done, attempt) {
            (Err(error), Some(attempt)) if error.breaks_connection() => {
                if let Some(broken) = held.take() {
                    self.database.close(broken);
                }
                let found = attempt.find_out(&self.database, error);
                self.database.runtime().block_on(found)
            }
            (done, _) => done,
        }
    }

    /// Writes jobs; returns true if anything of them is to be committed.
    fn write(
        &self,
        transaction: &mut PgTransaction<'_>,
        waiting: &mut VecDeque<Box<dyn DynWrite>>,
        batch: &mut Vec<Box<dyn DynWrite>>,
        mode: WriteMode,
        group_of_all: &mut Option<CommittedGroup>,
    ) -> Result<bool, DatabaseError> {
        let end = Deadline::after(BATCH_TIME);
        let mut keeps = false;
        while let Some(mut job) = waiting.pop_front() {
            if mode == WriteMode::Waves && job.changes().is_some() {
                let first = batch.len();
                batch.push(job);
                while let Some(next) = waiting.pop_front_if(|next| next.changes().is_some()) {
                    batch.push(next);
                }
                let jobs = batch.get_mut(first..).unwrap_or_default();
                let group = CommittedGroup::in_waves(transaction, jobs, &self.cache)?;
                group.settle(jobs.iter_mut());
                if !group.writes().is_empty() {
                    keeps = true;
                    group.send(transaction)?;
                }
                // The cache knows the state only where nothing else was written.
                *group_of_all = Some(group).filter(|group| group.is_first());
                continue;
            }
            if transaction.state.is_none() {
                transaction.lock_state()?;
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
            if end.has_passed() {
                break;
            }
        }
        Ok(keeps)
    }
}
