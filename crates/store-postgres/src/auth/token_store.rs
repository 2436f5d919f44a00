//! Tokens and accounts in the database: the implementation of the port.
use super::AuthStoreResult;
use super::auth_rows::{self, stored_number};
use super::decisions::{self, first_account};
use super::statements as sql;
use crate::columns::{bound, number};
use crate::params::owned_params;
use crate::postgres_store::PostgresStore;
use crate::stored_values::{millis, text, text_to_store};
use async_trait::async_trait;
use std::time::SystemTime;
use tokio_postgres::Row;
use workgraph_auth::rules;
use workgraph_auth::tokens::token_record::normalize_email;
use workgraph_auth::{
    Account, AuthStoreError, Login, Secret, SecretDigest, Tier, TokenAtCommit, TokenRecord,
    TokenStore,
};

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
        self.decide(move |tx| Box::pin(decisions::insert_token(tx, record)))
            .await
    }

    async fn revoke(&self, id: u64, now: SystemTime) -> Result<bool, AuthStoreError> {
        self.decide(move |tx| Box::pin(decisions::revoke_token(tx, id, now)))
            .await
    }

    async fn revoke_all(&self, user: u64, now: SystemTime) -> Result<u64, AuthStoreError> {
        self.decide(move |tx| Box::pin(decisions::revoke_all(tx, user, now)))
            .await
    }

    async fn list(&self, user: u64) -> Result<Vec<TokenRecord>, AuthStoreError> {
        let rows = self
            .query(sql::TOKENS_OF_USER, owned_params![stored_number(user)?])
            .await?;
        let tokens: Result<_, _> = rows.iter().map(auth_rows::effective_token).collect();
        Ok(tokens?)
    }

    async fn find_by_id(&self, user: u64, id: u64) -> Result<Option<TokenRecord>, AuthStoreError> {
        let read = |row: &Row| -> AuthStoreResult<_> { Ok(auth_rows::effective_token(row)?) };
        let found = self
            .query_first(sql::TOKEN_BY_ID, owned_params![stored_number(id)?], read)
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
        self.query(sql::RECORD_USES, owned_params![ids, times])
            .await?;
        Ok(())
    }

    async fn put_account(
        &self,
        account: Account,
        login: Option<Login>,
    ) -> Result<(), AuthStoreError> {
        self.decide(move |tx| Box::pin(decisions::put_account(tx, account, login)))
            .await
    }

    async fn set_tier(&self, user: u64, tier: Tier) -> Result<(), AuthStoreError> {
        self.decide(move |tx| Box::pin(tx.apply(rules::set_tier(user, tier))))
            .await
    }

    async fn set_disabled(
        &self,
        user: u64,
        disabled: bool,
        now: SystemTime,
    ) -> Result<(), AuthStoreError> {
        self.decide(move |tx| Box::pin(decisions::set_disabled(tx, user, disabled, now)))
            .await
    }

    async fn account(&self, user: u64) -> Result<Option<Account>, AuthStoreError> {
        let rows = self
            .query(sql::ACCOUNT, owned_params![stored_number(user)?])
            .await?;
        first_account(&rows, user)
    }

    async fn login(&self, email: &str) -> Result<Option<(Account, Secret)>, AuthStoreError> {
        let email = normalize_email(email);
        let key = owned_params![text_to_store(&email).into_owned()];
        self.query_first(sql::LOGIN, key, |row| {
            let account = auth_rows::account(row, number(row, 0)?, 1)?;
            Ok((account, Secret::new(text(row, 3)?)))
        })
        .await
    }
}
