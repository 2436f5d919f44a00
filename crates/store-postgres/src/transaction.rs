//! Transaction on one connection: statements that wait for their rows, and writes that do not wait.
//!
//! The rules of loading and committing are synchronous code, so a transaction is used on a thread that may block, and
//! waits there for the runtime that drives the connection.
use crate::database::Connection;
use crate::database_error::DatabaseError;
use crate::deadline::Deadline;
use crate::params::{OwnedParams, Param, Params, borrowed};
use crate::store_state::StoreState;
use crate::wave_statements::{Read, Wave};
use crate::write_attempt::WriteAttempt;
use futures_util::FutureExt;
use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_postgres::{Row, Statement};
use workgraph_core::storage::{FactKey, Seq};
use workgraph_core::{InterruptReason, MaybeInterrupt};

type PendingStatement<'c> =
    Pin<Box<dyn Future<Output = Result<u64, tokio_postgres::Error>> + Send + 'c>>;

/// Time between two checks of the interrupt while the database works.
const CHECK_INTERVAL: Duration = Duration::from_millis(25);

/// Connection inside a transaction. It is used on a thread that may block.
pub(crate) struct PgTransaction<'c> {
    connection: &'c Connection,
    runtime: &'c Handle,
    /// Statement that begins the transaction, until it is sent along with the first other statement.
    begin: Option<&'static str>,
    deadline: Deadline,
    interrupt: MaybeInterrupt,
    /// Statements that were sent and not waited for, in order.
    pending: Vec<PendingStatement<'c>>,
    /// Statements that are noted, or sent together.
    pub(crate) wave: Option<Wave>,
    /// Last commit that a read-only transaction shows; `None` before it was read.
    pub(crate) shown: Option<Seq>,
    /// Locked state row of a transaction that writes; `None` before the lock, and in a transaction that reads.
    pub(crate) state: Option<StoreState>,
    /// Commit attempt of a transaction that writes.
    pub(crate) attempt: Option<WriteAttempt>,
    /// Keys that the current commit has touched so far; `None` if they are not known.
    pub(crate) touched: Option<Vec<FactKey>>,
    /// True if the transaction writes, so that it locks the state first.
    is_writing: bool,
    /// True while waiting for a statement: if the wait is abandoned, the connection is in doubt.
    busy: bool,
    /// Number of times that it waited for rows, or for writes to complete.
    trips: u32,
}

impl<'c> PgTransaction<'c> {
    /// Creates a transaction that begins with its first statement.
    pub(crate) fn new(
        connection: &'c Connection,
        runtime: &'c Handle,
        begin: &'static str,
        timeout: Duration,
    ) -> Self {
        Self {
            connection,
            runtime,
            begin: Some(begin),
            deadline: Deadline::after(timeout),
            interrupt: None,
            pending: Vec::new(),
            wave: None,
            shown: None,
            state: None,
            attempt: None,
            touched: Some(Vec::new()),
            is_writing: false,
            busy: false,
            trips: 0,
        }
    }

    /// Creates a transaction that notes reads, or finds their rows among those of a wave; it sends nothing.
    pub(crate) fn noting(connection: &'c Connection, runtime: &'c Handle) -> Self {
        Self::new(connection, runtime, "", Duration::ZERO)
    }

    /// Turns this into a transaction that writes.
    pub(crate) fn writing(self) -> Self {
        Self {
            is_writing: true,
            ..self
        }
    }

    /// Returns true if the transaction writes.
    pub(crate) const fn writes(&self) -> bool {
        self.is_writing
    }

