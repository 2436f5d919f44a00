//! Connections that read, each with one snapshot at a time.
//!
//! A returned connection keeps its snapshot as long as it is the newest ([`KeptSnapshots`](crate::cache::KeptSnapshots)). Two
//! events end a kept snapshot, because it would block them: a commit, and a restart of the write-ahead log.
pub(crate) mod copied_from;

use self::copied_from::CopiedFrom;
use crate::cache::{HotCache, OpenSnapshot, StoreCaches};
use crate::connection_setup;
use crate::connection_setup::{StoreOptions, StorePaths};
use crate::open_error::{StoreOpenError, failed};
use crate::read_watchdog::ReadWatchdog;
use crate::statements::Sql;
use crate::transaction::SqliteTransaction;
use parking_lot::{Condvar, Mutex, MutexGuard};
use rusqlite::Connection;
use std::pin::pin;
use std::thread::{self, ThreadId};
use tokio::sync::Notify;
use workgraph_core::MaybeInterrupt;
use workgraph_core::storage::GraphStoreError;
use workgraph_core::storage::snapshot::Snapshot;

/// Number of times that connections change threads before another one is opened.
const THREAD_CHANGES_MAX: usize = 64;

/// Pool of connections that read. Each is used by one thread at a time, from the first statement of a snapshot to the last, so a
/// thread waits only while all connections are reading.
#[derive(Debug)]
pub(crate) struct ReaderPool {
    files: StorePaths,
    options: StoreOptions,
    most: usize,
    state: Mutex<PoolState>,
    freed: Condvar,
    /// Wakes the tasks that wait for a commit.
    committed: Notify,
    /// Caches of the store.
    pub(crate) caches: StoreCaches,
    /// Store that this one is a copy of, if it was opened as a copy.
    copied_from: Option<CopiedFrom<Self>>,
}

#[derive(Debug, Default)]
struct PoolState {
    idle: Vec<ReadConnection>,
    open: usize,
    /// Number of times that a connection changed threads since the last one was opened.
    thread_changes: usize,
    /// Number of threads that wait for a connection. If it is 0, the system call that wakes one is skipped.
    waiting: usize,
}

/// Connection that reads, possibly with an open snapshot.
#[derive(Debug)]
struct ReadConnection {
    conn: Connection,
    watch: ReadWatchdog,
    snapshot: Option<OpenSnapshot>,
    /// Hot cache of its snapshot.
    hot_cache: HotCache,
    /// Thread that used it last: the connection's memory is probably in that thread's processor cache.
    user: Option<ThreadId>,
}

impl ReadConnection {
    fn over(mut conn: Connection, user: Option<ThreadId>) -> rusqlite::Result<Self> {
        let watch = ReadWatchdog::over(&mut conn)?;
        Ok(Self {
            conn,
            watch,
            snapshot: None,
            hot_cache: HotCache::default(),
            user,
        })
    }

