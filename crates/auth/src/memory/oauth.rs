//! The memory store's OAuth half.
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;

use super::{MemoryTokenStore, State, is_hash};
use crate::authorization::Authorization;
use crate::client::App;
use crate::code::Code;
use crate::grant::alive;
use crate::oauth::{Allow, OAuthStore, PasswordChange, Redeemed, Tokens};
use crate::record::{Account, Login, TokenRecord};
use crate::session::{STRIKES_LIFETIME, Session, Strikes};
use crate::store::StoreError;
use crate::token::{Digest, Secret, TokenKind};

impl State {
    /// Whether an authorization stands, with its account and app, for this user and app.
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
    async fn put_app(&self, app: App, was: Option<&App>) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.apps.get(&app.id) != was {
            return Err(StoreError::Conflict);
        }
        state.apps.insert(app.id, app);
        Ok(())
    }

    async fn app(&self, id: u64) -> Result<Option<Arc<App>>, StoreError> {
        Ok(self.state().apps.get(&id).cloned().map(Arc::new))
    }

    async fn apps(&self, owner: Option<u64>) -> Result<Vec<App>, StoreError> {
        let state = self.state();
        let wanted = |app: &&App| owner.is_none_or(|owner| app.owner == owner);
        Ok(state.apps.values().filter(wanted).cloned().collect())
    }

    async fn allow(&self, allow: Allow) -> Result<Authorization, StoreError> {
        let mut state = self.state();
        let mut new = allow.authorization;
        if !state.is_on(new.user) {
            return Err(StoreError::NoAccount);
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
            return Err(StoreError::Conflict);
        }
        state.tickets.insert(allow.ticket, allow.at);
        if let Some(mut code) = allow.code {
            code.grant = new.id;
            state.codes.insert(code.digest, code);
        }
        state.standing.insert(pair, new.id);
        state.authorizations.insert(new.id, new.clone());
        Ok(new)
    }

    async fn keep_code(&self, mut code: Code) -> Result<Authorization, StoreError> {
        let mut state = self.state();
        if !state.is_on(code.user) {
            return Err(StoreError::NoAccount);
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
            return Err(StoreError::Conflict);
        };
        code.grant = stands.id;
        state.codes.insert(code.digest, code);
        Ok(stands)
    }

    async fn authorization(
        &self,
        user: u64,
        app: u64,
    ) -> Result<Option<Authorization>, StoreError> {
        let state = self.state();
        let id = state.standing.get(&(user, app));
        Ok(id.and_then(|id| state.authorizations.get(id)).cloned())
    }

    async fn authorizations(&self, user: u64) -> Result<Vec<Authorization>, StoreError> {
        let state = self.state();
        let live = |a: &&Authorization| a.user == user && a.revoked_at.is_none();
        Ok(state
            .authorizations
            .values()
            .filter(live)
            .cloned()
            .collect())
    }

    async fn deauthorize(&self, id: u64, user: u64, now: SystemTime) -> Result<bool, StoreError> {
        let mut state = self.state();
        let live = |a: &&mut Authorization| a.user == user && a.revoked_at.is_none();
        let Some(authorization) = state.authorizations.get_mut(&id).filter(live) else {
            return Ok(false);
        };
        authorization.revoked_at = Some(now);
        let pair = (user, authorization.app);
        state.standing.remove(&pair);
        Ok(true)
    }

    async fn code(&self, digest: &Digest) -> Result<Option<Code>, StoreError> {
        Ok(self.state().codes.get(digest).cloned())
    }

    async fn redeem(
        &self,
        code: &Digest,
        tokens: Option<Tokens>,
        now: SystemTime,
    ) -> Result<Redeemed, StoreError> {
        let mut state = self.state();
        let Some(found) = state.codes.get(code).cloned() else {
            return Ok(Redeemed::Unknown);
        };
        if found.used_at.is_some() {
            // Tokens are for a request that was judged, and so has shown the verifier: it came twice.
            let again = tokens.is_some() && found.may_be_repeated(now);
            if let Some(refresh) = found.refresh.filter(|_| !again) {
                state.revoke(refresh, now);
            }
            return Ok(Redeemed::Replayed);
        }
        let tokens = tokens.filter(|_| state.stands(found.grant, found.user, found.app));
        if let Some(Tokens { access, refresh }) = &tokens
            && (state.takes(access)
                || state.takes(refresh)
                || access.id == refresh.id
                || access.digest == refresh.digest)
        {
            return Err(StoreError::Conflict);
        }
        if let Some(code) = state.codes.get_mut(code) {
            code.used_at = Some(now);
            code.refresh = tokens.as_ref().map(|tokens| tokens.refresh.id);
        }
        let Some(Tokens { access, refresh }) = tokens else {
            return Ok(Redeemed::Spent);
        };
        state.refresh_of.insert(access.id, refresh.id);
        state.refresh_of.insert(refresh.id, refresh.id);
        state.keep(refresh);
        state.keep(access.clone());
        Ok(Redeemed::Issued(Box::new(state.left(&access))))
    }

    async fn refresh(
        &self,
        refresh: u64,
        access: TokenRecord,
        now: SystemTime,
    ) -> Result<Option<TokenRecord>, StoreError> {
        let mut state = self.state();
        let with = state.tokens.get(&refresh).and_then(|record| {
            let account = state.accounts.get(&record.user)?;
            let left = state.left(record);
            let same = (record.user, record.app, record.grant)
                == (access.user, access.app, access.grant)
                && record.kind == TokenKind::Refresh;
            (same && alive(&left, account, now).is_ok()).then_some(record.id)
        });
        let Some(with) = with else {
            return Ok(None);
        };
        if state.takes(&access) {
            return Err(StoreError::Conflict);
        }
        state.refresh_of.insert(access.id, with);
        state.keep(access.clone());
        Ok(Some(state.left(&access)))
    }

    async fn login_of(&self, user: u64) -> Result<Option<Login>, StoreError> {
        Ok(self.state().logins.get(&user).cloned())
    }

    async fn change_password(&self, change: PasswordChange) -> Result<bool, StoreError> {
        let mut state = self.state();
        let login = state.logins.get_mut(&change.user);
        let Some(login) = login.filter(|login| is_hash(login, &change.before)) else {
            return Ok(false);
        };
        *login = Login::new(login.email(), change.after);
        state.end_sessions(change.user, change.keep);
        if let Some(now) = change.revoke {
            state.revoke_all(change.user, now);
        }
        Ok(true)
    }

    async fn start_session(
        &self,
        session: Session,
        hash: Option<&Secret>,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        let login = state.logins.get(&session.user);
        let stands = |hash: &Secret| login.is_some_and(|login| is_hash(login, hash));
        let right = hash.is_none_or(stands);
        if !right || !state.is_on(session.user) {
            return Err(StoreError::NoAccount);
        }
        if state.sessions.contains_key(&session.digest) {
            return Err(StoreError::Conflict);
        }
        state.sessions.insert(session.digest, session);
        Ok(())
    }

    async fn session(&self, digest: &Digest) -> Result<Option<(Session, Account)>, StoreError> {
        let state = self.state();
        let session = state.sessions.get(digest);
        Ok(session.and_then(|s| Some((*s, *state.accounts.get(&s.user)?))))
    }

    async fn sessions(&self, user: u64) -> Result<Vec<Session>, StoreError> {
        let state = self.state();
        let own = state.sessions.values().filter(|s| s.user == user);
        let mut own: Vec<Session> = own.copied().collect();
        own.sort_by_key(|session| (session.created_at, session.digest.0));
        Ok(own)
    }

    async fn touch_session(
        &self,
        digest: &Digest,
        address: IpAddr,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        if let Some(session) = self.state().sessions.get_mut(digest)
            && now >= session.last_used_at
        {
            session.last_used_at = now;
            session.address = Some(address);
        }
        Ok(())
    }

    async fn end_session(&self, digest: &Digest) -> Result<(), StoreError> {
        self.state().sessions.remove(digest);
        Ok(())
    }

    async fn end_sessions(&self, user: u64, but: Option<Digest>) -> Result<u64, StoreError> {
        Ok(self.state().end_sessions(user, but))
    }

    async fn attempt_login(
        &self,
        key: &Digest,
        now: SystemTime,
    ) -> Result<Option<Duration>, StoreError> {
        let mut state = self.state();
        match Strikes::attempt(state.strikes.get(key).copied(), now) {
            Ok(strikes) => {
                state.strikes.insert(*key, strikes);
                Ok(None)
            }
            Err(wait) => Ok(Some(wait)),
        }
    }

    async fn forgive_login(&self, key: &Digest) -> Result<(), StoreError> {
        self.state().strikes.remove(key);
        Ok(())
    }

    async fn sweep(&self, before: SystemTime) -> Result<u64, StoreError> {
        let mut guard = self.state();
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
        let forgotten = |s: &Strikes| s.last_at.checked_add(STRIKES_LIFETIME);
        state
            .strikes
            .retain(|_, s| keep(forgotten(s).is_none_or(live)));
        Ok(gone)
    }
}
