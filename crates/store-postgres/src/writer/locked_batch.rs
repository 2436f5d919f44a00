//! Batches under the lock of the state: jobs of all kinds, on the locked state.
use super::group_commit::CommittedGroup;
use super::write_job::DynWrite;
use super::writer_thread::{BATCH, WriteMode, WriterThread};
use crate::database::Database;
use crate::database_error::DatabaseError;
use crate::deadline::Deadline;
use crate::reader::OpenConnection;
use crate::transaction::PgTransaction;
use std::time::Duration;

/// Time after which a batch accepts no more jobs, so that the first ones need not wait long.
const BATCH_TIME: Duration = Duration::from_secs(1);

const BEGIN: &str = "BEGIN";
const SAVEPOINT: &str = "SAVEPOINT job";
const RELEASE: &str = "RELEASE job";
const UNDO: &str = "ROLLBACK TO job; RELEASE job";

type Jobs = Vec<Box<dyn DynWrite>>;

impl WriterThread {
    /// Writes the waiting jobs, and answers them. If the database refuses them together, they are written one by one.
    pub(super) fn write_under_lock(&mut self, mode: WriteMode) {
        let mut batch = Vec::with_capacity(self.waiting.len().min(BATCH));
        let mut done = self.locked_batch(&mut batch, mode);
        if let Err(error) = &done
            && mode == WriteMode::Waves
            && !error.breaks_connection()
        {
            self.take_back(batch.drain(..), error);
            done = self.locked_batch(&mut batch, WriteMode::OneByOne);
        }
        self.answer(batch, done.err().as_ref());
    }

    /// Takes jobs, writes them in one transaction, and makes them durable; on an error, none of their writes are kept.
    fn locked_batch(&mut self, batch: &mut Jobs, mode: WriteMode) -> Result<(), DatabaseError> {
        let database = self.database.clone();
        let connection = match database.runtime().block_on(database.write_connection()) {
            Ok(connection) => connection,
            Err(error) => {
                batch.extend(self.waiting.drain(..));
                return Err(error);
            }
        };
        let mut held = OpenConnection::new(&database, connection);
        let mut trips = 0;
        let done = self.batch_under_lock(&mut held, batch, mode, &mut trips);
        self.count_trips(trips);
        if done.is_ok() {
            // The connection is returned to its pool, outside of any transaction.
            drop(held.take());
        }
        done
    }

    /// Locks the state, takes jobs, writes them, and makes them durable.
    fn batch_under_lock(
        &mut self,
        held: &mut OpenConnection,
        batch: &mut Jobs,
        mode: WriteMode,
        trips: &mut u32,
    ) -> Result<(), DatabaseError> {
        self.cautious = self.cautious.saturating_sub(1);
        let database = self.database.clone();
        let Some(mut transaction) = self.transaction(&database, held) else {
            return Ok(());
        };
        let mut group = None;
        let done = self.write(&mut transaction, batch, mode, &mut group);
        let committing = matches!(done, Ok(true));
        let done = match done {
            Ok(true) => {
                let stored = transaction.store_state();
                stored.and_then(|()| {
                    self.end_of_batch()
                        .for_each(|command| transaction.send_command(command));
                    transaction.flush()
                })
            }
            // No writes should be kept.
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
            // The other waiting jobs would wait as long for the lock, so they share the outcome of this batch.
            batch.extend(self.waiting.drain(..));
        }
        let attempt = attempt.filter(|_| committing);
        if matches!(&done, Err(error) if error.breaks_connection()) {
            // The connection is closed, so that its transaction ends.
            held.take()
                .into_iter()
                .for_each(|broken| self.database.close(broken));
        }
        let done = self.find_out_if_broken(attempt, done);
        self.audit = state.filter(|_| done.is_ok()).map(|state| state.audit);
        if done.is_ok()
            && let Some(group) = group
        {
            group.keep(&self.cache);
        }
        done
    }

    fn transaction<'c>(
        &self,
        database: &'c Database,
        held: &'c OpenConnection,
    ) -> Option<PgTransaction<'c>> {
        let (runtime, timeout) = (database.runtime(), database.options().write_timeout);
        let connection = held.get()?;
        Some(PgTransaction::new(connection, runtime, BEGIN, timeout).writing())
    }

    /// Writes jobs; returns true if there is anything to commit.
    fn write(
        &mut self,
        transaction: &mut PgTransaction<'_>,
        batch: &mut Jobs,
        mode: WriteMode,
        group_of_all: &mut Option<CommittedGroup>,
    ) -> Result<bool, DatabaseError> {
        let end = Deadline::after(BATCH_TIME);
        let mut keeps = false;
        while batch.len() < BATCH
            && let Some(mut job) = self.waiting.pop_front()
        {
            if mode == WriteMode::Waves && job.changes().is_some() {
                let first = batch.len();
                batch.push(job);
                while batch.len() < BATCH
                    && let Some(next) = self.waiting.pop_front_if(|next| next.changes().is_some())
                {
                    batch.push(next);
                }
                let jobs = batch.get_mut(first..).unwrap_or_default();
                let group = CommittedGroup::in_waves(transaction, jobs, &self.cache)?;
                group.settle(jobs.iter_mut());
                if !group.writes().is_empty() {
                    keeps = true;
                    group.send(transaction)?;
                }
                // The cache knows the state only if nothing else was written.
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
                transaction.touched = Some(Vec::new());
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
