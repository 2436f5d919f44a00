//! Apps, authorizations, codes and sessions, in the same file and through the same writer.
pub(crate) mod writes;

use crate::accounts::{change_password, end_sessions, read_login};
use crate::rows::{self, millis, number, refused};
use crate::sql::Sql;
use crate::store::SqliteStore;
use async_trait::async_trait;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_auth::{
    Account, Allow, App, Authorization, Code, Digest, Login, OAuthStore, PasswordChange, Redeemed,
    Secret, Session, StoreError, TokenRecord, Tokens,
};

#[async_trait]
impl OAuthStore for SqliteStore {
    async fn put_app(&self, app: App, was: Option<&App>) -> Result<(), StoreError> {
        let (was, by) = (was.cloned(), self.by.clone());
        self.writer
            .work(move |session| {
                // One app does not become another.
                match &was {
                    Some(was) if was.id != app.id => Err(StoreError::Conflict),
                    _ => writes::put_app(session, &app, was.as_ref(), &by),
                }
            })
            .await
    }

    async fn app(&self, id: u64) -> Result<Option<Arc<App>>, StoreError> {
        // A number that cannot be kept, from anybody's request, is no app's.
        let Ok(key) = i64::try_from(id) else {
            return Ok(None);
        };
        let cache = &self.caches.apps;
        let epoch = cache.epoch();
        if let Some(app) = cache.get(&id, epoch) {
            return Ok(Some(app));
        }
        let found = self.one_row(Sql::App, [key], |row| rows::app(row, 0))?;
        let app = found.map(Arc::new);
        if let Some(app) = &app {
            cache.put(id, Arc::clone(app), epoch);
        }
        Ok(app)
    }

    async fn apps(&self, owner: Option<u64>) -> Result<Vec<App>, StoreError> {
        match owner {
            Some(owner) => {
                self.all_rows(Sql::AppsOfOwner, [number(owner)?], |row| rows::app(row, 0))
            }
            None => self.all_rows(Sql::Apps, [], |row| rows::app(row, 0)),
        }
    }

    async fn allow(&self, allow: Allow) -> Result<Authorization, StoreError> {
        let by = self.by.clone();
        self.writer
            .work(move |session| writes::allow(session, &allow, &by))
            .await
    }

    async fn keep_code(&self, code: Code) -> Result<Authorization, StoreError> {
        self.writer
            .work(move |session| writes::keep_code(session, &code))
            .await
    }

    async fn authorization(
        &self,
        user: u64,
        app: u64,
    ) -> Result<Option<Authorization>, StoreError> {
        let (Ok(user), Ok(app)) = (i64::try_from(user), i64::try_from(app)) else {
            return Ok(None);
        };
        self.one_row(Sql::Standing, (user, app), |row| {
            rows::authorization(row, 0)
        })
    }

    async fn authorizations(&self, user: u64) -> Result<Vec<Authorization>, StoreError> {
        self.all_rows(Sql::GrantsOfUser, [number(user)?], |row| {
            rows::authorization(row, 0)
        })
    }

    async fn deauthorize(&self, id: u64, user: u64, now: SystemTime) -> Result<bool, StoreError> {
        if i64::try_from(id).is_err() {
            return Ok(false);
        }
        let by = self.by.clone();
        self.writer
            .work(move |session| writes::deauthorize(session, id, user, now, &by))
            .await
    }

    async fn code(&self, digest: &Digest) -> Result<Option<Code>, StoreError> {
        self.one_row(Sql::Code, [digest.0], rows::code)
    }

    async fn redeem(
        &self,
        code: &Digest,
        tokens: Option<Tokens>,
        now: SystemTime,
    ) -> Result<Redeemed, StoreError> {
        let code = *code;
        self.writer
            .work(move |session| writes::redeem(session, &code, tokens.as_ref(), now))
            .await
    }

    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> Result<Option<TokenRecord>, StoreError> {
        let caches = Arc::clone(&self.caches);
        self.writer
            .work(move |session| writes::refresh(session, &caches, refresh, &access, now))
            .await
    }

    async fn login_of(&self, user: u64) -> Result<Option<Login>, StoreError> {
        self.one_row(Sql::LoginOf, [number(user)?], read_login)
    }

    async fn change_password(&self, change: PasswordChange) -> Result<bool, StoreError> {
        let by = self.by.clone();
        self.writer
            .work(move |session| change_password(session, &change, &by))
            .await
    }

    async fn start_session(
        &self,
        session: Session,
        hash: Option<&Secret>,
    ) -> Result<(), StoreError> {
        let (by, hash) = (self.by.clone(), hash.cloned());
        self.writer
            .work(move |open| writes::start_session(open, &session, hash.as_ref(), &by))
            .await
    }

    async fn session(&self, digest: &Digest) -> Result<Option<(Session, Account)>, StoreError> {
        self.one_row(Sql::BrowserSession, [digest.0], |row| {
            let session = rows::session(row)?;
            Ok((session, rows::account(row, session.user, 6)?))
        })
    }

    async fn sessions(&self, user: u64) -> Result<Vec<Session>, StoreError> {
        let mut own = self.all_rows(Sql::SessionsOfUser, [number(user)?], rows::session)?;
        own.sort_by_key(|session| (session.created_at, session.digest.0));
        Ok(own)
    }

    async fn touch_session(
        &self,
        digest: &Digest,
        address: IpAddr,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        let params = (digest.0, millis(now), address.to_string());
        self.writer
            .work(move |session| {
                let done = session.run(Sql::TouchSession, params.clone());
                done.map(drop).map_err(refused)
            })
            .await
    }

    async fn end_session(&self, digest: &Digest) -> Result<(), StoreError> {
        let (digest, by) = (*digest, self.by.clone());
        self.writer
            .work(move |session| writes::end_session(session, &digest, &by))
            .await
    }

    async fn end_sessions(&self, user: u64, but: Option<Digest>) -> Result<u64, StoreError> {
        let by = self.by.clone();
        self.writer
            .work(move |session| end_sessions(session, user, but, &by))
            .await
    }

    async fn attempt_login(
        &self,
        key: &Digest,
        now: SystemTime,
    ) -> Result<Option<Duration>, StoreError> {
        let key = *key;
        self.writer
            .work(move |session| writes::attempt_login(session, &key, now))
            .await
    }

    async fn forgive_login(&self, key: &Digest) -> Result<(), StoreError> {
        self.drop_row(Sql::DropStrikes, *key).await
    }

    async fn sweep(&self, before: SystemTime) -> Result<u64, StoreError> {
        let mut gone = 0;
        loop {
            let round = self
                .writer
                .work(move |session| writes::sweep(session, before))
                .await?;
            gone += round;
            // Less than one table's share of a round: no table had more.
            if round < writes::ROUND {
                return Ok(gone);
            }
        }
    }
}

impl SqliteStore {
    /// Drops the row with this key, if there is one.
    async fn drop_row(&self, sql: Sql, key: Digest) -> Result<(), StoreError> {
        self.writer
            .work(move |session| session.run(sql, [key.0]).map(drop).map_err(refused))
            .await
    }
}
