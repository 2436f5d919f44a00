//! The connections that read, and reading one snapshot with one of them.
use crate::connect::{self, Files, Options};
use crate::error::failed;
use crate::session::Session;
use crate::sql::Sql;
use rusqlite::Connection;
use std::sync::{Condvar, Mutex, PoisonError};
use workgraph_core::graph::StoreError;

/// Read connections. One is used by one thread at a time, from the first statement of a snapshot to
/// the last, so a thread waits for one only while as many others are reading.
#[derive(Debug)]
pub(crate) struct Readers {
    files: Files,
    options: Options,
    most: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Connection>,
    open: usize,
}

/// A connection on loan.
struct Loan<'r> {
    readers: &'r Readers,
    conn: Option<Connection>,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        // One that is still in a transaction (after a panic or a failure) is closed instead.
        let conn = self.conn.take().filter(Connection::is_autocommit);
        let mut state = self
            .readers
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match conn {
            Some(conn) => state.idle.push(conn),
            None => state.open -= 1,
        }
        drop(state);
        self.readers.freed.notify_one();
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
        }
    }

    fn loan(&self) -> Result<Loan<'_>, StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(conn) = state.idle.pop() {
                return Ok(Loan {
                    readers: self,
                    conn: Some(conn),
                });
            }
            if state.open < self.most {
                break;
            }
            state = self
                .freed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.open += 1;
        drop(state);
        let mut loan = Loan {
            readers: self,
            conn: None,
        };
        let conn = connect::reader(&self.files, &self.options);
        loan.conn = Some(conn.map_err(|e| StoreError::Failed(e.to_string()))?);
        Ok(loan)
    }

    /// Reads one snapshot, on this thread.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&mut Session<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let loan = self.loan()?;
        let Some(conn) = &loan.conn else {
            return Err(StoreError::Failed("no connection".into()));
        };
        let mut session = Session::new(conn);
        session.run(Sql::Begin, []).map_err(failed)?;
        let found = read(&mut session);
        let ended = session.run(
            if found.is_ok() {
                Sql::Commit
            } else {
                Sql::Rollback
            },
            [],
        );
        if let Err(error) = ended {
            tracing::warn!(%error, "a read transaction did not end");
        }
        found
    }
}
