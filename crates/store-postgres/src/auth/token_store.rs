//! Tokens and accounts in the database: the implementation of the port.
use super::accounts::{self, first_account, is_on, kind};
use super::audit_events::AuditEvent;
use super::auth_rows::{self, maybe_stored, stored_number};
use super::auth_transaction::AuthTransaction;
use super::statements as sql;
use super::{AuthStoreResult, params};
use crate::columns::{bound, number};
use crate::postgres_store::PostgresStore;
use crate::stored_values::{millis, text, text_to_store};
use async_trait::async_trait;
use std::borrow::Cow;
use std::time::SystemTime;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use workgraph_auth::tokens::token_record::normalize_email;
use workgraph_auth::{
    Account, AuthStoreError, Login, Secret, SecretDigest, Tier, TokenAtCommit, TokenRecord,
    TokenStore,
};
use workgraph_core::audit::event_kinds;

/// Column values of a new token.
pub(super) struct TokenColumns<'t> {
    pub(super) id: i64,
    digest: &'t [u8],
    kind: &'static str,
    user: i64,
    /// App, authorization, workspace, and the refresh token on which it depends.
    ids: [Option<i64>; 4],
    scopes: String,
    description: Cow<'t, str>,
    created_at: i64,
    /// Expiry, revocation, last use.
    times: [Option<i64>; 3],
}

impl<'t> TokenColumns<'t> {
    /// Returns the columns of a token that depends on this refresh token, or on none.
    pub(super) fn of(record: &'t TokenRecord, refresh: Option<u64>) -> AuthStoreResult<Self> {
        let time = |at: Option<SystemTime>| at.map(millis);
        Ok(Self {
            id: stored_number(record.id)?,
            digest: &record.digest.0,
            kind: record.kind.name(),
            user: stored_number(record.user)?,
            ids: [
                maybe_stored(record.app)?,
                maybe_stored(record.grant)?,
                maybe_stored(record.workspace)?,
                maybe_stored(refresh)?,
            ],
            scopes: record.scopes.to_string(),
            description: text_to_store(&record.description),
            created_at: millis(record.created_at),
            times: [
                time(record.expires_at),
                time(record.revoked_at),
                time(record.last_used_at),
            ],
        })
    }

    pub(super) fn params(&self) -> [&(dyn ToSql + Sync); 14] {
        let [app, grant, workspace, refresh] = &self.ids;
        let [expires_at, revoked_at, last_used_at] = &self.times;
        [
            &self.id,
            &self.digest,
            &self.kind,
            &self.user,
            app,
            grant,
            workspace,
            &self.scopes,
            &self.description,
            &self.created_at,
            expires_at,
            revoked_at,
            last_used_at,
            refresh,
        ]
    }
}

async fn insert(tx: &mut AuthTransaction, record: &TokenRecord) -> AuthStoreResult<()> {
    let account = accounts::lock_account(tx, record.user).await?;
    if !is_on(account.as_ref()) {
        return Err(AuthStoreError::NoAccount);
    }
    let columns = TokenColumns::of(record, None)?;
    let event = AuditEvent::of_token(
        event_kinds::TOKEN_AUTHORIZED,
        record.kind,
        record.user,
        &record.description,
    );
    event.into_iter().for_each(|event| tx.record(event));
    tx.send_last([(sql::INSERT_TOKEN, &columns.params())])
        .await?;
    Ok(())
}

async fn revoke(tx: &mut AuthTransaction, id: u64, now: SystemTime) -> AuthStoreResult<bool> {
    let (id, at) = (stored_number(id)?, millis(now));
    let [_, revoked, _] = tx
        .send([
            (sql::LOCK_ACCOUNT_OF_TOKEN, &[&id]),
            (sql::REVOKE_TOKEN, &[&id, &at]),
            (sql::DROP_ORPHANED_HOOKS_OF_TOKEN, &[&id]),
        ])
        .await?;
    let Some(row) = revoked.first() else {
        return Ok(false);
    };
    let (kind, user, description) = (kind(row, 0)?, number(row, 1)?, text(row, 2)?);
    let event = AuditEvent::of_token(event_kinds::TOKEN_REVOKED, kind, user, &description);
    event.into_iter().for_each(|event| tx.record(event));
    Ok(true)
}

