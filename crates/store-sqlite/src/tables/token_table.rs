//! Tables of tokens, accounts and logins, in the same file and through the same writer.
use crate::sqlite_store::SqliteStore;
use crate::statements::Sql;
use crate::tables::audit_log_table::HandleActor;
use crate::tables::auth_accounts::{is_on, put_account, revoke_all, set_disabled, set_tier};
use crate::tables::auth_rows;
use crate::tables::auth_rows::{account, millis, number, refused, unavailable};
use crate::tables::webhook_table::delete_orphaned_webhooks;
use crate::transaction::{SqliteTransaction, gid};
use async_trait::async_trait;
use rusqlite::Row;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_auth::tokens::token_record::normalize_email;
use workgraph_auth::{
    Account, AuthStoreError, Login, Secret, SecretDigest, Tier, TokenKind, TokenRecord, TokenStore,
};
use workgraph_core::audit::event_kinds;

/// Token with its account, as cached.
pub(crate) type CachedToken = Arc<(TokenRecord, Account)>;

/// One change to tokens or accounts.
pub(crate) enum TokenChange {
    Insert(TokenRecord, HandleActor),
    Revoke(u64, SystemTime, HandleActor),
    Touch(Vec<(u64, SystemTime)>),
    PutAccount(Account, Option<Login>, HandleActor),
    SetTier(u64, Tier, HandleActor),
}

impl TokenChange {
    /// Makes the change; returns true if it changed anything.
    pub(crate) fn apply(
        &self,
        session: &mut SqliteTransaction<'_>,
    ) -> Result<bool, AuthStoreError> {
        let changed = match self {
            Self::Insert(record, by) => insert(session, record, by),
            Self::Revoke(id, now, by) => revoke(session, *id, *now, by),
            Self::Touch(used) => {
                let mut any = false;
                for (id, at) in used {
                    any |= session
                        .run(Sql::TouchToken, (number(*id)?, millis(*at)))
                        .map_err(refused)?
                        > 0;
                }
                Ok(any)
            }
            Self::PutAccount(account, login, by) => {
                put_account(session, account, login.as_ref(), by)
            }
            Self::SetTier(user, tier, by) => set_tier(session, *user, *tier, by),
        }?;
        session.invalidations.tokens |= changed;
        Ok(changed)
    }
}

fn insert(
    session: &mut SqliteTransaction<'_>,
    record: &TokenRecord,
    by: &HandleActor,
) -> Result<bool, AuthStoreError> {
    if !is_on(session, record.user)? {
        return Err(AuthStoreError::NoAccount);
    }
    keep(session, record, None)?;
    by.of_token(session, event_kinds::TOKEN_AUTHORIZED, record)?;
    Ok(true)
}

fn revoke(
    session: &mut SqliteTransaction<'_>,
    id: u64,
    now: SystemTime,
    by: &HandleActor,
) -> Result<bool, AuthStoreError> {
    let id = number(id)?;
    let done = session
        .run(Sql::RevokeToken, (id, millis(now)))
        .map_err(refused)?
        > 0;
    if done {
        let record = session.one(Sql::TokenById, [id], auth_rows::effective_token);
        if let Some(record) = record.map_err(refused)? {
            if let (TokenKind::Refresh, Some(app)) = (record.kind, record.app) {
                delete_orphaned_webhooks(session, record.user, app)?;
            }
            by.of_token(session, event_kinds::TOKEN_REVOKED, &record)?;
        }
    }
    Ok(done)
}

/// Stores a new token that depends on this refresh token, or on none.
pub(crate) fn keep(
    session: &mut SqliteTransaction<'_>,
    record: &TokenRecord,
    refresh: Option<u64>,
) -> Result<(), AuthStoreError> {
    let maybe = |n: Option<u64>| n.map(number).transpose();
    let params = rusqlite::params![
        number(record.id)?,
        record.digest.0,
        record.kind.name(),
        number(record.user)?,
        maybe(record.app)?,
        maybe(record.grant)?,
        maybe(record.workspace)?,
        record.scopes.to_string(),
        record.description,
        millis(record.created_at),
        record.expires_at.map(millis),
        record.revoked_at.map(millis),
        record.last_used_at.map(millis),
        maybe(refresh)?,
    ];
    session
        .run(Sql::InsertToken, params)
        .map(drop)
        .map_err(refused)
}

