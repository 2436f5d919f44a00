//! One decision of the store of tokens: a transaction, the statements that it sends together, and the audit rows of its acts.
use super::auth_writes::statements_of;
use crate::audit_log;
use crate::database::{Connection, Database};
use crate::database_error::DatabaseError;
use crate::handle_actor::HandleActor;
use crate::params::Params;
use crate::statement_list::BorrowedStatements;
use crate::statement_pipeline::{Statement, pipeline, pipeline_all};
use crate::write_attempt::WriteAttempt;
use std::future::Future;
use tokio_postgres::Row;
use workgraph_auth::AuthStoreError;
use workgraph_auth::rules::{AuditedAct, AuthDecision, AuthWrite};

/// Transaction of the store of tokens on a separate connection. It begins with the first statements that it sends.
#[derive(Debug)]
pub(crate) struct AuthTransaction {
    database: Database,
    /// The connection; `None` after it was returned to its pool or closed.
    connection: Option<Connection>,
    state: TransactionState,
    /// Acts to write to the audit log, in order.
    acts: Vec<AuditedAct>,
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
            acts: Vec::new(),
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

    /// Makes the writes of a decision and records its audited acts; returns the outcome of the decision. The rows of the
    /// acts are written at the end of the transaction. This must be the last call of the transaction.
    ///
    /// # Errors
    /// Fails with the first error of a write. Nothing is committed in that case, unless the error is
    /// [`AuthStoreError::Unknown`].
    pub(crate) async fn apply<T>(
        &mut self,
        decision: AuthDecision<T>,
    ) -> Result<T, AuthStoreError> {
        self.acts.extend(decision.acts);
        let writes = statements_of(&decision.writes)?;
        if writes.is_empty() && self.state == TransactionState::New && !self.acts.is_empty() {
            self.send::<0>([]).await?;
        }
        if !writes.is_empty() {
            let borrowed = BorrowedStatements::new(&writes);
            let sent = self.send_last_of(&borrowed.statements()).await;
            sent.map_err(|error| refused(&decision.writes, error))?;
        }
        Ok(decision.outcome)
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
        self.send_last_of(&statements).await
    }

    async fn send_last_of(&mut self, statements: &[Statement<'_>]) -> Result<(), DatabaseError> {
        let begin = self.begin();
        if !self.acts.is_empty() {
            let sent = pipeline_all(self.connection()?, begin, statements, None);
            return self.within(sent).await.map(drop);
        }
        let attempt = WriteAttempt::new()?;
        let commit = attempt.commit();
        let sent = pipeline_all(self.connection()?, begin, statements, Some(&commit));
        if let Err(error) = self.within(sent).await {
            self.find_out(&attempt, error).await?;
        }
        self.state = TransactionState::Committed;
        Ok(())
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
        // With audit rows there are three trips: for their data, for the end of the log, and for the rows.
        let trips = if self.acts.is_empty() { 1 } else { 3 };
        self.database.count_statements(trips);
        let connection = self.connection()?;
        let rows = match self.acts.is_empty() {
            true => Vec::new(),
            false => by.rows(connection, &self.acts).await?,
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

/// Converts the error of writes. If two accounts take each other's address at the same time, they wait for each other, and
/// the database refuses one of the two writes.
fn refused(writes: &[AuthWrite], error: DatabaseError) -> AuthStoreError {
    let has_login = || {
        let mut writes = writes.iter();
        writes.any(|write| matches!(write, AuthWrite::PutLogin(..)))
    };
    match error {
        DatabaseError::Failed(text) if text.contains("40P01") && has_login() => {
            AuthStoreError::Conflict
        }
        other => other.into(),
    }
}

/// Closes the connection of a transaction that was not ended.
impl Drop for AuthTransaction {
    fn drop(&mut self) {
        self.close();
    }
}
