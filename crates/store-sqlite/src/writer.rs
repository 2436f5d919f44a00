//! Writer thread and group commit: it takes all waiting jobs, commits them together, and answers all.
mod job_batch;
mod single_writer;
mod write_job;

use self::job_batch::{answer, publish, write};
use self::single_writer::SingleWriter;
use self::write_job::{PendingWrite, WriteJob};
use crate::archive::Archiver;
use crate::connection_setup::{StoreOptions, StorePaths};
use crate::open_error::StoreOpenError;
use crate::reader_pool::ReaderPool;
use crate::statements::Sql;
use crate::transaction::SqliteTransaction;
use crate::wal_checkpoint::WalMonitor;
use crate::{connection_setup, wal_checkpoint};
use rusqlite::{Connection, OptionalExtension as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use tokio::sync::mpsc;
use workgraph_auth::AuthStoreError;
use workgraph_core::model::time::Time;
use workgraph_core::storage::{Changes, CommitClock, CommitReceipt, GraphStoreError, TouchLog};

/// Maximum number of change sets that share one commit.
const BATCH: usize = 256;
/// Error of a caller after the writer has ended.
const CLOSED: &str = "the store is closed";
/// Maximum number of change sets in the queue; if it is full, callers wait for room.
const QUEUE: usize = 1024;

/// Writer of jobs: a separate thread, or the thread of the caller.
#[derive(Debug)]
pub(crate) enum Writer {
    /// A thread commits the waiting jobs together.
    Thread(WriterHandle),
    /// The thread of the caller commits its job alone.
    Single(SingleWriter),
    /// Nobody writes the store, because others were copied from it: each job fails.
    Closed,
}

/// Handle of the writer's thread, which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct WriterHandle {
    queue: Option<mpsc::Sender<WriteJob>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(
        files: &StorePaths,
        options: &StoreOptions,
        readers: Arc<ReaderPool>,
        watch: WalMonitor,
        archiver: Option<Arc<Archiver>>,
        clock: CommitClock,
    ) -> Result<Self, StoreOpenError> {
        if options.single_connection {
            return Ok(Self::single(files, readers, clock));
        }
        let pages = Arc::new(AtomicU64::new(0));
        let conn = open(files, options, &pages, archiver.as_ref())?;
        let (queue, jobs) = mpsc::channel(QUEUE);
        let mut writer_thread = WriterThread {
            files: files.clone(),
            options: *options,
            conn: Some(conn),
            readers,
            watch,
            pages,
            archiver,
            clock,
            touch_log: None,
        };
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || writer_thread.run(jobs))
            .map_err(|e| StoreOpenError::Io(files.database.clone(), e))?;
        Ok(Self::Thread(WriterHandle {
            queue: Some(queue),
            thread: Some(thread),
        }))
    }

    /// Returns the writer of a store with a single connection.
    pub(crate) fn single(files: &StorePaths, readers: Arc<ReaderPool>, clock: CommitClock) -> Self {
        Self::Single(SingleWriter::new(files, readers, clock))
    }

    pub(crate) async fn commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        let (task, answer) = PendingWrite::new(changes);
        let closed = || GraphStoreError::Failed(CLOSED.into());
        self.send(WriteJob::Graph(Box::new(task)))
            .await
            .ok_or_else(closed)?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Runs work in a transaction; an error undoes it. Work that changes the validity of tokens sets [`Invalidations::tokens`].
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl Fn(&mut SqliteTransaction<'_>) -> Result<T, AuthStoreError> + Send + 'static,
    ) -> Result<T, AuthStoreError> {
        let (task, answer) = PendingWrite::new(work);
        let closed = || AuthStoreError::Unavailable(CLOSED.into());
        let job = WriteJob::Other(Box::new(task));
        self.send(job).await.ok_or_else(closed)?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    async fn send(&self, job: WriteJob) -> Option<()> {
        match self {
            Self::Thread(handle) => handle.queue.as_ref()?.send(job).await.ok(),
            Self::Single(writer) => {
                writer.write(job);
                Some(())
            }
            Self::Closed => None,
        }
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer thread panicked");
        }
    }
}

/// Opens the writer's connection, which reports after each commit how many pages the log has.
fn open(
    files: &StorePaths,
    options: &StoreOptions,
    pages: &Arc<AtomicU64>,
    archiver: Option<&Arc<Archiver>>,
) -> Result<Connection, StoreOpenError> {
    let mut conn = connection_setup::open_writer(files, options)?;
    let pages = Arc::clone(pages);
    let archiver = archiver.cloned();
    conn.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count| {
        let count = u64::try_from(count).unwrap_or(0);
        pages.store(count, Ordering::Relaxed);
        if let Some(archiver) = &archiver {
            archiver.committed(count);
        }
        Ok(())
    }))?;
    Ok(conn)
}

/// Returns a clock for further commits, which continues from the time of the last one.
pub(crate) fn commit_clock(conn: &Connection) -> Result<CommitClock, StoreOpenError> {
    let found = conn.query_row(Sql::LastCommitTime.text(), [], |row| row.get(0));
    let last = Time::from_millis(found.optional()?.unwrap_or(0));
    Ok(CommitClock::after(last))
}

/// State of the writer's thread.
struct WriterThread {
    files: StorePaths,
    options: StoreOptions,
    /// The connection; `None` after a failure that left it in doubt.
    conn: Option<Connection>,
    readers: Arc<ReaderPool>,
    watch: WalMonitor,
    pages: Arc<AtomicU64>,
    archiver: Option<Arc<Archiver>>,
    /// Clock of the commits.
    clock: CommitClock,
    /// Keys that the last commits touched; `None` if the last commit is not known.
    touch_log: Option<TouchLog>,
}

impl WriterThread {
    fn run(&mut self, mut queue: mpsc::Receiver<WriteJob>) {
        let mut jobs = Vec::with_capacity(BATCH);
        while queue.blocking_recv_many(&mut jobs, BATCH) > 0 {
            jobs.iter_mut().for_each(|job| job.stamp(&mut self.clock));
            let done = self.batch(&mut jobs);
            answer(jobs.drain(..), done);
            if self.watch.written(self.pages.load(Ordering::Relaxed))
                && let Some(conn) = &self.conn
            {
                let restart = || {
                    self.readers
                        .without_snapshots(|| wal_checkpoint::restart(conn))
                };
                let restarted = match &self.archiver {
                    None => restart(),
                    Some(archiver) => archiver.restart(restart),
                };
                match restarted {
                    Ok(true) => {}
                    Ok(false) => self.watch.missed(),
                    Err(_) => self.conn = None,
                }
            }
        }
    }

    /// Writes the jobs and makes them durable; on an error, none of their writes are kept.
    fn batch(&mut self, jobs: &mut [WriteJob]) -> Result<(), String> {
        let conn = match self.conn.take() {
            Some(conn) => conn,
            None => open(
                &self.files,
                &self.options,
                &self.pages,
                self.archiver.as_ref(),
            )
            .map_err(|e| e.to_string())?,
        };
        let done = write(&conn, &self.readers.caches, &mut self.touch_log, jobs);
        // A connection that cannot leave its transaction is closed, and another one is opened for the next batch.
        if done.is_ok() || conn.is_autocommit() || conn.execute_batch("ROLLBACK").is_ok() {
            self.conn = Some(conn);
        }
        publish(&self.readers, done)
    }
}

#[cfg(test)]
mod tests;
