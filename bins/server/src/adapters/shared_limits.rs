//! Limits that several nodes share, in Redis or Valkey.
use crate::config::schema::SharedLimitsConfig;
use anyhow::{Context, Result};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use workgraph_limits::SharedLimiter;
use workgraph_limits::shared_limiter::SharedMode;
use workgraph_limits_redis::{RedisLimiter, RedisLimiterSettings};

/// Time between two looks at the way in which decisions are made.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Connects to the server of the limits, if one is set.
///
/// # Errors
/// Fails if it does not answer, is too old or refuses the user, with what to do. The text shows no password.
pub(crate) async fn connect(config: &SharedLimitsConfig) -> Result<Option<Arc<RedisLimiter>>> {
    if config.url.is_empty() {
        return Ok(None);
    }
    let settings = RedisLimiterSettings {
        root_certificates: Some(&config.root_certificates)
            .filter(|file| !file.is_empty())
            .map(Into::into),
        prefix: config.prefix.clone(),
        timeout: Duration::from_millis(config.timeout_ms),
        processes: config.nodes,
        ..RedisLimiterSettings::new(&config.url)
    };
    let connected = RedisLimiter::connect(&settings).await;
    let (limiter, warnings) = connected.context("the limits of all nodes (shared_limits.url)")?;
    for warning in warnings {
        tracing::warn!(server = limiter.server(), "{warning}");
    }
    tracing::info!(
        server = limiter.server(),
        nodes = config.nodes,
        "the limits are those of all nodes together"
    );
    let limiter = Arc::new(limiter);
    tokio::spawn(log_changes(Arc::clone(&limiter)));
    Ok(Some(limiter))
}

/// Divides the limits by the nodes that are alive, as they come and go.
pub(crate) fn follow_nodes(limiter: &Arc<RedisLimiter>, mut parts: watch::Receiver<u32>) {
    let limiter = Arc::clone(limiter);
    tokio::spawn(async move {
        loop {
            let now = *parts.borrow_and_update();
            limiter.set_processes(now);
            if parts.changed().await.is_err() {
                return;
            }
        }
    });
}

/// Logs each change of the way in which decisions are made, and decisions of this node alone between two looks.
async fn log_changes(limiter: Arc<RedisLimiter>) {
    let mut looks = tokio::time::interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut last, mut alone) = (SharedMode::Exact, 0);
    loop {
        looks.tick().await;
        let (mode, server) = (limiter.mode(), limiter.server());
        let before = std::mem::replace(&mut alone, limiter.counts().local);
        if alone > before && mode != SharedMode::Local && last != SharedMode::Local {
            tracing::warn!(
                server,
                decisions = alone - before,
                "the limits of all nodes were not known in time: this node decides with its part of each"
            );
        }
        match mode {
            _ if mode == last => {}
            SharedMode::Local => tracing::warn!(
                server,
                nodes = limiter.processes(),
                "the limits of all nodes cannot be asked for: this node decides with its part of each"
            ),
            SharedMode::Cautious => tracing::info!(
                server,
                "the limits of all nodes may have been forgotten: for a minute this node's part counts too"
            ),
            SharedMode::Exact => tracing::info!(server, "the limits are those of all nodes again"),
        }
        last = mode;
    }
}

/// Returns the line of the readiness page about limits that nodes share; empty as long as they are exact.
pub(crate) fn readiness(limiter: &dyn SharedLimiter) -> &'static str {
    match limiter.mode() {
        SharedMode::Exact => "",
        SharedMode::Cautious => "limits: shared again, with this node's part for a minute\n",
        SharedMode::Local => {
            "limits: local; Redis does not answer, and this node decides with its part of each\n"
        }
    }
}

/// Appends the metrics of limits that nodes share.
pub(crate) fn metrics(limiter: &dyn SharedLimiter, out: &mut String) {
    let counts = limiter.counts();
    let mode = match limiter.mode() {
        SharedMode::Exact => 0,
        SharedMode::Cautious => 1,
        SharedMode::Local => 2,
    };
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "# HELP workgraph_shared_limits_mode Limits of all nodes: 0 exact, 1 with this node's part besides, 2 this node's part alone.\n\
         # TYPE workgraph_shared_limits_mode gauge\n\
         workgraph_shared_limits_mode {mode}\n\
         # HELP workgraph_shared_limits_parts Number by which this node divides each limit while it decides alone; 4294967295 while the others may not count it.\n\
         # TYPE workgraph_shared_limits_parts gauge\n\
         workgraph_shared_limits_parts {}\n\
         # HELP workgraph_shared_limits_decisions_total Decisions about requests, by who made them.\n\
         # TYPE workgraph_shared_limits_decisions_total counter\n\
         workgraph_shared_limits_decisions_total{{by=\"all_nodes\"}} {}\n\
         workgraph_shared_limits_decisions_total{{by=\"this_node\"}} {}\n\
         # HELP workgraph_shared_limits_failures_total Calls that failed or took too long.\n\
         # TYPE workgraph_shared_limits_failures_total counter\n\
         workgraph_shared_limits_failures_total {}\n",
        limiter.processes(),
        counts.shared,
        counts.local,
        counts.failures
    );
}
