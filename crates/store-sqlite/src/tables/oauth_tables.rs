//! Tables of apps, authorizations, codes and sessions, in the same file and through the same writer.
pub(crate) mod oauth_writes;

use crate::sqlite_store::SqliteStore;
use crate::statements::Sql;
use crate::tables::auth_accounts::{change_password, end_sessions, read_login};
use crate::tables::auth_rows;
use crate::tables::auth_rows::{millis, number, refused};
use async_trait::async_trait;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_auth::{
    Account, App, AuthStoreError, Authorization, AuthorizationCode, BrowserSession, ConsentRecord,
    IssuedTokens, Login, OAuthStore, PasswordChange, RedemptionOutcome, Secret, SecretDigest,
    TokenRecord,
};

#[async_trait]
impl OAuthStore for SqliteStore {
    async fn put_app(&self, app: App, was: Option<&App>) -> Result<(), AuthStoreError> {
        let (was, by) = (was.cloned(), self.actor.clone());
        self.writer
            .work(move |session| {
                // An app cannot become another one.
                match &was {
                    Some(was) if was.id != app.id => Err(AuthStoreError::Conflict),
                    _ => oauth_writes::put_app(session, &app, was.as_ref(), &by),
                }
            })
            .await
    }

    async fn app(&self, id: u64) -> Result<Option<Arc<App>>, AuthStoreError> {
        // A number that does not fit, which any request may send, belongs to no app.
        let Ok(key) = i64::try_from(id) else {
            return Ok(None);
        };
        let cache = &self.readers.caches.apps;
        cache.get_or_read(id, cache.epoch(), || {
            let found = self.one_row(Sql::App, [key], |row| auth_rows::app(row, 0))?;
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

    async fn keep_consent(&self, allow: ConsentRecord) -> Result<Authorization, AuthStoreError> {
        let by = self.actor.clone();
        self.writer
            .work(move |session| oauth_writes::allow(session, &allow, &by))
            .await
    }

    async fn keep_code(&self, code: AuthorizationCode) -> Result<Authorization, AuthStoreError> {
        self.writer
            .work(move |session| oauth_writes::keep_code(session, &code))
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
        self.one_row(Sql::Standing, (user, app), |row| {
            auth_rows::authorization(row, 0)
        })
    }

    async fn authorizations(&self, user: u64) -> Result<Vec<Authorization>, AuthStoreError> {
        self.all_rows(Sql::GrantsOfUser, [number(user)?], |row| {
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
        let by = self.actor.clone();
        self.writer
            .work(move |session| oauth_writes::deauthorize(session, id, user, now, &by))
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
        self.writer
            .work(move |session| oauth_writes::redeem(session, &code, tokens.as_ref(), now))
            .await
    }

    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> Result<Option<TokenRecord>, AuthStoreError> {
        let readers = Arc::clone(&self.readers);
        self.writer
            .work(move |session| {
                oauth_writes::refresh(session, &readers.caches, refresh, &access, now)
            })
            .await
    }

    async fn login_of(&self, user: u64) -> Result<Option<Login>, AuthStoreError> {
        self.one_row(Sql::LoginOf, [number(user)?], read_login)
    }

    async fn change_password(&self, change: PasswordChange) -> Result<bool, AuthStoreError> {
        let by = self.actor.clone();
        self.writer
            .work(move |session| change_password(session, &change, &by))
            .await
    }

    async fn start_session(
        &self,
        session: BrowserSession,
        hash: Option<&Secret>,
    ) -> Result<(), AuthStoreError> {
        let (by, hash) = (self.actor.clone(), hash.cloned());
        self.writer
            .work(move |open| oauth_writes::start_session(open, &session, hash.as_ref(), &by))
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
            .work(move |session| {
                let done = session.run(Sql::TouchSession, params.clone());
                done.map(drop).map_err(refused)
            })
            .await
    }

    async fn end_session(&self, digest: &SecretDigest) -> Result<(), AuthStoreError> {
        let (digest, by) = (*digest, self.actor.clone());
        self.writer
            .work(move |session| oauth_writes::end_session(session, &digest, &by))
            .await
    }

    async fn end_sessions(
        &self,
        user: u64,
        but: Option<SecretDigest>,
    ) -> Result<u64, AuthStoreError> {
        let by = self.actor.clone();
        self.writer
            .work(move |session| end_sessions(session, user, but, &by))
            .await
    }

    async fn attempt_login(
        &self,
        key: &SecretDigest,
        now: SystemTime,
    ) -> Result<Option<Duration>, AuthStoreError> {
        let key = *key;
        self.writer
            .work(move |session| oauth_writes::attempt_login(session, &key, now))
            .await
    }

    async fn clear_login_attempts(&self, key: &SecretDigest) -> Result<(), AuthStoreError> {
        self.drop_row(Sql::DropStrikes, *key).await
    }

    async fn delete_expired(&self, before: SystemTime) -> Result<u64, AuthStoreError> {
        let mut gone = 0;
        loop {
            let round = self
                .writer
                .work(move |session| oauth_writes::sweep(session, before))
                .await?;
            gone += round;
            // Less than one table's share of a round: no table had more.
            if round < oauth_writes::ROUND {
                return Ok(gone);
            }
        }
    }
}

impl SqliteStore {
    /// Deletes the row with this key, if there is one.
    async fn drop_row(&self, sql: Sql, key: SecretDigest) -> Result<(), AuthStoreError> {
        self.writer
            .work(move |session| session.run(sql, [key.0]).map(drop).map_err(refused))
            .await
    }
}
