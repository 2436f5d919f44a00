//! The one thread that writes: takes whatever waits, commits it at once, answers all.
mod job;

use self::job::{Job, Task};
use crate::cache::Cache;
use crate::checkpoint::{self, Watch};
use crate::connect::{self, Files, Options};
use crate::error::OpenError;
use crate::readers::Readers;
use crate::records::Records;
use crate::rows::Root;
use crate::session::Session;
use crate::sql::Sql;
use crate::tokens::{Found, TokenChange};
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use tokio::sync::mpsc;
use workgraph_auth::store::StoreError as TokenError;
use workgraph_auth::{App, Digest};
use workgraph_core::access::Viewer;
use workgraph_core::graph::{Changes, Committed, StoreError, ViewerKey};

/// The most change sets that share one commit.
const BATCH: usize = 256;
/// What a caller hears when the writer is gone.
const CLOSED: &str = "the store is closed";
/// The most change sets that wait; more make their callers wait before they are taken in.
const QUEUE: usize = 1024;

/// What writing outdates.
#[derive(Debug)]
pub(crate) struct Caches {
    pub(crate) viewers: Cache<ViewerKey, Arc<Viewer>>,
    pub(crate) tokens: Cache<Digest, Found>,
    /// Refresh tokens by id, for the writer itself.
    pub(crate) roots: Cache<u64, Arc<Root>>,
    pub(crate) apps: Cache<u64, Arc<App>>,
}

impl Caches {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            viewers: Cache::new(most),
            tokens: Cache::new(most),
            roots: Cache::new(most),
            apps: Cache::new(most),
        }
    }

    /// Outdates what hangs on tokens, accounts, authorizations or apps.
    fn outdate_tokens(&self) {
        self.tokens.outdate();
        self.roots.outdate();
        self.apps.outdate();
    }
}

/// The writer's thread, until it is dropped.
#[derive(Debug)]
pub(crate) struct Writer {
    queue: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(
        files: &Files,
        options: &Options,
        caches: Arc<Caches>,
        readers: Arc<Readers>,
        watch: Watch,
    ) -> Result<Self, OpenError> {
        let pages = Arc::new(AtomicU64::new(0));
        let conn = open(files, options, &pages)?;
        let (queue, jobs) = mpsc::channel(QUEUE);
        let mut desk = Desk {
            files: files.clone(),
            options: *options,
            conn: Some(conn),
            caches,
            readers,
            watch,
            pages,
        };
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || desk.run(jobs))
            .map_err(|e| OpenError::Io(files.database.clone(), e))?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    pub(crate) async fn commit(&self, changes: Changes) -> Result<Committed, StoreError> {
        let (task, answer) = Task::new(changes);
        let closed = || StoreError::Failed(CLOSED.into());
        self.send(Job::Graph(task)).await.ok_or_else(closed)?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    pub(crate) async fn change_tokens(&self, change: TokenChange) -> Result<bool, TokenError> {
        let (task, answer) = Task::new(change);
        let closed = || TokenError::Unavailable(CLOSED.into());
        self.send(Job::Token(task)).await.ok_or_else(closed)?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Does some work in a transaction; an error undoes it. Work that changes what tokens are worth
    /// says so in [`Session::tokens`].
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl Fn(&mut Session<'_>) -> Result<T, TokenError> + Send + 'static,
    ) -> Result<T, TokenError> {
        let (task, answer) = Task::new(work);
        let closed = || TokenError::Unavailable(CLOSED.into());
        let job = Job::Other(Box::new(task));
        self.send(job).await.ok_or_else(closed)?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    async fn send(&self, job: Job) -> Option<()> {
        self.queue.as_ref()?.send(job).await.ok()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer thread panicked");
        }
    }
}

/// The writer's connection, which says after each commit how many pages the log has.
fn open(files: &Files, options: &Options, pages: &Arc<AtomicU64>) -> Result<Connection, OpenError> {
    let mut conn = connect::writer(files, options)?;
    let pages = Arc::clone(pages);
    conn.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count| {
        pages.store(u64::try_from(count).unwrap_or(0), Ordering::Relaxed);
        Ok(())
    }))?;
    Ok(conn)
}

/// What the writer's thread works with.
struct Desk {
    files: Files,
    options: Options,
    /// None after a failure that left the connection in doubt.
    conn: Option<Connection>,
    caches: Arc<Caches>,
    readers: Arc<Readers>,
    watch: Watch,
    pages: Arc<AtomicU64>,
}

