//! A store in memory: the model that other stores are compared with, and quick in tests.
mod hooks;
mod oauth;
mod plainly;
mod state;

use self::hooks::Hooks;
use self::state::State;
use async_trait::async_trait;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use workgraph_auth::{
    Account, Digest, Login, MemoryTokenStore, Secret, Tier, TokenRecord, TokenStore,
};
use workgraph_core::audit::{Ask, Row};
use workgraph_core::gid::Gid;
use workgraph_core::graph::{
    Changes, Committed, Event, Fed, Feed, GraphStore, Seq, StoreError, View, ViewerKey, Want,
};
use workgraph_core::search::Search;
use workgraph_core::snapshot::Snapshot;
use workgraph_core::time::Time;
use workgraph_core::{MaybeInterrupt, apply, load};

/// A graph, its journal and its tokens in memory, gone with the value.
///
/// Nothing is cached and there is one lock around everything, so that it is plainly right.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
    tokens: MemoryTokenStore,
    hooks: Mutex<Hooks>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Only a panic leaves something to undo.
        state.roll_back();
        state
    }

    /// What a search should find, from a look at every node. `refs` are what it names.
    ///
    /// # Errors
    /// Never; the rules that are asked may fail elsewhere.
    pub fn search_plainly(
        &self,
        viewer: ViewerKey,
        refs: &[Gid],
        search: &Search,
    ) -> Result<Vec<Gid>, StoreError> {
        plainly::search(&mut self.state(), viewer, refs, search)
    }

    /// A store with a flaw: cards are never renewed, so what was changed is found as it was. For
    /// tests that must notice.
    #[must_use]
    pub fn with_old_cards() -> Self {
        let store = Self::default();
        store.state().old_cards = true;
        store
    }

    /// The highest gid of a node.
    #[must_use]
    pub fn max_gid(&self) -> Option<Gid> {
        self.state().nodes.keys().next_back().copied()
    }
}

#[async_trait]
impl GraphStore for MemoryStore {
    async fn load(&self, want: &Want) -> Result<View, StoreError> {
        let state = &mut *self.state();
        let viewer = load::viewer(state, want.viewer)?;
        load::load(state, want, Arc::new(viewer))
    }

    async fn commit(&self, changes: Changes) -> Result<Committed, StoreError> {
        let state = &mut *self.state();
        let done = apply::apply(state, &changes);
        match &done {
            Ok(_) => state.undo.clear(),
            Err(_) => state.roll_back(),
        }
        done
    }

    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<Event>, StoreError> {
        let state = self.state();
        let rest = state.journal.iter().filter(|e| e.seq > after);
        Ok(rest.take(limit).cloned().collect())
    }

    async fn feed(&self, ask: Feed, _interrupt: MaybeInterrupt) -> Result<Fed, StoreError> {
        let mut state = self.state();
        let last = state.seq()?;
        let end = ask.after.saturating_add(ask.scan as u64).min(last);
        let looked = state.journal.iter();
        let looked = looked.filter(|e| e.seq > ask.after && e.seq <= end);
        let about = looked.filter(|e| {
            let mut known = e.nodes.iter();
            known.any(|n| n.gid == ask.about || n.within.contains(&ask.about))
        });
        let events: Vec<Event> = about.take(ask.limit).cloned().collect();
        let full = events.last().filter(|_| events.len() >= ask.limit);
        Ok(Fed {
            upto: full.map_or(end, |e| e.seq).max(ask.after),
            last,
            pruned: state.journal.first().map_or(last, |e| e.seq - 1),
            events,
        })
    }

    async fn audited(&self, ask: Ask, _interrupt: MaybeInterrupt) -> Result<Vec<Row>, StoreError> {
        let state = self.state();
        let rows = state.audit.iter().filter(|row| ask.fits(row));
        Ok(rows.take(ask.limit).cloned().collect())
    }

    async fn prune(&self, before: Time, upto: Seq, limit: usize) -> Result<usize, StoreError> {
        let mut state = self.state();
        let end = upto.min(state.seq()?.saturating_sub(1));
        let old = state.journal.iter().take(limit);
        let gone = old.take_while(|e| e.at < before && e.seq <= end).count();
        state.journal.drain(..gone);
        Ok(gone)
    }
}

type Tokens<T> = Result<T, workgraph_auth::StoreError>;

#[async_trait]
impl TokenStore for MemoryStore {
    async fn find(&self, digest: &Digest) -> Tokens<Option<(TokenRecord, Account)>> {
        self.tokens.find(digest).await
    }
    async fn insert(&self, record: TokenRecord) -> Tokens<()> {
        self.tokens.insert(record).await
    }
    async fn revoke(&self, id: u64, now: SystemTime) -> Tokens<bool> {
        let done = self.tokens.revoke(id, now).await;
        self.let_go();
        done
    }
    async fn revoke_all(&self, user: u64, now: SystemTime) -> Tokens<u64> {
        let done = self.tokens.revoke_all(user, now).await;
        self.drop_hooks(user);
        done
    }
    async fn list(&self, user: u64) -> Tokens<Vec<TokenRecord>> {
        self.tokens.list(user).await
    }
    async fn touch(&self, used: &[(u64, SystemTime)]) -> Tokens<()> {
        self.tokens.touch(used).await
    }
    async fn put_account(&self, account: Account, login: Option<Login>) -> Tokens<()> {
        self.tokens.put_account(account, login).await
    }
    async fn set_tier(&self, user: u64, tier: Tier) -> Tokens<()> {
        self.tokens.set_tier(user, tier).await
    }
    async fn set_disabled(&self, user: u64, disabled: bool, now: SystemTime) -> Tokens<()> {
        let done = self.tokens.set_disabled(user, disabled, now).await;
        if disabled {
            self.drop_hooks(user);
        }
        done
    }
    async fn account(&self, user: u64) -> Tokens<Option<Account>> {
        self.tokens.account(user).await
    }
    async fn login(&self, email: &str) -> Tokens<Option<(Account, Secret)>> {
        self.tokens.login(email).await
    }
}
