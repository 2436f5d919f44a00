//! A store in memory: the reference implementation of the ports, also useful in tests.
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;

use crate::authorization::authorization_code::AuthorizationCode;
use crate::authorization::browser_session::{BrowserSession, LoginAttempts};
use crate::authorization::registered_app::App;
use crate::authorization::user_authorization::Authorization;
use crate::ports::token_store::{AuthStoreError, TokenStore};
use crate::rules::{self, TokenAncestors, UserAccess};
use crate::tokens::token_record::{Account, Login, Tier, TokenRecord, normalize_email};
use crate::tokens::token_text::{Secret, SecretDigest, TokenKind};

mod memory_oauth_store;
mod memory_writes;

/// Store that keeps everything in memory and loses it when dropped.
#[derive(Debug, Default)]
pub struct MemoryTokenStore(Mutex<MemoryTokens>);

#[derive(Clone, Debug, Default)]
struct MemoryTokens {
    accounts: HashMap<u64, Account>,
    logins: HashMap<u64, Login>,
    tokens: BTreeMap<u64, TokenRecord>,
    by_digest: HashMap<SecretDigest, u64>,
    by_email: HashMap<String, u64>,
    apps: BTreeMap<u64, App>,
    authorizations: BTreeMap<u64, Authorization>,
    /// The live authorization of each user and app.
    live_authorizations: HashMap<(u64, u64), u64>,
    codes: HashMap<SecretDigest, AuthorizationCode>,
    /// The id of the refresh token on which each issued token depends: its own for a refresh token.
    /// Tokens that are not in this map are independent.
    refresh_of: HashMap<u64, u64>,
    tickets: HashMap<SecretDigest, SystemTime>,
    sessions: HashMap<SecretDigest, BrowserSession>,
    login_attempts: HashMap<SecretDigest, LoginAttempts>,
}

impl MemoryTokens {
    /// Returns the records on which an issued token depends; `None` for an independent one.
    fn ancestors(&self, token: &TokenRecord) -> Option<TokenAncestors> {
        let refresh = self.refresh_of.get(&token.id)?;
        let authorization = token.grant.and_then(|id| self.authorizations.get(&id));
        let app = token.app.and_then(|id| self.apps.get(&id));
        Some(TokenAncestors {
            authorization: authorization.cloned(),
            app: app.cloned(),
            refresh: self.tokens.get(refresh).cloned(),
        })
    }

    fn effective(&self, token: &TokenRecord) -> TokenRecord {
        let ancestors = self.ancestors(token);
        ancestors.map_or_else(|| token.clone(), |ancestors| ancestors.effective(token))
    }

    fn live_authorization(&self, user: u64, app: u64) -> Option<&Authorization> {
        let id = self.live_authorizations.get(&(user, app))?;
        self.authorizations.get(id)
    }

    /// Returns the sessions of a user, in order of creation.
    fn sessions_of(&self, user: u64) -> Vec<BrowserSession> {
        let own = self.sessions.values().filter(|s| s.user == user);
        let mut own: Vec<BrowserSession> = own.copied().collect();
        own.sort_by_key(|session| (session.created_at, session.digest.0));
        own
    }

    /// Returns the tokens and authorizations of a user that have not ended.
    fn access_of(&self, user: u64) -> UserAccess {
        let tokens = self.tokens.values();
        let tokens = tokens.filter(|token| token.user == user && token.revoked_at.is_none());
        let live = self.authorizations.values();
        let live = live.filter(|live| live.user == user && live.revoked_at.is_none());
        let name = |live: &Authorization| self.apps.get(&live.app).map(|app| app.name.clone());
        UserAccess {
            tokens: tokens.cloned().collect(),
            authorized_apps: live.map(name).collect(),
        }
    }
}

