//! Apps, authorizations, codes and sessions, in the same file and through the same writer as the graph.
use super::one_row;
use crate::sqlite_store::SqliteStore;
use crate::statements::Sql;
use crate::tables::auth_reads::{self, read_login};
use crate::tables::auth_rows;
use crate::tables::auth_rows::{millis, number, refused};
use crate::tables::{login_attempts, sweep};
use async_trait::async_trait;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_auth::rules::{self, RefreshTokenContext};
use workgraph_auth::{
    Account, App, AuthStoreError, Authorization, AuthorizationCode, BrowserSession, ConsentRecord,
    IssuedTokens, Login, OAuthStore, PasswordChange, RedemptionOutcome, Secret, SecretDigest,
    TokenRecord,
};

#[async_trait]
impl OAuthStore for SqliteStore {
    async fn put_app(&self, app: App, was: Option<&App>) -> Result<(), AuthStoreError> {
        let was = was.cloned();
        self.decide(move |tx| {
            let stored = auth_reads::app(tx, app.id)?;
            rules::put_app(stored.as_ref(), app.clone(), was.as_ref())
        })
        .await
    }

    async fn app(&self, id: u64) -> Result<Option<Arc<App>>, AuthStoreError> {
        // A number that does not fit, which any request may send, belongs to no app.
        let Ok(key) = i64::try_from(id) else {
            return Ok(None);
        };
        let readers = self.readers.current();
        let cache = &readers.caches.apps;
        cache.get_or_read(id, cache.epoch(), || {
            let found = one_row(readers, Sql::App, [key], |row| auth_rows::app(row, 0))?;
            Ok(found.map(Arc::new))
        })
    }

    async fn apps(&self, owner: Option<u64>) -> Result<Vec<App>, AuthStoreError> {
        match owner {
            Some(owner) => self.all_rows(Sql::AppsOfOwner, [number(owner)?], |row| {
                auth_rows::app(row, 0)
            }),
            None => self.all_rows(Sql::Apps, [], |row| auth_rows::app(row, 0)),
        }
    }

    async fn keep_consent(&self, consent: ConsentRecord) -> Result<Authorization, AuthStoreError> {
        self.decide(move |tx| {
            let new = &consent.authorization;
            let context = auth_reads::consent_context(tx, new.user, new.app)?;
            rules::keep_consent(context, consent.clone())
        })
        .await
    }

    async fn keep_code(&self, code: AuthorizationCode) -> Result<Authorization, AuthStoreError> {
        self.decide(move |tx| {
            let context = auth_reads::consent_context(tx, code.user, code.app)?;
            rules::keep_code(context, code.clone())
        })
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
        self.one_row(Sql::LiveAuthorization, (user, app), |row| {
            auth_rows::authorization(row, 0)
        })
    }

    async fn authorizations(&self, user: u64) -> Result<Vec<Authorization>, AuthStoreError> {
        self.all_rows(Sql::AuthorizationsOf, [number(user)?], |row| {
            auth_rows::authorization(row, 0)
        })
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
        self.decide(move |tx| {
            let (authorization, app) = auth_reads::named_authorization(tx, id)?.unzip();
            let app = app.flatten();
            Ok(rules::deauthorize(authorization.as_ref(), app, user, now))
        })
        .await
    }

    async fn code(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<AuthorizationCode>, AuthStoreError> {
        self.one_row(Sql::Code, [digest.0], auth_rows::code)
    }

    async fn redeem(
        &self,
        code: &SecretDigest,
        tokens: Option<IssuedTokens>,
        now: SystemTime,
    ) -> Result<RedemptionOutcome, AuthStoreError> {
        let code = *code;
        self.decide(move |tx| {
            let context = auth_reads::code_context(tx, &code)?;
            Ok(rules::redeem(context.as_ref(), tokens.clone(), now))
        })
        .await
    }

    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> Result<Option<TokenRecord>, AuthStoreError> {
        let readers = Arc::clone(&self.readers);
        self.decide(move |tx| {
            let context = auth_reads::refresh_context(tx, &readers.caches, refresh)?;
            let decision = RefreshTokenContext::issue(context.as_deref(), access.clone(), now);
            Ok(decision)
        })
        .await
    }

    async fn login_of(&self, user: u64) -> Result<Option<Login>, AuthStoreError> {
        self.one_row(Sql::LoginOf, [number(user)?], read_login)
    }

    async fn change_password(&self, change: PasswordChange) -> Result<bool, AuthStoreError> {
        self.decide(move |tx| {
            let login = auth_reads::login_of(tx, change.user)?;
            let ends = (
                &auth_reads::access_of(tx, change.user)?,
                &*auth_reads::sessions_of(tx, change.user)?,
            );
            Ok(rules::change_password(login.as_ref(), ends, &change))
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
            let account = auth_reads::account(tx, session.user)?;
            let login = match hash {
                Some(_) => auth_reads::login_of(tx, session.user)?,
                None => None,
            };
            rules::start_session(account.as_ref(), login.as_ref(), session, hash.as_ref())
        })
        .await
    }

    async fn session(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(BrowserSession, Account)>, AuthStoreError> {
        self.one_row(Sql::BrowserSession, [digest.0], |row| {
            let session = auth_rows::session(row)?;
            Ok((session, auth_rows::account(row, session.user, 6)?))
        })
    }

    async fn sessions(&self, user: u64) -> Result<Vec<BrowserSession>, AuthStoreError> {
        let mut own = self.all_rows(Sql::SessionsOfUser, [number(user)?], auth_rows::session)?;
        own.sort_by_key(|session| (session.created_at, session.digest.0));
        Ok(own)
    }

    async fn touch_session(
        &self,
        digest: &SecretDigest,
        address: IpAddr,
        now: SystemTime,
    ) -> Result<(), AuthStoreError> {
        let params = (digest.0, millis(now), address.to_string());
        self.writer
            .work(move |tx| {
                let done = tx.run(Sql::TouchSession, params.clone());
                done.map(drop).map_err(refused)
            })
            .await
    }

    async fn end_session(&self, digest: &SecretDigest) -> Result<(), AuthStoreError> {
        let digest = *digest;
        self.decide(move |tx| {
            let session = auth_reads::session(tx, &digest)?;
            Ok(rules::end_session(session.as_ref()))
        })
        .await
    }

    async fn end_sessions(
        &self,
        user: u64,
        but: Option<SecretDigest>,
    ) -> Result<u64, AuthStoreError> {
        self.decide(move |tx| {
            let sessions = auth_reads::sessions_of(tx, user)?;
            Ok(rules::end_sessions(user, &sessions, but))
        })
        .await
    }

    async fn attempt_login(
        &self,
        key: &SecretDigest,
        now: SystemTime,
    ) -> Result<Option<Duration>, AuthStoreError> {
        let key = *key;
        self.writer
            .work(move |tx| login_attempts::attempt_login(tx, &key, now))
            .await
    }

    async fn clear_login_attempts(&self, key: &SecretDigest) -> Result<(), AuthStoreError> {
        let key = *key;
        self.writer
            .work(move |tx| {
                let done = tx.run(Sql::DeleteLoginAttempts, [key.0]);
                done.map(drop).map_err(refused)
            })
            .await
    }

    async fn delete_expired(&self, before: SystemTime) -> Result<u64, AuthStoreError> {
        let mut gone = 0;
        loop {
            let round = self.writer.work(move |tx| sweep::sweep(tx, before)).await?;
            gone += round;
            // Fewer rows than one table's limit for a round, so no table has more to delete.
            if round < sweep::ROUND {
                return Ok(gone);
            }
        }
    }
}
