//! What runs beside the requests: deliveries to webhooks, and the journal kept from growing for ever.
use crate::config::Webhooks;
use crate::offload::{Lane, Offload};
use crate::seams::pause;
use crate::sender::{Sender, System};
use crate::storage::Storage;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use workgraph_api::hooks::HookSettings;
use workgraph_api::{Api, Clock};
use workgraph_webhooks::{Limits, Policy};

/// How often old commits are dropped from the journal.
const KEEP_EVERY: Duration = Duration::from_secs(60);
/// The longest sleep: commits, attempts that end and those that are due end it before.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long after a look commits are gathered before the next one, so that many events share a delivery.
/// The first commit after a pause waits for nothing.
const GATHER: Duration = Duration::from_millis(3);
/// How long it is waited after a failure of the store.
const PAUSE: Duration = Duration::from_secs(1);

/// What delivers.
pub(crate) struct Courier {
    pub(crate) api: Arc<Api>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) offload: Arc<Offload>,
}

/// Sets webhooks up and starts the courier; both end with the runtime.
///
/// # Errors
/// When the store or TLS fails.
pub(crate) async fn start(
    courier: Courier,
    storage: &Storage,
    settings: &Webhooks,
    own: Vec<SocketAddr>,
) -> Result<(), String> {
    set_up(&courier.api, storage, settings, own).await?;
    tokio::spawn(keep(Arc::clone(&courier.api)));
    let workers = usize::try_from(settings.workers).unwrap_or(1).max(1);
    tokio::spawn(async move { courier.deliver(workers).await });
    Ok(())
}

/// Gives the API what webhooks need.
///
/// # Errors
/// When the store or TLS fails.
pub(crate) async fn set_up(
    api: &Api,
    storage: &Storage,
    settings: &Webhooks,
    own: Vec<SocketAddr>,
) -> Result<(), String> {
    let policy = Policy {
        loopback: settings.allow_loopback,
        plain_http: settings.allow_http,
        networks: settings.networks()?,
        own,
    };
    let sender = Arc::new(Sender::new(System::default(), policy.clone()));
    let settings = HookSettings {
        policy,
        limits: Limits::default(),
        event_ids: settings.event_ids,
        log_retention: settings.log_retention,
    };
    api.set_hooks(Arc::clone(&storage.hooks), sender, settings)
        .await
}

async fn keep(api: Arc<Api>) {
    let mut ticks = interval(KEEP_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let pruned = async { api.prune_journal(api.keep_hooks().await?).await };
        match pruned.await {
            Ok(0) => {}
            Ok(commits) => tracing::debug!(commits, "dropped from the journal"),
            Err(why) => tracing::warn!(why, "the journal was not pruned"),
        }
    }
}

impl Courier {
    /// Makes attempts as they are due, so many at a time. A panic in one leaves the others alone; its
    /// webhook is free again when the lease ends.
    pub(crate) async fn deliver(self, workers: usize) {
        let Self {
            api,
            clock,
            offload,
        } = self;
        let mut under_way = JoinSet::new();
        let (mut seen, mut looked) = (None, None::<Instant>);
        loop {
            let version = api.version();
            let gathered = looked.is_none_or(|at| at.elapsed() >= GATHER);
            if gathered && (version.is_none() || seen != version) {
                looked = Some(Instant::now());
                match api.hear().await {
                    Ok(()) => seen = version,
                    Err(why) => {
                        tracing::error!(why, "the journal could not be read for webhooks");
                        pause(PAUSE).await;
                    }
                }
            }
            while under_way.len() < workers
                && let Some(taken) = api.take_delivery()
            {
                let api = Arc::clone(&api);
                // What is sent may take long to put together; the sending itself comes back here.
                let lane = Lane::Webhook(taken.webhook());
                under_way.spawn(offload.offloaded(lane, None, |watch| {
                    Box::pin(async move {
                        if let Err(why) = api.deliver_under(&taken, Some(watch)).await {
                            tracing::error!(why, "a delivery was not noted");
                        }
                    })
                }));
            }
            let now = clock.now();
            let due = api
                .next_delivery()
                .and_then(|at| at.duration_since(now).ok());
            let gathering = seen != version;
            let most = if gathering { GATHER } else { LOOK_EVERY };
            let nap = due.map_or(most, |due| due.min(most));
            let something = async {
                tokio::select! {
                    Some(_) = under_way.join_next() => {}
                    () = api.changed(version), if !gathering => {}
                    else => std::future::pending().await,
                }
            };
            // Whatever ends the nap: there may be something to do.
            let _ = timeout(nap.max(Duration::from_millis(1)), something).await;
        }
    }
}
