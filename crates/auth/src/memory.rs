//! A store in memory: the reference for what the ports mean, and handy in tests.
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;

use crate::authorization::{Authorization, Lineage, as_left};
use crate::client::App;
use crate::code::Code;
use crate::record::{Account, Login, Tier, TokenRecord, fold_email};
use crate::session::{Session, Strikes};
use crate::store::{StoreError, TokenStore};
use crate::token::{Digest, Secret, TokenKind};

mod oauth;

/// Everything in memory, gone with the value.
#[derive(Debug, Default)]
pub struct MemoryTokenStore(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    accounts: HashMap<u64, Account>,
    logins: HashMap<u64, Login>,
    tokens: BTreeMap<u64, TokenRecord>,
    by_digest: HashMap<Digest, u64>,
    by_email: HashMap<String, u64>,
    apps: BTreeMap<u64, App>,
    authorizations: BTreeMap<u64, Authorization>,
    /// The live authorization of each user and app.
    standing: HashMap<(u64, u64), u64>,
    codes: HashMap<Digest, Code>,
    /// The refresh token that each issued token hangs on: its own for a refresh token. Tokens that
    /// are not in here stand alone.
    refresh_of: HashMap<u64, u64>,
    tickets: HashMap<Digest, SystemTime>,
    sessions: HashMap<Digest, Session>,
    strikes: HashMap<Digest, Strikes>,
}

impl State {
    /// A token as its lineage leaves it now.
    fn left(&self, record: &TokenRecord) -> TokenRecord {
        let Some(refresh) = self.refresh_of.get(&record.id) else {
            return record.clone();
        };
        let lineage = Lineage {
            authorization: record.grant.and_then(|id| self.authorizations.get(&id)),
            app: record.app.and_then(|id| self.apps.get(&id)),
            refresh: self.tokens.get(refresh),
        };
        as_left(record, lineage)
    }

    /// Whether a new token's id or digest is taken.
    fn takes(&self, record: &TokenRecord) -> bool {
        self.tokens.contains_key(&record.id) || self.by_digest.contains_key(&record.digest)
    }

    /// Marks a token revoked, if it is not yet.
    fn revoke(&mut self, id: u64, now: SystemTime) -> bool {
        let live = self.tokens.get_mut(&id).filter(|t| t.revoked_at.is_none());
        live.map(|record| record.revoked_at = Some(now)).is_some()
    }

    /// Revokes the tokens of a user and withdraws their authorizations; says how many.
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

    /// Forgets the sessions of a user but one; says how many.
    fn end_sessions(&mut self, user: u64, but: Option<Digest>) -> u64 {
        let before = self.sessions.len();
        self.sessions
            .retain(|digest, session| session.user != user || but == Some(*digest));
        before.saturating_sub(self.sessions.len()) as u64
    }

    /// Whether a user has an account that is switched on.
    fn is_on(&self, user: u64) -> bool {
        self.accounts.get(&user).is_some_and(|a| !a.disabled)
    }

    /// The account of a user, made if there is none.
    fn account(&mut self, user: u64) -> &mut Account {
        let new = || Account::new(user, Tier::Free);
        self.accounts.entry(user).or_insert_with(new)
    }

    fn keep(&mut self, record: TokenRecord) {
        self.by_digest.insert(record.digest, record.id);
        self.tokens.insert(record.id, record);
    }
}

impl MemoryTokenStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether an app has a hold on a user: a refresh token that lives, under an authorization that
    /// stands.
    #[must_use]
    pub fn holds(&self, user: u64, app: u64) -> bool {
        let state = self.state();
        let standing = state.standing.get(&(user, app)).copied();
        standing.is_some_and(|grant| {
            let lives = |t: &TokenRecord| {
                t.kind == TokenKind::Refresh && t.grant == Some(grant) && t.revoked_at.is_none()
            };
            state.tokens.values().any(lives)
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change below is checked first and then made, so a poisoned state is a whole one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a login has this hash.
fn is_hash(login: &Login, hash: &Secret) -> bool {
    login.hash().expose() == hash.expose()
}

#[async_trait]
impl TokenStore for MemoryTokenStore {
    async fn find(&self, digest: &Digest) -> Result<Option<(TokenRecord, Account)>, StoreError> {
        let state = self.state();
        let record = state
            .by_digest
            .get(digest)
            .and_then(|id| state.tokens.get(id));
        Ok(
            record
                .and_then(|record| Some((state.left(record), *state.accounts.get(&record.user)?))),
        )
    }

    async fn insert(&self, record: TokenRecord) -> Result<(), StoreError> {
        let mut state = self.state();
        if !state.is_on(record.user) {
            return Err(StoreError::NoAccount);
        }
        if state.takes(&record) {
            return Err(StoreError::Conflict);
        }
        state.keep(record);
        Ok(())
    }

    async fn revoke(&self, id: u64, now: SystemTime) -> Result<bool, StoreError> {
        Ok(self.state().revoke(id, now))
    }

    async fn revoke_all(&self, user: u64, now: SystemTime) -> Result<u64, StoreError> {
        Ok(self.state().revoke_all(user, now))
    }

    async fn list(&self, user: u64) -> Result<Vec<TokenRecord>, StoreError> {
        let state = self.state();
        Ok(state
            .tokens
            .values()
            .filter(|record| record.user == user)
            .map(|record| state.left(record))
            .collect())
    }

    async fn touch(&self, used: &[(u64, SystemTime)]) -> Result<(), StoreError> {
        let mut state = self.state();
        for (id, at) in used {
            if let Some(record) = state.tokens.get_mut(id) {
                record.last_used_at = record.last_used_at.max(Some(*at));
            }
        }
        Ok(())
    }

    async fn put_account(&self, account: Account, login: Option<Login>) -> Result<(), StoreError> {
        let mut state = self.state();
        if let Some(login) = login {
            if state
                .by_email
                .get(login.email())
                .is_some_and(|user| *user != account.user)
            {
                return Err(StoreError::Conflict);
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

    async fn set_tier(&self, user: u64, tier: Tier) -> Result<(), StoreError> {
        self.state().account(user).tier = tier;
        Ok(())
    }

    async fn set_disabled(
        &self,
        user: u64,
        disabled: bool,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        let mut state = self.state();
        state.account(user).disabled = disabled;
        if disabled {
            state.revoke_all(user, now);
            state.end_sessions(user, None);
        }
        Ok(())
    }

    async fn account(&self, user: u64) -> Result<Option<Account>, StoreError> {
        Ok(self.state().accounts.get(&user).copied())
    }

    async fn login(&self, email: &str) -> Result<Option<(Account, Secret)>, StoreError> {
        let state = self.state();
        let user = state.by_email.get(&fold_email(email));
        Ok(user.and_then(|user| {
            Some((
                *state.accounts.get(user)?,
                state.logins.get(user)?.hash().clone(),
            ))
        }))
    }
}
