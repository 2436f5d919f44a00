//! A store in memory: the reference implementation of the ports, also useful in tests.
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;

use crate::authorization::authorization_code::AuthorizationCode;
use crate::authorization::browser_session::{BrowserSession, LoginAttempts};
use crate::authorization::registered_app::App;
use crate::authorization::user_authorization::{Authorization, TokenContext, effective_record};
use crate::ports::token_store::{AuthStoreError, TokenStore};
use crate::tokens::token_record::{Account, Login, Tier, TokenRecord, normalize_email};
use crate::tokens::token_text::{Secret, SecretDigest, TokenKind};

mod memory_oauth_store;

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
    standing: HashMap<(u64, u64), u64>,
    codes: HashMap<SecretDigest, AuthorizationCode>,
    /// The id of the refresh token on which each issued token depends: its own for a refresh token.
    /// Tokens that are not in this map are independent.
    refresh_of: HashMap<u64, u64>,
    tickets: HashMap<SecretDigest, SystemTime>,
    sessions: HashMap<SecretDigest, BrowserSession>,
    strikes: HashMap<SecretDigest, LoginAttempts>,
}

impl MemoryTokens {
    /// Returns a token in its effective state, as determined by its context.
    fn left(&self, record: &TokenRecord) -> TokenRecord {
        let Some(refresh) = self.refresh_of.get(&record.id) else {
            return record.clone();
        };
        let lineage = TokenContext {
            authorization: record.grant.and_then(|id| self.authorizations.get(&id)),
            app: record.app.and_then(|id| self.apps.get(&id)),
            refresh: self.tokens.get(refresh),
        };
        effective_record(record, lineage)
    }

    /// Returns true if a new token's id or digest is taken.
    fn takes(&self, record: &TokenRecord) -> bool {
        self.tokens.contains_key(&record.id) || self.by_digest.contains_key(&record.digest)
    }

    /// Revokes a token, if it is not revoked yet.
    fn revoke(&mut self, id: u64, now: SystemTime) -> bool {
        let live = self.tokens.get_mut(&id).filter(|t| t.revoked_at.is_none());
        live.map(|record| record.revoked_at = Some(now)).is_some()
    }

    /// Revokes the tokens of a user and withdraws their authorizations; returns their number.
    fn revoke_all(&mut self, user: u64, now: SystemTime) -> u64 {
        let mut ended = 0;
        let tokens = self.tokens.values_mut().filter(|t| t.user == user);
        for token in tokens.filter(|t| t.revoked_at.is_none()) {
            token.revoked_at = Some(now);
            ended += 1;
        }
        let grants = self.authorizations.values_mut().filter(|a| a.user == user);
        for grant in grants.filter(|a| a.revoked_at.is_none()) {
            grant.revoked_at = Some(now);
            ended += 1;
        }
        self.standing.retain(|(owner, _), _| *owner != user);
        ended
    }

    /// Removes the sessions of a user except `but`; returns how many.
    fn end_sessions(&mut self, user: u64, but: Option<SecretDigest>) -> u64 {
        let before = self.sessions.len();
        self.sessions
            .retain(|digest, session| session.user != user || but == Some(*digest));
        before.saturating_sub(self.sessions.len()) as u64
    }

    /// Returns true if a user has an account that is enabled.
    fn is_on(&self, user: u64) -> bool {
        self.accounts.get(&user).is_some_and(|a| !a.disabled)
    }

    /// Returns the account of a user, creating it if needed.
    fn account(&mut self, user: u64) -> &mut Account {
        let new = || Account::new(user, Tier::DEFAULT);
        self.accounts.entry(user).or_insert_with(new)
    }

    fn keep(&mut self, record: TokenRecord) {
        self.by_digest.insert(record.digest, record.id);
        self.tokens.insert(record.id, record);
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
        let standing = state.standing.get(&(user, app)).copied();
        standing.is_some_and(|grant| {
            let lives = |t: &TokenRecord| {
                t.kind == TokenKind::Refresh && t.grant == Some(grant) && t.revoked_at.is_none()
            };
            state.tokens.values().any(lives)
        })
    }
}

/// Copies everything into a separate store.
impl Clone for MemoryTokenStore {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.lock().clone()))
    }
}

/// Returns true if a login has this hash.
fn is_hash(login: &Login, hash: &Secret) -> bool {
    login.hash().expose() == hash.expose()
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
        Ok(
            record
                .and_then(|record| Some((state.left(record), *state.accounts.get(&record.user)?))),
        )
    }

    async fn insert_token(&self, record: TokenRecord) -> Result<(), AuthStoreError> {
        let mut state = self.lock();
        if !state.is_on(record.user) {
            return Err(AuthStoreError::NoAccount);
        }
        if state.takes(&record) {
            return Err(AuthStoreError::Conflict);
        }
        state.keep(record);
        Ok(())
    }

    async fn revoke(&self, id: u64, now: SystemTime) -> Result<bool, AuthStoreError> {
        Ok(self.lock().revoke(id, now))
    }

    async fn revoke_all(&self, user: u64, now: SystemTime) -> Result<u64, AuthStoreError> {
        Ok(self.lock().revoke_all(user, now))
    }

    async fn list(&self, user: u64) -> Result<Vec<TokenRecord>, AuthStoreError> {
        let state = self.lock();
        Ok(state
            .tokens
            .values()
            .filter(|record| record.user == user)
            .map(|record| state.left(record))
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
        let mut state = self.lock();
        if let Some(login) = login {
            if state
                .by_email
                .get(login.email())
                .is_some_and(|user| *user != account.user)
            {
                return Err(AuthStoreError::Conflict);
            }
            state
                .by_email
                .insert(login.email().to_owned(), account.user);
            let new = login.clone();
            let old = state.logins.insert(account.user, login);
            if let Some(old) = old.as_ref().filter(|old| old.email() != new.email()) {
                state.by_email.remove(old.email());
            }
            let same = |old: Login| old.email() == new.email() && is_hash(&old, new.hash());
            if !old.is_some_and(same) {
                state.end_sessions(account.user, None);
            }
        }
        let held = state.accounts.entry(account.user).or_insert(account);
        held.tier = account.tier;
        Ok(())
    }

    async fn set_tier(&self, user: u64, tier: Tier) -> Result<(), AuthStoreError> {
        self.lock().account(user).tier = tier;
        Ok(())
    }

    async fn set_disabled(
        &self,
        user: u64,
        disabled: bool,
        now: SystemTime,
    ) -> Result<(), AuthStoreError> {
        let mut state = self.lock();
        state.account(user).disabled = disabled;
        if disabled {
            state.revoke_all(user, now);
            state.end_sessions(user, None);
        }
        Ok(())
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
