//! The memory store's OAuth half.
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use super::{MemoryTokenStore, MemoryTokens, is_hash};
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
use crate::tokens::grant::is_alive;
use crate::tokens::token_record::{Account, Login, TokenRecord};
use crate::tokens::token_text::{Secret, SecretDigest, TokenKind};

impl MemoryTokens {
    /// Returns true if an authorization of this user and app is still valid, and account and app are
    /// enabled.
    fn stands(&self, grant: u64, user: u64, app: u64) -> bool {
        let authorization = self.authorizations.get(&grant);
        let live = |a: &Authorization| a.revoked_at.is_none() && a.user == user && a.app == app;
        authorization.is_some_and(live)
            && self.is_on(user)
            && self.apps.get(&app).is_some_and(|a| a.disabled_at.is_none())
    }
}

#[async_trait]
impl OAuthStore for MemoryTokenStore {
    async fn put_app(&self, app: App, was: Option<&App>) -> Result<(), AuthStoreError> {
        let mut state = self.lock();
        if state.apps.get(&app.id) != was {
            return Err(AuthStoreError::Conflict);
        }
        state.apps.insert(app.id, app);
        Ok(())
    }

    async fn app(&self, id: u64) -> Result<Option<Arc<App>>, AuthStoreError> {
        Ok(self.lock().apps.get(&id).cloned().map(Arc::new))
    }

    async fn apps(&self, owner: Option<u64>) -> Result<Vec<App>, AuthStoreError> {
        let state = self.lock();
        let wanted = |app: &&App| owner.is_none_or(|owner| app.owner == owner);
        Ok(state.apps.values().filter(wanted).cloned().collect())
    }

    async fn keep_consent(&self, allow: ConsentRecord) -> Result<Authorization, AuthStoreError> {
        let mut state = self.lock();
        let mut new = allow.authorization;
        if !state.is_on(new.user) {
            return Err(AuthStoreError::NoAccount);
        }
        let pair = (new.user, new.app);
        let standing = state.standing.get(&pair).copied();
        if let Some(standing) = standing.and_then(|id| state.authorizations.get(&id)) {
            new = Authorization {
                scopes: new.scopes,
                ..standing.clone()
            };
        }
        let app = state.apps.get(&new.app);
        let code = allow.code.as_ref();
        if app.is_none_or(|app| app.disabled_at.is_some())
            || state.tickets.contains_key(&allow.ticket)
            || standing.is_none() && state.authorizations.contains_key(&new.id)
            || code.is_some_and(|code| state.codes.contains_key(&code.digest))
        {
            return Err(AuthStoreError::Conflict);
        }
        state.tickets.insert(allow.ticket, allow.time);
        if let Some(mut code) = allow.code {
            code.grant = new.id;
            state.codes.insert(code.digest, code);
        }
        state.standing.insert(pair, new.id);
        state.authorizations.insert(new.id, new.clone());
        Ok(new)
    }

    async fn keep_code(
        &self,
        mut code: AuthorizationCode,
    ) -> Result<Authorization, AuthStoreError> {
        let mut state = self.lock();
        if !state.is_on(code.user) {
            return Err(AuthStoreError::NoAccount);
        }
        let standing = state.standing.get(&(code.user, code.app));
        let standing = standing.and_then(|id| state.authorizations.get(id));
        let live = state.apps.get(&code.app);
        let live = live.is_some_and(|app| app.disabled_at.is_none());
        let Some(stands) = standing
            .filter(|stands| stands.scopes.covers(code.scopes))
            .filter(|_| live && !state.codes.contains_key(&code.digest))
            .cloned()
        else {
            return Err(AuthStoreError::Conflict);
        };
        code.grant = stands.id;
        state.codes.insert(code.digest, code);
        Ok(stands)
    }

