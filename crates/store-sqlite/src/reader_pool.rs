//! Connections that read, each with one snapshot at a time.
//!
//! A connection keeps its snapshot when it is given back, for as long as nothing is committed. This process alone
//! writes the file, so a count of its commits shows whether a snapshot is the newest. That saves the begin, the end and
//! the file locks of most reads. Two events end a kept snapshot, because it would be in their way: a commit, and a
//! restart of the write-ahead log.
use crate::cache::connection::HotCache;
use crate::cache::node_cache::{NodeCache, StateNumber as Settled};
use crate::connection_setup;
use crate::connection_setup::{StoreOptions, StorePaths};
use crate::open_error::failed;
use crate::read_watchdog::ReadWatchdog;
use crate::statements::Sql;
use crate::transaction::SqliteTransaction;
use parking_lot::{Condvar, Mutex, MutexGuard};
use rusqlite::Connection;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ThreadId};
use tokio::sync::Notify;
use workgraph_core::MaybeInterrupt;
use workgraph_core::storage::snapshot::Snapshot;
use workgraph_core::storage::{GraphStoreError, Seq};

/// Times that connections go from thread to thread before another one is opened.
const STRAYS: usize = 64;

/// Pool of connections that read. One is used by one thread at a time, from the first statement of a snapshot to the
/// last, so a thread waits for one only while as many others are reading.
#[derive(Debug)]
pub(crate) struct ReaderPool {
    files: StorePaths,
    options: StoreOptions,
    most: usize,
    state: Mutex<PoolState>,
    freed: Condvar,
    /// Number of commits made; see [`ReaderPool::notify_committed`].
    commits: AtomicU64,
    /// Wakes the tasks that wait for a commit.
    news: Notify,
    /// True if snapshots may be kept.
    keeping: AtomicBool,
    /// Cache of nodes and edges that were read.
    pub(crate) records: NodeCache,
}

#[derive(Debug, Default)]
struct PoolState {
    idle: Vec<ReadConnection>,
    open: usize,
    /// Times that a thread took a connection that another had used last, since one was opened.
    strays: usize,
    /// Number of threads that wait for a connection. If it is 0, the system call that wakes one is left out.
    waiting: usize,
}

/// Connection that reads, perhaps with an open snapshot.
#[derive(Debug)]
struct ReadConnection {
    conn: Connection,
    watch: ReadWatchdog,
    snapshot: Option<OpenSnapshot>,
    /// Hot cache of its snapshot.
    near: HotCache,
    /// Thread that used it last: the connection's memory is probably in that thread's processor cache.
    user: Option<ThreadId>,
}

/// Snapshot that is kept open.
#[derive(Clone, Copy, Debug)]
struct OpenSnapshot {
    /// Number of commits that it is known to show.
    commits: u64,
    /// Sequence number of the last commit it shows.
    seq: Seq,
    /// State that it shows, or one before it.
    state: Settled,
}

impl ReadConnection {
    /// Ends the snapshot, if one is open.
    fn rest(&mut self) -> Result<(), GraphStoreError> {
        if self.snapshot.take().is_some() {
            SqliteTransaction::new(&self.conn)
                .run(Sql::Commit, [])
                .map_err(failed)?;
        }
        Ok(())
    }
}

/// Connection taken from the pool.
struct PooledConnection<'r> {
    readers: &'r ReaderPool,
    /// The connection; `None` if it is not to be given back: after a panic or a failure it is closed instead.
    reader: Option<ReadConnection>,
}

impl Drop for PooledConnection<'_> {
    fn drop(&mut self) {
        let mut state = self.readers.lock();
        match self.reader.take() {
            Some(reader) => state.idle.push(reader),
            None => state.open -= 1,
        }
        let waited_for = state.waiting > 0;
        drop(state);
        if waited_for {
            self.readers.freed.notify_one();
        }
    }
}

impl ReaderPool {
    pub(crate) fn new(files: StorePaths, options: StoreOptions) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let most = if options.readers == 0 {
            cores + 2
        } else {
            options.readers
        };
        Self {
            files,
            options,
            most,
            state: Mutex::default(),
            freed: Condvar::new(),
            commits: AtomicU64::new(0),
            news: Notify::new(),
            keeping: AtomicBool::new(true),
            records: NodeCache::new(options.node_cache_bytes),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock()
    }

