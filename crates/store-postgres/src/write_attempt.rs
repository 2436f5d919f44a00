//! Attempts to commit: each is on record, under a random id, if and only if it was committed. So it can be found out what
//! became of a transaction whose connection broke.
//!
//! The number of the transaction would not do: after a crash or a failover the server may give it to another one.
use crate::database::Database;
use crate::database_error::DatabaseError;
use ring::rand::{SecureRandom, SystemRandom};
use std::time::Duration;

/// Time between two attempts to ask.
const INTERVAL: Duration = Duration::from_millis(100);
/// Puts an attempt on record, unless it is there. If its transaction is being committed, this waits for the end of that;
/// one that comes later cannot be committed any more, since its id is taken.
const CLAIM: &str =
    "INSERT INTO write_attempt (id) VALUES ($1::text::uuid) ON CONFLICT (id) DO NOTHING";

/// Attempt to commit a transaction.
#[derive(Clone, Debug)]
pub(crate) struct WriteAttempt {
    id: String,
}

impl WriteAttempt {
    /// Returns an attempt that the transaction itself has put on record.
    pub(crate) const fn on_record(id: String) -> Self {
        Self { id }
    }

    /// Returns a new attempt.
    #[expect(
        clippy::disallowed_methods,
        reason = "a name for one transaction, which nothing else depends on"
    )]
    pub(crate) fn new() -> Result<Self, DatabaseError> {
        let mut bytes = [0; 16];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| DatabaseError::Failed("there are no random numbers".into()))?;
        let id = format!("{:032x}", u128::from_be_bytes(bytes));
        Ok(Self { id })
    }

    /// Returns the id under which it is put on record.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the statements that put the attempt on record and commit the transaction.
    pub(crate) fn commit(&self) -> String {
        let id = &self.id;
        format!("INSERT INTO write_attempt (id) VALUES ('{id}'); COMMIT")
    }

    /// Asks on another connection what became of the transaction: success if it was committed, the error that broke its
    /// connection if it was not and never will be, and [`DatabaseError::Unknown`] if the database does not tell in time.
    pub(crate) async fn find_out(
        &self,
        database: &Database,
        broken: DatabaseError,
    ) -> Result<(), DatabaseError> {
        let mut attempts = tokio::time::interval(INTERVAL);
        let found = async {
            loop {
                attempts.tick().await;
                if let Ok(found) = self.was_committed(database).await {
                    return found;
                }
            }
        };
        match tokio::time::timeout(database.options().write_timeout, found).await {
            Ok(true) => {
                tracing::warn!(reason = %broken, "a connection broke after its commit was durable");
                Ok(())
            }
            Ok(false) => Err(DatabaseError::Unavailable(broken.to_string())),
            Err(_) => Err(DatabaseError::Unknown(broken.to_string())),
        }
    }

    async fn was_committed(&self, database: &Database) -> Result<bool, DatabaseError> {
        let connection = database.connection().await?;
        match connection.execute(CLAIM, &[&self.id]).await {
            Ok(claimed) => Ok(claimed == 0),
            Err(error) => {
                database.close(connection);
                Err(error.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attempt_has_an_id_of_its_own() {
        let ids: std::collections::HashSet<String> = (0..1_000)
            .map(|_| WriteAttempt::new().unwrap().id)
            .collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.iter().all(|id| id.len() == 32));
    }
}
