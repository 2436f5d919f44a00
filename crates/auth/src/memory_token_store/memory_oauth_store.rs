//! Apps, authorizations, codes and sessions of the memory store.
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use super::MemoryTokenStore;
use crate::authorization::authorization_code::AuthorizationCode;
use crate::authorization::browser_session::{
    BrowserSession, LOGIN_ATTEMPTS_LIFETIME, LoginAttempts,
};
use crate::authorization::registered_app::App;
use crate::authorization::user_authorization::Authorization;
use crate::ports::oauth_store::{
    ConsentRecord, IssuedTokens, OAuthStore, PasswordChange, RedemptionOutcome,
};
use crate::ports::token_store::AuthStoreError;
use crate::rules::{self, CodeContext, RefreshTokenContext};
use crate::tokens::token_record::{Account, Login, TokenRecord};
use crate::tokens::token_text::{Secret, SecretDigest, TokenKind};

#[async_trait]
impl OAuthStore for MemoryTokenStore {
    async fn put_app(&self, app: App, was: Option<&App>) -> Result<(), AuthStoreError> {
        self.decide(|state| rules::put_app(state.apps.get(&app.id), app, was))
    }

    async fn app(&self, id: u64) -> Result<Option<Arc<App>>, AuthStoreError> {
        Ok(self.lock().apps.get(&id).cloned().map(Arc::new))
    }

    async fn apps(&self, owner: Option<u64>) -> Result<Vec<App>, AuthStoreError> {
        let state = self.lock();
        let wanted = |app: &&App| owner.is_none_or(|owner| app.owner == owner);
        Ok(state.apps.values().filter(wanted).cloned().collect())
    }

    async fn keep_consent(&self, consent: ConsentRecord) -> Result<Authorization, AuthStoreError> {
        let new = &consent.authorization;
        let pair = (new.user, new.app);
        self.decide(|state| rules::keep_consent(state.consent_context(pair), consent))
    }

    async fn keep_code(&self, code: AuthorizationCode) -> Result<Authorization, AuthStoreError> {
        let pair = (code.user, code.app);
        self.decide(|state| rules::keep_code(state.consent_context(pair), code))
    }

    async fn authorization(
        &self,
        user: u64,
        app: u64,
    ) -> Result<Option<Authorization>, AuthStoreError> {
        Ok(self.lock().live_authorization(user, app).cloned())
    }

    async fn authorizations(&self, user: u64) -> Result<Vec<Authorization>, AuthStoreError> {
        let state = self.lock();
        let live = |a: &&Authorization| a.user == user && a.revoked_at.is_none();
        Ok(state
            .authorizations
            .values()
            .filter(live)
            .cloned()
            .collect())
    }

    async fn deauthorize(
        &self,
        id: u64,
        user: u64,
        now: SystemTime,
    ) -> Result<bool, AuthStoreError> {
        self.decide(|state| {
            let authorization = state.authorizations.get(&id);
            let app = authorization.and_then(|live| state.apps.get(&live.app));
            let name = app.map(|app| app.name.clone());
            Ok(rules::deauthorize(authorization, name, user, now))
        })
    }

