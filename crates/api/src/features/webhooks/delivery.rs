//! Deliveries: from the journal to the targets.
//!
//! A webhook has yet to deliver the journal entries after its position; there is no second queue that could differ from
//! the journal. When a target acknowledges, the position moves first in the store. So after a crash in between, a
//! target may get an event twice, but never misses one.
use super::delivery_batch::{DELIVERY_EVENTS_MAX, DeliveryBatch};
use super::scheduler::DeliveryAttempt;
use super::service_state::WebhookService;
use crate::background_error::{BackgroundError, RedeliveryError};
use crate::state::Api;
use bytes::Bytes;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};
use workgraph_core::MaybeInterrupt;
use workgraph_webhooks::delivery_id::DELIVERY_HEADER;
use workgraph_webhooks::signature::{SIGNATURE_HEADER, is_success, signature};
use workgraph_webhooks::webhook_record::TIMEOUT;
use workgraph_webhooks::{
    AttemptRecord, DeliveryError, DeliveryLogEntry, DeliveryPermission, DeliveryRequest,
    DeliveryStateChange, Target, TargetReply, Webhook,
};

/// Maximum number of commits read at once when looking for the webhooks that they concern.
const READ_COMMITS_MAX: usize = 500;
/// Header with the stable ids of the events in a delivery. It is only sent, along with the attempt number, if the
/// operator enabled it.
const EVENT_IDS_HEADER: &str = "X-Workgraph-Event-Ids";
const ATTEMPT_HEADER: &str = "X-Workgraph-Attempt";

/// Failure of a delivery to a webhook whose secret the keys of this server cannot open.
const NO_SECRET: &str = "not sent: the secret of this webhook cannot be opened with the keys of this server, so it cannot be signed; put the key back into keys.json, or make the webhook again";

impl Api {
    /// Reads the commits since the last call, and records which webhooks they concern.
    ///
    /// # Errors
    /// Fails when the store fails; the text is for the log.
    pub async fn scan_commits(&self) -> Result<(), BackgroundError> {
        let Some(service) = self.webhooks.get() else {
            return Ok(());
        };
        if !service.holds_deliveries(self.clock.now()) {
            return Ok(());
        }
        loop {
            let after = {
                let scheduler = service.scheduler.lock();
                if scheduler.is_empty() {
                    return Ok(());
                }
                scheduler.scanned
            };
            let events = self.graph.journal_entries(after, READ_COMMITS_MAX).await?;
            let mut scheduler = service.scheduler.lock();
            let count = events.len();
            for event in events {
                scheduler.note_commit(event);
            }
            if count < READ_COMMITS_MAX {
                return Ok(());
            }
        }
    }

    /// Starts an attempt, if one is due.
    #[must_use]
    pub fn take_delivery(&self) -> Option<DeliveryAttempt> {
        let service = self.webhooks.get()?;
        let now = self.clock.now();
        if !service.may_attempt(now) {
            return None;
        }
        service.scheduler.lock().take_due(now)
    }

    /// Returns the time of the next attempt; `None` if there are no webhooks, or this node may not start attempts now.
    #[must_use]
    pub fn next_delivery(&self) -> Option<SystemTime> {
        let service = self.webhooks.get()?;
        let may_attempt = service.may_attempt(self.clock.now());
        may_attempt.then(|| service.scheduler.lock().next())?
    }

    /// Returns the numbers of successful and failed attempts of this process.
    pub fn delivery_counts(&self) -> [u64; 2] {
        let Some(service) = self.webhooks.get() else {
            return [0; 2];
        };
        service.attempts.each_ref().map(|count| count.load(Relaxed))
    }

    /// Carries out an attempt and stores its result.
    ///
    /// # Errors
    /// Fails when a store fails: the attempt does not count, and is made again when its lease ends.
    pub async fn deliver(&self, attempt: &DeliveryAttempt) -> Result<(), BackgroundError> {
        self.deliver_interruptible(attempt, None).await
    }

