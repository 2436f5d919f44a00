//! Tokens, accounts, apps, authorizations, codes and sessions.
//!
//! A method that only reads is one statement. A method that makes a decision is one conditional statement, or one
//! transaction ([`AuthTransaction`]) at isolation level *read committed*, in which each statement sees everything committed
//! before it began. Nothing is cached: a revocation takes effect with the next statement, on every node.
//!
//! # Order of locks
//!
//! Transactions lock rows in this order, so that they never deadlock:
//!
//! 1. the code that is spent;
//! 2. the account of the user. Every transaction that ends access of a user, or adds access that must end together with the
//!    rest, locks the account first. So a new token, authorization, session or webhook is either seen by the transaction
//!    that ends all of them, or refused;
//! 3. the ticket that is spent, apps, authorizations, tokens, logins and sessions; several of one table in the order of their
//!    keys;
//! 4. webhooks;
//! 5. the row of `store_state`, which holds the end of the audit log and the revision of the webhooks.
//!
//! A commit of the graph locks the row of `store_state` first, and after it only rows of the graph, of the journal and of
//! the audit log. Before that lock, it inserts only rows of new nodes, whose keys no other transaction has. No transaction
//! of this module locks any of these before it has the row of `store_state`; it reads nodes without locks. Sweeps lock the
//! old rows that they delete with `SKIP LOCKED`, so that they never wait.
mod audit_events;
mod auth_rows;
mod auth_transaction;
mod auth_writes;
mod decisions;
mod oauth_store;
mod statements;
mod token_store;

pub(crate) use self::auth_rows::joined_authorization;
pub(crate) use self::auth_transaction::AuthTransaction;
pub(crate) use self::statements::{DELIVERY_PERMISSION, LOCK_ACCOUNT};
use crate::database::Database;
use crate::database_error::DatabaseError;
use crate::params::{OwnedParams, borrowed};
use crate::postgres_store::PostgresStore;
use crate::reader::OpenConnection;
use crate::statement_pipeline::pipeline;
use futures_util::future::BoxFuture;
use tokio_postgres::Row;
use workgraph_auth::AuthStoreError;

/// Result of a method of the store of tokens.
type AuthStoreResult<T> = Result<T, AuthStoreError>;

impl PostgresStore {
    /// Runs one statement by itself, and returns its rows.
    pub(crate) async fn query(
        &self,
        sql: &'static str,
        params: OwnedParams,
    ) -> Result<Vec<Row>, DatabaseError> {
        let database = self.database.clone();
        let work = async move {
            let mut open = OpenConnection::new(&database, database.connection().await?);
            database.count_statements(1);
            let params = borrowed(&params);
            let sent = pipeline(open.connected()?, None, [(sql, &params)], None);
            let done = Database::within(database.options().read_timeout, sent).await;
            open.give_back_after(&done);
            let [rows] = done?;
            Ok(rows)
        };
        self.database.run(work).await
    }

    /// Runs one statement by itself, and returns its first row, converted by `read`.
    pub(crate) async fn query_first<T, E: From<DatabaseError>>(
        &self,
        sql: &'static str,
        params: OwnedParams,
        read: impl FnOnce(&Row) -> Result<T, E> + Send,
    ) -> Result<Option<T>, E> {
        let rows = self.query(sql, params).await?;
        rows.first().map(read).transpose()
    }

    /// Makes a decision in a separate transaction, and commits it with the audit rows of its acts. An error rolls everything
    /// back.
    pub(crate) async fn decide<T, W>(&self, work: W) -> AuthStoreResult<T>
    where
        T: Send + 'static,
        W: for<'t> FnOnce(&'t mut AuthTransaction) -> BoxFuture<'t, AuthStoreResult<T>>
            + Send
            + 'static,
    {
        let (database, by) = (self.database.clone(), self.actor.clone());
        let decision = async move {
            let mut tx = AuthTransaction::new(&database).await?;
            let outcome = work(&mut tx).await;
            tx.end(&by, outcome).await
        };
        self.database.run(decision).await
    }
}
