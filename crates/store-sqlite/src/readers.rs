//! The connections that read, and reading one snapshot with one of them.
//!
//! A connection keeps its snapshot when it is given back, for as long as nothing is committed: this
//! process alone writes the file, so a count of its commits says whether a snapshot is the newest.
//! That saves the begin, the end and the file locks of most reads. What a kept snapshot would be in
//! the way of ends it: a commit, and a log that is to start over.
use crate::connect::{self, Files, Options};
use crate::error::failed;
use crate::near::Near;
use crate::records::{Records, State as Settled};
use crate::session::Session;
use crate::sql::Sql;
use crate::watch::Watch;
use rusqlite::Connection;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use tokio::sync::Notify;
use workgraph_core::MaybeInterrupt;
use workgraph_core::graph::{Seq, StoreError};
use workgraph_core::snapshot::Snapshot;

/// How often connections go from thread to thread before another one is opened.
const STRAYS: usize = 64;

/// Read connections. One is used by one thread at a time, from the first statement of a snapshot to
/// the last, so a thread waits for one only while as many others are reading.
#[derive(Debug)]
pub(crate) struct Readers {
    files: Files,
    options: Options,
    most: usize,
    state: Mutex<State>,
    freed: Condvar,
    /// How many commits were made; see [`Readers::committed`].
    commits: AtomicU64,
    /// Tells those who wait for a commit.
    news: Notify,
    /// Snapshots may be kept.
    keeping: AtomicBool,
    /// What was read of nodes.
    pub(crate) records: Records,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Reader>,
    open: usize,
    /// How often a thread took one that another had used last, since one was opened.
    strays: usize,
    /// Threads that wait for one: waking nobody is a system call too.
    waiting: usize,
}

/// A connection, perhaps with a snapshot.
#[derive(Debug)]
struct Reader {
    conn: Connection,
    watch: Watch,
    snapshot: Option<Kept>,
    /// What it has of its snapshot.
    near: Near,
    /// The thread that used it last: what it has is in that one's reach.
    user: Option<ThreadId>,
}

/// A snapshot that is held open.
#[derive(Clone, Copy, Debug)]
struct Kept {
    /// The commits it is known to show.
    commits: u64,
    /// The last commit it shows.
    seq: Seq,
    /// The state it shows, or one before it.
    state: Settled,
}

impl Reader {
    /// Ends the snapshot, if one is held open.
    fn rest(&mut self) -> Result<(), StoreError> {
        if self.snapshot.take().is_some() {
            Session::new(&self.conn)
                .run(Sql::Commit, [])
                .map_err(failed)?;
        }
        Ok(())
    }
}

/// A connection on loan.
struct Loan<'r> {
    readers: &'r Readers,
    /// None if it is not to be given back: after a panic or a failure it is closed instead.
    reader: Option<Reader>,
}

impl Drop for Loan<'_> {
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

