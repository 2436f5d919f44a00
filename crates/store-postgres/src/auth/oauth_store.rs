//! Apps, authorizations, codes and sessions in the database: the implementation of the port.
use super::auth_rows::{self, stored_number};
use super::auth_writes::statements_of;
use super::statements as sql;
use super::{AuthStoreResult, decisions};
use crate::columns::bound;
use crate::params::{OwnedParams, owned_params};
use crate::postgres_store::PostgresStore;
use crate::statement_list::BorrowedStatements;
use crate::statement_pipeline::{pipeline, pipeline_all};
use crate::stored_values::{Stored, get, millis};
use async_trait::async_trait;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_postgres::Row;
use workgraph_auth::authorization::browser_session::LOGIN_ATTEMPTS_LIFETIME;
use workgraph_auth::rules::RefreshTokenContext;
use workgraph_auth::{
    Account, App, AuthStoreError, Authorization, AuthorizationCode, BrowserSession, ConsentRecord,
    IssuedTokens, Login, OAuthStore, PasswordChange, RedemptionOutcome, Secret, SecretDigest,
    TokenRecord,
};

/// Maximum number of rows of one table that one round of a sweep deletes.
const ROUND: u64 = 2_000;

impl PostgresStore {
    /// Returns all rows of a statement, converted by `read`.
    async fn query_all<T>(
        &self,
        sql: &'static str,
        params: OwnedParams,
        read: impl Fn(&Row) -> Stored<T> + Send,
    ) -> AuthStoreResult<Vec<T>> {
        let rows = self.query(sql, params).await?;
        let all: Stored<Vec<T>> = rows.iter().map(read).collect();
        Ok(all?)
    }
}

#[async_trait]
impl OAuthStore for PostgresStore {
    async fn put_app(&self, app: App, was: Option<&App>) -> Result<(), AuthStoreError> {
        let was = was.cloned();
        self.decide(move |tx| {
            Box::pin(async move { decisions::put_app(tx, app, was.as_ref()).await })
        })
        .await
    }

    async fn app(&self, id: u64) -> Result<Option<Arc<App>>, AuthStoreError> {
        // A number that does not fit, which any request may send, belongs to no app.
        let Ok(key) = i64::try_from(id) else {
            return Ok(None);
        };
        let read = |row: &Row| -> AuthStoreResult<_> { Ok(Arc::new(auth_rows::app(row, 0)?)) };
        self.query_first(sql::APP, owned_params![key], read).await
    }

    async fn apps(&self, owner: Option<u64>) -> Result<Vec<App>, AuthStoreError> {
        let read = |row: &Row| auth_rows::app(row, 0);
        match owner {
            Some(owner) => {
                let key = owned_params![stored_number(owner)?];
                self.query_all(sql::APPS_OF_OWNER, key, read).await
            }
            None => self.query_all(sql::APPS, owned_params![], read).await,
        }
    }

    async fn keep_consent(&self, consent: ConsentRecord) -> Result<Authorization, AuthStoreError> {
        self.decide(move |tx| Box::pin(decisions::keep_consent(tx, consent)))
            .await
    }

    async fn keep_code(&self, code: AuthorizationCode) -> Result<Authorization, AuthStoreError> {
        self.decide(move |tx| Box::pin(decisions::keep_code(tx, code)))
            .await
    }

    async fn authorization(
        &self,
        user: u64,
        app: u64,
    ) -> Result<Option<Authorization>, AuthStoreError> {
        let (Ok(user), Ok(app)) = (i64::try_from(user), i64::try_from(app)) else {
            return Ok(None);
        };
        let read = |row: &Row| -> AuthStoreResult<_> { Ok(auth_rows::authorization(row, 0)?) };
        self.query_first(sql::LIVE_AUTHORIZATION, owned_params![user, app], read)
            .await
    }

    async fn authorizations(&self, user: u64) -> Result<Vec<Authorization>, AuthStoreError> {
        let key = owned_params![stored_number(user)?];
        self.query_all(sql::AUTHORIZATIONS_OF, key, |row| {
            auth_rows::authorization(row, 0)
        })
        .await
    }

    async fn deauthorize(
        &self,
        id: u64,
        user: u64,
        now: SystemTime,
    ) -> Result<bool, AuthStoreError> {
        if i64::try_from(id).is_err() {
            return Ok(false);
        }
        self.decide(move |tx| Box::pin(decisions::deauthorize(tx, id, user, now)))
            .await
    }