    /// Lets the interrupt stop the transaction.
    pub(crate) fn interrupted_by(self, interrupt: MaybeInterrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// Returns the number of times that it waited for the database.
    pub(crate) const fn trips(&self) -> u32 {
        self.trips
    }

    /// Returns true if a statement was sent.
    pub(crate) const fn has_begun(&self) -> bool {
        self.begin.is_none()
    }

    /// Returns true if no statement was abandoned before its answer came.
    pub(crate) fn is_idle(&self) -> bool {
        !self.busy && self.pending.is_empty()
    }

    /// Returns the rows of a statement.
    pub(crate) fn rows(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, DatabaseError> {
        let statement = self.statement(sql)?;
        let connection = self.connection;
        let begin = self.begin.take();
        let work = async move {
            let rows = connection.query(&statement, params);
            match begin {
                // Both are sent before waiting for the first answer; the connection keeps their order.
                Some(begin) => {
                    let (begun, rows) =
                        futures_util::future::join(connection.batch_execute(begin), rows).await;
                    begun.and(rows)
                }
                None => rows.await,
            }
        };
        match self.wait(work) {
            Ok(Ok(rows)) => self.settle_answered().map(|()| rows),
            Ok(Err(error)) => Err(self.first_error(error.into())),
            Err(error) => Err(error),
        }
    }

    /// Returns the rows of several reads, which are sent together.
    pub(crate) fn rows_of_all(&mut self, reads: &[Read]) -> Result<Vec<Vec<Row>>, DatabaseError> {
        let statements = self.statements(reads)?;
        self.send_begin();
        let connection = self.connection;
        let params: Vec<_> = reads.iter().map(|read| Param::all(&read.params)).collect();
        // Each is sent when it is first polled, and they are polled in order.
        let all = statements.iter().zip(&params);
        let all = all.map(|(statement, params)| connection.query(statement, params));
        match self.wait(futures_util::future::try_join_all(all)) {
            Ok(Ok(rows)) => self.settle_answered().map(|()| rows),
            Ok(Err(error)) => Err(self.first_error(error.into())),
            Err(error) => Err(error),
        }
    }

    /// Returns the row of a statement, if there is one.
    pub(crate) fn one(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Option<Row>, DatabaseError> {
        Ok(self.rows(sql, params)?.into_iter().next())
    }

    /// Runs a statement that returns no rows; returns the number of rows that it changed.
    pub(crate) fn run(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<u64, DatabaseError> {
        self.send_begin();
        let statement = self.statement(sql)?;
        let connection = self.connection;
        match self.wait(async move { connection.execute(&statement, params).await }) {
            Ok(Ok(count)) => self.settle_answered().map(|()| count),
            Ok(Err(error)) => Err(self.first_error(error.into())),
            Err(error) => Err(error),
        }
    }

    /// Sends a statement without waiting for it. Later statements see its effects; its failure is reported by the next
    /// statement that waits, or by [`flush`](Self::flush).
    pub(crate) fn send(
        &mut self,
        sql: &'static str,
        params: OwnedParams,
    ) -> Result<(), DatabaseError> {
        self.send_begin();
        let statement = self.statement(sql)?;
        let connection = self.connection;
        let mut sent: PendingStatement<'c> =
            Box::pin(async move { connection.execute(&statement, &borrowed(&params)).await });
        match first_poll(self.runtime, &mut sent) {
            // It was not sent, so nothing may follow it.
            Some(Err(error)) => return Err(self.first_error(error.into())),
            Some(Ok(_)) => {}
            None => self.pending.push(sent),
        }
        Ok(())
    }

    /// Sends a command without parameters, such as `SAVEPOINT`, without waiting for it.
    pub(crate) fn send_command(&mut self, sql: &'static str) {
        self.send_begin();
        let connection = self.connection;
        self.push(Box::pin(async move {
            connection.batch_execute(sql).await.map(|()| 0)
        }));
    }

    /// Waits for all sent statements; returns the error of the first that failed.
    pub(crate) fn flush(&mut self) -> Result<(), DatabaseError> {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return Ok(());
        }
        self.wait(async move {
            let mut first = Ok(());
            for statement in pending {
                let done = statement.await.map(drop).map_err(DatabaseError::from);
                first = first.and(done);
            }
            first
        })?
    }

    /// Takes the outcomes of pending statements that were answered before a later one: the connection keeps their order. A
    /// statement left pending would put the connection in doubt.
    fn settle_answered(&mut self) -> Result<(), DatabaseError> {
        let mut first = Ok(());
        self.pending.retain_mut(|statement| {
            let Some(done) = statement.as_mut().now_or_never() else {
                return true;
            };
            let done = done.map(drop).map_err(DatabaseError::from);
            first = std::mem::replace(&mut first, Ok(())).and(done);
            false
        });
        first
    }

    fn send_begin(&mut self) {
        if let Some(begin) = self.begin.take() {
            let connection = self.connection;
            self.push(Box::pin(async move {
                connection.batch_execute(begin).await.map(|()| 0)
            }));
        }
    }

    /// Sends a command.
    fn push(&mut self, mut statement: PendingStatement<'c>) {
        let statement = match first_poll(self.runtime, &mut statement) {
            Some(done) => Box::pin(std::future::ready(done)) as PendingStatement<'c>,
            None => statement,
        };
        self.pending.push(statement);
    }

    /// Returns the error of the first pending statement that failed, or else this one: after a failure the database refuses all
    /// later statements.
    fn first_error(&mut self, error: DatabaseError) -> DatabaseError {
        match self.flush() {
            Err(first) => first,
            Ok(()) => error,
        }
    }

    /// Returns a statement, prepared once per connection.
    fn statement(&mut self, sql: &'static str) -> Result<Statement, DatabaseError> {
        let connection = self.connection;
        self.prepared(connection.prepare_cached(sql))
    }

    /// Returns the statements of reads; statements that are new to the connection are prepared together.
    fn statements(&mut self, reads: &[Read]) -> Result<Vec<Statement>, DatabaseError> {
        let connection = self.connection;
        let texts: HashSet<&'static str> = reads.iter().map(|read| read.sql).collect();
        self.prepared(futures_util::future::try_join_all(
            texts.into_iter().map(|sql| connection.prepare_cached(sql)),
        ))?;
        reads.iter().map(|read| self.statement(read.sql)).collect()
    }

    /// Waits for statements to be prepared. That happens once per connection, so it is not counted as a trip.
    fn prepared<T>(
        &mut self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, DatabaseError> {
        let trips = self.trips;
        let done = self.wait(work);
        self.trips = trips;
        done?.map_err(|error| self.first_error(error.into()))
    }

    /// Waits for work on the connection, on this thread.
    fn wait<T>(&mut self, work: impl Future<Output = T>) -> Result<T, DatabaseError> {
        let (deadline, interrupt) = (self.deadline, self.interrupt.clone());
        self.busy = true;
        self.trips += 1;
        let done = self.runtime.block_on(wait_for(work, deadline, &interrupt));
        self.busy = done.is_err();
        done
    }
}

/// Polls a statement for the first time, which sends it on its connection. It is seldom answered at once; it fails if it could
/// not be sent.
pub(crate) fn first_poll<F: Future + Unpin>(
    runtime: &Handle,
    statement: &mut F,
) -> Option<F::Output> {
    let _entered = runtime.enter();
    statement.now_or_never()
}

/// Waits for work on a connection, until its deadline or until the interrupt stops it. After an error, the outcome of the work is
/// unknown, and the connection must be closed.
pub(crate) async fn wait_for<T>(
    work: impl Future<Output = T>,
    deadline: Deadline,
    interrupt: &MaybeInterrupt,
) -> Result<T, DatabaseError> {
    let mut work = std::pin::pin!(work);
    // A prepared statement is already known.
    if let Some(done) = work.as_mut().now_or_never() {
        return Ok(done);
    }
    loop {
        if let Some(done) = deadline.wait(CHECK_INTERVAL, work.as_mut()).await {
            return Ok(done);
        }
        if deadline.has_passed() {
            return Err(match interrupt {
                Some(_) => DatabaseError::Interrupted(InterruptReason::Deadline),
                None => DatabaseError::TimedOut("it did not answer in time".into()),
            });
        }
        if let Some(interrupt) = interrupt {
            interrupt.check(0).map_err(DatabaseError::Interrupted)?;
        }
    }
}
