//! Checkpoints of the write-ahead log: a separate thread copies it into the database.
//!
//! A checkpoint syncs twice and copies megabytes; on the writer's thread every slow commit would wait for it. But while commits
//! never pause, a concurrent checkpoint never copies the whole log, so the log cannot start over. When it has become very large,
//! the writer waits once and makes it start over.
//!
//! A page that many commits write is copied once for all of them, so a busy log is copied in large pieces. When commits pause,
//! the rest is copied, so that little is left to do after a crash.
use crate::archive::Archiver;
use crate::connection_setup;
use crate::connection_setup::{PAGE, StoreOptions, StorePaths};
use crate::open_error::StoreOpenError;
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Number of steps of growth after which a busy log is copied.
const STEPS: u64 = 4;

/// Time without a step of growth after which a shorter log is copied.
const PAUSE: Duration = Duration::from_secs(1);

/// Thread that copies the log; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct WalCheckpointer {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Writer's view of the log: tracks its length, and decides when it is copied or restarted.
#[derive(Debug)]
pub(crate) struct WalMonitor {
    wake: Option<SyncSender<()>>,
    every: u64,
    limit: u64,
    last: u64,
    next: u64,
    next_restart: u64,
}

impl WalMonitor {
    pub(crate) fn new(checkpoints: Option<&WalCheckpointer>, options: &StoreOptions) -> Self {
        let pages = |bytes: u64| (bytes / PAGE).max(1);
        let (every, limit) = (
            pages(options.checkpoint_bytes / STEPS),
            pages(options.wal_limit_bytes),
        );
        let wake = checkpoints.and_then(|c| c.wake.clone());
        Self {
            wake,
            every,
            limit,
            last: 0,
            next: every,
            next_restart: limit,
        }
    }

    /// Records a commit that left the log with this many pages. Returns true if the writer should wait and make the log start
    /// over.
    pub(crate) fn written(&mut self, pages: u64) -> bool {
        if pages < self.last {
            // The log started over.
            (self.next, self.next_restart) = (self.every, self.limit);
        }
        self.last = pages;
        let Some(wake) = &self.wake else { return false };
        if pages >= self.next {
            self.next = pages + self.every;
            // A full channel means that the thread is about to look anyway.
            let _ = wake.try_send(());
        }
        let restart = pages >= self.next_restart;
        if restart {
            // If a long-running reader prevents the restart, the next attempt comes much later.
            self.next_restart = pages + self.limit;
        }
        restart
    }

    /// Records that the log could not start over because the other thread was copying it: the next attempt comes soon.
    pub(crate) fn missed(&mut self) {
        self.next_restart = self.last + self.every;
    }
}

impl WalCheckpointer {
    pub(crate) fn start(
        files: &StorePaths,
        options: &StoreOptions,
        archiver: Option<Arc<Archiver>>,
    ) -> Result<Self, StoreOpenError> {
        let conn = connection_setup::open_checkpointer(files, options)?;
        let (wake, woken) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("checkpoint".into())
            .spawn(move || run(&conn, &woken, archiver.as_deref()))
            .map_err(|e| StoreOpenError::Io(files.database.clone(), e))?;
        Ok(Self {
            wake: Some(wake),
            thread: Some(thread),
        })
    }
}

impl Drop for WalCheckpointer {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the checkpoint thread panicked");
        }
    }
}

/// Copies the log each time it has grown, as far as possible without making anyone wait. With an archive, only the archived
/// part is copied.
fn run(conn: &Connection, woken: &Receiver<()>, archiver: Option<&Archiver>) {
    let passive = || report("PASSIVE", checkpoint(conn, "PASSIVE"));
    while grown(woken, PAUSE) {
        match archiver {
            None => drop(passive()),
            Some(archiver) => archiver.checkpoint(passive),
        }
    }
}

/// Waits until the log has grown by [`STEPS`] steps, or by fewer and then not for a while. Returns false when the store
/// closes.
fn grown(woken: &Receiver<()>, pause: Duration) -> bool {
    if woken.recv().is_err() {
        return false;
    }
    let more = (1..STEPS).map(|_| woken.recv_timeout(pause));
    let mut ends = more.filter_map(Result::err);
    ends.next() != Some(RecvTimeoutError::Disconnected)
}

/// Waits for readers, within bounds, and makes the log start over. Returns false if another checkpoint was running, for which
/// SQLite does not wait.
pub(crate) fn restart(conn: &Connection) -> rusqlite::Result<bool> {
    conn.busy_timeout(Duration::from_secs(1))?;
    let done = checkpoint(conn, "RESTART");
    // If another checkpoint is running, SQLite does not count pages, either.
    let tried = !matches!(done, Ok((1, pages, _)) if pages < 0);
    report("RESTART", done);
    conn.busy_timeout(connection_setup::WRITER_WAITS)?;
    Ok(tried)
}

/// Logs the result of a checkpoint. Returns the pages of the log that are in the database now, if it succeeded.
fn report(mode: &str, done: rusqlite::Result<(i64, i64, i64)>) -> Option<u64> {
    match done {
        Ok((busy, pages, copied)) => {
            tracing::debug!(mode, busy, pages, copied, "checkpoint");
            u64::try_from(copied).ok()
        }
        Err(error) => {
            tracing::warn!(mode, %error, "a checkpoint failed; a later one tries again");
            None
        }
    }
}

/// Runs a checkpoint. Returns nonzero if others blocked it, the pages of the log, and the number of copied pages.
fn checkpoint(conn: &Connection, mode: &str) -> rusqlite::Result<(i64, i64, i64)> {
    let sql = format!("PRAGMA wal_checkpoint({mode})");
    conn.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(wake: SyncSender<()>) -> WalMonitor {
        WalMonitor {
            wake: Some(wake),
            every: 10,
            limit: 40,
            last: 0,
            next: 10,
            next_restart: 40,
        }
    }

    #[test]
    fn the_thread_is_woken_at_every_step_of_growth_and_again_after_the_log_starts_over() {
        let (wake, woken) = sync_channel(1);
        let mut watch = watch(wake);
        let woken_at = [3, 9, 10, 12, 19, 20, 4, 9, 11].map(|pages| {
            watch.written(pages);
            woken.try_recv().is_ok()
        });
        assert_eq!(
            woken_at,
            [false, false, true, false, false, true, false, false, true]
        );
    }

    #[test]
    fn a_log_is_copied_after_all_steps_of_growth_or_after_fewer_and_a_pause() {
        let (wake, woken) = sync_channel(8);
        for _ in 0..STEPS + 1 {
            wake.send(()).unwrap();
        }
        let long = Duration::from_hours(1);
        assert!(grown(&woken, long));
        assert_eq!(woken.try_iter().count(), 1, "a step of the next copy");
        wake.send(()).unwrap();
        assert!(grown(&woken, Duration::ZERO));
        wake.send(()).unwrap();
        drop(wake);
        assert!(!grown(&woken, long));
    }

    #[test]
    fn the_writer_waits_when_the_log_is_very_large_and_not_at_once_again() {
        let (wake, _woken) = sync_channel(1);
        let mut watch = watch(wake);
        let waits = [39, 40, 41, 79, 80, 120, 5, 39, 41].map(|pages| watch.written(pages));
        assert_eq!(
            waits,
            [false, true, false, false, true, true, false, false, true]
        );
        watch.missed();
        assert_eq!([50, 51].map(|pages| watch.written(pages)), [false, true]);
    }
}
