//! Webhooks and the log of their deliveries, in the same file and through the same writer as the graph.
use crate::open_error::failed;
use crate::sqlite_store::SqliteStore;
use crate::statements::Sql;
use crate::tables::auth_rows::{maybe_number, millis, unavailable, whole};
use crate::tables::webhook_table::{
    change_state, count, delivery, filters_text, has_authorization, hook, refused, signed,
};
use crate::transaction::SqliteTransaction;
use async_trait::async_trait;
use rusqlite::Row;
use std::time::SystemTime;
use workgraph_auth::OAuthStore;
use workgraph_core::storage::snapshot::Snapshot;
use workgraph_webhooks::{
    AttemptRecord, DeliveryLogEntry, DeliveryPermission, DeliveryStateChange, EventFilter,
    InsertOutcome, InsertionContext, Webhook, WebhookLimits, WebhookListQuery, WebhookStore,
    WebhookStoreError,
};

fn broken(error: impl std::fmt::Display) -> WebhookStoreError {
    WebhookStoreError(error.to_string())
}

impl SqliteStore {
    fn hooks(
        &self,
        sql: Sql,
        params: impl rusqlite::Params + Clone,
    ) -> Result<Vec<Webhook>, WebhookStoreError> {
        let read = |tx: &mut SqliteTransaction<'_>| {
            let mut all = Vec::new();
            let each = |row: &Row<'_>| hook(row).map(|h| all.push(h));
            tx.each(sql, params.clone(), each).map_err(failed)?;
            Ok(all)
        };
        self.readers.read(read).map_err(broken)
    }

    /// Runs work on webhooks in a transaction.
    async fn on_hooks<T: Send + 'static>(
        &self,
        work: impl Fn(&mut SqliteTransaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, WebhookStoreError> {
        let work = move |tx: &mut SqliteTransaction<'_>| work(tx).map_err(refused);
        self.writer.work(work).await.map_err(broken)
    }
}

/// Maximum number of rows of the log that are dropped at once.
const ROUND: i64 = 1_000;

