//! The one thread that writes: takes whatever waits, commits it at once, answers all.
use crate::cache::Cache;
use crate::checkpoint::{self, Watch};
use crate::connect::{self, Files, Options};
use crate::error::OpenError;
use crate::readers::Readers;
use crate::session::Session;
use crate::sql::Sql;
use crate::tokens::{Found, TokenChange};
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use tokio::sync::{mpsc, oneshot};
use workgraph_auth::Digest;
use workgraph_auth::store::StoreError as TokenError;
use workgraph_core::access::Viewer;
use workgraph_core::graph::{Changes, Committed, StoreError, ViewerKey};

/// The most change sets that share one commit.
const BATCH: usize = 256;
/// The most change sets that wait; more make their callers wait before they are taken in.
const QUEUE: usize = 1024;

/// What writing outdates.
#[derive(Debug)]
pub(crate) struct Caches {
    pub(crate) viewers: Cache<ViewerKey, Arc<Viewer>>,
    pub(crate) tokens: Cache<Digest, Found>,
}

/// One thing to write.
pub(crate) enum Job {
    Graph(Task<Changes, Committed, StoreError>),
    Token(Task<TokenChange, bool, TokenError>),
    Other(Box<dyn Work>),
}

/// Work that is told by what it does, of whatever outcome.
pub(crate) trait Work: Send {
    /// Does it; true if what it wrote is to be kept.
    fn run(&mut self, session: &mut Session<'_>) -> bool;
    /// Why it failed.
    fn failure(&self) -> Option<String>;
    /// Gives the outcome to whoever waits, or the failure of the whole batch.
    fn answer(self: Box<Self>, failure: Option<&str>);
}

impl<W, T> Work for Task<W, T, TokenError>
where
    W: Fn(&mut Session<'_>) -> Result<T, TokenError> + Send,
    T: Send,
{
    fn run(&mut self, session: &mut Session<'_>) -> bool {
        let done = attempt(|| (self.work)(session));
        self.settle(done.unwrap_or_else(|| Err(TokenError::Unavailable(PANICKED.into()))))
    }
    fn failure(&self) -> Option<String> {
        Task::failure(self)
    }
    fn answer(self: Box<Self>, failure: Option<&str>) {
        let otherwise = failure.map_or(Ok(()), |why| Err(TokenError::Unavailable(why.into())));
        Task::answer(*self, otherwise);
    }
}

/// What to do, what came of it, and who waits for that.
pub(crate) struct Task<W, T, E> {
    work: W,
    outcome: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<W, T, E> Task<W, T, E> {
    fn new(work: W) -> (Self, oneshot::Receiver<Result<T, E>>) {
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
        // Whoever asked may be gone; what was written stays.
        let _ = self.reply.send(outcome);
    }
}

impl Job {
    /// Does the work; true if what it wrote is to be kept. A panic is a failure of this job alone.
    fn run(&mut self, session: &mut Session<'_>) -> bool {
        match self {
            Self::Graph(task) => {
                let done = attempt(|| workgraph_core::apply::apply(session, &task.work));
                task.settle(done.unwrap_or_else(|| Err(StoreError::Failed(PANICKED.into()))))
            }
            Self::Token(task) => {
                let done = attempt(|| task.work.apply(session));
                task.settle(done.unwrap_or_else(|| Err(TokenError::Unavailable(PANICKED.into()))))
            }
            Self::Other(work) => work.run(session),
        }
    }
    /// Why it failed.
    fn failure(&self) -> String {
        let why = match self {
            Self::Graph(task) => task.failure(),
            Self::Token(task) => task.failure(),
            Self::Other(work) => work.failure(),
        };
        why.unwrap_or_default()
    }
    /// Gives the outcome to whoever waits, or the failure of the whole batch.
    fn answer(self, failure: Option<&str>) {
        match self {
            Self::Graph(task) => {
                task.answer(failure.map_or(Ok(()), |why| Err(StoreError::Failed(why.into()))))
            }
            Self::Token(task) => {
                task.answer(failure.map_or(Ok(()), |why| Err(TokenError::Unavailable(why.into()))))
            }
            Self::Other(work) => work.answer(failure),
        }
    }
}

const PANICKED: &str = "a change set panicked";
const CLOSED: &str = "the store is closed";

fn attempt<T>(work: impl FnOnce() -> T) -> Option<T> {
    // What the work left half done is in a savepoint that is then rolled back.
    catch_unwind(AssertUnwindSafe(work)).ok()
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
                && self
                    .readers
                    .without_snapshots(|| checkpoint::restart(conn))
                    .is_err()
            {
                self.conn = None;
            }
        }
    }

    /// Writes the jobs and makes them durable; on an error nothing of any of them is kept.
    fn batch(&mut self, jobs: &mut [Job]) -> Result<(), String> {
        let conn = match self.conn.take() {
            Some(conn) => conn,
            None => open(&self.files, &self.options, &self.pages).map_err(|e| e.to_string())?,
        };
        let done = write(&conn, jobs);
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
            self.caches.tokens.outdate();
        }
        done.map(drop)
    }
}

/// What a batch changed besides the graph.
struct Changed {
    viewers: bool,
    tokens: bool,
}

/// One transaction with a savepoint for each job.
fn write(conn: &Connection, jobs: &mut [Job]) -> Result<Changed, String> {
    let run = |session: &mut Session<'_>, sql| session.run(sql, []).map_err(|e| e.to_string());
    let mut session = Session::new(conn);
    run(&mut session, Sql::BeginImmediate)?;
    for job in jobs {
        let before = (session.viewers, session.tokens);
        run(&mut session, Sql::Savepoint)?;
        if !job.run(&mut session) {
            if conn.is_autocommit() {
                // After some failures, such as a full disk, SQLite has rolled back everything.
                return Err(job.failure());
            }
            run(&mut session, Sql::RollbackTo)?;
            (session.viewers, session.tokens) = before;
            session.floor = None;
        }
        run(&mut session, Sql::Release)?;
    }
    run(&mut session, Sql::Commit)?;
    Ok(Changed {
        viewers: session.viewers,
        tokens: session.tokens,
    })
}

#[cfg(test)]
mod tests;