impl SqliteStore {
    /// Reads at most one row of one statement, in a snapshot of its own.
    pub(crate) fn one_row<T>(
        &self,
        sql: Sql,
        params: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, AuthStoreError> {
        let found = self
            .readers
            .read(|s| s.one(sql, params, read).map_err(crate::open_error::failed));
        found.map_err(unavailable)
    }

    /// Reads every row of one statement, in a snapshot of its own.
    pub(crate) fn all_rows<T>(
        &self,
        sql: Sql,
        params: impl rusqlite::Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, AuthStoreError> {
        let mut all = Vec::new();
        let done = self.readers.read(|session| {
            let each = |row: &Row<'_>| read(row).map(|value| all.push(value));
            session
                .each(sql, params, each)
                .map_err(crate::open_error::failed)
        });
        done.map_err(unavailable)?;
        Ok(all)
    }
}

#[async_trait]
impl TokenStore for SqliteStore {
    async fn find_token(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(TokenRecord, Account)>, AuthStoreError> {
        let cache = &self.readers.caches.tokens;
        let found = cache.get_or_read(*digest, cache.epoch(), || {
            let found = self.one_row(Sql::TokenByDigest, [digest.0], auth_rows::found)?;
            Ok(found.map(Arc::new))
        })?;
        Ok(found.map(|found| (*found).clone()))
    }

    fn version(&self) -> Option<u64> {
        Some(self.readers.caches.tokens.epoch())
    }

    async fn insert_token(&self, record: TokenRecord) -> Result<(), AuthStoreError> {
        self.writer
            .change_tokens(TokenChange::Insert(record, self.actor.clone()))
            .await
            .map(drop)
    }

    async fn revoke(&self, id: u64, now: SystemTime) -> Result<bool, AuthStoreError> {
        self.writer
            .change_tokens(TokenChange::Revoke(id, now, self.actor.clone()))
            .await
    }

    async fn revoke_all(&self, user: u64, now: SystemTime) -> Result<u64, AuthStoreError> {
        let by = self.actor.clone();
        self.writer
            .work(move |session| revoke_all(session, user, now, &by))
            .await
    }

    async fn list(&self, user: u64) -> Result<Vec<TokenRecord>, AuthStoreError> {
        self.all_rows(
            Sql::TokensOfUser,
            [number(user)?],
            auth_rows::effective_token,
        )
    }

    async fn find_by_id(&self, user: u64, id: u64) -> Result<Option<TokenRecord>, AuthStoreError> {
        let found = self.all_rows(Sql::TokenById, [number(id)?], auth_rows::effective_token)?;
        Ok(found.into_iter().find(|record| record.user == user))
    }

    async fn record_token_uses(&self, used: &[(u64, SystemTime)]) -> Result<(), AuthStoreError> {
        self.writer
            .change_tokens(TokenChange::Touch(used.to_vec()))
            .await
            .map(drop)
    }

    async fn put_account(
        &self,
        account: Account,
        login: Option<Login>,
    ) -> Result<(), AuthStoreError> {
        self.writer
            .change_tokens(TokenChange::PutAccount(account, login, self.actor.clone()))
            .await
            .map(drop)
    }

    async fn set_tier(&self, user: u64, tier: Tier) -> Result<(), AuthStoreError> {
        self.writer
            .change_tokens(TokenChange::SetTier(user, tier, self.actor.clone()))
            .await
            .map(drop)
    }

    async fn set_disabled(
        &self,
        user: u64,
        disabled: bool,
        now: SystemTime,
    ) -> Result<(), AuthStoreError> {
        let by = self.actor.clone();
        self.writer
            .work(move |session| set_disabled(session, user, disabled, now, &by))
            .await
    }

    async fn account(&self, user: u64) -> Result<Option<Account>, AuthStoreError> {
        self.one_row(Sql::Account, [number(user)?], |row| account(row, user, 0))
    }

    async fn login(&self, email: &str) -> Result<Option<(Account, Secret)>, AuthStoreError> {
        self.one_row(Sql::Login, [normalize_email(email)], |row| {
            let user = gid(row, 0)?.get();
            Ok((account(row, user, 1)?, Secret::new(row.get(3)?)))
        })
    }
}