    async fn code(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<AuthorizationCode>, AuthStoreError> {
        Ok(self.lock().codes.get(digest).cloned())
    }

    async fn redeem(
        &self,
        code: &SecretDigest,
        tokens: Option<IssuedTokens>,
        now: SystemTime,
    ) -> Result<RedemptionOutcome, AuthStoreError> {
        self.decide(|state| {
            let context = state.codes.get(code).map(|code| CodeContext {
                code: code.clone(),
                authorization: state.authorizations.get(&code.grant).cloned(),
                app: state.apps.get(&code.app).cloned(),
                account: state.accounts.get(&code.user).copied(),
            });
            Ok(rules::redeem(context.as_ref(), tokens, now))
        })
    }

    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> Result<Option<TokenRecord>, AuthStoreError> {
        self.decide(|state| {
            let context = state.tokens.get(&refresh).and_then(|token| {
                let ancestors = state.ancestors(token)?;
                let account = state.accounts.get(&token.user)?;
                Some(RefreshTokenContext::new(token, *account, ancestors))
            });
            Ok(RefreshTokenContext::issue(context.as_ref(), access, now))
        })
    }

    async fn login_of(&self, user: u64) -> Result<Option<Login>, AuthStoreError> {
        Ok(self.lock().logins.get(&user).cloned())
    }

    async fn change_password(&self, change: PasswordChange) -> Result<bool, AuthStoreError> {
        self.decide(|state| {
            let user = change.user;
            let (access, sessions) = (state.access_of(user), state.sessions_of(user));
            let (login, ends) = (state.logins.get(&user), (&access, &*sessions));
            Ok(rules::change_password(login, ends, &change))
        })
    }

    async fn start_session(
        &self,
        session: BrowserSession,
        hash: Option<&Secret>,
    ) -> Result<(), AuthStoreError> {
        self.decide(|state| {
            let account = state.accounts.get(&session.user);
            let login = state.logins.get(&session.user);
            rules::start_session(account, login, session, hash)
        })
    }

    async fn session(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(BrowserSession, Account)>, AuthStoreError> {
        let state = self.lock();
        let session = state.sessions.get(digest);
        Ok(session.and_then(|s| Some((*s, *state.accounts.get(&s.user)?))))
    }

    async fn sessions(&self, user: u64) -> Result<Vec<BrowserSession>, AuthStoreError> {
        Ok(self.lock().sessions_of(user))
    }

    async fn touch_session(
        &self,
        digest: &SecretDigest,
        address: IpAddr,
        now: SystemTime,
    ) -> Result<(), AuthStoreError> {
        if let Some(session) = self.lock().sessions.get_mut(digest)
            && now >= session.last_used_at
        {
            session.last_used_at = now;
            session.address = Some(address);
        }
        Ok(())
    }

    async fn end_session(&self, digest: &SecretDigest) -> Result<(), AuthStoreError> {
        self.decide(|state| Ok(rules::end_session(state.sessions.get(digest))))
    }

    async fn end_sessions(
        &self,
        user: u64,
        but: Option<SecretDigest>,
    ) -> Result<u64, AuthStoreError> {
        self.decide(|state| Ok(rules::end_sessions(user, &state.sessions_of(user), but)))
    }

    async fn attempt_login(
        &self,
        key: &SecretDigest,
        now: SystemTime,
    ) -> Result<Option<Duration>, AuthStoreError> {
        let mut state = self.lock();
        match LoginAttempts::attempt(state.login_attempts.get(key).copied(), now) {
            Ok(attempts) => {
                state.login_attempts.insert(*key, attempts);
                Ok(None)
            }
            Err(wait) => Ok(Some(wait)),
        }
    }

    async fn clear_login_attempts(&self, key: &SecretDigest) -> Result<(), AuthStoreError> {
        self.lock().login_attempts.remove(key);
        Ok(())
    }

    async fn delete_expired(&self, before: SystemTime) -> Result<u64, AuthStoreError> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let mut gone = 0_u64;
        let mut keep = |stays: bool| {
            gone += u64::from(!stays);
            stays
        };
        let live = |end: SystemTime| end >= before;
        let (by_digest, refresh_of) = (&mut state.by_digest, &mut state.refresh_of);
        state.tokens.retain(|id, record| {
            let access = record.kind == TokenKind::Access;
            let stays = keep(!access || record.expires_at.is_none_or(live));
            if !stays {
                by_digest.remove(&record.digest);
                refresh_of.remove(id);
            }
            stays
        });
        state.codes.retain(|_, code| keep(live(code.expires_at)));
        state.sessions.retain(|_, s| keep(live(s.expires_at)));
        state.tickets.retain(|_, at| keep(live(*at)));
        let forgotten = |s: &LoginAttempts| s.last_at.checked_add(LOGIN_ATTEMPTS_LIFETIME);
        state
            .login_attempts
            .retain(|_, s| keep(forgotten(s).is_none_or(live)));
        Ok(gone)
    }
}
