//! Store in memory: the model that other stores are compared with, and a fast store for tests.
mod memory_graph;
mod memory_oauth;
mod memory_webhooks;
#[cfg(feature = "models")]
mod naive_search;
#[cfg(feature = "models")]
mod wave_store;

use self::memory_graph::MemoryGraph;
use self::memory_webhooks::MemoryWebhooks;
#[cfg(feature = "models")]
pub use self::wave_store::{WaveCount, WaveFault, WaveGuesses, WaveOptions, WaveStore, WaveWork};
use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_auth::{
    Account, Login, MemoryTokenStore, Secret, SecretDigest, Tier, TokenRecord, TokenStore,
};
use workgraph_core::audit::{AuditQuery, AuditRow};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::time::Time;
#[cfg(feature = "models")]
use workgraph_core::search::Search;
#[cfg(feature = "models")]
use workgraph_core::storage::ViewerKey;
use workgraph_core::storage::snapshot::Snapshot;
use workgraph_core::storage::{
    Changes, CommitClock, CommitReceipt, EventPage, EventQuery, GraphStore, GraphStoreError,
    JournalEntry, ReadQuery, ReadView, Seq,
};
use workgraph_core::{MaybeInterrupt, engine};

/// Graph, journal and tokens in memory.
///
/// It caches nothing and has one lock around everything, so that its correctness is easy to see.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<MemoryGraph>,
    tokens: MemoryTokenStore,
    hooks: Mutex<MemoryWebhooks>,
    clock: Mutex<CommitClock>,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, MemoryGraph> {
        let mut state = self.state.lock();
        // Only a panic leaves changes to undo.
        state.roll_back();
        state
    }

    /// Returns true if both stores have the same nodes, edges, aliases, values, index entries, journal and audit rows.
    #[must_use]
    pub fn has_same_graph(&self, other: &Self) -> bool {
        let other = other.state().clone();
        *self.state() == other
    }

    /// Returns the highest gid of a node.
    #[must_use]
    pub fn max_gid(&self) -> Option<Gid> {
        self.state().nodes.keys().next_back().copied()
    }
}

#[cfg(feature = "models")]
impl MemoryStore {
    /// Returns the correct results of a search, by looking at every node. `refs` are the nodes that its queries name.
    ///
    /// # Errors
    /// Never fails here; the same rules may fail on other stores.
    pub fn search_naively(
        &self,
        viewer: ViewerKey,
        refs: &[Gid],
        search: &Search,
    ) -> Result<Vec<Gid>, GraphStoreError> {
        naive_search::search(&mut self.state(), viewer, refs, search)
    }

    /// Creates a store with a fault: index entries are never updated, so nodes are found by their old values. Tests must detect
    /// it.
    #[must_use]
    pub fn with_stale_index() -> Self {
        let store = Self::default();
        store.state().old_entries = true;
        store
    }
}

/// Copies everything into a separate store.
impl Clone for MemoryStore {
    fn clone(&self) -> Self {
        let state = self.state().clone();
        let last = state.journal.last().map(|entry| entry.time);
        Self {
            clock: Mutex::new(CommitClock::after(last.unwrap_or_default())),
            state: Mutex::new(state),
            tokens: self.tokens.clone(),
            hooks: Mutex::new(self.hooks.lock().clone()),
        }
    }
}

#[async_trait]
impl GraphStore for MemoryStore {
    async fn load(&self, want: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        let state = &mut *self.state();
        let viewer = engine::viewer(state, want.viewer)?;
        engine::load::load(state, want, Arc::new(viewer))
    }

    async fn commit(&self, mut changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        let state = &mut *self.state();
        self.clock.lock().stamp(&mut changes);
        let done = engine::apply::apply(state, &changes);
        match &done {
            Ok(_) => state.undo.clear(),
            Err(_) => state.roll_back(),
        }
        done
    }

