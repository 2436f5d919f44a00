//! One state of the whole database, read by several statements that may take long.
use crate::auth::{Params, pipeline};
use crate::database::{Connection, Database};
use crate::database_error::DatabaseError;
use tokio_postgres::Row;

/// A check or an inspection reads everything, which takes as long as it takes.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; \
    SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";

/// Snapshot on a connection of its own.
pub(crate) struct ReadSnapshot {
    /// The connection; `None` once it went back to its pool.
    connection: Option<Connection>,
}

impl ReadSnapshot {
    /// Begins a snapshot.
    pub(crate) async fn begin(database: &Database) -> Result<Self, DatabaseError> {
        let connection = database.connection().await?;
        let snapshot = Self {
            connection: Some(connection),
        };
        snapshot.connection()?.batch_execute(BEGIN).await?;
        Ok(snapshot)
    }

    fn connection(&self) -> Result<&Connection, DatabaseError> {
        let ended = || DatabaseError::Failed("the snapshot has ended".into());
        self.connection.as_ref().ok_or_else(ended)
    }

    /// Returns the rows of a statement.
    pub(crate) async fn rows(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, DatabaseError> {
        let [rows] = pipeline(self.connection()?, None, [(sql, params)], None).await?;
        Ok(rows)
    }

    /// Ends the snapshot; the connection goes back to its pool.
    pub(crate) async fn end(mut self) -> Result<(), DatabaseError> {
        self.connection()?.batch_execute("COMMIT").await?;
        drop(self.connection.take());
        Ok(())
    }
}

/// Closes the connection of a snapshot that was not ended.
impl Drop for ReadSnapshot {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            drop(Connection::take(connection));
        }
    }
}
