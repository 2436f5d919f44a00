//! The content of a delivery: the events after a position, as the webhook's owner may see them.
use super::scheduler::occurrence;
use crate::error::ApiError;
use crate::execute::allowance_retry;
use crate::features::events::{EventPosition, EventRecords, PositionedEvent, events_after};
use crate::state::Api;
use std::sync::{Arc, OnceLock};
use workgraph_core::access::Level;
use workgraph_core::model::gid::GID_END;
use workgraph_core::plan;
use workgraph_core::plan::Plan;
use workgraph_core::projection::projector::Projector;
use workgraph_core::storage::{EventQuery, JournalEntry, NodeRef, ReadQuery, ViewerKey};
use workgraph_core::{Gid, MaybeInterrupt, Type, byte_budgets};
use workgraph_webhooks::delivery_id::{Uuid, delivery_id};
use workgraph_webhooks::{DeliveryPermission, JournalPosition, Webhook};

/// Maximum number of events per delivery.
pub(crate) const DELIVERY_EVENTS_MAX: usize = 100;
/// Maximum number of commits read for one delivery.
const SCANNED_COMMITS_MAX: usize = 50_000;

/// Events that one delivery sends.
pub(crate) struct DeliveryBatch {
    pub(crate) body: Vec<u8>,
    /// The ids of the events, separated by commas.
    pub(crate) ids: String,
    pub(crate) count: u32,
    /// The position after the last event.
    pub(crate) end_position: JournalPosition,
}

impl DeliveryBatch {
    /// Returns a batch without events, up to a position.
    pub(crate) fn empty(to: JournalPosition) -> Self {
        Self {
            body: br#"{"events":[]}"#.to_vec(),
            ids: String::new(),
            count: 0,
            end_position: to,
        }
    }
}

impl DeliveryBatch {
    /// Returns the id for the delivery of these events to a webhook: the same at each attempt, even after a restart.
    pub(crate) fn delivery_id(&self, webhook: u64) -> Uuid {
        // Deliveries without events differ by their position.
        let JournalPosition { seq, facts } = self.end_position;
        match self.ids.as_str() {
            "" => delivery_id(webhook, &format!("{seq}.{facts}")),
            ids => delivery_id(webhook, ids),
        }
    }
}

impl From<EventPosition> for JournalPosition {
    fn from(position: EventPosition) -> Self {
        Self {
            seq: position.seq,
            facts: position.changes_seen,
        }
    }
}

/// Returns the plan of the fields that a delivery contains for each event.
fn delivery_plan() -> Arc<Plan> {
    static PLAN: OnceLock<Arc<Plan>> = OnceLock::new();
    Arc::clone(PLAN.get_or_init(|| Arc::new(plan::full(Type::Event).reference_only())))
}

impl Api {
    /// Returns the events after a position that pass the webhook's filters and are visible to its owner. A batch has at most
    /// the events of one delivery. This maximum, and the number of commits that are read, are halved `narrowed` times.
    ///
    /// # Errors
    /// Fails when the store fails, or the work is stopped.
    pub(crate) async fn batch(
        &self,
        webhook: &Webhook,
        permission: DeliveryPermission,
        (after, end): (JournalPosition, Option<JournalPosition>),
        narrowed: u32,
        interrupt: &MaybeInterrupt,
    ) -> Result<DeliveryBatch, ApiError> {
        let (Some(at), Some(user)) = (Gid::new(webhook.resource), Gid::new(webhook.user)) else {
            return Ok(DeliveryBatch::empty(after));
        };
        let ask = EventQuery {
            about: at,
            after: after.seq,
            limit: DELIVERY_EVENTS_MAX + 1,
            scan: SCANNED_COMMITS_MAX >> narrowed,
        };
        let fed = self.watched_commits(webhook, ask, interrupt).await?;
        let mut most = (DELIVERY_EVENTS_MAX >> narrowed).max(1);
        loop {
            let of = (webhook, at, user, interrupt);
            let batch = self.at_most(most, of, permission, (after, end), &fed).await;
            match batch {
                // Retries with fewer events; an event too large for any delivery is skipped, so that the webhook does not
                // get stuck.
                Err(failure) if failure.is_too_large() && most > 1 => most /= 2,
                Err(failure) if failure.is_too_large() => most = 0,
                batch => return batch,
            }
        }
    }