impl Desk {
    fn run(&mut self, mut queue: mpsc::Receiver<Job>) {
        let mut jobs = Vec::with_capacity(BATCH);
        while queue.blocking_recv_many(&mut jobs, BATCH) > 0 {
            let failure = self.batch(&mut jobs).err();
            if let Some(why) = &failure {
                tracing::error!(%why, jobs = jobs.len(), "a commit failed");
            }
            for job in jobs.drain(..) {
                job.answer(failure.as_deref());
            }
            if self.watch.written(self.pages.load(Ordering::Relaxed))
                && let Some(conn) = &self.conn
            {
                let restarted = self.readers.without_snapshots(|| checkpoint::restart(conn));
                match restarted {
                    Ok(true) => {}
                    Ok(false) => self.watch.missed(),
                    Err(_) => self.conn = None,
                }
            }
        }
    }

    /// Writes the jobs and makes them durable; on an error nothing of any of them is kept.
    fn batch(&mut self, jobs: &mut [Job]) -> Result<(), String> {
        let conn = match self.conn.take() {
            Some(conn) => conn,
            None => open(&self.files, &self.options, &self.pages).map_err(|e| e.to_string())?,
        };
        let done = write(&conn, &self.readers.records, jobs);
        // A connection that cannot leave its transaction is closed, and opened anew for the next batch.
        if done.is_ok() || conn.is_autocommit() || conn.execute_batch("ROLLBACK").is_ok() {
            self.conn = Some(conn);
        }
        // Snapshots first: what a cache holds from now on must come from one that shows the commit.
        self.readers.committed();
        // Nobody knows what a failed commit left behind, so it outdates everything.
        if done.as_ref().map_or(true, |changed| changed.viewers) {
            self.caches.viewers.outdate();
        }
        if done.as_ref().map_or(true, |changed| changed.tokens) {
            self.caches.outdate_tokens();
        }
        done.map(drop)
    }
}

/// What a batch changed besides the graph.
struct Changed {
    viewers: bool,
    tokens: bool,
}

/// Writes the jobs in one transaction.
///
/// At first without savepoints: with one SQLite copies every page before a job changes it. What fails
/// has mostly written nothing, since guards are checked first. If something has, all is begun anew,
/// with a savepoint for each job.
fn write(conn: &Connection, records: &Records, jobs: &mut [Job]) -> Result<Changed, String> {
    let unfit = || "a job that failed was not undone".to_owned();
    match transact(conn, records, jobs, false)? {
        Some(changed) => Ok(changed),
        None => transact(conn, records, jobs, true)?.ok_or_else(unfit),
    }
}

/// One transaction; none if a job failed that had written something, and there are no savepoints.
fn transact(
    conn: &Connection,
    records: &Records,
    jobs: &mut [Job],
    savepoints: bool,
) -> Result<Option<Changed>, String> {
    let run = |session: &mut Session<'_>, sql| session.run(sql, []).map_err(|e| e.to_string());
    let mut session = Session::writing(conn, records);
    run(&mut session, Sql::BeginImmediate)?;
    for job in jobs {
        let before = (session.viewers, session.tokens, session.pending.len());
        let written = conn.total_changes();
        if savepoints {
            run(&mut session, Sql::Savepoint)?;
        }
        if !job.run(&mut session) {
            if conn.is_autocommit() {
                // After some failures, such as a full disk, SQLite has rolled back everything.
                return Err(job.failure());
            }
            if savepoints {
                run(&mut session, Sql::RollbackTo)?;
            } else if conn.total_changes() != written {
                run(&mut session, Sql::Rollback)?;
                return Ok(None);
            }
            (session.viewers, session.tokens) = (before.0, before.1);
            session.pending.truncate(before.2);
            (session.floor, session.audited) = (None, None);
        }
        if savepoints {
            run(&mut session, Sql::Release)?;
        }
    }
    session.write_words().map_err(|e| e.to_string())?;
    records.begin(&session.touched);
    let committed = run(&mut session, Sql::Commit);
    records.end(committed.is_err());
    committed?;
    Ok(Some(Changed {
        viewers: session.viewers,
        tokens: session.tokens,
    }))
}

#[cfg(test)]
mod tests;
