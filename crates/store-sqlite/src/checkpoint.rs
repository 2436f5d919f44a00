//! Copying the write-ahead log into the database, on a thread of its own.
//!
//! A checkpoint syncs twice and copies megabytes; on the writer's thread it would be what every
//! slow commit waits for.
use crate::connect::{self, Files, Options, PAGE};
use crate::error::OpenError;
use rusqlite::Connection;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// The thread, until it is dropped.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    wake: Option<SyncSender<u64>>,
    thread: Option<JoinHandle<()>>,
}

/// The writer's end: says how long the log is.
#[derive(Debug)]
pub(crate) struct Waker {
    wake: Option<SyncSender<u64>>,
    every: u64,
    last: u64,
    next: u64,
}

impl Waker {
    pub(crate) fn new(checkpoints: Option<&Checkpoints>, options: &Options) -> Self {
        let every = (options.checkpoint_bytes / PAGE).max(1);
        Self {
            wake: checkpoints.and_then(|c| c.wake.clone()),
            every,
            last: 0,
            next: every,
        }
    }

    /// After a commit that left the log with so many pages.
    pub(crate) fn written(&mut self, pages: u64) {
        if pages < self.last {
            // The log started over.
            self.next = self.every;
        }
        self.last = pages;
        if pages >= self.next {
            self.next = pages + self.every;
            if let Some(wake) = &self.wake {
                // A full channel means that the thread is about to look anyway.
                let _ = wake.try_send(pages);
            }
        }
    }
}

impl Checkpoints {
    pub(crate) fn start(files: &Files, options: &Options) -> Result<Self, OpenError> {
        let conn = connect::checkpointer(files, options)?;
        let (wake, woken) = sync_channel(1);
        let limit = options.wal_limit_bytes / PAGE;
        let thread = std::thread::Builder::new()
            .name("checkpoint".into())
            .spawn(move || run(&conn, &woken, limit))
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

fn run(conn: &Connection, woken: &Receiver<u64>, limit: u64) {
    while let Ok(pages) = woken.recv() {
        // A passive one waits for nobody. If readers or the writer have kept the log from starting
        // over for so long that it is very large, they are held up until it is empty.
        let mode = if pages < limit { "PASSIVE" } else { "TRUNCATE" };
        match checkpoint(conn, mode) {
            Ok(done) => tracing::debug!(
                mode,
                pages,
                busy = done.busy,
                copied = done.copied,
                "checkpoint"
            ),
            Err(error) => {
                tracing::warn!(%error, pages, "a checkpoint failed; the next one tries again")
            }
        }
    }
}

/// How a checkpoint went.
pub(crate) struct Done {
    /// It could not finish because of others.
    pub(crate) busy: bool,
    /// Pages copied of the present log.
    pub(crate) copied: i64,
}

pub(crate) fn checkpoint(conn: &Connection, mode: &str) -> rusqlite::Result<Done> {
    let sql = format!("PRAGMA wal_checkpoint({mode})");
    conn.query_row(&sql, [], |row| {
        Ok(Done {
            busy: row.get::<_, i64>(0)? != 0,
            copied: row.get(2)?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_is_woken_at_every_step_of_growth_and_again_after_the_log_starts_over() {
        let (wake, woken) = sync_channel(8);
        let mut waker = Waker {
            wake: Some(wake),
            every: 10,
            last: 0,
            next: 10,
        };
        for pages in [3, 9, 10, 12, 19, 20, 4, 9, 11] {
            waker.written(pages);
        }
        assert_eq!(woken.try_iter().collect::<Vec<_>>(), [10, 20, 11]);
    }
}