    async fn authorization(
        &self,
        user: u64,
        app: u64,
    ) -> Result<Option<Authorization>, AuthStoreError> {
        let state = self.lock();
        let id = state.standing.get(&(user, app));
        Ok(id.and_then(|id| state.authorizations.get(id)).cloned())
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
        let mut state = self.lock();
        let live = |a: &&mut Authorization| a.user == user && a.revoked_at.is_none();
        let Some(authorization) = state.authorizations.get_mut(&id).filter(live) else {
            return Ok(false);
        };
        authorization.revoked_at = Some(now);
        let pair = (user, authorization.app);
        state.standing.remove(&pair);
        Ok(true)
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
        let mut state = self.lock();
        let Some(found) = state.codes.get(code).cloned() else {
            return Ok(RedemptionOutcome::Unknown);
        };
        if found.used_at.is_some() {
            // Tokens are only passed for a checked request with the right verifier, so the request was sent
            // twice.
            let again = tokens.is_some() && found.may_be_repeated(now);
            if let Some(refresh) = found.refresh.filter(|_| !again) {
                state.revoke(refresh, now);
            }
            return Ok(RedemptionOutcome::Replayed);
        }
        let tokens = tokens.filter(|_| state.stands(found.grant, found.user, found.app));
        if let Some(IssuedTokens { access, refresh }) = &tokens
            && (state.takes(access)
                || state.takes(refresh)
                || access.id == refresh.id
                || access.digest == refresh.digest)
        {
            return Err(AuthStoreError::Conflict);
        }
        if let Some(code) = state.codes.get_mut(code) {
            code.used_at = Some(now);
            code.refresh = tokens.as_ref().map(|tokens| tokens.refresh.id);
        }
        let Some(IssuedTokens { access, refresh }) = tokens else {
            return Ok(RedemptionOutcome::Spent);
        };
        state.refresh_of.insert(access.id, refresh.id);
        state.refresh_of.insert(refresh.id, refresh.id);
        state.keep(refresh);
        state.keep(access.clone());
        Ok(RedemptionOutcome::Issued(Box::new(state.left(&access))))
    }

    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> Result<Option<TokenRecord>, AuthStoreError> {
        let mut state = self.lock();
        let with = state.tokens.get(&refresh).and_then(|record| {
            let account = state.accounts.get(&record.user)?;
            let left = state.left(record);
            let same = (record.user, record.app, record.grant)
                == (access.user, access.app, access.grant)
                && record.kind == TokenKind::Refresh;
            (same && is_alive(&left, account, now).is_ok()).then_some(record.id)
        });
        let Some(with) = with else {
            return Ok(None);
        };
        if state.takes(&access) {
            return Err(AuthStoreError::Conflict);
        }
        state.refresh_of.insert(access.id, with);
        state.keep(access.clone());
        Ok(Some(state.left(&access)))
    }

    async fn login_of(&self, user: u64) -> Result<Option<Login>, AuthStoreError> {
        Ok(self.lock().logins.get(&user).cloned())
    }

    async fn change_password(&self, change: PasswordChange) -> Result<bool, AuthStoreError> {
        let mut state = self.lock();
        let login = state.logins.get_mut(&change.user);
        let Some(login) = login.filter(|login| is_hash(login, &change.before)) else {
            return Ok(false);
        };
        *login = Login::new(login.email(), change.after);
        state.end_sessions(change.user, change.keep_session);
        if let Some(now) = change.revoke_tokens_at {
            state.revoke_all(change.user, now);
        }
        Ok(true)
    }

    async fn start_session(
        &self,
        session: BrowserSession,
        hash: Option<&Secret>,
    ) -> Result<(), AuthStoreError> {
        let mut state = self.lock();
        let login = state.logins.get(&session.user);
        let stands = |hash: &Secret| login.is_some_and(|login| is_hash(login, hash));
        let right = hash.is_none_or(stands);
        if !right || !state.is_on(session.user) {
            return Err(AuthStoreError::NoAccount);
        }
        if state.sessions.contains_key(&session.digest) {
            return Err(AuthStoreError::Conflict);
        }
        state.sessions.insert(session.digest, session);
        Ok(())
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
        let state = self.lock();
        let own = state.sessions.values().filter(|s| s.user == user);
        let mut own: Vec<BrowserSession> = own.copied().collect();
        own.sort_by_key(|session| (session.created_at, session.digest.0));
        Ok(own)
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
        self.lock().sessions.remove(digest);
        Ok(())
    }

    async fn end_sessions(
        &self,
        user: u64,
        but: Option<SecretDigest>,
    ) -> Result<u64, AuthStoreError> {
        Ok(self.lock().end_sessions(user, but))
    }

    async fn attempt_login(
        &self,
        key: &SecretDigest,
        now: SystemTime,
    ) -> Result<Option<Duration>, AuthStoreError> {
        let mut state = self.lock();
        match LoginAttempts::attempt(state.strikes.get(key).copied(), now) {
            Ok(strikes) => {
                state.strikes.insert(*key, strikes);
                Ok(None)
            }
            Err(wait) => Ok(Some(wait)),
        }
    }

    async fn clear_login_attempts(&self, key: &SecretDigest) -> Result<(), AuthStoreError> {
        self.lock().strikes.remove(key);
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
            .strikes
            .retain(|_, s| keep(forgotten(s).is_none_or(live)));
        Ok(gone)
    }
}
