//! The watch over a read: SQLite is asked now and then to stop, when the read has taken too long or its
//! interrupt says so.
use rusqlite::Connection;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use workgraph_core::{Interrupted, MaybeInterrupt};

/// How many instructions of SQLite's machine are run between two looks; some tens of microseconds.
const INSTRUCTIONS: i32 = 1_000;
/// As how many steps they count.
const STEPS: u32 = 128;

/// Stops the statements of one connection. A clone watches over the same connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch(Arc<Mutex<Option<Running>>>);

/// The read for which the connection is used.
#[derive(Debug)]
struct Running {
    interrupt: MaybeInterrupt,
    timeout: Duration,
    /// The first look, from which the timeout counts: short reads do without a look at the clock.
    since: Option<Instant>,
    stopped: Option<Interrupted>,
}

impl Running {
    fn check(&mut self) -> Result<(), Interrupted> {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.timeout {
            return Err(Interrupted::Deadline);
        }
        match &self.interrupt {
            Some(interrupt) => interrupt.check(STEPS),
            None => Ok(()),
        }
    }
}

impl Watch {
    /// Watches over a connection from now on.
    pub(crate) fn over(conn: &mut Connection) -> rusqlite::Result<Self> {
        let watch = Self::default();
        let own = watch.clone();
        conn.progress_handler(INSTRUCTIONS, Some(move || own.stops()))?;
        Ok(watch)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether what SQLite is doing is to stop.
    fn stops(&self) -> bool {
        let mut running = self.lock();
        let Some(running) = running.as_mut() else {
            return false;
        };
        if running.stopped.is_none() {
            running.stopped = running.check().err();
        }
        running.stopped.is_some()
    }

    /// A read begins.
    pub(crate) fn begin(&self, interrupt: MaybeInterrupt, timeout: Duration) {
        *self.lock() = Some(Running {
            interrupt,
            timeout,
            since: None,
            stopped: None,
        });
    }

    /// The read has ended: says for which reason it was stopped, if it was.
    pub(crate) fn end(&self) -> Option<Interrupted> {
        self.lock().take()?.stopped
    }
}