#[async_trait]
impl WebhookStore for SqliteStore {
    async fn insert(
        &self,
        hook: Webhook,
        limits: WebhookLimits,
    ) -> Result<InsertOutcome, WebhookStoreError> {
        let work = move |tx: &mut SqliteTransaction<'_>| {
            let has_access = match hook.app {
                Some(app) => has_authorization(tx, hook.user, app).map_err(refused)?,
                None => false,
            };
            let on_resource = count(tx, Sql::CountHooksOn, [signed(hook.resource)]);
            let owner = (signed(hook.user), hook.app.map(signed));
            let context = InsertionContext {
                has_access,
                on_resource: on_resource.map_err(refused)?,
                of_owner: count(tx, Sql::CountHooksOf, owner).map_err(refused)?,
                last_commit: tx.seq().map_err(unavailable)?,
            };
            let outcome = limits.insert(hook.clone(), context);
            let InsertOutcome::Done(hook) = &outcome else {
                return Ok(outcome);
            };
            let params = rusqlite::params![
                signed(hook.id),
                signed(hook.user),
                hook.app.map(signed),
                hook.service.map(signed),
                signed(hook.workspace),
                signed(hook.resource),
                hook.kind,
                hook.target,
                hook.secret,
                filters_text(&hook.filters),
                millis(hook.created_at),
                signed(hook.state.position.seq),
                hook.state.last_success_at.map(millis),
            ];
            tx.run(Sql::InsertHook, params).map_err(refused)?;
            Ok(outcome)
        };
        self.writer.work(work).await.map_err(broken)
    }

    async fn all(&self) -> Result<Vec<Webhook>, WebhookStoreError> {
        self.hooks(Sql::Hooks, [])
    }

    async fn delivery_permission(
        &self,
        id: u64,
        scope: &str,
    ) -> Result<DeliveryPermission, WebhookStoreError> {
        let found = self.one_row(Sql::HookPermission, [signed(id)], |row| {
            Ok((
                maybe_number(row, 0)?,
                whole(row, 1)?,
                row.get::<_, bool>(2)?,
                whole(row, 3)?,
            ))
        });
        let Some((app, workspace, off, user)) = found.map_err(broken)? else {
            return Ok(DeliveryPermission::Deleted);
        };
        let works = match app {
            None => true,
            Some(app) => {
                let authorization = self.authorization(user, app).await.map_err(broken)?;
                let app = self.app(app).await.map_err(broken)?;
                authorization
                    .zip(app)
                    .is_some_and(|(live, app)| live.allows(&app, scope, workspace))
            }
        };
        Ok(DeliveryPermission::of(!off, works))
    }

    async fn get(&self, id: u64) -> Result<Option<Webhook>, WebhookStoreError> {
        Ok(self.hooks(Sql::Hook, [signed(id)])?.pop())
    }

    async fn list(&self, page: WebhookListQuery) -> Result<Vec<Webhook>, WebhookStoreError> {
        let params = (
            signed(page.owner.0),
            page.owner.1.map(signed),
            signed(page.workspace),
            signed(page.after),
            page.resource.map(signed),
            signed(page.limit as u64),
        );
        self.hooks(Sql::HooksOf, params)
    }

    async fn set_filters(
        &self,
        id: u64,
        filters: Vec<EventFilter>,
    ) -> Result<bool, WebhookStoreError> {
        let text = filters_text(&filters);
        self.on_hooks(move |tx| {
            let changed = tx.run(Sql::SetFilters, (signed(id), &text))?;
            Ok(changed > 0)
        })
        .await
    }

    async fn remove(&self, id: u64) -> Result<bool, WebhookStoreError> {
        self.on_hooks(move |tx| Ok(tx.run(Sql::DropHook, [signed(id)])? > 0))
            .await
    }

    async fn record_attempt(
        &self,
        id: u64,
        change: Option<DeliveryStateChange>,
        delivery: Option<DeliveryLogEntry>,
    ) -> Result<AttemptRecord, WebhookStoreError> {
        self.on_hooks(move |tx| {
            let changed = match &change {
                Some(change) => change_state(tx, id, change)?,
                None => 0,
            };
            if changed == 0 {
                if tx.one(Sql::HookExists, [signed(id)], |_| Ok(()))?.is_none() {
                    return Ok(AttemptRecord::Deleted);
                }
                if change.is_some() {
                    return Ok(AttemptRecord::Changed);
                }
            }
            if let Some(line) = &delivery {
                let params = rusqlite::params![
                    signed(id),
                    millis(line.sent_at),
                    signed(line.from.seq),
                    line.from.facts,
                    signed(line.to.seq),
                    line.to.facts,
                    line.events,
                    line.attempt,
                    line.status,
                    line.error,
                ];
                tx.run(Sql::InsertDelivery, params)?;
            }
            Ok(AttemptRecord::Stored)
        })
        .await
    }

    async fn advance_positions(&self, ids: Vec<u64>, seq: u64) -> Result<(), WebhookStoreError> {
        self.on_hooks(move |tx| {
            for id in &ids {
                tx.run(Sql::AdvanceHook, (signed(*id), signed(seq)))?;
            }
            Ok(())
        })
        .await
    }

    async fn deliveries(
        &self,
        id: u64,
        limit: usize,
    ) -> Result<Vec<DeliveryLogEntry>, WebhookStoreError> {
        let params = (signed(id), signed(limit as u64));
        let read = |tx: &mut SqliteTransaction<'_>| {
            let mut all = Vec::new();
            let each = |row: &Row<'_>| delivery(row).map(|d| all.push(d));
            tx.each(Sql::Deliveries, params, each).map_err(failed)?;
            Ok(all)
        };
        self.readers.read(read).map_err(broken)
    }

    async fn prune_delivery_log(&self, before: SystemTime) -> Result<u64, WebhookStoreError> {
        let mut gone = 0;
        loop {
            let round = self
                .on_hooks(move |tx| tx.run(Sql::SweepDeliveries, (millis(before), ROUND)))
                .await? as u64;
            gone += round;
            if round < ROUND as u64 {
                return Ok(gone);
            }
        }
    }
}
