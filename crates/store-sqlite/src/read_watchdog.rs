//! Watchdog of a read: SQLite calls it at intervals, and it stops the read after its timeout or when its interrupt requires it.
use parking_lot::Mutex;
use rusqlite::Connection;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use workgraph_core::{InterruptReason, MaybeInterrupt};

/// Instructions of SQLite's virtual machine between two checks; some tens of microseconds.
const INSTRUCTIONS: i32 = 1_000;
/// Number of steps, as interrupts count them, for these instructions.
const STEPS: u32 = 128;

/// Watchdog that stops the statements of one connection. A clone watches the same connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadWatchdog(Arc<Mutex<Option<WatchedRead>>>);

/// Read that the connection currently runs.
#[derive(Debug)]
struct WatchedRead {
    interrupt: MaybeInterrupt,
    timeout: Duration,
    /// Time of the first check, from which the timeout counts. Short reads never read the clock.
    since: Option<Instant>,
    stopped: Option<InterruptReason>,
}

impl WatchedRead {
    fn check(&mut self) -> Result<(), InterruptReason> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.timeout {
            return Err(InterruptReason::Deadline);
        }
        match &self.interrupt {
            Some(interrupt) => interrupt.check(STEPS),
            None => Ok(()),
        }
    }
}

impl ReadWatchdog {
    /// Installs a watchdog on a connection.
    pub(crate) fn over(conn: &mut Connection) -> rusqlite::Result<Self> {
        let watch = Self::default();
        let own = watch.clone();
        conn.progress_handler(INSTRUCTIONS, Some(move || own.stops()))?;
        Ok(watch)
    }

    /// Returns true if the current statement should stop.
    fn stops(&self) -> bool {
        let mut running = self.0.lock();
        let Some(running) = running.as_mut() else {
            return false;
        };
        if running.stopped.is_none() {
            running.stopped = running.check().err();
        }
        running.stopped.is_some()
    }

    /// Marks the beginning of a read.
    pub(crate) fn begin(&self, interrupt: MaybeInterrupt, timeout: Duration) {
        *self.0.lock() = Some(WatchedRead {
            interrupt,
            timeout,
            since: None,
            stopped: None,
        });
    }

    /// Marks the end of the read. Returns the reason why it was stopped, if it was.
    pub(crate) fn end(&self) -> Option<InterruptReason> {
        self.0.lock().take()?.stopped
    }
}
