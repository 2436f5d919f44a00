//! Ports that the store implements besides the graph: tokens, apps, webhooks and the audit log.
mod audit_log_store;
mod oauth_store;
mod token_store;
mod webhook_store;

use crate::open_error::failed;
use crate::reader_pool::ReaderPool;
use crate::sqlite_store::SqliteStore;
use crate::statements::Sql;
use crate::tables::audit_log_table::HandleActor;
use crate::tables::auth_rows::unavailable;
use crate::tables::auth_writes::apply;
use crate::transaction::SqliteTransaction;
use rusqlite::Row;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_auth::AuthStoreError;
use workgraph_auth::rules::{AuthDecisionResult, failed_sign_in};
use workgraph_core::audit::ActorContext;
use workgraph_core::model::time::Time;

/// Reads at most one row of one statement, in a separate snapshot of a pool.
fn one_row<T>(
    readers: &ReaderPool,
    sql: Sql,
    params: impl rusqlite::Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>, AuthStoreError> {
    let found = readers.read(|tx| tx.one(sql, params, read).map_err(failed));
    found.map_err(unavailable)
}

impl SqliteStore {
    /// Reads at most one row of one statement, in a separate snapshot.
    fn one_row<T>(
        &self,
        sql: Sql,
        params: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, AuthStoreError> {
        one_row(&self.readers, sql, params, read)
    }

    /// Reads every row of one statement, in a separate snapshot.
    fn all_rows<T>(
        &self,
        sql: Sql,
        params: impl rusqlite::Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, AuthStoreError> {
        let mut all = Vec::new();
        let done = self.readers.read(|tx| {
            let each = |row: &Row<'_>| read(row).map(|value| all.push(value));
            tx.each(sql, params, each).map_err(failed)
        });
        done.map_err(unavailable)?;
        Ok(all)
    }

    /// Makes a decision, its writes and the audit rows of its acts in one transaction.
    async fn decide<T: Send + 'static>(
        &self,
        decide: impl Fn(&mut SqliteTransaction<'_>) -> AuthDecisionResult<T> + Send + 'static,
    ) -> Result<T, AuthStoreError> {
        let by = self.actor.clone();
        self.writer
            .work(move |tx| decide(tx).and_then(|decision| apply(tx, &by, decision)))
            .await
    }

    /// Returns a handle on the same store whose acts are recorded under this actor, at this time.
    #[must_use]
    pub fn as_actor(&self, acting: ActorContext, at: SystemTime) -> Self {
        let mut handle = self.clone();
        handle.actor = HandleActor(Some(Arc::new((acting, Time::from_system(at)))));
        handle
    }

    /// Records a failed attempt to sign in as a user.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub async fn record_failed_sign_in(&self, user: u64) -> Result<(), AuthStoreError> {
        self.decide(move |_| Ok(failed_sign_in(user))).await
    }
}
