//! Reads: each from one snapshot of the database, on a thread that may block.
use crate::database::{Connection, Database};
use crate::database_error::DatabaseError;
use crate::transaction::PgTransaction;
use std::time::Duration;
use workgraph_core::MaybeInterrupt;

/// Work on a transaction; boxed, so that the code is compiled once for all reads with the same type of result.
type ReadWork<T, E> = Box<dyn FnOnce(&mut PgTransaction<'_>) -> Result<T, E> + Send>;

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
/// Lifts the limits of the connection for one transaction.
const WITHOUT_LIMITS: &str =
    "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";
/// Longest time of a read of the whole database.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

impl Database {
    /// Reads from one snapshot, unless that takes too long or the interrupt stops it.
    pub(crate) async fn read<T, E>(
        &self,
        interrupt: MaybeInterrupt,
        read: impl FnOnce(&mut PgTransaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        let timeout = self.options().read_timeout;
        self.read_within(timeout, interrupt, Box::new(read)).await
    }

    /// Reads everything from one snapshot, without a time limit: for checks of the whole database.
    pub(crate) async fn read_everything<T, E>(
        &self,
        read: impl FnOnce(&mut PgTransaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        let read = |transaction: &mut PgTransaction<'_>| {
            transaction.send_command(WITHOUT_LIMITS);
            read(transaction)
        };
        self.read_within(LONGEST, None, Box::new(read)).await
    }

    async fn read_within<T, E>(
        &self,
        timeout: Duration,
        interrupt: MaybeInterrupt,
        read: ReadWork<T, E>,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
    {
        let own = self.clone();
        self.run(async move {
            let connection = own.connection().await?;
            let done = tokio::task::spawn_blocking(move || {
                own.read_on(connection, timeout, interrupt, read)
            });
            done.await
                .unwrap_or_else(|error| Err(DatabaseError::Failed(error.to_string()).into()))
        })
        .await
    }

    fn read_on<T, E>(
        &self,
        connection: Connection,
        timeout: Duration,
        interrupt: MaybeInterrupt,
        read: ReadWork<T, E>,
    ) -> Result<T, E>
    where
        E: From<DatabaseError>,
    {
        // A panic also drops the connection, which then leaves the pool.
        let mut connection = OpenConnection::new(self, connection);
        let mut transaction =
            PgTransaction::new(connection.connected()?, self.runtime(), BEGIN, timeout)
                .interrupted_by(interrupt);
        let done = read(&mut transaction);
        self.count_read(transaction.trips());
        let (begun, idle) = (transaction.has_begun(), transaction.is_idle());
        drop(transaction);
        if idle && let Some(open) = connection.take() {
            if begun {
                // The answer does not wait for the end of the snapshot; the next user of the connection does.
                let own = self.clone();
                self.runtime().spawn(async move {
                    if open.batch_execute("COMMIT").await.is_err() {
                        own.close(open);
                    }
                });
            } else {
                drop(open);
            }
        }
        done
    }
}

/// Connection that is closed unless it was taken out: a statement on it may still be running.
pub(crate) struct OpenConnection {
    database: Database,
    connection: Option<Connection>,
}

impl OpenConnection {
    pub(crate) fn new(database: &Database, connection: Connection) -> Self {
        Self {
            database: database.clone(),
            connection: Some(connection),
        }
    }

    pub(crate) const fn get(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }

    /// Returns the connection, or an error if it was taken out.
    pub(crate) fn connected(&self) -> Result<&Connection, DatabaseError> {
        let gone = || DatabaseError::Failed("no connection".into());
        self.get().ok_or_else(gone)
    }

    /// Returns the connection to its pool, unless the work on it broke it.
    pub(crate) fn give_back_after<T>(&mut self, done: &Result<T, DatabaseError>) {
        if !matches!(done, Err(error) if error.breaks_connection()) {
            drop(self.take());
        }
    }

    pub(crate) const fn take(&mut self) -> Option<Connection> {
        self.connection.take()
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        if let Some(open) = self.connection.take() {
            self.database.close(open);
        }
    }
}
