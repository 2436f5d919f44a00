//! Errors of the database, and their conversion to the errors of the ports.
use deadpool_postgres::PoolError;
use thiserror::Error;
use tokio_postgres::error::SqlState;
use workgraph_auth::AuthStoreError;
use workgraph_core::InterruptReason;
use workgraph_core::storage::GraphStoreError;

/// Reason why the database could not do something. Its texts never contain the password of the address.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DatabaseError {
    /// The address cannot be used.
    #[error("the address of the database: {0}")]
    Address(String),
    /// The server is not suitable; the text says what to do about it.
    #[error("the database cannot be used: {0}")]
    Unsuitable(String),
    /// The data is of a newer version of this program.
    #[error(
        "the data is of a newer version of Workgraph: its form is {found}, this program knows {known}; use the newer program"
    )]
    Newer {
        /// The version of the data.
        found: usize,
        /// The newest version this program knows.
        known: usize,
    },
    /// The server cannot be reached, or the connection broke; nothing of the work was kept.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// The connection broke during the commit, and its outcome could not be found out.
    #[error(
        "the connection to the database broke, and the outcome of the changes is not known: {0}"
    )]
    Unknown(String),
    /// The work exceeded its time limit; nothing of it was kept.
    #[error("the database took too long: {0}")]
    TimedOut(String),
    /// The state of the store is not the one that a statement expects; nothing of the work was kept.
    #[error("the state of the store has changed")]
    Outdated,
    /// A value that must be unique is taken; the name of the constraint.
    #[error("a value is taken: {0}")]
    Duplicate(String),
    /// The interrupt of the work stopped it.
    #[error("stopped: {0}")]
    Interrupted(InterruptReason),
    /// The database refused a statement, or contains data that this program cannot have written.
    #[error("{0}")]
    Failed(String),
}

impl DatabaseError {
    /// Returns the error for a column with a value that this program never writes.
    pub(crate) fn unreadable(column: &str) -> Self {
        Self::Failed(format!(
            "the column {column} has a value that cannot be read"
        ))
    }

    /// Returns the error of the first connection to an address, with the action to take.
    pub(crate) fn not_connected(error: PoolError, address: &str) -> Self {
        let refusal = match &error {
            PoolError::Backend(error) => error.code().map(SqlState::code),
            _ => None,
        };
        let what_to_do = match refusal {
            Some(code) if code.starts_with("28") => {
                "see whether the user and the password in its address are right, and whether pg_hba.conf lets the user in".into()
            }
            Some("3D000") => {
                "make it first: CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0".into()
            }
            Some(_) => String::new(),
            None => format!("see whether {address} is its address, and whether it runs and is the primary"),
        };
        match Self::from(error) {
            Self::Unavailable(text) | Self::TimedOut(text) if !what_to_do.is_empty() => {
                Self::Unavailable(format!("{text}; {what_to_do}"))
            }
            other => other,
        }
    }

    /// Returns true if the connection is in doubt and must not be used any more.
    pub(crate) const fn breaks_connection(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::Unknown(_) | Self::TimedOut(_) | Self::Interrupted(_)
        )
    }
}

impl From<tokio_postgres::Error> for DatabaseError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else {
            let source = std::error::Error::source(&error);
            let text = match source.map(ToString::to_string) {
                Some(source) if !error.to_string().contains(&source) => {
                    format!("{error}: {source}")
                }
                _ => error.to_string(),
            };
            // Otherwise a value could not be converted.
            if !error.is_closed() && source.is_none_or(|source| !source.is::<std::io::Error>()) {
                return Self::Failed(text);
            }
            return Self::Unavailable(text);
        };
        let text = refusal.message().to_owned();
        let code = refusal.code();
        if *code == SqlState::UNIQUE_VIOLATION {
            return Self::Duplicate(refusal.constraint().unwrap_or_default().to_owned());
        }
        // Only statements that expect a state divide; they divide by zero to fail in any other state.
        if *code == SqlState::DIVISION_BY_ZERO {
            return Self::Outdated;
        }
        if *code == SqlState::QUERY_CANCELED || *code == SqlState::LOCK_NOT_AVAILABLE {
            return Self::TimedOut(text);
        }
        match code.code().get(..2) {
            // Connection, resources, and interventions of the operator: shutdown, restart, failover.
            Some("08" | "53" | "57" | "58") => Self::Unavailable(text),
            _ if *code == SqlState::READ_ONLY_SQL_TRANSACTION
                || *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT =>
            {
                Self::Unavailable(text)
            }
            _ => Self::Failed(format!("{text} ({})", code.code())),
        }
    }
}

impl From<PoolError> for DatabaseError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => match Self::from(error) {
                Self::Failed(text) => Self::Unavailable(text),
                other => other,
            },
            PoolError::Timeout(_) => Self::TimedOut("no connection was free".into()),
            other => Self::Unavailable(other.to_string()),
        }
    }
}

impl From<DatabaseError> for GraphStoreError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Interrupted(reason) => Self::Interrupted(reason),
            DatabaseError::Unavailable(reason) | DatabaseError::TimedOut(reason) => {
                Self::Unavailable(format!("the database: {reason}"))
            }
            DatabaseError::Unknown(reason) => Self::Unknown(reason),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<DatabaseError> for AuthStoreError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Duplicate(_) => Self::Conflict,
            DatabaseError::Unknown(reason) => Self::Unknown(reason),
            DatabaseError::Unavailable(reason) | DatabaseError::TimedOut(reason) => {
                Self::Unreachable(reason)
            }
            other => Self::Unavailable(other.to_string()),
        }
    }
}
