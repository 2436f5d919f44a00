//! Copying the write-ahead log into the database, on a thread of its own.
//!
//! A checkpoint syncs twice and copies megabytes; on the writer's thread it would be what every
//! slow commit waits for. But while commits never pause, a checkpoint beside them never finds the
//! log copied as a whole, so it cannot start over. When it has become very large, the writer waits
//! once and makes it start over.
use crate::connect::{self, Files, Options, PAGE};
use crate::error::OpenError;
use rusqlite::Connection;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The thread, until it is dropped.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The writer's end: knows how long the log is, and what is to be done about it.
#[derive(Debug)]
pub(crate) struct Watch {
    wake: Option<SyncSender<()>>,
    every: u64,
    limit: u64,
    last: u64,
    next: u64,
    next_restart: u64,
}

impl Watch {
    pub(crate) fn new(checkpoints: Option<&Checkpoints>, options: &Options) -> Self {
        let pages = |bytes: u64| (bytes / PAGE).max(1);
        let (every, limit) = (
            pages(options.checkpoint_bytes),
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

    /// After a commit that left the log with so many pages. True if the writer is to wait and make
    /// the log start over.
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
            // If a reader that stays prevents it, the next attempt is a while away.
            self.next_restart = pages + self.limit;
        }
        restart
    }

    /// The other thread was copying when the log was to start over: the next attempt is soon.
    pub(crate) fn missed(&mut self) {
        self.next_restart = self.last + self.every;
    }
}

impl Checkpoints {
    pub(crate) fn start(files: &Files, options: &Options) -> Result<Self, OpenError> {
        let conn = connect::checkpointer(files, options)?;
        let (wake, woken) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("checkpoint".into())
            .spawn(move || run(&conn, &woken))
            .map_err(|e| OpenError::Io(files.database.clone(), e))?;
        Ok(Self {
            wake: Some(wake),
            thread: Some(thread),
        })
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the checkpoint thread panicked");
        }
    }
}

/// Copies what can be copied without waiting for anyone, each time it is woken.
fn run(conn: &Connection, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        report("PASSIVE", checkpoint(conn, "PASSIVE"));
    }
}

/// Waits for readers, within bounds, and makes the log start over. False if another checkpoint was
/// underway, for which SQLite does not wait.
pub(crate) fn restart(conn: &Connection) -> rusqlite::Result<bool> {
    conn.busy_timeout(Duration::from_secs(1))?;
    let done = checkpoint(conn, "RESTART");
    // Then it does not count pages either.
    let tried = !matches!(done, Ok((1, pages, _)) if pages < 0);
    report("RESTART", done);
    conn.busy_timeout(connect::WRITER_WAITS)?;
    Ok(tried)
}

fn report(mode: &str, done: rusqlite::Result<(i64, i64, i64)>) {
    match done {
        Ok((busy, pages, copied)) => tracing::debug!(mode, busy, pages, copied, "checkpoint"),
        Err(error) => tracing::warn!(mode, %error, "a checkpoint failed; a later one tries again"),
    }
}

/// Whether others were in the way, the pages of the log, and how many of them are copied.
fn checkpoint(conn: &Connection, mode: &str) -> rusqlite::Result<(i64, i64, i64)> {
    let sql = format!("PRAGMA wal_checkpoint({mode})");
    conn.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(wake: SyncSender<()>) -> Watch {
        Watch {
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