    async fn journal_entries(
        &self,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<JournalEntry>, GraphStoreError> {
        let state = self.state();
        let rest = state.journal.iter().filter(|e| e.seq > after);
        Ok(rest.take(limit).cloned().collect())
    }

    async fn events_about(
        &self,
        ask: EventQuery,
        _interrupt: MaybeInterrupt,
    ) -> Result<EventPage, GraphStoreError> {
        let mut state = self.state();
        let last = state.seq()?;
        let end = ask.after.saturating_add(ask.scan as u64).min(last);
        let looked = state.journal.iter();
        let looked = looked.filter(|e| e.seq > ask.after && e.seq <= end);
        let about = looked.filter(|e| {
            let mut known = e.node_contexts.iter();
            known.any(|n| n.gid == ask.about || n.containers.contains(&ask.about))
        });
        let events: Vec<JournalEntry> = about.take(ask.limit).cloned().collect();
        let full = events.last().filter(|_| events.len() >= ask.limit);
        Ok(EventPage {
            upto: full.map_or(end, |e| e.seq).max(ask.after),
            last,
            pruned: state.journal.first().map_or(last, |e| e.seq - 1),
            events,
        })
    }

    async fn audit_rows(
        &self,
        ask: AuditQuery,
        _interrupt: MaybeInterrupt,
    ) -> Result<Vec<AuditRow>, GraphStoreError> {
        let state = self.state();
        let rows = state.audit.iter().filter(|row| ask.matches(row));
        Ok(rows.take(ask.limit).cloned().collect())
    }

    async fn prune_journal(
        &self,
        before: Time,
        upto: Seq,
        limit: usize,
    ) -> Result<usize, GraphStoreError> {
        let mut state = self.state();
        let end = upto.min(state.seq()?.saturating_sub(1));
        let old = state.journal.iter().take(limit);
        let gone = old.take_while(|e| e.time < before && e.seq <= end).count();
        state.journal.drain(..gone);
        Ok(gone)
    }
}

type TokenStoreResult<T> = Result<T, workgraph_auth::AuthStoreError>;

#[async_trait]
impl TokenStore for MemoryStore {
    async fn find_token(
        &self,
        digest: &SecretDigest,
    ) -> TokenStoreResult<Option<(TokenRecord, Account)>> {
        self.tokens.find_token(digest).await
    }
    async fn insert_token(&self, record: TokenRecord) -> TokenStoreResult<()> {
        self.tokens.insert_token(record).await
    }
    async fn revoke(&self, id: u64, now: SystemTime) -> TokenStoreResult<bool> {
        let done = self.tokens.revoke(id, now).await;
        self.let_go();
        done
    }
    async fn revoke_all(&self, user: u64, now: SystemTime) -> TokenStoreResult<u64> {
        let done = self.tokens.revoke_all(user, now).await;
        self.drop_hooks(user);
        done
    }
    async fn list(&self, user: u64) -> TokenStoreResult<Vec<TokenRecord>> {
        self.tokens.list(user).await
    }
    async fn record_token_uses(&self, used: &[(u64, SystemTime)]) -> TokenStoreResult<()> {
        self.tokens.record_token_uses(used).await
    }
    async fn put_account(&self, account: Account, login: Option<Login>) -> TokenStoreResult<()> {
        self.tokens.put_account(account, login).await
    }
    async fn set_tier(&self, user: u64, tier: Tier) -> TokenStoreResult<()> {
        self.tokens.set_tier(user, tier).await
    }
    async fn set_disabled(
        &self,
        user: u64,
        disabled: bool,
        now: SystemTime,
    ) -> TokenStoreResult<()> {
        let done = self.tokens.set_disabled(user, disabled, now).await;
        if disabled {
            self.drop_hooks(user);
        }
        done
    }
    async fn account(&self, user: u64) -> TokenStoreResult<Option<Account>> {
        self.tokens.account(user).await
    }
    async fn login(&self, email: &str) -> TokenStoreResult<Option<(Account, Secret)>> {
        self.tokens.login(email).await
    }
}