    /// Carries out an attempt, as [`deliver`](Self::deliver) does, with an interrupt for the work on its body. If that
    /// takes too long, nothing is sent, and the next attempt is half as large.
    ///
    /// # Errors
    /// Fails as `deliver` does; also when the work was abandoned, or took too long for a single event.
    pub async fn deliver_interruptible(
        &self,
        attempt: &DeliveryAttempt,
        interrupt: MaybeInterrupt,
    ) -> Result<(), BackgroundError> {
        let Some(service) = self.webhooks.get() else {
            return Ok(());
        };
        let webhook = &attempt.webhook;
        if let Some(interrupt) = &interrupt {
            interrupt.note_user(webhook.user);
        }
        let permission = service.permission(webhook.id).await?;
        if permission == DeliveryPermission::Deleted {
            service.scheduler.lock().remove(webhook.id);
            return Ok(());
        }
        let from = webhook.state.position;
        let batch = if attempt.waiting {
            let narrowed = attempt.halvings;
            let batch = self.batch(webhook, permission, (from, None), narrowed, &interrupt);
            match batch.await {
                Err(failure)
                    if failure.is_deadline_exceeded() && DELIVERY_EVENTS_MAX >> narrowed > 1 =>
                {
                    service.scheduler.lock().retry_smaller(attempt);
                    return Ok(());
                }
                batch => {
                    batch.map_err(|failure| BackgroundError::DeliveryBody(Box::new(failure)))?
                }
            }
        } else {
            DeliveryBatch::empty(from)
        };
        if batch.count == 0 && webhook.due(false) > self.clock.now() {
            // The owner may not see these events; there is nothing to send.
            let mut state = webhook.state.clone();
            state.position = state.position.max(batch.end_position);
            service.scheduler.lock().settle(attempt, state, false);
            return Ok(());
        }
        if !service.scheduler.lock().renew(attempt, self.clock.now()) {
            // The work took longer than the lease, and another attempt now holds the webhook.
            return Ok(());
        }
        if !service.may_attempt(self.clock.now()) {
            // The work took so long that another node could take over before the reply arrives.
            service.scheduler.lock().release(attempt);
            return Ok(());
        }
        let to = batch.end_position;
        let (outcome, mut log_entry) = self.attempt(service, webhook, batch).await;
        let now = self.clock.now();
        log_entry.from = from;
        let next = match &outcome {
            Ok(_) => Some(webhook.state.after_success(now, to)),
            Err((reason, wait)) => {
                let mut random = [0; 8];
                self.entropy.fill(&mut random)?;
                let random = u64::from_le_bytes(random);
                webhook.state.after_failure(now, reason, *wait, random)
            }
        };
        if !service.scheduler.lock().holds(attempt) {
            // Another attempt now holds the webhook.
            return Ok(());
        }
        let change = DeliveryStateChange {
            from: webhook.state.clone(),
            to: next.clone(),
        };
        let logged = next.is_some().then(|| log_entry.clone());
        let record = service
            .store
            .record_attempt(webhook.id, Some(change), logged);
        match (record.await?, next) {
            (AttemptRecord::Stored, Some(state)) => {
                service.scheduler.lock().settle(attempt, state, true);
            }
            (AttemptRecord::Stored, None) => {
                tracing::info!(
                    webhook = webhook.id,
                    "a webhook was deleted after a day of failed deliveries"
                );
                service.scheduler.lock().remove(webhook.id);
            }
            (AttemptRecord::Deleted, _) => service.scheduler.lock().remove(webhook.id),
            (AttemptRecord::Changed, _) => {
                // Another node made an attempt at the same time. This one was made, too, and is in the log.
                service
                    .store
                    .record_attempt(webhook.id, None, Some(log_entry))
                    .await?;
                service.reload_webhook(webhook.id).await?;
            }
        }
        Ok(())
    }

    /// Sends a batch. Returns the reason of a failure with the wait that the target requested, and the entry for the log.
    async fn attempt(
        &self,
        service: &WebhookService,
        webhook: &Webhook,
        batch: DeliveryBatch,
    ) -> (Result<(), (String, Option<Duration>)>, DeliveryLogEntry) {
        let number = webhook.state.retries.saturating_add(1);
        let mut log_entry = DeliveryLogEntry {
            id: 0,
            webhook: webhook.id,
            sent_at: self.clock.now(),
            from: webhook.state.position,
            to: batch.end_position,
            events: batch.count,
            attempt: number,
            status: None,
            error: String::new(),
        };
        if webhook.secret.is_empty() {
            // A signature that the receiver cannot verify is worse than none.
            log_entry.error = NO_SECRET.to_owned();
            return (Err((NO_SECRET.to_owned(), None)), log_entry);
        }
        let mut headers = vec![
            (SIGNATURE_HEADER, signature(&webhook.secret, &batch.body)),
            (DELIVERY_HEADER, batch.delivery_id(webhook.id).to_string()),
        ];
        if service.settings.event_ids {
            headers.push((EVENT_IDS_HEADER, batch.ids));
            headers.push((ATTEMPT_HEADER, number.to_string()));
        }
        let answer = match Target::parse(&webhook.target) {
            None => Err(DeliveryError::NotAllowed),
            Some(target) => {
                let request = DeliveryRequest {
                    target,
                    headers,
                    body: Bytes::from(batch.body),
                    timeout: TIMEOUT,
                };
                service.client.post(request).await
            }
        };
        let outcome = match answer {
            Ok(TargetReply { status, .. }) if is_success(status) => {
                log_entry.status = Some(status);
                Ok(())
            }
            Ok(reply) => {
                log_entry.status = Some(reply.status);
                let reason = if reply.content.trim().is_empty() {
                    format!("HTTP {}", reply.status)
                } else {
                    reply.content
                };
                Err((reason, reply.retry_after.map(Duration::from_secs)))
            }
            Err(failed) => Err((failed.to_string(), None)),
        };
        let [succeeded, failed] = &service.attempts;
        match &outcome {
            Ok(()) => succeeded.fetch_add(1, Relaxed),
            Err((reason, _)) => {
                log_entry.error = reason.chars().take(200).collect();
                // The text of a target does not belong in our log; the webhook's owner finds it in the delivery log.
                tracing::warn!(
                    webhook = webhook.id,
                    status = log_entry.status,
                    "a delivery failed"
                );
                failed.fetch_add(1, Relaxed)
            }
        };
        (outcome, log_entry)
    }