    async fn code(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<AuthorizationCode>, AuthStoreError> {
        let read = |row: &Row| -> AuthStoreResult<_> { Ok(auth_rows::code(row)?) };
        self.query_first(sql::CODE, owned_params![digest.0.to_vec()], read)
            .await
    }

    async fn redeem(
        &self,
        code: &SecretDigest,
        tokens: Option<IssuedTokens>,
        now: SystemTime,
    ) -> Result<RedemptionOutcome, AuthStoreError> {
        let code = *code;
        self.decide(move |tx| {
            Box::pin(async move { decisions::redeem(tx, &code, tokens, now).await })
        })
        .await
    }

    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> Result<Option<TokenRecord>, AuthStoreError> {
        let database = self.database.clone();
        // Two statements without a transaction: an access token is dead as soon as its refresh token is, whenever that
        // was revoked.
        let work = async move {
            let connection = database.connection().await?;
            let id = stored_number(refresh)?;
            let [root] = pipeline(&connection, None, [(sql::TOKEN_BY_ID, &[&id])], None).await?;
            let root = root.first().map(auth_rows::refresh_context).transpose()?;
            let decision = RefreshTokenContext::issue(root.as_ref(), access, now);
            database.count_statements(1);
            let writes = statements_of(&decision.writes)?;
            if !writes.is_empty() {
                database.count_statements(1);
                let writes = BorrowedStatements::new(&writes);
                pipeline_all(&connection, None, &writes.statements(), None).await?;
            }
            Ok(decision.outcome)
        };
        self.database.run(work).await
    }

    async fn login_of(&self, user: u64) -> Result<Option<Login>, AuthStoreError> {
        let read = |row: &Row| -> AuthStoreResult<_> { Ok(auth_rows::login(row)?) };
        self.query_first(sql::LOGIN_OF, owned_params![stored_number(user)?], read)
            .await
    }

    async fn change_password(&self, change: PasswordChange) -> Result<bool, AuthStoreError> {
        self.decide(move |tx| {
            Box::pin(async move { decisions::change_password(tx, &change).await })
        })
        .await
    }

    async fn start_session(
        &self,
        session: BrowserSession,
        hash: Option<&Secret>,
    ) -> Result<(), AuthStoreError> {
        let hash = hash.cloned();
        self.decide(move |tx| {
            Box::pin(async move { decisions::start_session(tx, session, hash.as_ref()).await })
        })
        .await
    }

    async fn session(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(BrowserSession, Account)>, AuthStoreError> {
        self.query_first(sql::SESSION, owned_params![digest.0.to_vec()], |row| {
            let session = auth_rows::session(row)?;
            Ok((session, auth_rows::account(row, session.user, 6)?))
        })
        .await
    }

    async fn sessions(&self, user: u64) -> Result<Vec<BrowserSession>, AuthStoreError> {
        let key = owned_params![stored_number(user)?];
        let mut own = self
            .query_all(sql::SESSIONS_OF_USER, key, auth_rows::session)
            .await?;
        own.sort_by_key(|session| (session.created_at, session.digest.0));
        Ok(own)
    }

    async fn touch_session(
        &self,
        digest: &SecretDigest,
        address: IpAddr,
        now: SystemTime,
    ) -> Result<(), AuthStoreError> {
        let values = owned_params![digest.0.to_vec(), millis(now), address.to_string()];
        self.query(sql::TOUCH_SESSION, values).await?;
        Ok(())
    }

    async fn end_session(&self, digest: &SecretDigest) -> Result<(), AuthStoreError> {
        let digest = *digest;
        self.decide(move |tx| Box::pin(async move { decisions::end_session(tx, &digest).await }))
            .await
    }

    async fn end_sessions(
        &self,
        user: u64,
        but: Option<SecretDigest>,
    ) -> Result<u64, AuthStoreError> {
        self.decide(move |tx| Box::pin(decisions::end_sessions(tx, user, but)))
            .await
    }

    async fn attempt_login(
        &self,
        key: &SecretDigest,
        now: SystemTime,
    ) -> Result<Option<Duration>, AuthStoreError> {
        let key = *key;
        self.decide(move |tx| {
            Box::pin(async move { decisions::attempt_login(tx, &key, now).await })
        })
        .await
    }

    async fn clear_login_attempts(&self, key: &SecretDigest) -> Result<(), AuthStoreError> {
        self.query(sql::DELETE_LOGIN_ATTEMPTS, owned_params![key.0.to_vec()])
            .await?;
        Ok(())
    }

    async fn delete_expired(&self, before: SystemTime) -> Result<u64, AuthStoreError> {
        let end = millis(before);
        let lifetime = i64::try_from(LOGIN_ATTEMPTS_LIFETIME.as_millis()).unwrap_or(i64::MAX);
        self.query(sql::SWEEP_ATTEMPTS, owned_params![]).await?;
        let mut gone = 0;
        for (sql, end) in [
            (sql::SWEEP_TOKENS, end),
            (sql::SWEEP_CODES, end),
            (sql::SWEEP_SESSIONS, end),
            (sql::SWEEP_TICKETS, end),
            (sql::SWEEP_LOGIN_ATTEMPTS, end.saturating_sub(lifetime)),
        ] {
            loop {
                let read = |row: &Row| -> AuthStoreResult<i64> { Ok(get(row, 0)?) };
                let round = self
                    .query_first(sql, owned_params![end, bound(ROUND)], read)
                    .await?;
                let round = u64::try_from(round.unwrap_or(0)).unwrap_or(0);
                gone += round;
                // Fewer than a full round: none are left.
                if round < ROUND {
                    break;
                }
            }
        }
        Ok(gone)
    }
}
