//! Background work for webhooks: deliveries, and pruning of the journal.
use crate::adapters::stores::Storage;
use crate::adapters::system_clock::pause;
use crate::adapters::webhook_client::{SystemNetwork, WebhookSender};
use crate::config::schema::DeliveryConfig;
use crate::workers::offload::{Offload, OffloadFlow};
use crate::workers::work_lease_renewal::WorkLeaseRenewal;
use anyhow::{Context, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tracing::Instrument;
use workgraph_api::features::webhooks::service::WebhookSettings;
use workgraph_api::{Api, Clock};
use workgraph_webhooks::WebhookClient;

/// Interval between prunings of old commits from the journal.
const KEEP_EVERY: Duration = Duration::from_secs(60);
/// Maximum sleep: commits, ending attempts and due attempts end it earlier.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Maximum sleep of a node that shares the deliveries with no other: only an adjusted clock can make something due without
/// its notice.
const LOOK_EVERY_ALONE: Duration = Duration::from_secs(10);
/// Time after a scan during which commits are collected before the next one, so that many events share a delivery. The
/// first commit after a pause does not wait.
const GATHER_DELAY: Duration = Duration::from_millis(3);
/// Wait after a store failure.
const PAUSE: Duration = Duration::from_secs(1);

/// Worker that makes delivery attempts when they are due.
pub(crate) struct DeliveryWorker {
    pub(crate) api: Arc<Api>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) offload: Arc<Offload>,
    /// Lease on the deliveries of the store.
    pub(crate) lease: WorkLeaseRenewal,
}

/// Starts the delivery worker and the pruning of the journal; both end with the runtime. Returns the worker's task.
pub(crate) fn start(
    delivery_worker: DeliveryWorker,
    settings: &DeliveryConfig,
    is_shared: bool,
) -> JoinHandle<()> {
    if is_shared {
        // Until the lease is held.
        delivery_worker.api.yield_deliveries();
    }
    tokio::spawn(prune_journal_loop(Arc::clone(&delivery_worker.api)));
    let workers = usize::try_from(settings.workers).unwrap_or(1).max(1);
    tokio::spawn(async move { delivery_worker.deliver(workers).await })
}

/// Function that returns the client of webhooks, given the one that sends requests.
pub(crate) type WrapClient<'a> =
    &'a (dyn Fn(Arc<dyn WebhookClient>) -> Arc<dyn WebhookClient> + Sync);

/// Sets the API's webhook store, client and settings.
///
/// # Errors
/// Fails if the store or TLS fails.
pub(crate) async fn set_up(
    api: &Api,
    storage: &Storage,
    settings: &WebhookSettings,
    (own, wrap): (Vec<SocketAddr>, WrapClient<'_>),
) -> Result<()> {
    let mut settings = settings.clone();
    settings.policy.own_addresses = own;
    let sender = WebhookSender::new(SystemNetwork::default(), settings.policy.clone());
    let client = wrap(Arc::new(sender));
    let set = api.set_webhooks(Arc::clone(&storage.hooks), client, settings);
    set.await.context("the webhooks can't be read")
}

async fn prune_journal_loop(api: Arc<Api>) {
    let mut ticks = interval(KEEP_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // Only the node that makes the deliveries knows which commits they still need.
        if !api.holds_deliveries() {
            continue;
        }
        prune_journal(&api).await;
    }
}

/// Removes events from the journal that are old and that no webhook needs, and old entries of the delivery log.
pub(crate) async fn prune_journal(api: &Api) {
    let pruned = async { api.prune_journal(api.maintain_webhooks().await?).await };
    match pruned.await {
        Ok(0) => {}
        Ok(commits) => tracing::debug!(commits, "old events were removed from the journal"),
        Err(error) => tracing::warn!(
            reason = error.to_string(),
            "the journal could not be pruned"
        ),
    }
}

impl DeliveryWorker {
    /// Makes attempts when they are due, at most `workers` at a time. A panic in one does not affect the others; its webhook
    /// is free again when the lease ends.
    pub(crate) async fn deliver(self, workers: usize) {
        let Self {
            api,
            clock,
            offload,
            mut lease,
        } = self;
        let mut under_way = JoinSet::new();
        let (mut seen, mut looked) = (None, None::<Instant>);
        loop {
            let mut look_every = LOOK_EVERY;
            match lease.renew_if_due().await {
                Some(held) => {
                    if held.until.is_none() {
                        look_every = LOOK_EVERY_ALONE;
                    }
                    let remaining = WorkLeaseRenewal::remaining(&held);
                    if let Err(error) = api.hold_deliveries(held.epoch, remaining).await {
                        let reason = error.to_string();
                        tracing::error!(reason, "the webhooks could not be read");
                        pause(PAUSE).await;
                    }
                }
                None => api.yield_deliveries(),
            }
            let version = api.version();
            let gathered = looked.is_none_or(|at| at.elapsed() >= GATHER_DELAY);
            if gathered && (version.is_none() || seen != version) {
                looked = Some(Instant::now());
                match api.scan_commits().await {
                    Ok(()) => seen = version,
                    Err(error) => {
                        let reason = error.to_string();
                        tracing::error!(reason, "the journal could not be read for webhooks");
                        pause(PAUSE).await;
                    }
                }
            }
            while under_way.len() < workers
                && let Some(attempt) = api.take_delivery()
            {
                let api = Arc::clone(&api);
                // Assembling the request may take long; sending it comes back here.
                let flow = OffloadFlow::Webhook(attempt.webhook());
                under_way.spawn(offload.offloaded(flow, None, |watch| {
                    let span = tracing::error_span!("delivery", webhook = attempt.webhook());
                    let delivery = async move {
                        let delivered = api.deliver_interruptible(&attempt, Some(watch)).await;
                        if let Err(error) = delivered {
                            tracing::error!(
                                reason = error.to_string(),
                                "the result of a delivery could not be stored"
                            );
                        }
                    };
                    Box::pin(delivery.instrument(span))
                }));
            }
            let now = clock.now();
            let due = api
                .next_delivery()
                .and_then(|at| at.duration_since(now).ok());
            let gathering = seen != version;
            let most = if gathering { GATHER_DELAY } else { look_every };
            let nap = due.map_or(most, |due| due.min(most));
            let something = async {
                tokio::select! {
                    Some(_) = under_way.join_next() => {}
                    () = api.wait_for_commit(version), if !gathering => {}
                    else => std::future::pending().await,
                }
            };
            // After each wake-up an attempt may be due.
            let _ = timeout(nap.max(Duration::from_millis(1)), something).await;
        }
    }
}