    fn loan(&self) -> Result<(PooledConnection<'_>, ReadConnection), GraphStoreError> {
        let user = Some(thread::current().id());
        let mut state = self.lock();
        let loan = |reader| PooledConnection {
            readers: self,
            reader,
        };
        loop {
            let own = state.idle.iter().rposition(|r| r.user == user);
            let room = state.open < self.most;
            if let Some(at) = own {
                let reader = state.idle.swap_remove(at);
                return Ok((loan(None), reader));
            }
            // Another connection costs memory, so it is opened only when it is worth that.
            if (!room || state.strays < STRAYS)
                && let Some(reader) = state.idle.pop()
            {
                state.strays += 1;
                return Ok((loan(None), ReadConnection { user, ..reader }));
            }
            if room {
                break;
            }
            state.waiting += 1;
            self.freed.wait(&mut state);
            state.waiting -= 1;
        }
        state.open += 1;
        state.strays = 0;
        drop(state);
        let loan = loan(None);
        let mut conn = connection_setup::open_reader(&self.files, &self.options)
            .map_err(|e| GraphStoreError::Failed(e.to_string()))?;
        let watch = ReadWatchdog::over(&mut conn).map_err(failed)?;
        let reader = ReadConnection {
            conn,
            watch,
            snapshot: None,
            near: HotCache::default(),
            user,
        };
        Ok((loan, reader))
    }

