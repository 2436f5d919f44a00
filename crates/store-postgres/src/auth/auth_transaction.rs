//! One decision of the store of tokens: a transaction, the statements that it sends together, and the audit rows of its acts.
use super::audit_events::AuditEvent;
use crate::audit_log;
use crate::database::{Connection, Database};
use crate::database_error::DatabaseError;
use crate::handle_actor::HandleActor;
use crate::params::Params;
use crate::statement_pipeline::{Statement, pipeline, pipeline_all};
use crate::write_attempt::WriteAttempt;
use std::future::Future;
use tokio_postgres::Row;
use workgraph_auth::AuthStoreError;

/// Transaction of the store of tokens on a connection of its own. It begins with the first statements that it sends.
#[derive(Debug)]
pub(crate) struct AuthTransaction {
    database: Database,
    /// The connection; `None` after it was returned to its pool or closed.
    connection: Option<Connection>,
    state: TransactionState,
    /// Acts for which the audit log gets rows, in their order.
    events: Vec<AuditEvent>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TransactionState {
    New,
    Open,
    Committed,
}

impl AuthTransaction {
    /// Returns a transaction that has not begun.
    pub(crate) async fn new(database: &Database) -> Result<Self, DatabaseError> {
        Ok(Self {
            database: database.clone(),
            connection: Some(database.connection().await?),
            state: TransactionState::New,
            events: Vec::new(),
        })
    }

    fn connection(&self) -> Result<&Connection, DatabaseError> {
        let ended = || DatabaseError::Failed("the transaction has ended".into());
        self.connection.as_ref().ok_or_else(ended)
    }

    /// Waits for work on the connection, but no longer than a transaction may take.
    async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, DatabaseError>>,
    ) -> Result<T, DatabaseError> {
        Database::within(self.database.options().write_timeout, work).await
    }

    /// Counts a trip, and returns the statement that begins the transaction, if it has not begun.
    fn begin(&mut self) -> Option<&'static str> {
        self.database.count_statements(1);
        let is_new = self.state == TransactionState::New;
        self.state = TransactionState::Open;
        is_new.then_some("BEGIN")
    }

    /// Records an act for the audit log; its rows are written at the end of the transaction.
    pub(crate) fn record(&mut self, event: AuditEvent) {
        self.events.push(event);
    }

    /// Sends statements together; each sees the effects of those before it.
    ///
    /// # Errors
    /// Fails with the first error.
    pub(crate) async fn send<const N: usize>(
        &mut self,
        statements: [Statement<'_>; N],
    ) -> Result<[Vec<Row>; N], DatabaseError> {
        let begin = self.begin();
        self.within(pipeline(self.connection()?, begin, statements, None))
            .await
    }

    /// Sends one statement; see [`send`](Self::send).
    ///
    /// # Errors
    /// Fails if the statement does.
    pub(crate) async fn run(
        &mut self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, DatabaseError> {
        let [rows] = self.send([(sql, params)]).await?;
        Ok(rows)
    }

    /// Sends the last statements of the transaction. They are committed with it, unless acts were recorded, whose rows come
    /// first. After this only the database may cause a failure.
    ///
    /// # Errors
    /// Fails with the first error; nothing is committed then, unless the error is [`DatabaseError::Unknown`].
    pub(crate) async fn send_last<const N: usize>(
        &mut self,
        statements: [Statement<'_>; N],
    ) -> Result<(), DatabaseError> {
        self.send_last_of(&statements).await.map(drop)
    }

    /// Does the same as [`send_last`](Self::send_last), and returns the rows of `read`, which sees the effects of the statements.
    ///
    /// # Errors
    /// Fails as [`send_last`](Self::send_last) does.
    pub(crate) async fn send_last_and_read<const N: usize>(
        &mut self,
        statements: [Statement<'_>; N],
        read: Statement<'_>,
    ) -> Result<Vec<Row>, DatabaseError> {
        let mut all = statements.to_vec();
        all.push(read);
        if let Some(mut rows) = self.send_last_of(&all).await? {
            return Ok(rows.pop().unwrap_or_default());
        }
        let again = async {
            let connection = self.database.connection().await?;
            let [rows] = pipeline(&connection, None, [read], None).await?;
            Ok(rows)
        };
        let lost = |error: DatabaseError| DatabaseError::Unknown(error.to_string());
        self.within(again).await.map_err(lost)
    }

    /// Sends the last statements; returns the rows of each, or `None` if they were committed and the rows were lost.
    async fn send_last_of(
        &mut self,
        statements: &[Statement<'_>],
    ) -> Result<Option<Vec<Vec<Row>>>, DatabaseError> {
        let begin = self.begin();
        if !self.events.is_empty() {
            let sent = pipeline_all(self.connection()?, begin, statements, None);
            return self.within(sent).await.map(Some);
        }
        let attempt = WriteAttempt::new()?;
        let commit = attempt.commit();
        let sent = pipeline_all(self.connection()?, begin, statements, Some(&commit));
        let rows = match self.within(sent).await {
            Ok(rows) => Some(rows),
            Err(error) => {
                self.find_out(&attempt, error).await?;
                None
            }
        };
        self.state = TransactionState::Committed;
        Ok(rows)
    }

    /// Finds out the outcome of the transaction after its commit was sent and failed: success if it was committed.
    async fn find_out(
        &mut self,
        attempt: &WriteAttempt,
        error: DatabaseError,
    ) -> Result<(), DatabaseError> {
        if !error.breaks_connection() {
            return Err(error);
        }
        self.close();
        attempt.find_out(&self.database, error).await
    }

    /// Ends the transaction: commits it with the rows of its acts, or rolls it back if the outcome is an error.
    pub(crate) async fn end<T>(
        mut self,
        by: &HandleActor,
        outcome: Result<T, AuthStoreError>,
    ) -> Result<T, AuthStoreError> {
        let ended = match (&outcome, self.state) {
            (_, TransactionState::New | TransactionState::Committed) => Ok(()),
            (Ok(_), TransactionState::Open) => self.commit(by).await,
            (Err(_), TransactionState::Open) => self.roll_back().await,
        };
        match ended {
            // The connection is returned to the pool.
            Ok(()) => drop(self.connection.take()),
            // The state of the connection is unknown: dropping this transaction closes it.
            Err(error) if outcome.is_ok() => return Err(error),
            Err(_) => {}
        }
        outcome
    }

    async fn commit(&mut self, by: &HandleActor) -> Result<(), AuthStoreError> {
        let attempt = WriteAttempt::new()?;
        // With audit rows: their data, the end of the log, the rows.
        let trips = if self.events.is_empty() { 1 } else { 3 };
        self.database.count_statements(trips);
        let connection = self.connection()?;
        let rows = match self.events.is_empty() {
            true => Vec::new(),
            false => by.rows(connection, &self.events).await?,
        };
        let commit = attempt.commit();
        let sent = audit_log::append_and_commit(connection, rows, &commit);
        match self.within(sent).await {
            Ok(()) => Ok(()),
            Err(error) => Ok(self.find_out(&attempt, error).await?),
        }
    }

    async fn roll_back(&mut self) -> Result<(), AuthStoreError> {
        let connection = self.connection()?;
        let done = async { Ok(connection.batch_execute("ROLLBACK").await?) };
        Ok(self.within(done).await?)
    }

    /// Closes the connection, so that the server rolls back uncommitted work.
    fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.database.close(connection);
        }
    }
}

/// Closes the connection of a transaction that was not ended.
impl Drop for AuthTransaction {
    fn drop(&mut self) {
        self.close();
    }
}