    /// Sends the events of a logged delivery again, separately from pending events.
    ///
    /// # Errors
    /// Fails with the reason: there is no such delivery, an attempt is in progress, or the target failed.
    pub async fn redeliver(&self, id: u64, delivery: u64) -> Result<u32, RedeliveryError> {
        let service = self.webhooks.get().ok_or(RedeliveryError::NoWebhooks)?;
        let permission = service.permission(id).await?;
        match permission {
            DeliveryPermission::Deleted => return Err(RedeliveryError::NoWebhook(id)),
            DeliveryPermission::Suspended => return Err(RedeliveryError::Suspended(id)),
            DeliveryPermission::Active => {}
        }
        let log = service.store.deliveries(id, 10_000).await?;
        let log_entry = log.iter().find(|d| d.id == delivery);
        let log_entry = log_entry.ok_or(RedeliveryError::NoDelivery(delivery))?;
        let webhook = service.store.get(id).await?;
        let webhook = webhook.ok_or(RedeliveryError::NoWebhook(id))?;
        let attempt = {
            let (mut scheduler, now) = (service.scheduler.lock(), self.clock.now());
            if scheduler.is_leased(id, now) {
                return Err(RedeliveryError::UnderWay);
            }
            // This node may not know a webhook whose attempts another node makes.
            scheduler.lease(id, now)
        };
        let span = (log_entry.from, Some(log_entry.to));
        let batch = self.batch(&webhook, permission, span, 0, &None).await;
        let outcome = match batch {
            Ok(batch) if batch.count > 0 => {
                let (outcome, mut again) = self.attempt(service, &webhook, batch).await;
                (again.from, again.to) = (log_entry.from, log_entry.to);
                let events = again.events;
                // The position and the failures of the webhook stay as they are.
                let recorded = service.store.record_attempt(id, None, Some(again)).await;
                let acknowledged = outcome.map_err(|(reason, _)| RedeliveryError::Target(reason));
                recorded
                    .map_err(RedeliveryError::from)
                    .and_then(|_| acknowledged.map(|()| events))
            }
            Ok(_) => Err(RedeliveryError::EventsGone),
            Err(failure) => Err(BackgroundError::DeliveryBody(Box::new(failure)).into()),
        };
        if let Some(attempt) = attempt {
            service.scheduler.lock().release(&attempt);
        }
        outcome
    }

    /// Performs regular maintenance: advances idle webhooks in the store, and drops old entries of the delivery log. Returns
    /// the commit up to which webhooks no longer need the journal.
    ///
    /// # Errors
    /// Fails when the store fails; the text is for the log.
    pub async fn maintain_webhooks(&self) -> Result<u64, BackgroundError> {
        let Some(service) = self.webhooks.get() else {
            return Ok(u64::MAX);
        };
        let (ids, seq) = {
            let scheduler = service.scheduler.lock();
            (scheduler.idle_webhooks(), scheduler.scanned)
        };
        for some in ids.chunks(256) {
            service.store.advance_positions(some.to_vec(), seq).await?;
            service.scheduler.lock().mark_advanced(some, seq);
        }
        let before = self.clock.now().checked_sub(service.settings.log_retention);
        let before = before.unwrap_or(SystemTime::UNIX_EPOCH);
        service.store.prune_delivery_log(before).await?;
        Ok(service.scheduler.lock().journal_needed_up_to())
    }
}