impl Readers {
    pub(crate) fn new(files: Files, options: Options) -> Self {
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
            records: Records::new(options.records_bytes),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn loan(&self) -> Result<(Loan<'_>, Reader), StoreError> {
        let user = Some(thread::current().id());
        let mut state = self.lock();
        let loan = |reader| Loan {
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
            // Another connection is memory: it has to be worth it.
            if (!room || state.strays < STRAYS)
                && let Some(reader) = state.idle.pop()
            {
                state.strays += 1;
                return Ok((loan(None), Reader { user, ..reader }));
            }
            if room {
                break;
            }
            state.waiting += 1;
            state = self
                .freed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        state.open += 1;
        state.strays = 0;
        drop(state);
        let loan = loan(None);
        let mut conn = connect::reader(&self.files, &self.options)
            .map_err(|e| StoreError::Failed(e.to_string()))?;
        let watch = Watch::over(&mut conn).map_err(failed)?;
        let reader = Reader {
            conn,
            watch,
            snapshot: None,
            near: Near::default(),
            user,
        };
        Ok((loan, reader))
    }

    /// Reads the newest snapshot, on this thread.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&mut Session<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.read_under(None, read)
    }

    /// Reads the newest snapshot, on this thread, unless that takes too long or the interrupt stops it.
    pub(crate) fn read_under<T>(
        &self,
        interrupt: MaybeInterrupt,
        read: impl FnOnce(&mut Session<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
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
            Session::reading(&reader.conn, &mut reader.near, &self.records, kept.state);
        session.last = Some(kept.seq);
        reader.watch.begin(interrupt, self.options.read_timeout);
        let found = read(&mut session);
        let stopped = reader.watch.end();
        drop(session);
        let found = match (found, stopped) {
            (Err(StoreError::Failed(_)), Some(why)) => Err(StoreError::Interrupted(why)),
            (found, _) => found,
        };
        // What was stopped has done no harm: the snapshot is as it was, unless SQLite ended it.
        if !matches!(found, Ok(_) | Err(StoreError::Interrupted(_))) {
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
    fn begin(&self, conn: &Connection, commits: u64) -> Result<Kept, StoreError> {
        let state = self.records.state();
        let mut session = Session::new(conn);
        session.run(Sql::Begin, []).map_err(failed)?;
        // The first read is what takes it.
        let seq = session.seq()?;
        Ok(Kept {
            commits,
            seq,
            state,
        })
    }

    /// Says that something was committed. It must be called before anything else that follows from
    /// the commit: caches outdated, callers answered.
    pub(crate) fn committed(&self) {
        self.commits.fetch_add(1, Ordering::AcqRel);
        self.rest();
        self.news.notify_waiters();
    }

    /// Returns once another number of commits than this one was made.
    pub(crate) async fn changed(&self, since: u64) {
        loop {
            let mut told = pin!(self.news.notified());
            // Waiting begins before the look, so no commit falls between the two.
            told.as_mut().enable();
            if self.version() != since {
                return;
            }
            told.await;
        }
    }

    /// How many commits were made through this process.
    pub(crate) fn version(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    /// Does something that no snapshot may be in the way of.
    pub(crate) fn without_snapshots<T>(&self, work: impl FnOnce() -> T) -> T {
        self.keeping.store(false, Ordering::Release);
        self.rest();
        let done = work();
        self.keeping.store(true, Ordering::Release);
        done
    }

    /// Ends the snapshots of connections nobody uses.
    fn rest(&self) {
        let mut state = self.lock();
        let before = state.idle.len();
        state.idle.retain_mut(|reader| reader.rest().is_ok());
        state.open -= before - state.idle.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::migrate;
    use std::sync::Arc;
    use workgraph_auth::conformance::block_on;
    use workgraph_core::{Interrupt, Interrupted};
    use workgraph_testkit::Scratch;

    fn readers() -> (Readers, Connection, Scratch) {
        let folder = Scratch::new("readers");
        let (files, options) = (Files::at(folder.path()), Options::default());
        let writer = connect::writer(&files, &options).unwrap();
        migrate(&writer).unwrap();
        (Readers::new(files, options), writer, folder)
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
        readers.committed();
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
            readers.committed();
            waits.join().unwrap();
        });
        block_on(readers.changed(before));
    }

    #[test]
    fn nothing_is_in_the_way_of_a_log_that_starts_over() {
        let (readers, writer, _folder) = readers();
        append(&writer, 1);
        readers.committed();
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

    /// Stops at once.
    #[derive(Debug)]
    struct Never(Interrupted);

    impl Interrupt for Never {
        fn check(&self, _steps: u32) -> Result<(), Interrupted> {
            Err(self.0)
        }
    }

    /// Some ten thousand instructions of SQLite's machine.
    fn long(session: &mut Session<'_>) -> Result<i64, StoreError> {
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
        readers.committed();
        for why in [
            Interrupted::Deadline,
            Interrupted::Abandoned,
            Interrupted::Allowance,
        ] {
            let stopped = readers.read_under(Some(Arc::new(Never(why))), long);
            assert_eq!(stopped, Err(StoreError::Interrupted(why)));
            {
                let state = readers.lock();
                assert_eq!((state.idle.len(), state.open), (1, 1), "it is kept");
                assert!(state.idle.iter().all(|r| r.snapshot.is_some()));
            }
            assert_eq!(readers.read(long), Ok(2000));
            assert_eq!(readers.read(|session| session.seq()), Ok(1));
        }
        append(&writer, 2);
        readers.committed();
        assert_eq!(readers.read(|session| session.seq()), Ok(2));
    }

    /// S100.
    #[test]
    fn a_statement_has_a_time_to_end_in_even_if_nobody_set_one() {
        let (mut readers, _writer, _folder) = readers();
        readers.options.read_timeout = std::time::Duration::ZERO;
        let stopped = readers.read(long);
        assert_eq!(stopped, Err(StoreError::Interrupted(Interrupted::Deadline)));
        assert_eq!(
            readers.read(|session| session.seq()),
            Ok(0),
            "short ones are not looked at"
        );
    }

    #[test]
    fn a_connection_that_failed_is_closed() {
        let (readers, _writer, _folder) = readers();
        let failed = readers.read(|_| Err::<(), _>(StoreError::Failed("no".into())));
        assert!(failed.is_err());
        let state = readers.lock();
        assert_eq!((state.idle.len(), state.open), (0, 0));
    }
}