    /// Ends the snapshot, if one is open.
    fn end_snapshot(&mut self) -> Result<(), GraphStoreError> {
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
    /// The connection; `None` if it must not be returned: after a panic or a failure it is closed instead.
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
    pub(crate) fn new(files: StorePaths, options: StoreOptions, caches: StoreCaches) -> Self {
        let most = match options.readers {
            _ if options.single_connection => 1,
            0 => thread::available_parallelism().map_or(2, usize::from) + 2,
            readers => readers,
        };
        Self {
            files,
            options,
            most,
            state: Mutex::default(),
            freed: Condvar::new(),
            committed: Notify::new(),
            caches,
            copied_from: None,
        }
    }

    /// Returns the pool of a copy, which reads through the pool of its source until it is first written.
    pub(crate) fn of_copy(
        files: StorePaths,
        options: StoreOptions,
        caches: StoreCaches,
        copied_from: CopiedFrom<Self>,
    ) -> Self {
        Self {
            copied_from: Some(copied_from),
            ..Self::new(files, options, caches)
        }
    }

    /// Returns the pool to read through: that of the source, if the store is a copy that was not written yet. A caller that
    /// also uses caches must take both from the same pool.
    pub(crate) fn current(&self) -> &Self {
        let source = self.copied_from.as_ref().and_then(CopiedFrom::current);
        source.unwrap_or(self)
    }

    /// Returns true if the store is a copy that was not written yet.
    pub(crate) fn reads_in_source(&self) -> bool {
        self.copied_from
            .as_ref()
            .and_then(CopiedFrom::current)
            .is_some()
    }

    /// Prepares the first write of a copy; does nothing for other stores. From then on, reads use the copy's own database.
    ///
    /// # Errors
    /// Fails if the database of the copy can't be made, opened or prepared; the next write then tries again.
    pub(crate) fn leave_source(&self) -> Result<(), GraphStoreError> {
        let Some(copied_from) = &self.copied_from else {
            return Ok(());
        };
        let failed = |error: StoreOpenError| GraphStoreError::Failed(error.to_string());
        copied_from.leave(|preparation| {
            (preparation.copy)().map_err(failed)?;
            self.alone(&mut *preparation.reseal)?.map_err(failed)
        })
    }

    /// Refuses the first write of a copy that was not written yet.
    pub(crate) fn stay_in_source(&self) {
        if let Some(copied_from) = &self.copied_from {
            copied_from.stay();
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock()
    }

    /// Takes a connection for this thread, with a guard that returns it.
    fn checkout(&self) -> Result<(PooledConnection<'_>, ReadConnection), GraphStoreError> {
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
            // Another connection costs memory, so it is opened only if that is worthwhile.
            if (!room || state.thread_changes < THREAD_CHANGES_MAX)
                && let Some(reader) = state.idle.pop()
            {
                state.thread_changes += 1;
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
        state.thread_changes = 0;
        drop(state);
        let loan = loan(None);
        let conn = if self.options.single_connection {
            connection_setup::open_writer(&self.files, &self.options)
        } else {
            connection_setup::open_reader(&self.files, &self.options)
        };
        let conn = conn.map_err(|e| GraphStoreError::Failed(e.to_string()))?;
        Ok((loan, ReadConnection::over(conn, user).map_err(failed)?))
    }

    /// Adds the connection that opened a store with a single connection.
    pub(crate) fn adopt(&self, conn: Connection) -> rusqlite::Result<()> {
        let reader = ReadConnection::over(conn, None)?;
        let mut state = self.lock();
        state.idle.push(reader);
        state.open += 1;
        Ok(())
    }

    /// Runs work on the only connection of the store, outside any snapshot. If the work leaves a transaction that can't be undone,
    /// the connection is closed.
    pub(crate) fn alone<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> T,
    ) -> Result<T, GraphStoreError> {
        let (mut loan, mut reader) = self.checkout()?;
        reader.end_snapshot()?;
        let done = work(&mut reader.conn);
        if reader.conn.is_autocommit() || reader.conn.execute_batch("ROLLBACK").is_ok() {
            loan.reader = Some(reader);
        }
        Ok(done)
    }

    /// Runs work that needs the only connection of a store closed. The work gets the connection, to close it first.
    pub(crate) fn closed<T>(
        &self,
        work: impl FnOnce(Connection) -> T,
    ) -> Result<T, GraphStoreError> {
        let (loan, mut reader) = self.checkout()?;
        reader.end_snapshot()?;
        let done = work(reader.conn);
        drop(loan);
        Ok(done)
    }

    /// Closes the connections that are not in use. The next read opens one.
    pub(crate) fn close_idle(&self) {
        let mut state = self.lock();
        state.open -= state.idle.len();
        state.idle.clear();
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
        if let Some(source) = self.copied_from.as_ref().and_then(CopiedFrom::current) {
            return source.read_under(interrupt, read);
        }
        // The commits are counted before the snapshot is taken, which shows at least these.
        let snapshots = &self.caches.snapshots;
        let commits = snapshots.commits();
        let (mut loan, mut reader) = self.checkout()?;
        let kept = match reader.snapshot {
            Some(kept) if snapshots.shows(&kept, commits) => kept,
            _ => {
                reader.end_snapshot()?;
                reader.hot_cache.clear();
                self.begin(&reader.conn, commits)?
            }
        };
        let mut tx =
            SqliteTransaction::reading(&reader.conn, &kept, &self.caches, &mut reader.hot_cache);
        reader.watch.begin(interrupt, self.options.read_timeout);
        let found = read(&mut tx);
        let stopped = reader.watch.end();
        drop(tx);
        let found = match (found, stopped) {
            (Err(GraphStoreError::Failed(_)), Some(reason)) => {
                Err(GraphStoreError::Interrupted(reason))
            }
            (found, _) => found,
        };
        // An interrupted read does no harm: the snapshot is unchanged, unless SQLite ended it.
        if !matches!(found, Ok(_) | Err(GraphStoreError::Interrupted(_))) {
            return found;
        }
        reader.snapshot = Some(kept).filter(|_| !reader.conn.is_autocommit());
        if !snapshots.may_keep(commits) {
            reader.end_snapshot()?;
        }
        loan.reader = Some(reader);
        found
    }

    /// Takes the newest snapshot.
    fn begin(&self, conn: &Connection, commits: u64) -> Result<OpenSnapshot, GraphStoreError> {
        let state = self.caches.state();
        let mut tx = SqliteTransaction::new(conn);
        tx.run(Sql::Begin, []).map_err(failed)?;
        // The first read takes the snapshot.
        let seq = tx.seq()?;
        Ok(OpenSnapshot {
            commits,
            seq,
            state,
        })
    }

    /// Signals that a commit was made. Must be called before all consequences of the commit: invalidation of caches, answers to
    /// callers.
    pub(crate) fn notify_committed(&self) {
        self.caches.snapshots.count_commit();
        if self.caches.snapshots.end_with_commit() {
            self.close_idle_snapshots();
        }
        self.committed.notify_waiters();
    }

    /// Returns once the number of commits differs from `since`.
    pub(crate) async fn changed(&self, since: u64) {
        loop {
            let mut committed = pin!(self.committed.notified());
            // Waiting begins before the check, so no commit falls between the two.
            committed.as_mut().enable();
            if self.version() != since {
                return;
            }
            committed.await;
        }
    }

    /// Returns the number of commits that this process made.
    pub(crate) fn version(&self) -> u64 {
        self.caches.snapshots.commits()
    }

    /// Runs work that requires all kept snapshots to be closed.
    pub(crate) fn without_snapshots<T>(&self, work: impl FnOnce() -> T) -> T {
        self.caches.snapshots.suspend();
        self.close_idle_snapshots();
        let done = work();
        self.caches.snapshots.resume();
        done
    }

    /// Ends the snapshots of connections that are not in use.
    fn close_idle_snapshots(&self) {
        let mut state = self.lock();
        let before = state.idle.len();
        state
            .idle
            .retain_mut(|reader| reader.end_snapshot().is_ok());
        state.open -= before - state.idle.len();
    }
}

#[cfg(test)]
mod tests;
