//! Tables of tokens, accounts and logins, in the same file and through the same writer.
use crate::sqlite_store::SqliteStore;
use crate::statements::Sql;
use crate::tables::auth_reads;
use crate::tables::auth_rows;
use crate::tables::auth_rows::{account, millis, number, refused, unavailable};
use crate::transaction::{SqliteTransaction, gid};
use async_trait::async_trait;
use rusqlite::Row;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_auth::rules;
use workgraph_auth::tokens::token_record::normalize_email;
use workgraph_auth::{
    Account, AuthStoreError, Login, Secret, SecretDigest, Tier, TokenRecord, TokenStore,
};

/// Token with its account, as cached.
pub(crate) type CachedToken = Arc<(TokenRecord, Account)>;

/// Records the last uses of tokens; returns true if a time moved.
fn touch(
    session: &mut SqliteTransaction<'_>,
    used: &[(u64, SystemTime)],
) -> Result<bool, AuthStoreError> {
    let mut is_changed = false;
    for (id, at) in used {
        let params = (number(*id)?, millis(*at));
        is_changed |= session.run(Sql::TouchToken, params).map_err(refused)? > 0;
    }
    Ok(is_changed)
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
        self.decide(move |tx| {
            let account = auth_reads::account(tx, record.user)?;
            rules::insert_token(account.as_ref(), record.clone())
        })
        .await
    }

    async fn revoke(&self, id: u64, now: SystemTime) -> Result<bool, AuthStoreError> {
        self.decide(move |tx| {
            let token = auth_reads::stored_token(tx, id)?;
            Ok(rules::revoke_token(token.as_ref(), now))
        })
        .await
    }

    async fn revoke_all(&self, user: u64, now: SystemTime) -> Result<u64, AuthStoreError> {
        self.decide(move |tx| {
            let access = auth_reads::access_of(tx, user)?;
            Ok(rules::revoke_all(user, &access, now))
        })
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
        let used = used.to_vec();
        self.writer
            .work(move |tx| {
                let is_changed = touch(tx, &used)?;
                tx.invalidations.tokens |= is_changed;
                Ok(())
            })
            .await
    }

    async fn put_account(
        &self,
        account: Account,
        login: Option<Login>,
    ) -> Result<(), AuthStoreError> {
        self.decide(move |tx| {
            let user = account.user;
            let (stored, stored_login) = (
                auth_reads::account(tx, user)?,
                auth_reads::login_of(tx, user)?,
            );
            let sessions = auth_reads::sessions_of(tx, user)?;
            let before = (stored.as_ref(), stored_login.as_ref());
            let decision = rules::put_account(before, &sessions, account, login.clone());
            Ok(decision)
        })
        .await
    }

    async fn set_tier(&self, user: u64, tier: Tier) -> Result<(), AuthStoreError> {
        self.decide(move |tx| {
            let account = auth_reads::account(tx, user)?;
            Ok(rules::set_tier(account.as_ref(), user, tier))
        })
        .await
    }

    async fn set_disabled(
        &self,
        user: u64,
        disabled: bool,
        now: SystemTime,
    ) -> Result<(), AuthStoreError> {
        self.decide(move |tx| {
            let account = auth_reads::account(tx, user)?;
            let ends = (
                &auth_reads::access_of(tx, user)?,
                &*auth_reads::sessions_of(tx, user)?,
            );
            let switch = (user, disabled);
            Ok(rules::set_disabled(account.as_ref(), ends, switch, now))
        })
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
