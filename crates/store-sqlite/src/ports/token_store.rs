//! Tokens, accounts and logins, in the same file and through the same writer as the graph.
use super::one_row;
use crate::sqlite_store::SqliteStore;
use crate::statements::Sql;
use crate::tables::auth_reads;
use crate::tables::auth_rows;
use crate::tables::auth_rows::{account, number};
use crate::tables::auth_writes::record_token_uses;
use crate::transaction::gid;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_auth::rules;
use workgraph_auth::tokens::token_record::normalize_email;
use workgraph_auth::{
    Account, AuthStoreError, Login, Secret, SecretDigest, Tier, TokenRecord, TokenStore,
};

#[async_trait]
impl TokenStore for SqliteStore {
    async fn find_token(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(TokenRecord, Account)>, AuthStoreError> {
        let digest = self.stored_digest(digest);
        let readers = self.readers.current();
        let cache = &readers.caches.tokens;
        let found = cache.get_or_read(digest, cache.epoch(), || {
            let found = one_row(readers, Sql::TokenByDigest, [digest.0], auth_rows::found)?;
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
            .work(move |tx| record_token_uses(tx, &used))
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
        self.decide(move |_| Ok(rules::set_tier(user, tier))).await
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
