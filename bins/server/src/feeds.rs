//! What runs beside the requests: the journal is kept from growing for ever.
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};
use workgraph_api::Api;

/// How often old commits are dropped from the journal.
const PRUNE_EVERY: Duration = Duration::from_secs(60);

/// Starts it; it ends with the runtime.
pub(crate) fn start(api: Arc<Api>) {
    tokio::spawn(async move {
        let mut ticks = interval(PRUNE_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match api.prune_journal(u64::MAX).await {
                Ok(0) => {}
                Ok(commits) => tracing::debug!(commits, "dropped from the journal"),
                Err(why) => tracing::warn!(why, "the journal was not pruned"),
            }
        }
    });
}