#[async_trait]
impl TokenStore for PostgresStore {
    async fn find_token(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(TokenRecord, Account)>, AuthStoreError> {
        Ok(self.find_token_at_commit(digest).await?.token)
    }

    async fn find_token_at_commit(
        &self,
        digest: &SecretDigest,
    ) -> Result<TokenAtCommit, AuthStoreError> {
        let found = self.lookups.find(sql::TOKENS_BY_DIGESTS, digest.0).await?;
        let row = found.row.as_deref();
        let token = row.map(auth_rows::token_and_account).transpose()?;
        let commit = found.last_commit;
        Ok(TokenAtCommit { token, commit })
    }

    async fn insert_token(&self, record: TokenRecord) -> Result<(), AuthStoreError> {
        self.decide(move |tx| Box::pin(async move { insert(tx, &record).await }))
            .await
    }

    async fn revoke(&self, id: u64, now: SystemTime) -> Result<bool, AuthStoreError> {
        self.decide(move |tx| Box::pin(revoke(tx, id, now))).await
    }

    async fn revoke_all(&self, user: u64, now: SystemTime) -> Result<u64, AuthStoreError> {
        self.decide(move |tx| Box::pin(accounts::revoke_all(tx, user, now)))
            .await
    }

    async fn list(&self, user: u64) -> Result<Vec<TokenRecord>, AuthStoreError> {
        let rows = self
            .query(sql::TOKENS_OF_USER, params![stored_number(user)?])
            .await?;
        let tokens: Result<_, _> = rows.iter().map(auth_rows::effective_token).collect();
        Ok(tokens?)
    }

    async fn find_by_id(&self, user: u64, id: u64) -> Result<Option<TokenRecord>, AuthStoreError> {
        let read = |row: &Row| -> AuthStoreResult<_> { Ok(auth_rows::effective_token(row)?) };
        let found = self
            .query_first(sql::TOKEN_BY_ID, params![stored_number(id)?], read)
            .await?;
        Ok(found.filter(|record| record.user == user))
    }

    async fn record_token_uses(&self, used: &[(u64, SystemTime)]) -> Result<(), AuthStoreError> {
        if used.is_empty() {
            return Ok(());
        }
        // A number that is too large belongs to no token.
        let ids: Vec<i64> = used.iter().map(|(id, _)| bound(*id)).collect();
        let times: Vec<i64> = used.iter().map(|(_, at)| millis(*at)).collect();
        self.query(sql::RECORD_USES, params![ids, times]).await?;
        Ok(())
    }

    async fn put_account(
        &self,
        account: Account,
        login: Option<Login>,
    ) -> Result<(), AuthStoreError> {
        self.decide(move |tx| {
            Box::pin(async move { accounts::put_account(tx, &account, login.as_ref()).await })
        })
        .await
    }

    async fn set_tier(&self, user: u64, tier: Tier) -> Result<(), AuthStoreError> {
        self.decide(move |tx| Box::pin(accounts::set_tier(tx, user, tier)))
            .await
    }

    async fn set_disabled(
        &self,
        user: u64,
        disabled: bool,
        now: SystemTime,
    ) -> Result<(), AuthStoreError> {
        self.decide(move |tx| Box::pin(accounts::set_disabled(tx, user, disabled, now)))
            .await
    }

    async fn account(&self, user: u64) -> Result<Option<Account>, AuthStoreError> {
        let rows = self
            .query(sql::ACCOUNT, params![stored_number(user)?])
            .await?;
        first_account(&rows, user)
    }

    async fn login(&self, email: &str) -> Result<Option<(Account, Secret)>, AuthStoreError> {
        let email = normalize_email(email);
        let key = params![text_to_store(&email).into_owned()];
        self.query_first(sql::LOGIN, key, |row| {
            let account = auth_rows::account(row, number(row, 0)?, 1)?;
            Ok((account, Secret::new(text(row, 3)?)))
        })
        .await
    }
}
