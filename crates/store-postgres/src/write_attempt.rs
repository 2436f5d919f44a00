//! Attempts to commit: each is on record, under a random id, if and only if it was committed. So the outcome of a transaction
//! whose connection broke can be found out.
//!
//! The number of the transaction would not be enough: after a crash or a failover the server may give it to another one.
use crate::database::Database;
use crate::database_error::DatabaseError;
use ring::rand::{SecureRandom, SystemRandom};
use std::time::Duration;
use tokio_postgres::error::Severity;

/// Time between two tries to find out an outcome.
const INTERVAL: Duration = Duration::from_millis(100);
/// Puts an attempt on record, unless it is already there. If its transaction is being committed, this waits for its end; a later
/// commit can no longer succeed, since the id is taken.
const CLAIM: &str =
    "INSERT INTO write_attempt (id) VALUES ($1::text::uuid) ON CONFLICT (id) DO NOTHING";

/// Outcome of one try to put an attempt on record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Claim {
    /// The attempt was not on record, and is now.
    Made,
    /// The attempt is on record.
    Taken,
    /// The try failed. If it is in doubt, it may still have been carried out.
    Failed { in_doubt: bool },
}

impl Claim {
    /// Returns true if the attempt was committed, false if it never will be; `None` if this try does not show it. If an
    /// earlier try is in doubt, the record may come from that try.
    const fn outcome(self, in_doubt: bool) -> Option<Result<bool, Doubt>> {
        match (self, in_doubt) {
            (Self::Made, _) => Some(Ok(false)),
            (Self::Taken, false) => Some(Ok(true)),
            (Self::Taken, true) => Some(Err(Doubt)),
            (Self::Failed { .. }, _) => None,
        }
    }
}

/// Error: the outcome of an attempt cannot be found out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Doubt;

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

    /// Returns the id under which the attempt is on record.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the statements that put the attempt on record and commit the transaction.
    pub(crate) fn commit(&self) -> String {
        let id = &self.id;
        format!("INSERT INTO write_attempt (id) VALUES ('{id}'); COMMIT")
    }

    /// Asks on another connection for the outcome of the transaction: success if it was committed, the error that broke its
    /// connection if it was not and never will be, and [`DatabaseError::Unknown`] if the database does not answer in time.
    pub(crate) async fn find_out(
        &self,
        database: &Database,
        broken: DatabaseError,
    ) -> Result<(), DatabaseError> {
        let mut attempts = tokio::time::interval(INTERVAL);
        let found = async {
            let mut is_in_doubt = false;
            loop {
                attempts.tick().await;
                let claim = self.claim(database).await;
                if let Some(outcome) = claim.outcome(is_in_doubt) {
                    return outcome;
                }
                is_in_doubt |= claim == Claim::Failed { in_doubt: true };
            }
        };
        match tokio::time::timeout(database.options().write_timeout, found).await {
            Ok(Ok(true)) => {
                tracing::warn!(reason = %broken, "a connection broke after its commit was durable");
                Ok(())
            }
            Ok(Ok(false)) => Err(DatabaseError::Unavailable(broken.to_string())),
            Ok(Err(Doubt)) | Err(_) => Err(DatabaseError::Unknown(broken.to_string())),
        }
    }

    async fn claim(&self, database: &Database) -> Claim {
        let connection = match database.connection().await {
            Ok(connection) => connection,
            Err(error) => {
                tracing::debug!(%error, "the outcome of a commit can't be read yet");
                return Claim::Failed { in_doubt: false };
            }
        };
        match connection.execute(CLAIM, &[&self.id]).await {
            Ok(0) => Claim::Taken,
            Ok(_) => Claim::Made,
            Err(error) => {
                database.close(connection);
                tracing::debug!(%error, "the outcome of a commit could not be read");
                // An error of the statement itself has undone it. Any other failure may have come after its commit.
                let told = error
                    .as_db_error()
                    .and_then(|error| error.parsed_severity());
                let in_doubt = told != Some(Severity::Error);
                Claim::Failed { in_doubt }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a record after a try in doubt proves no commit: that try may have made the record itself.
    #[test]
    fn what_is_on_record_after_a_try_in_doubt_proves_no_commit() {
        assert_eq!(Claim::Taken.outcome(false), Some(Ok(true)));
        assert_eq!(Claim::Taken.outcome(true), Some(Err(Doubt)));
        for in_doubt in [false, true] {
            assert_eq!(Claim::Made.outcome(in_doubt), Some(Ok(false)));
            assert_eq!(Claim::Failed { in_doubt }.outcome(in_doubt), None);
        }
    }

    #[test]
    fn every_attempt_has_an_id_of_its_own() {
        let ids: std::collections::HashSet<String> = (0..1_000)
            .map(|_| WriteAttempt::new().unwrap().id)
            .collect();
        assert_eq!(ids.len(), 1_000);
        assert!(ids.iter().all(|id| id.len() == 32));
    }
}
