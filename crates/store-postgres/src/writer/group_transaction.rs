//! Transaction of a group of commits: all statements are sent before it waits for any.
use crate::database::{Connection, Database};
use crate::database_error::DatabaseError;
use crate::deadline::Deadline;
use crate::params::borrowed;
use crate::reader::OpenConnection;
use crate::statement_list::{OwnedStatement, StatementList};
use crate::transaction::{first_poll, wait_for};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio_postgres::Statement;

type PendingStatement = Pin<Box<dyn Future<Output = Result<(), DatabaseError>> + Send>>;

/// Transaction on a separate connection. It is used on a thread that may block.
pub(super) struct GroupTransaction {
    database: Database,
    connection: Arc<OpenConnection>,
    /// Statements that were sent, in their order, until they are answered.
    pending: VecDeque<PendingStatement>,
    /// Error of the first statement that failed.
    failed: Option<DatabaseError>,
    /// Reason why a statement was not sent; later statements are not sent, either.
    unsent: Option<DatabaseError>,
    deadline: Deadline,
}

impl GroupTransaction {
    /// Begins a transaction on a connection.
    pub(super) fn begin(database: &Database, connection: Connection) -> Self {
        let mut transaction = Self {
            database: database.clone(),
            connection: Arc::new(OpenConnection::new(database, connection)),
            pending: VecDeque::new(),
            failed: None,
            unsent: None,
            deadline: Deadline::after(database.options().write_timeout),
        };
        transaction.command("BEGIN");
        transaction
    }

    /// Sends statements. If one of them fails, so do all that follow.
    pub(super) fn send_all(&mut self, statements: StatementList) {
        for statement in statements {
            self.send(statement);
        }
    }

    pub(super) fn send(&mut self, (sql, params): OwnedStatement) {
        if self.unsent.is_some() {
            return;
        }
        let prepared = match self.prepared(sql) {
            Ok(prepared) => prepared,
            Err(error) => {
                self.unsent = Some(error);
                return;
            }
        };
        let connection = Arc::clone(&self.connection);
        self.push(Box::pin(async move {
            let params = borrowed(&params);
            let done = connection.connected()?.execute(&prepared, &params).await;
            Ok(done.map(drop)?)
        }));
    }

    /// Sends a command without parameters.
    pub(super) fn command(&mut self, sql: &'static str) {
        if self.unsent.is_some() {
            return;
        }
        let connection = Arc::clone(&self.connection);
        self.push(Box::pin(async move {
            Ok(connection.connected()?.batch_execute(sql).await?)
        }));
    }

    /// Returns a statement, prepared once per connection.
    fn prepared(&self, sql: &'static str) -> Result<Statement, DatabaseError> {
        let prepared = self.connection.connected()?.prepare_cached(sql);
        let prepared = wait_for(prepared, self.deadline, &None);
        Ok(self.database.runtime().block_on(prepared)??)
    }

    /// Sends a statement on the connection.
    fn push(&mut self, mut statement: PendingStatement) {
        match first_poll(self.database.runtime(), &mut statement) {
            Some(done) => self.unsent = done.err(),
            None => self.pending.push_back(statement),
        }
    }

    /// Returns true if the connection is known to be broken.
    pub(super) fn is_broken(&self) -> bool {
        let is_closed = |connection: &Connection| connection.is_closed();
        self.unsent.is_some() || self.connection.get().is_none_or(is_closed)
    }

    /// Gives all later statements, and their answers, the full time of a transaction.
    pub(super) fn renew_deadline(&mut self) {
        self.deadline = Deadline::after(self.database.options().write_timeout);
    }

    /// Waits until all statements are answered; fails with the first error. The wait can be dropped and repeated without losing
    /// answers.
    pub(super) async fn end(&mut self) -> Result<(), DatabaseError> {
        let deadline = self.deadline;
        wait_for(self.answers(), deadline, &None).await?;
        let failed = self.failed.clone().or_else(|| self.unsent.clone());
        failed.map_or(Ok(()), Err)
    }

    async fn answers(&mut self) {
        while let Some(statement) = self.pending.front_mut() {
            let done = statement.await;
            self.pending.pop_front();
            if let Err(error) = done {
                self.failed.get_or_insert(error);
            }
        }
    }

    /// Undoes the transaction. Its connection is reused after that.
    pub(super) fn roll_back(mut self) {
        self.command("ROLLBACK");
        let runtime = self.database.runtime().clone();
        runtime.spawn(async move {
            if let Err(error) = self.end().await {
                tracing::debug!(%error, "a transaction could not be rolled back; its connection is closed");
            }
        });
    }
}

/// Closes a connection that is in doubt, and returns any other to its pool.
impl Drop for GroupTransaction {
    fn drop(&mut self) {
        let is_broken = |error: &DatabaseError| error.breaks_connection();
        let is_in_doubt = !self.pending.is_empty()
            || self.unsent.is_some()
            || self.failed.as_ref().is_some_and(is_broken);
        // Statements hold the connection until they are answered.
        self.pending.clear();
        if !is_in_doubt && let Some(open) = Arc::get_mut(&mut self.connection) {
            drop(open.take());
        }
    }
}