impl MemoryTokenStore {
    /// Makes an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the tables. Each change is atomic, so they are consistent even after another thread panicked.
    fn lock(&self) -> MutexGuard<'_, MemoryTokens> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if an app has a live grant of a user: a live refresh token, under an
    /// authorization that is still valid.
    #[must_use]
    pub fn has_live_grant(&self, user: u64, app: u64) -> bool {
        let state = self.lock();
        let live = state.live_authorizations.get(&(user, app)).copied();
        live.is_some_and(|grant| {
            let is_live = |t: &TokenRecord| {
                t.kind == TokenKind::Refresh && t.grant == Some(grant) && t.revoked_at.is_none()
            };
            state.tokens.values().any(is_live)
        })
    }
}

/// Copies everything into a separate store.
impl Clone for MemoryTokenStore {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.lock().clone()))
    }
}

#[async_trait]
impl TokenStore for MemoryTokenStore {
    async fn find_token(
        &self,
        digest: &SecretDigest,
    ) -> Result<Option<(TokenRecord, Account)>, AuthStoreError> {
        let state = self.lock();
        let record = state
            .by_digest
            .get(digest)
            .and_then(|id| state.tokens.get(id));
        Ok(record
            .and_then(|record| Some((state.effective(record), *state.accounts.get(&record.user)?))))
    }

    async fn insert_token(&self, record: TokenRecord) -> Result<(), AuthStoreError> {
        self.decide(|state| rules::insert_token(state.accounts.get(&record.user), record))
    }

    async fn revoke(&self, id: u64, now: SystemTime) -> Result<bool, AuthStoreError> {
        self.decide(|state| Ok(rules::revoke_token(state.tokens.get(&id), now)))
    }

    async fn revoke_all(&self, user: u64, now: SystemTime) -> Result<u64, AuthStoreError> {
        self.decide(|state| Ok(rules::revoke_all(user, &state.access_of(user), now)))
    }

    async fn list(&self, user: u64) -> Result<Vec<TokenRecord>, AuthStoreError> {
        let state = self.lock();
        Ok(state
            .tokens
            .values()
            .filter(|record| record.user == user)
            .map(|record| state.effective(record))
            .collect())
    }

    async fn record_token_uses(&self, used: &[(u64, SystemTime)]) -> Result<(), AuthStoreError> {
        let mut state = self.lock();
        for (id, at) in used {
            if let Some(record) = state.tokens.get_mut(id) {
                record.last_used_at = record.last_used_at.max(Some(*at));
            }
        }
        Ok(())
    }

    async fn put_account(
        &self,
        account: Account,
        login: Option<Login>,
    ) -> Result<(), AuthStoreError> {
        self.decide(|state| {
            let user = account.user;
            let before = (state.accounts.get(&user), state.logins.get(&user));
            let sessions = state.sessions_of(user);
            Ok(rules::put_account(before, &sessions, account, login))
        })
    }

    async fn set_tier(&self, user: u64, tier: Tier) -> Result<(), AuthStoreError> {
        self.decide(|_| Ok(rules::set_tier(user, tier)))
    }

    async fn set_disabled(
        &self,
        user: u64,
        disabled: bool,
        now: SystemTime,
    ) -> Result<(), AuthStoreError> {
        self.decide(|state| {
            let (access, sessions) = (state.access_of(user), state.sessions_of(user));
            let (account, ends) = (state.accounts.get(&user), (&access, &*sessions));
            Ok(rules::set_disabled(account, ends, (user, disabled), now))
        })
    }

    async fn account(&self, user: u64) -> Result<Option<Account>, AuthStoreError> {
        Ok(self.lock().accounts.get(&user).copied())
    }

    async fn login(&self, email: &str) -> Result<Option<(Account, Secret)>, AuthStoreError> {
        let state = self.lock();
        let user = state.by_email.get(&normalize_email(email));
        Ok(user.and_then(|user| {
            Some((
                *state.accounts.get(user)?,
                state.logins.get(user)?.hash().clone(),
            ))
        }))
    }
}
