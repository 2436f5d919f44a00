//! One decision of the store of tokens: a transaction, the statements it sends together, and the audit rows of its
//! acts.
use super::audit_events::AuditEvent;
use crate::audit_log;
use crate::database::{Connection, Database};
use crate::database_error::DatabaseError;
use crate::handle_actor::HandleActor;
use crate::params::Params;
use crate::statement_pipeline::{Statement, pipeline};
use tokio_postgres::Row;
use workgraph_auth::AuthStoreError;

/// Transaction of the store of tokens on a connection of its own. It begins with the first statements that it sends.
#[derive(Debug)]
pub(crate) struct AuthTransaction {
    /// The connection; `None` once it went back to its pool.
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
            connection: Some(database.connection().await?),
            state: TransactionState::New,
            events: Vec::new(),
        })
    }

    fn connection(&self) -> Result<&Connection, DatabaseError> {
        let ended = || DatabaseError::Failed("the transaction has ended".into());
        self.connection.as_ref().ok_or_else(ended)
    }

    /// Notes an act for the audit log; its rows are written at the end of the transaction.
    pub(crate) fn record(&mut self, event: AuditEvent) {
        self.events.push(event);
    }

    /// Sends statements together, each of which sees what those before it did.
    ///
    /// # Errors
    /// Fails with the first error.
    pub(crate) async fn send<const N: usize>(
        &mut self,
        statements: [Statement<'_>; N],
    ) -> Result<[Vec<Row>; N], DatabaseError> {
        let begin = (self.state == TransactionState::New).then_some("BEGIN");
        self.state = TransactionState::Open;
        pipeline(self.connection()?, begin, statements, None).await
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

    /// Sends the last statements of the transaction, which is committed with them unless acts were noted: their rows
    /// come first. Nothing may fail after it for another reason than the database.
    ///
    /// # Errors
    /// Fails with the first error; then nothing is committed.
    pub(crate) async fn send_last<const N: usize>(
        &mut self,
        statements: [Statement<'_>; N],
    ) -> Result<[Vec<Row>; N], DatabaseError> {
        if !self.events.is_empty() {
            return self.send(statements).await;
        }
        let begin = (self.state == TransactionState::New).then_some("BEGIN");
        self.state = TransactionState::Open;
        let rows = pipeline(self.connection()?, begin, statements, Some("COMMIT")).await?;
        self.state = TransactionState::Committed;
        Ok(rows)
    }

    /// Ends the transaction: commits it with the rows of its acts, or takes everything back if the outcome is an error.
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
            // The connection goes back to the pool.
            Ok(()) => drop(self.connection.take()),
            // What the connection is worth is not known: dropping this transaction closes it.
            Err(error) if outcome.is_ok() => return Err(error),
            Err(_) => {}
        }
        outcome
    }

    async fn commit(&mut self, by: &HandleActor) -> Result<(), AuthStoreError> {
        let connection = self.connection()?;
        if self.events.is_empty() {
            connection
                .batch_execute("COMMIT")
                .await
                .map_err(DatabaseError::from)?;
            return Ok(());
        }
        let rows = by.rows(connection, &self.events).await?;
        Ok(audit_log::append_and_commit(connection, rows).await?)
    }

    async fn roll_back(&mut self) -> Result<(), AuthStoreError> {
        let done = self.connection()?.batch_execute("ROLLBACK").await;
        Ok(done.map_err(DatabaseError::from)?)
    }
}

/// Closes the connection of a transaction that was not ended, so that the server takes back what it did.
impl Drop for AuthTransaction {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(Connection::take(connection));
        }
    }
}
