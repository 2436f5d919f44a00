//! Webhooks and the log of their deliveries, in memory.
use super::MemoryStore;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::time::SystemTime;
use workgraph_auth::{OAuthStore, TokenStore};
use workgraph_core::storage::snapshot::Snapshot;
use workgraph_webhooks::{
    AttemptRecord, DeliveryLogEntry, DeliveryPermission, DeliveryStateChange, EventFilter,
    InsertOutcome, InsertionContext, JournalPosition, Webhook, WebhookLimits, WebhookListQuery,
    WebhookStore, WebhookStoreError,
};

#[derive(Clone, Debug, Default)]
pub(super) struct MemoryWebhooks {
    hooks: BTreeMap<u64, Webhook>,
    log: Vec<DeliveryLogEntry>,
    last: u64,
}

impl MemoryStore {
    /// Deletes the webhooks of a user whose access was revoked.
    pub(super) fn drop_hooks(&self, user: u64) {
        self.hooks.lock().hooks.retain(|_, hook| hook.user != user);
    }

    /// Deletes the webhooks of apps that no longer have access to their user.
    pub(super) fn let_go(&self) {
        let mut state = self.hooks.lock();
        let holds = |h: &Webhook| {
            h.app
                .is_none_or(|app| self.tokens.has_live_grant(h.user, app))
        };
        state.hooks.retain(|_, hook| holds(hook));
    }
}

#[async_trait]
impl WebhookStore for MemoryStore {
    async fn insert(
        &self,
        hook: Webhook,
        limits: WebhookLimits,
    ) -> Result<InsertOutcome, WebhookStoreError> {
        // The graph is locked while the webhook gets its journal position.
        let mut graph = self.state();
        let mut state = self.hooks.lock();
        let has_access = hook
            .app
            .is_some_and(|app| self.tokens.has_live_grant(hook.user, app));
        let count =
            |is: &dyn Fn(&Webhook) -> bool| state.hooks.values().filter(|h| is(h)).count() as u64;
        let context = InsertionContext {
            has_access,
            on_resource: count(&|h| h.resource == hook.resource),
            of_owner: count(&|h| (h.user, h.app) == (hook.user, hook.app)),
            last_commit: graph.seq().map_err(|e| WebhookStoreError(e.to_string()))?,
        };
        let outcome = limits.insert(hook, context);
        if let InsertOutcome::Done(hook) = &outcome {
            state.hooks.insert(hook.id, Webhook::clone(hook));
        }
        Ok(outcome)
    }

    async fn all(&self) -> Result<Vec<Webhook>, WebhookStoreError> {
        Ok(self.hooks.lock().hooks.values().cloned().collect())
    }

    async fn delivery_permission(
        &self,
        id: u64,
        scope: &str,
    ) -> Result<DeliveryPermission, WebhookStoreError> {
        let Some(hook) = self.hooks.lock().hooks.get(&id).cloned() else {
            return Ok(DeliveryPermission::Deleted);
        };
        let failed = |e: workgraph_auth::AuthStoreError| WebhookStoreError(e.to_string());
        let account = self.tokens.account(hook.user).await.map_err(failed)?;
        let works = match hook.app {
            None => true,
            Some(app) => {
                let authorization = self.tokens.authorization(hook.user, app).await;
                let authorization = authorization.map_err(failed)?;
                let app = self.tokens.app(app).await.map_err(failed)?;
                authorization
                    .zip(app)
                    .is_some_and(|(live, app)| live.allows(&app, scope, hook.workspace))
            }
        };
        Ok(DeliveryPermission::of(
            account.is_some_and(|a| !a.disabled),
            works,
        ))
    }

    async fn get(&self, id: u64) -> Result<Option<Webhook>, WebhookStoreError> {
        Ok(self.hooks.lock().hooks.get(&id).cloned())
    }

    async fn list(&self, page: WebhookListQuery) -> Result<Vec<Webhook>, WebhookStoreError> {
        let state = self.hooks.lock();
        let fits = |h: &&Webhook| {
            (h.user, h.app) == page.owner
                && h.workspace == page.workspace
                && h.id > page.after
                && page.resource.is_none_or(|r| h.resource == r)
        };
        Ok(state
            .hooks
            .values()
            .filter(fits)
            .take(page.limit)
            .cloned()
            .collect())
    }

    async fn set_filters(
        &self,
        id: u64,
        filters: Vec<EventFilter>,
    ) -> Result<bool, WebhookStoreError> {
        let mut state = self.hooks.lock();
        let hook = state.hooks.get_mut(&id);
        Ok(hook.map(|h| h.filters = filters).is_some())
    }

    async fn remove(&self, id: u64) -> Result<bool, WebhookStoreError> {
        let mut state = self.hooks.lock();
        Ok(state.hooks.remove(&id).is_some())
    }

    async fn record_attempt(
        &self,
        id: u64,
        change: Option<DeliveryStateChange>,
        delivery: Option<DeliveryLogEntry>,
    ) -> Result<AttemptRecord, WebhookStoreError> {
        let webhooks = &mut *self.hooks.lock();
        let Some(hook) = webhooks.hooks.get_mut(&id) else {
            return Ok(AttemptRecord::Deleted);
        };
        if let Some(change) = change {
            if !change.applies_to(&hook.state) {
                return Ok(AttemptRecord::Changed);
            }
            match change.to {
                Some(state) => hook.state = state,
                None => {
                    webhooks.hooks.remove(&id);
                }
            }
        }
        if let Some(line) = delivery {
            webhooks.last += 1;
            webhooks.log.push(DeliveryLogEntry {
                id: webhooks.last,
                webhook: id,
                ..line
            });
        }
        Ok(AttemptRecord::Stored)
    }

    async fn advance_positions(&self, ids: Vec<u64>, seq: u64) -> Result<(), WebhookStoreError> {
        let mut state = self.hooks.lock();
        for id in ids {
            if let Some(hook) = state.hooks.get_mut(&id)
                && hook.state.position.seq < seq
            {
                hook.state.position = JournalPosition { seq, facts: 0 };
            }
        }
        Ok(())
    }

    async fn deliveries(
        &self,
        id: u64,
        limit: usize,
    ) -> Result<Vec<DeliveryLogEntry>, WebhookStoreError> {
        let state = self.hooks.lock();
        let there = state.hooks.contains_key(&id);
        let own = state.log.iter().rev().filter(|d| there && d.webhook == id);
        Ok(own.take(limit).cloned().collect())
    }

    async fn prune_delivery_log(&self, before: SystemTime) -> Result<u64, WebhookStoreError> {
        let mut state = self.hooks.lock();
        let count = state.log.len();
        state.log.retain(|d| d.sent_at >= before);
        Ok((count - state.log.len()) as u64)
    }
}