    /// Reads the newest snapshot, on this thread.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&mut SqliteTransaction<'_>) -> Result<T, GraphStoreError>,
    ) -> Result<T, GraphStoreError> {
        self.read_under(None, read)
    }

    /// Reads the newest snapshot, on this thread, unless that takes too long or the interrupt stops it.
    pub(crate) fn read_under<T>(
        &self,
        interrupt: MaybeInterrupt,
        read: impl FnOnce(&mut SqliteTransaction<'_>) -> Result<T, GraphStoreError>,
    ) -> Result<T, GraphStoreError> {
        // Counted before the snapshot is taken: it shows these commits, and perhaps more.
        let commits = self.commits.load(Ordering::Acquire);
        let (mut loan, mut reader) = self.loan()?;
        let kept = match reader.snapshot {
            Some(kept) if kept.commits == commits => kept,
            _ => {
                reader.rest()?;
                reader.near.clear();
                self.begin(&reader.conn, commits)?
            }
        };
        let mut session =
            SqliteTransaction::reading(&reader.conn, &mut reader.near, &self.records, kept.state);
        session.last = Some(kept.seq);
        reader.watch.begin(interrupt, self.options.read_timeout);
        let found = read(&mut session);
        let stopped = reader.watch.end();
        drop(session);
        let found = match (found, stopped) {
            (Err(GraphStoreError::Failed(_)), Some(why)) => Err(GraphStoreError::Interrupted(why)),
            (found, _) => found,
        };
        // An interrupted read has done no harm: the snapshot is as it was, unless SQLite ended it.
        if !matches!(found, Ok(_) | Err(GraphStoreError::Interrupted(_))) {
            return found;
        }
        reader.snapshot = Some(kept).filter(|_| !reader.conn.is_autocommit());
        let newest = self.commits.load(Ordering::Acquire) == commits;
        if !newest || !self.keeping.load(Ordering::Acquire) {
            reader.rest()?;
        }
        loan.reader = Some(reader);
        found
    }

    /// Takes the newest snapshot.
    fn begin(&self, conn: &Connection, commits: u64) -> Result<OpenSnapshot, GraphStoreError> {
        let state = self.records.state();
        let mut session = SqliteTransaction::new(conn);
        session.run(Sql::Begin, []).map_err(failed)?;
        // The first read takes the snapshot.
        let seq = session.seq()?;
        Ok(OpenSnapshot {
            commits,
            seq,
            state,
        })
    }

    /// Notes that a commit was made. It must be called before anything else that follows from the commit: invalidation
    /// of caches, answers to callers.
    pub(crate) fn notify_committed(&self) {
        self.commits.fetch_add(1, Ordering::AcqRel);
        self.close_idle_snapshots();
        self.news.notify_waiters();
    }

    /// Returns once the number of commits differs from `since`.
    pub(crate) async fn changed(&self, since: u64) {
        loop {
            let mut told = pin!(self.news.notified());
            // Waiting begins before the check, so no commit falls between the two.
            told.as_mut().enable();
            if self.version() != since {
                return;
            }
            told.await;
        }
    }

    /// Returns the number of commits that this process made.
    pub(crate) fn version(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    /// Runs work that needs all kept snapshots closed.
    pub(crate) fn without_snapshots<T>(&self, work: impl FnOnce() -> T) -> T {
        self.keeping.store(false, Ordering::Release);
        self.close_idle_snapshots();
        let done = work();
        self.keeping.store(true, Ordering::Release);
        done
    }

    /// Ends the snapshots of connections that are not in use.
    fn close_idle_snapshots(&self) {
        let mut state = self.lock();
        let before = state.idle.len();
        state.idle.retain_mut(|reader| reader.rest().is_ok());
        state.open -= before - state.idle.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrations::migrate;
    use std::sync::Arc;
    use workgraph_auth::conformance::block_on;
    use workgraph_core::{Interrupt, InterruptReason};
    use workgraph_testkit::ScratchFolder;

    fn readers() -> (ReaderPool, Connection, ScratchFolder) {
        let folder = ScratchFolder::new("readers");
        let (files, options) = (StorePaths::at(folder.path()), StoreOptions::default());
        let writer = connection_setup::open_writer(&files, &options).unwrap();
        migrate(&writer).unwrap();
        (ReaderPool::new(files, options), writer, folder)
    }

    fn append(writer: &Connection, seq: i64) {
        writer
            .execute(
                "INSERT INTO journal VALUES (?1, 0, NULL, '[]', '[]')",
                [seq],
            )
            .unwrap();
    }

    #[test]
    fn a_snapshot_is_kept_until_a_commit_and_then_renewed() {
        let (readers, writer, _folder) = readers();
        let seq = || readers.read(|session| session.seq()).unwrap();
        assert_eq!(seq(), 0);
        assert!(readers.lock().idle.iter().all(|r| r.snapshot.is_some()));
        append(&writer, 1);
        readers.notify_committed();
        assert!(readers.lock().idle.iter().all(|r| r.snapshot.is_none()));
        assert_eq!(seq(), 1);
    }

    #[test]
    fn threads_have_connections_of_their_own_once_one_has_gone_to_and_fro() {
        let (readers, _writer, _folder) = readers();
        let read = || readers.read(|session| session.seq()).unwrap();
        let open = || readers.lock().open;
        read();
        for _ in 0..STRAYS {
            assert_eq!(open(), 1, "one is enough for a while");
            std::thread::scope(|threads| threads.spawn(read).join().unwrap());
        }
        std::thread::scope(|threads| threads.spawn(read).join().unwrap());
        assert_eq!(open(), 2);
        let user = Some(thread::current().id());
        read();
        read();
        let idle = &readers.lock().idle;
        assert_eq!(idle.iter().filter(|r| r.user == user).count(), 1);
    }

    #[test]
    fn whoever_waits_hears_of_a_commit_whether_it_comes_before_or_after() {
        let (readers, _writer, _folder) = readers();
        let before = readers.version();
        std::thread::scope(|threads| {
            let waits = threads.spawn(|| block_on(readers.changed(before)));
            readers.notify_committed();
            waits.join().unwrap();
        });
        block_on(readers.changed(before));
    }

    #[test]
    fn nothing_is_in_the_way_of_a_log_that_starts_over() {
        let (readers, writer, _folder) = readers();
        append(&writer, 1);
        readers.notify_committed();
        readers.read(|session| session.seq()).unwrap();
        let busy = |writer: &Connection| -> i64 {
            writer
                .query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get(0))
                .unwrap()
        };
        writer.busy_timeout(std::time::Duration::ZERO).unwrap();
        assert_eq!(busy(&writer), 1, "a kept snapshot is in the way");
        assert_eq!(readers.without_snapshots(|| busy(&writer)), 0);
    }

    /// Interrupt that stops at once.
    #[derive(Debug)]
    struct Never(InterruptReason);

    impl Interrupt for Never {
        fn check(&self, _steps: u32) -> Result<(), InterruptReason> {
            Err(self.0)
        }
    }

    /// Runs some ten thousand instructions of SQLite's virtual machine.
    fn long(session: &mut SqliteTransaction<'_>) -> Result<i64, GraphStoreError> {
        let counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) \
                        SELECT count(*) FROM n";
        let count = session.conn.query_row(counting, [], |row| row.get(0));
        count.map_err(failed)
    }

    /// S100.
    #[test]
    fn a_statement_that_is_stopped_leaves_its_connection_and_snapshot_in_order() {
        let (readers, writer, _folder) = readers();
        append(&writer, 1);
        readers.notify_committed();
        for why in [
            InterruptReason::Deadline,
            InterruptReason::Abandoned,
            InterruptReason::AllowanceSpent,
        ] {
            let stopped = readers.read_under(Some(Arc::new(Never(why))), long);
            assert_eq!(stopped, Err(GraphStoreError::Interrupted(why)));
            {
                let state = readers.lock();
                assert_eq!((state.idle.len(), state.open), (1, 1), "it is kept");
                assert!(state.idle.iter().all(|r| r.snapshot.is_some()));
            }
            assert_eq!(readers.read(long), Ok(2000));
            assert_eq!(readers.read(|session| session.seq()), Ok(1));
        }
        append(&writer, 2);
        readers.notify_committed();
        assert_eq!(readers.read(|session| session.seq()), Ok(2));
    }

    /// S100.
    #[test]
    fn a_statement_has_a_time_to_end_in_even_if_nobody_set_one() {
        let (mut readers, _writer, _folder) = readers();
        readers.options.read_timeout = std::time::Duration::ZERO;
        let stopped = readers.read(long);
        assert_eq!(
            stopped,
            Err(GraphStoreError::Interrupted(InterruptReason::Deadline))
        );
        assert_eq!(
            readers.read(|session| session.seq()),
            Ok(0),
            "short ones are not looked at"
        );
    }

    #[test]
    fn a_connection_that_failed_is_closed() {
        let (readers, _writer, _folder) = readers();
        let failed = readers.read(|_| Err::<(), _>(GraphStoreError::Failed("no".into())));
        assert!(failed.is_err());
        let state = readers.lock();
        assert_eq!((state.idle.len(), state.open), (0, 0));
    }
}
