//! Deliveries of the node that holds the lease on them.
use super::delivery_lease::LeaseEnd;
use super::service_state::WebhookService;
use crate::background_error::BackgroundError;
use crate::state::Api;
use std::time::{Duration, SystemTime};
use workgraph_webhooks::webhook_record::LEASE_RESERVE;

/// Interval between checks for webhooks that other nodes created, changed or deleted.
const REVISION_EVERY: Duration = Duration::from_secs(1);

impl WebhookService {
    /// Returns true if this node currently makes the deliveries of the store.
    pub(super) fn holds_deliveries(&self, now: SystemTime) -> bool {
        self.delivery_lease.lock().lasts(now, Duration::ZERO)
    }

    /// Returns true if an attempt that starts now ends before another node may start one.
    pub(super) fn may_attempt(&self, now: SystemTime) -> bool {
        self.delivery_lease.lock().lasts(now, LEASE_RESERVE)
    }

    /// Reads the state of a webhook that another node has changed.
    pub(super) async fn reload_webhook(&self, id: u64) -> Result<(), BackgroundError> {
        let stored = self.store.get(id).await?;
        let mut scheduler = self.scheduler.lock();
        match stored {
            Some(webhook) => scheduler.put(vec![webhook]),
            None => scheduler.remove(id),
        }
        Ok(())
    }
}

impl Api {
    /// Takes over the deliveries of the store for the time `remaining`, or without an end if that is `None`. With a new
    /// epoch, all webhooks are read again. At most once a second, checks for webhooks that other nodes changed.
    ///
    /// # Errors
    /// Fails when the store fails; the text is for the log. With a new epoch, the deliveries are not held in that case.
    pub async fn hold_deliveries(
        &self,
        epoch: u64,
        remaining: Option<Duration>,
    ) -> Result<(), BackgroundError> {
        let Some(service) = self.webhooks.get() else {
            return Ok(());
        };
        let now = self.clock.now();
        let until = remaining.map_or(LeaseEnd::Never, |time| LeaseEnd::At(now + time));
        let (is_new, revision, is_due) = {
            let mut lease = service.delivery_lease.lock();
            let is_new = lease.epoch != epoch || lease.until == LeaseEnd::NotHeld;
            // Nothing is delivered until the webhooks are read.
            lease.until = if is_new { LeaseEnd::NotHeld } else { until };
            let since = lease.looked_at.and_then(|at| now.duration_since(at).ok());
            let is_due = since.is_none_or(|time| time >= REVISION_EVERY);
            (is_new, lease.revision, is_due)
        };
        if !is_new && !is_due {
            return Ok(());
        }
        // The revision is read before the webhooks, so that the next check notices a change in between.
        let present = service.store.revision().await?;
        if is_new {
            let webhooks = service.store.all().await?;
            service.scheduler.lock().replace_all(webhooks);
        } else if present != revision {
            let webhooks = service.store.all().await?;
            service.scheduler.lock().merge(webhooks);
        }
        let mut lease = service.delivery_lease.lock();
        lease.epoch = epoch;
        lease.until = until;
        lease.revision = present;
        lease.looked_at = Some(now);
        Ok(())
    }

    /// Gives the deliveries of the store to another node.
    pub fn yield_deliveries(&self) {
        if let Some(service) = self.webhooks.get() {
            service.delivery_lease.lock().until = LeaseEnd::NotHeld;
        }
    }

    /// Returns true if this node currently makes the deliveries of the store.
    #[must_use]
    pub fn holds_deliveries(&self) -> bool {
        let service = self.webhooks.get();
        service.is_none_or(|service| service.holds_deliveries(self.clock.now()))
    }
}
