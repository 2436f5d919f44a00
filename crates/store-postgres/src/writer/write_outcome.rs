//! Outcome of a commit whose connection broke before the answer came.
use super::WriterThread;
use crate::database::{Connection, Database};
use crate::database_error::DatabaseError;
use std::time::Duration;

/// Time between two attempts to ask.
const INTERVAL: Duration = Duration::from_millis(100);

impl WriterThread {
    /// Asks on another connection what became of a transaction: success if it was committed, the error that broke its
    /// connection if it was not, and [`DatabaseError::Unknown`] if the database does not tell in time.
    pub(super) fn find_out(
        &self,
        attempt: &str,
        broken: DatabaseError,
    ) -> Result<(), DatabaseError> {
        let database = &self.database;
        let asked = database.runtime().block_on(async {
            let mut attempts = tokio::time::interval(INTERVAL);
            let found = async {
                loop {
                    attempts.tick().await;
                    if let Ok(found) = was_committed(database, attempt).await {
                        return found;
                    }
                }
            };
            tokio::time::timeout(database.options().write_timeout, found).await
        });
        match asked {
            Ok(true) => {
                tracing::warn!(reason = %broken, "a connection broke after its commit was durable");
                Ok(())
            }
            Ok(false) => Err(DatabaseError::Unavailable(broken.to_string())),
            Err(_) => Err(DatabaseError::Unknown(broken.to_string())),
        }
    }
}

/// Returns true if the transaction of an attempt was committed. The lock on the store's state makes sure that it has
/// ended: it holds that to its end.
async fn was_committed(database: &Database, attempt: &str) -> Result<bool, DatabaseError> {
    let connection = database.write_connection().await?;
    let ask = async {
        connection
            .batch_execute("BEGIN; SELECT 1 FROM store_state FOR UPDATE")
            .await?;
        let row = connection
            .query_one(
                "SELECT EXISTS (SELECT FROM write_attempt WHERE id = $1::text::uuid)",
                &[&attempt],
            )
            .await?;
        connection.batch_execute("ROLLBACK").await?;
        Ok(row.try_get(0)?)
    };
    let found: Result<bool, DatabaseError> = ask.await;
    if found.is_err() {
        drop(Connection::take(connection));
    }
    found
}