    /// Returns a batch of at most `most` events; if `most` is 0, one event is skipped.
    async fn at_most(
        &self,
        most: usize,
        (webhook, at, user, interrupt): (&Webhook, Gid, Gid, &MaybeInterrupt),
        permission: DeliveryPermission,
        (after, end): (JournalPosition, Option<JournalPosition>),
        (events, upto): &(Vec<Arc<JournalEntry>>, u64),
    ) -> Result<DeliveryBatch, ApiError> {
        let position = EventPosition {
            seq: after.seq,
            changes_seen: after.facts,
        };
        let mut all = events_after(events.iter().map(AsRef::as_ref), at, position).filter(|t| {
            webhook.wants(&occurrence(t.event, t.change, &t.summary))
                && end.is_none_or(|end| JournalPosition::from(t.next_position) <= end)
        });
        let some: Vec<PositionedEvent<'_>> = all.by_ref().take(most.max(1)).collect();
        let rest = all.next().is_some();
        let to = match some.last() {
            Some(last) if rest => last.next_position.into(),
            _ => JournalPosition {
                seq: (*upto).max(after.seq),
                facts: if *upto > after.seq { 0 } else { after.facts },
            },
        };
        if permission != DeliveryPermission::Active || some.is_empty() {
            return Ok(DeliveryBatch::empty(to));
        }
        if most == 0 {
            let event = some.first().map(|positioned| positioned.event.seq);
            tracing::warn!(
                webhook = webhook.id,
                event,
                "an event is too large to be delivered"
            );
            return Ok(DeliveryBatch::empty(to));
        }
        let Some(records) = self
            .visible_events(webhook, at, user, &some, interrupt)
            .await?
        else {
            return Ok(DeliveryBatch::empty(to));
        };
        let project = || {
            let mut out = Vec::with_capacity(32 + records.gids.len() * 320);
            out.extend_from_slice(br#"{"events":"#);
            let base_url = &self.settings.base_url;
            let mut projector =
                Projector::appending(out, &records.view, base_url, byte_budgets::DELIVERY_BYTES);
            projector.list(&records.gids, &delivery_plan());
            projector.finish()
        };
        let (mut body, _) = allowance_retry::compute(&records.view.interrupt, project).await?;
        body.push(b'}');
        let id = |gid: &Gid| {
            let positioned = some.get(usize::try_from(GID_END - 1 - gid.get()).ok()?)?;
            Some(format!("{}-{}", positioned.event.seq, positioned.index))
        };
        let ids: Vec<String> = records.gids.iter().filter_map(id).collect();
        Ok(DeliveryBatch {
            body,
            ids: ids.join(","),
            count: u32::try_from(records.gids.len()).unwrap_or(u32::MAX),
            end_position: to,
        })
    }

    /// Returns the commits about the resource of a webhook, and the last commit that was read: from memory if all of
    /// them are there.
    async fn watched_commits(
        &self,
        webhook: &Webhook,
        ask: EventQuery,
        interrupt: &MaybeInterrupt,
    ) -> Result<(Vec<Arc<JournalEntry>>, u64), ApiError> {
        let service = self.webhooks.get();
        if let Some(found) = service.and_then(|service| service.scheduler.lock().recent.feed(ask)) {
            return Ok(found);
        }
        let trip = || self.graph.events_about(ask, interrupt.clone());
        let fed = allowance_retry::query_store(interrupt, trip).await?;
        if ask.after < fed.pruned {
            tracing::warn!(
                webhook = webhook.id,
                "events were dropped before they were delivered"
            );
        }
        Ok((fed.events.into_iter().map(Arc::new).collect(), fed.upto))
    }

    /// Returns the events as visible to the webhook's owner; `None` if the owner may see nothing.
    async fn visible_events(
        &self,
        webhook: &Webhook,
        at: Gid,
        user: Gid,
        some: &[PositionedEvent<'_>],
        interrupt: &MaybeInterrupt,
    ) -> Result<Option<EventRecords>, ApiError> {
        let key = ViewerKey {
            user,
            service: webhook.service.and_then(Gid::new),
        };
        let want = ReadQuery {
            interrupt: interrupt.clone(),
            ..ReadQuery::of(key).node(at)
        };
        let mut records = match EventRecords::load(self, want, at, some, &delivery_plan()).await {
            Ok(records) => records,
            // The owner has no workspace membership, so there is nothing to see.
            Err(ApiError::Unauthorized(..)) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        match records.view.resolve(&NodeRef::Gid(at)) {
            Some(at) if records.view.level(at) == Level::None => return Ok(None),
            Some(_) => {}
            // The resource of the webhook is deleted: its deletion is the last event.
            None => records.gids.retain(|gid| {
                let positioned = usize::try_from(GID_END - 1 - gid.get()).ok();
                positioned
                    .and_then(|i| some.get(i))
                    .is_some_and(|t| t.change.gid == at)
            }),
        }
        Ok(Some(records).filter(|r| !r.gids.is_empty()))
    }
}
