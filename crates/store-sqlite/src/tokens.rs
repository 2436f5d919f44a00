//! Tokens, accounts and logins, in the same file and through the same writer.
use crate::accounts::{is_on, put_account, revoke_all, set_disabled, set_tier};
use crate::audit::By;
use crate::hooks::let_go;
use crate::rows::{self, account, millis, number, refused, unavailable};
use crate::session::{Session, gid};
use crate::sql::Sql;
use crate::store::SqliteStore;
use async_trait::async_trait;
use rusqlite::Row;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_auth::record::fold_email;
use workgraph_auth::{
    Account, Digest, Login, Secret, StoreError, Tier, TokenKind, TokenRecord, TokenStore,
};
use workgraph_core::audit::kind;

/// A token with its account, as the cache keeps it.
pub(crate) type Found = Arc<(TokenRecord, Account)>;

/// One change to tokens or accounts.
pub(crate) enum TokenChange {
    Insert(TokenRecord, By),
    Revoke(u64, SystemTime, By),
    Touch(Vec<(u64, SystemTime)>),
    PutAccount(Account, Option<Login>, By),
    SetTier(u64, Tier, By),
}

impl TokenChange {
    /// Makes the change; true if it changed anything.
    pub(crate) fn apply(&self, session: &mut Session<'_>) -> Result<bool, StoreError> {
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
        session.tokens |= changed;
        Ok(changed)
    }
}

fn insert(session: &mut Session<'_>, record: &TokenRecord, by: &By) -> Result<bool, StoreError> {
    if !is_on(session, record.user)? {
        return Err(StoreError::NoAccount);
    }
    keep(session, record, None)?;
    by.of_token(session, kind::TOKEN_AUTHORIZED, record)?;
    Ok(true)
}

fn revoke(
    session: &mut Session<'_>,
    id: u64,
    now: SystemTime,
    by: &By,
) -> Result<bool, StoreError> {
    let id = number(id)?;
    let done = session
        .run(Sql::RevokeToken, (id, millis(now)))
        .map_err(refused)?
        > 0;
    if done {
        let record = session.one(Sql::TokenById, [id], rows::left);
        if let Some(record) = record.map_err(refused)? {
            if let (TokenKind::Refresh, Some(app)) = (record.kind, record.app) {
                let_go(session, record.user, app)?;
            }
            by.of_token(session, kind::TOKEN_REVOKED, &record)?;
        }
    }
    Ok(done)
}

/// Keeps a new token that hangs on this refresh token, or stands alone.
pub(crate) fn keep(
    session: &mut Session<'_>,
    record: &TokenRecord,
    refresh: Option<u64>,
) -> Result<(), StoreError> {
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
    ) -> Result<Option<T>, StoreError> {
        let found = self
            .readers
            .read(|s| s.one(sql, params, read).map_err(crate::error::failed));
        found.map_err(unavailable)
    }

    /// Reads every row of one statement, in a snapshot of its own.
    pub(crate) fn all_rows<T>(
        &self,
        sql: Sql,
        params: impl rusqlite::Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        let done = self.readers.read(|session| {
            let each = |row: &Row<'_>| read(row).map(|value| all.push(value));
            session
                .each(sql, params, each)
                .map_err(crate::error::failed)
        });
        done.map_err(unavailable)?;
        Ok(all)
    }
}

#[async_trait]
impl TokenStore for SqliteStore {
    async fn find(&self, digest: &Digest) -> Result<Option<(TokenRecord, Account)>, StoreError> {
        let cache = &self.caches.tokens;
        let epoch = cache.epoch();
        if let Some(found) = cache.get(digest, epoch) {
            return Ok(Some((*found).clone()));
        }
        let found = self.one_row(Sql::TokenByDigest, [digest.0], rows::found)?;
        if let Some(found) = &found {
            cache.put(*digest, Arc::new(found.clone()), epoch);
        }
        Ok(found)
    }

    fn version(&self) -> Option<u64> {
        Some(self.caches.tokens.epoch())
    }

    async fn insert(&self, record: TokenRecord) -> Result<(), StoreError> {
        self.writer
            .change_tokens(TokenChange::Insert(record, self.by.clone()))
            .await
            .map(drop)
    }

    async fn revoke(&self, id: u64, now: SystemTime) -> Result<bool, StoreError> {
        self.writer
            .change_tokens(TokenChange::Revoke(id, now, self.by.clone()))
            .await
    }

    async fn revoke_all(&self, user: u64, now: SystemTime) -> Result<u64, StoreError> {
        let by = self.by.clone();
        self.writer
            .work(move |session| revoke_all(session, user, now, &by))
            .await
    }

    async fn list(&self, user: u64) -> Result<Vec<TokenRecord>, StoreError> {
        self.all_rows(Sql::TokensOfUser, [number(user)?], rows::left)
    }

    async fn by_id(&self, user: u64, id: u64) -> Result<Option<TokenRecord>, StoreError> {
        let found = self.all_rows(Sql::TokenById, [number(id)?], rows::left)?;
        Ok(found.into_iter().find(|record| record.user == user))
    }

    async fn touch(&self, used: &[(u64, SystemTime)]) -> Result<(), StoreError> {
        self.writer
            .change_tokens(TokenChange::Touch(used.to_vec()))
            .await
            .map(drop)
    }

    async fn put_account(&self, account: Account, login: Option<Login>) -> Result<(), StoreError> {
        self.writer
            .change_tokens(TokenChange::PutAccount(account, login, self.by.clone()))
            .await
            .map(drop)
    }

    async fn set_tier(&self, user: u64, tier: Tier) -> Result<(), StoreError> {
        self.writer
            .change_tokens(TokenChange::SetTier(user, tier, self.by.clone()))
            .await
            .map(drop)
    }

    async fn set_disabled(
        &self,
        user: u64,
        disabled: bool,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        let by = self.by.clone();
        self.writer
            .work(move |session| set_disabled(session, user, disabled, now, &by))
            .await
    }

    async fn account(&self, user: u64) -> Result<Option<Account>, StoreError> {
        self.one_row(Sql::Account, [number(user)?], |row| account(row, user, 0))
    }

    async fn login(&self, email: &str) -> Result<Option<(Account, Secret)>, StoreError> {
        self.one_row(Sql::Login, [fold_email(email)], |row| {
            let user = gid(row, 0)?.get();
            Ok((account(row, user, 1)?, Secret::new(row.get(3)?)))
        })
    }
}
