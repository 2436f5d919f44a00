//! Webhooks in memory.
use super::MemoryStore;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};
use std::time::SystemTime;
use workgraph_auth::{OAuthStore, TokenStore};
use workgraph_core::snapshot::Snapshot;
use workgraph_webhooks::{
    Delivery, Filter, Hook, HookStore, Inserted, Limits, Page, Position, Standing, State,
    StoreError,
};

#[derive(Debug, Default)]
pub(super) struct Hooks {
    hooks: BTreeMap<u64, Hook>,
    log: Vec<Delivery>,
    last: u64,
}

impl MemoryStore {
    fn hooks(&self) -> MutexGuard<'_, Hooks> {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deletes the webhooks of a user whose access was revoked.
    pub(super) fn drop_hooks(&self, user: u64) {
        self.hooks().hooks.retain(|_, hook| hook.user != user);
    }

    /// Deletes the webhooks of apps without a hold.
    pub(super) fn let_go(&self) {
        let mut held = self.hooks();
        let holds = |h: &Hook| h.app.is_none_or(|app| self.tokens.holds(h.user, app));
        held.hooks.retain(|_, hook| holds(hook));
    }
}

#[async_trait]
impl HookStore for MemoryStore {
    async fn insert(&self, mut hook: Hook, limits: Limits) -> Result<Inserted, StoreError> {
        // The graph stands still while the webhook gets its place in the journal.
        let mut graph = self.state();
        let mut held = self.hooks();
        if hook
            .app
            .is_some_and(|app| !self.tokens.holds(hook.user, app))
        {
            return Ok(Inserted::NoHold);
        }
        let count =
            |is: &dyn Fn(&Hook) -> bool| held.hooks.values().filter(|h| is(h)).count() as u64;
        if count(&|h| h.resource == hook.resource) >= limits.per_resource {
            return Ok(Inserted::ResourceFull);
        }
        if count(&|h| (h.user, h.app) == (hook.user, hook.app)) >= limits.per_owner {
            return Ok(Inserted::OwnerFull);
        }
        let seq = graph.seq().map_err(|e| StoreError(e.to_string()))?;
        hook.state.position = Position { seq, facts: 0 };
        held.hooks.insert(hook.id, hook.clone());
        Ok(Inserted::Done(Box::new(hook)))
    }

    async fn all(&self) -> Result<Vec<Hook>, StoreError> {
        Ok(self.hooks().hooks.values().cloned().collect())
    }

    async fn standing(&self, id: u64) -> Result<Standing, StoreError> {
        let Some(hook) = self.hooks().hooks.get(&id).cloned() else {
            return Ok(Standing::Gone);
        };
        let failed = |e: workgraph_auth::StoreError| StoreError(e.to_string());
        let account = self.tokens.account(hook.user).await.map_err(failed)?;
        let works = match hook.app {
            None => true,
            Some(app) => {
                let app = self.tokens.app(app).await.map_err(failed)?;
                app.is_some_and(|app| app.works_in(hook.workspace))
            }
        };
        Ok(Standing::of(account.is_some_and(|a| !a.disabled), works))
    }

    async fn get(&self, id: u64) -> Result<Option<Hook>, StoreError> {
        Ok(self.hooks().hooks.get(&id).cloned())
    }

    async fn list(&self, page: Page) -> Result<Vec<Hook>, StoreError> {
        let held = self.hooks();
        let fits = |h: &&Hook| {
            (h.user, h.app) == page.owner
                && h.workspace == page.workspace
                && h.id > page.after
                && page.resource.is_none_or(|r| h.resource == r)
        };
        Ok(held
            .hooks
            .values()
            .filter(fits)
            .take(page.limit)
            .cloned()
            .collect())
    }

    async fn set_filters(&self, id: u64, filters: Vec<Filter>) -> Result<bool, StoreError> {
        let mut held = self.hooks();
        let hook = held.hooks.get_mut(&id);
        Ok(hook.map(|h| h.filters = filters).is_some())
    }

    async fn remove(&self, id: u64) -> Result<bool, StoreError> {
        let mut held = self.hooks();
        Ok(held.hooks.remove(&id).is_some())
    }

    async fn settle(
        &self,
        id: u64,
        state: State,
        delivery: Option<Delivery>,
    ) -> Result<bool, StoreError> {
        let held = &mut *self.hooks();
        let Some(hook) = held.hooks.get_mut(&id) else {
            return Ok(false);
        };
        hook.state = state;
        if let Some(line) = delivery {
            held.last += 1;
            held.log.push(Delivery {
                id: held.last,
                hook: id,
                ..line
            });
        }
        Ok(true)
    }

    async fn advance(&self, ids: Vec<u64>, seq: u64) -> Result<(), StoreError> {
        let mut held = self.hooks();
        for id in ids {
            if let Some(hook) = held.hooks.get_mut(&id)
                && hook.state.position.seq < seq
            {
                hook.state.position = Position { seq, facts: 0 };
            }
        }
        Ok(())
    }

    async fn deliveries(&self, id: u64, limit: usize) -> Result<Vec<Delivery>, StoreError> {
        let held = self.hooks();
        let there = held.hooks.contains_key(&id);
        let own = held.log.iter().rev().filter(|d| there && d.hook == id);
        Ok(own.take(limit).cloned().collect())
    }

    async fn sweep(&self, before: SystemTime) -> Result<u64, StoreError> {
        let mut held = self.hooks();
        let count = held.log.len();
        held.log.retain(|d| d.at >= before);
        Ok((count - held.log.len()) as u64)
    }
}
