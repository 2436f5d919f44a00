//! Limits that several nodes share, in Redis or Valkey.
use crate::adapters::postgres_node::PostgresNode;
use crate::adapters::private_values::PrivateValues;
use crate::config::schema::SharedLimitsConfig;
use crate::metrics::write_family;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use workgraph_limits::SharedLimiter;
use workgraph_limits::shared_limiter::SharedMode;
use workgraph_limits_redis::{KnownServer, RedisLimiter, RedisLimiterSettings};
use workgraph_store_postgres::Database;
use workgraph_store_postgres::server_nodes::node_number::server_time;

/// Interval between checks of the shared mode.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Name of the shared value with the Redis server that nodes used last.
const KNOWN_SERVER: &str = "limits-server";
/// Attempts to write a value that other nodes also write.
const WRITE_ATTEMPTS: usize = 31;

/// Connects to the limits server, if one is set.
///
/// # Errors
/// Fails if it does not answer, is too old or refuses the user; the error says what to do. It contains no password.
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

/// Keeps the limits divided by the number of live nodes, and records for the other nodes which Redis this one uses. A
/// process without a shared database trusts a new Redis, unless the settings say that there are other processes.
///
/// # Errors
/// Fails if the database fails.
pub(crate) async fn follow_nodes(
    limiter: &Arc<RedisLimiter>,
    node: Option<&Arc<PostgresNode>>,
    values: &PrivateValues,
    now: SystemTime,
) -> Result<()> {
    let Some(node) = node else {
        if limiter.processes() == 1 {
            limiter.be_cautious_for(Duration::ZERO);
        }
        return Ok(());
    };
    let has_older = node.had_older(now, Duration::from_millis(KnownServer::OLD_MS));
    let (id, database) = (limiter.server_id(), node.database().clone());
    let start =
        |kept: Option<&KnownServer>, now_ms| KnownServer::at_start(kept, &id, has_older, now_ms);
    let caution = remember(&database, values, start).await?;
    limiter.be_cautious_for(caution);
    tokio::spawn(divide(Arc::clone(limiter), node.quota_parts()));
    tokio::spawn(follow_server(
        Arc::clone(limiter),
        database,
        values.clone(),
        id,
    ));
    Ok(())
}

/// Divides the limits by the number of nodes whenever that number changes.
async fn divide(limiter: Arc<RedisLimiter>, mut parts: watch::Receiver<u32>) {
    loop {
        let now = *parts.borrow_and_update();
        limiter.set_processes(now);
        if parts.changed().await.is_err() {
            return;
        }
    }
}

/// Notifies the other nodes when a different Redis is used.
async fn follow_server(
    limiter: Arc<RedisLimiter>,
    database: Database,
    values: PrivateValues,
    mut told: String,
) {
    let mut looks = tokio::time::interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let id = limiter.server_id();
        if id == told {
            continue;
        }
        let lost = |kept: Option<&KnownServer>, now_ms| KnownServer::after_loss(kept, &id, now_ms);
        match remember(&database, &values, lost).await {
            Ok(_) => told = id,
            Err(error) => tracing::warn!(
                reason = format!("{error:#}"),
                "the change of Redis could not be recorded for the other nodes"
            ),
        }
    }
}

/// Reads which Redis the nodes used last, records the current one, and returns for how long nodes are cautious.
async fn remember(
    database: &Database,
    values: &PrivateValues,
    found: impl Fn(Option<&KnownServer>, u64) -> KnownServer,
) -> Result<Duration> {
    let since = server_time(database)
        .await?
        .duration_since(SystemTime::UNIX_EPOCH);
    let now_ms = u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
    for _ in 0..WRITE_ATTEMPTS {
        let kept = values.read(KNOWN_SERVER).await?;
        let version = kept.as_ref().and_then(|kept| kept.version);
        let kept = kept.and_then(|kept| read_known(&kept.text));
        let known = found(kept.as_ref(), now_ms);
        let is_kept = kept.as_ref() == Some(&known);
        let text = json!({"id": known.id, "cautious_until_ms": known.cautious_until_ms});
        if is_kept
            || values
                .replace(KNOWN_SERVER, version, &text.to_string())
                .await?
        {
            return Ok(known.caution(now_ms));
        }
    }
    anyhow::bail!("other nodes wrote the value {KNOWN_SERVER} each time");
}

/// Parses the Redis that nodes recorded; a text in another format counts as none.
fn read_known(text: &str) -> Option<KnownServer> {
    let value: Value = serde_json::from_str(text).ok()?;
    Some(KnownServer {
        id: value.get("id")?.as_str()?.to_owned(),
        cautious_until_ms: value.get("cautious_until_ms")?.as_u64()?,
    })
}

/// Logs each change of the shared mode, and decisions that this node made alone between two checks.
async fn log_changes(limiter: Arc<RedisLimiter>) {
    let mut looks = tokio::time::interval(LOOK_INTERVAL);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut last, mut alone, mut was_scarce) = (SharedMode::Exact, 0, false);
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
        let is_scarce = limiter.admits_nearly_nothing();
        if is_scarce && !was_scarce {
            tracing::warn!(
                server,
                parts = limiter.processes(),
                "nearly all requests of the last seconds were refused by this node's part of the limits; see to Redis, and to shared_limits.nodes if it is more than the nodes that you run"
            );
        }
        was_scarce = is_scarce;
    }
}

/// Returns the lines of the readiness page about shared limits; empty as long as they are exact.
pub(crate) fn readiness(limiter: &dyn SharedLimiter) -> String {
    let part = match limiter.processes() {
        1 => "the whole of each".to_owned(),
        parts => format!("1/{parts} of each"),
    };
    let scarce = if limiter.admits_nearly_nothing() {
        "limits: nearly all requests of the last seconds were refused by this node's part\n"
    } else {
        ""
    };
    match limiter.mode() {
        SharedMode::Exact => String::new(),
        SharedMode::Cautious => format!(
            "limits: shared again, with this node's part besides for a minute, {part}\n{scarce}"
        ),
        SharedMode::Local => format!(
            "limits: local; Redis does not answer, and this node decides with its part, {part}\n{scarce}"
        ),
    }
}

/// Appends the metrics of shared limits.
pub(crate) fn metrics(limiter: &dyn SharedLimiter, out: &mut String) {
    let counts = limiter.counts();
    let mode = match limiter.mode() {
        SharedMode::Exact => 0_u64,
        SharedMode::Cautious => 1,
        SharedMode::Local => 2,
    };
    let by = |name: &str| format!("{{by=\"{name}\"}}");
    let alone = |value: u64| vec![(String::new(), value.to_string())];
    write_family(out, "shared_limits_mode", &alone(mode));
    let parts = alone(limiter.processes().into());
    write_family(out, "shared_limits_parts", &parts);
    let decisions = [
        (by("all_nodes"), counts.shared.to_string()),
        (by("this_node"), counts.local.to_string()),
    ];
    write_family(out, "shared_limits_decisions_total", &decisions);
    let failures = alone(counts.failures);
    write_family(out, "shared_limits_failures_total", &failures);
}
