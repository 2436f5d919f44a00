//! A node of a PostgreSQL database that many nodes share: opens it, and holds the node's leases while it runs.
use crate::adapters::data_dir;
use crate::adapters::private_values::{PrivateValues, SharedValues};
use crate::adapters::sealed_webhooks::WebhookSecretSealer;
use crate::adapters::stores::Storage;
use crate::adapters::system_clock::{SystemEntropy, random};
use crate::config::Config;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};
use uuid::{Builder, Uuid};
use workgraph_api::{Clock, Entropy};
use workgraph_core::GidGenerator;
use workgraph_core::storage::{SharedWork, WorkLeases};
use workgraph_store_postgres::server_nodes::node_number::{
    COMMAND_MARK, NODE_NUMBER_RENEWAL, NodeNumberLease, server_time,
};
use workgraph_store_postgres::server_nodes::shared_values;
use workgraph_store_postgres::server_nodes::work_leases::PostgresLeases;
use workgraph_store_postgres::{Database, DatabaseOptions, PlannedMigration, PostgresStore, plan};
use workgraph_wire::{KeyRing, sealed_secret};

/// Maximum difference between the clocks of this machine and of the database.
const CLOCK_DIFFERENCE_MAX: Duration = Duration::from_secs(2);
/// Name and content of the shared value that shows whether a node has the same keys as the others.
pub(crate) const PROOF: &str = "proof-of-keys";
const PROOF_TEXT: &str = "workgraph";
/// Timeout for the database when this node leaves.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Node of a shared database.
pub(crate) struct PostgresNode {
    database: Database,
    node_number: NodeNumberLease,
    gid_generator: Arc<GidGenerator>,
    leases: Arc<dyn WorkLeases>,
    /// True once this node must stop, because another one has its number.
    replaced: watch::Sender<bool>,
    /// True as soon as this node begins to leave.
    leaving: AtomicBool,
    /// Number of nodes in the settings.
    nodes_least: u32,
    /// Number of parts into which limits are divided while each node decides alone.
    quota_parts: watch::Sender<u32>,
    /// Start times of the other nodes that were alive when this one started; `None` for nodes that don't report it.
    others_begun: Vec<Option<SystemTime>>,
}

/// Parts of a store that nodes share.
pub(crate) struct SharedStore {
    pub(crate) storage: Storage,
    pub(crate) keys: KeyRing,
    pub(crate) values: PrivateValues,
    pub(crate) node: PostgresNode,
}

/// Returns the database options in the settings.
fn options(config: &Config) -> DatabaseOptions {
    let settings = &config.database;
    let defaults = DatabaseOptions::new(settings.url.clone());
    let cache_bytes = if config.store.caches {
        defaults.cache_bytes
    } else {
        0
    };
    DatabaseOptions {
        node: config.server.listen.clone(),
        connections: settings.connections,
        statement_timeout: settings.statement_timeout,
        lock_timeout: settings.lock_timeout,
        read_timeout: config.store.read_timeout,
        accept_unsafe_server: settings.allow_unsafe,
        cache_bytes,
        ..defaults
    }
}

/// Migrations that a database needs, or that were made.
pub(crate) struct MigrationReport {
    /// Names of the applied or pending migrations.
    pub(crate) names: Vec<&'static str>,
    /// Migrations that have to wait, with instructions.
    pub(crate) waiting: Vec<String>,
}

/// Applies the migrations of the database, or only lists them.
///
/// # Errors
/// Fails if the database can't be used.
pub(crate) async fn migrate(config: &Config, only_plan: bool) -> Result<MigrationReport> {
    if config.database.url.is_empty() {
        bail!(
            "there is no database to migrate: name one with --store, WORKGRAPH_STORE_URL or store.url; files in data folders are migrated by the server"
        );
    }
    let connected = Database::connect(options(config), Handle::current()).await?;
    let planned = plan(&connected).await?;
    let left = match only_plan {
        true => {
            let waits = |one: &PlannedMigration| !one.waits_for.is_empty();
            let first = planned.iter().position(waits);
            planned
                .get(first.unwrap_or(planned.len())..)
                .unwrap_or_default()
                .to_vec()
        }
        false => {
            PostgresStore::open(options(config), Handle::current()).await?;
            plan(&connected).await?
        }
    };
    let done = planned
        .iter()
        .take(planned.len().saturating_sub(left.len()));
    Ok(MigrationReport {
        names: done.map(|one| one.name).collect(),
        waiting: left.iter().map(ToString::to_string).collect(),
    })
}

/// Opens the database and joins its nodes, or only holds a number if this is a command that serves no requests.
///
/// # Errors Fails if the database can't be used, the clocks differ, or this node's keys differ from the other nodes' keys;
/// the error says what to do.
pub(crate) async fn open(
    config: &Config,
    entropy: &Arc<dyn Entropy>,
    clock: &dyn Clock,
    is_server: bool,
) -> Result<SharedStore> {
    let store = PostgresStore::open(options(config), Handle::current()).await?;
    let database = store.database().clone();
    check_clock(&database, clock).await?;
    let keys = keys(&database, config.folder(), entropy).await?;
    let sealer = WebhookSecretSealer::new(keys.clone(), entropy.clone());
    let mut reseal = |id, kept: &str| sealer.reseal(id, kept).map_err(Into::into);
    let resealed = store.reseal_secrets(&mut reseal).await;
    resealed
        .map_err(|error| anyhow::anyhow!("{error}"))
        .context("the secrets of webhooks can't be sealed again")?;
    let mark = if is_server { "" } else { COMMAND_MARK };
    let incarnation = format!("{mark}{}", process_id(clock.now(), random(&**entropy)?));
    let node_number = NodeNumberLease::join(&database, incarnation.clone()).await?;
    let others = node_number.others(&database).await?;
    let nodes_least = config.shared_limits.nodes;
    let gid_generator = Arc::new(GidGenerator::leased(
        node_number.number,
        node_number.gids_from_ms,
        node_number.gids_until_ms,
    ));
    let leases: Arc<dyn WorkLeases> = Arc::new(PostgresLeases::new(database.clone(), incarnation));
    tracing::info!(
        node = node_number.number,
        "joined the nodes of the database"
    );
    Ok(SharedStore {
        storage: Storage::shared(
            Arc::new(store),
            Arc::clone(&leases),
            Arc::clone(&gid_generator),
            sealer,
        ),
        values: PrivateValues::Shared(SharedValues {
            database: database.clone(),
            keys: keys.clone(),
            entropy: Arc::clone(entropy),
        }),
        keys,
        node: PostgresNode {
            database,
            node_number,
            gid_generator,
            leases,
            replaced: watch::Sender::new(false),
            leaving: AtomicBool::new(false),
            nodes_least,
            quota_parts: watch::Sender::new(parts(nodes_least, others.len() + 1)),
            others_begun: others.iter().map(|other| begun(other)).collect(),
        },
    })
}

/// Connects to the database in the settings without changing it; `None` if the store is a file.
///
/// # Errors
/// Fails if the database can't be used, or has to be migrated first.
pub(crate) async fn connect(config: &Config) -> Result<Option<Database>> {
    if config.database.url.is_empty() {
        return Ok(None);
    }
    let database = Database::connect(options(config), Handle::current()).await?;
    database.check_tables().await?;
    Ok(Some(database))
}

/// Returns the values that the nodes of a database share, without creating any.
///
/// # Errors
/// Fails if the data folder does not have the nodes' keys, or no server was ever started with the database.
pub(crate) async fn shared_values(config: &Config, database: &Database) -> Result<PrivateValues> {
    if shared_values::read(database, PROOF).await?.is_none() {
        bail!("no server has used the database yet: start one");
    }
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy::new());
    Ok(PrivateValues::Shared(SharedValues {
        keys: keys(database, config.folder(), &entropy).await?,
        database: database.clone(),
        entropy,
    }))
}

/// Returns the name of a process, which contains its start time.
fn process_id(now: SystemTime, random: [u8; 10]) -> Uuid {
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    let milliseconds = u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or_default();
    Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid()
}

/// Returns the start time of a process from a name made by [`process_id`]; `None` if the name contains none.
fn begun(name: &str) -> Option<SystemTime> {
    let (seconds, nanoseconds) = Uuid::try_parse(name).ok()?.get_timestamp()?.to_unix();
    Some(SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds))
}

/// Returns the number of parts into which limits are divided, for a number of live nodes.
fn parts(least: u32, nodes: usize) -> u32 {
    u32::try_from(nodes).unwrap_or(u32::MAX).max(least)
}

/// Refuses a machine whose clock differs from the database's clock.
async fn check_clock(database: &Database, clock: &dyn Clock) -> Result<()> {
    let before = clock.now();
    let database_time = server_time(database).await?;
    let difference = clock_difference((before, clock.now()), database_time);
    if difference > CLOCK_DIFFERENCE_MAX {
        bail!(
            "the clock of this machine and that of the database differ by {:.1} s, and more than 2 s is too much: let NTP set both",
            difference.as_secs_f64()
        );
    }
    Ok(())
}

/// Returns the minimum difference between the clocks of this machine and of the database. The database's clock showed
/// `database_time` at some moment between two readings of this machine's clock, `before` and `after`.
fn clock_difference(
    (before, after): (SystemTime, SystemTime),
    database_time: SystemTime,
) -> Duration {
    let ahead = database_time.duration_since(after).unwrap_or_default();
    let behind = before.duration_since(database_time).unwrap_or_default();
    ahead.max(behind)
}

/// Returns the keys in the data folder, which all nodes must have. The first node creates them.
async fn keys(database: &Database, folder: &Path, entropy: &Arc<dyn Entropy>) -> Result<KeyRing> {
    let path = folder.join("keys.json");
    let copy = "copy keys.json from the data folder of a node that runs";
    let mut proof = shared_values::read(database, PROOF).await?;
    if proof.is_some() && !path.exists() {
        bail!(
            "{}: there are no keys, and other nodes use this database with theirs; {copy}",
            path.display()
        );
    }
    let keys = data_dir::keys(folder, &**entropy)?;
    if proof.is_none() {
        let sealed = proof_of(&keys, &**entropy)?;
        if shared_values::replace(database, PROOF, None, sealed).await? {
            return Ok(keys);
        }
        // Another node is at its first start as well.
        proof = shared_values::read(database, PROOF).await?;
    }
    let sealed = proof.map(|proof| proof.content).unwrap_or_default();
    if !is_proof(&keys, &sealed) {
        bail!(
            "{}: these are not the keys of the other nodes of this database; {copy}",
            path.display()
        );
    }
    Ok(keys)
}

/// Returns a text that only nodes with these keys can open.
///
/// # Errors
/// Fails without random bytes.
pub(crate) fn proof_of(keys: &KeyRing, entropy: &dyn Entropy) -> Result<String> {
    let sealed = sealed_secret::seal(keys, random(entropy)?, PROOF, PROOF_TEXT);
    sealed.context("a short text is too long to be sealed")
}

/// Returns true if [`proof_of`] made the text with these keys.
pub(crate) fn is_proof(keys: &KeyRing, sealed: &str) -> bool {
    sealed_secret::open(keys, PROOF, sealed).is_ok_and(|text| text == PROOF_TEXT)
}

impl PostgresNode {
    /// Renews the lease on this node's number, and counts the nodes, as long as the server runs.
    pub(crate) async fn renew_node_number(&self) {
        let mut ticks = interval(NODE_NUMBER_RENEWAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match timeout(NODE_NUMBER_RENEWAL, self.node_number.renew(&self.database)).await {
                Ok(Ok(Some(renewed))) => {
                    self.gid_generator.renew(renewed.gids_until_ms);
                    // A node that can't count the others keeps its last part.
                    self.quota_parts
                        .send_replace(renewed.nodes.max(self.nodes_least));
                }
                Ok(Ok(None)) if self.leaving.load(Ordering::Relaxed) => return,
                Ok(Ok(None)) => {
                    tracing::error!(
                        node = self.node_number.number,
                        "another node has taken this one's number, because it was not renewed for half a minute: the server stops; start it again"
                    );
                    self.replaced.send_replace(true);
                    return;
                }
                Ok(Err(error)) => {
                    let reason = error.to_string();
                    tracing::warn!(
                        reason,
                        "the lease on this node's number could not be renewed"
                    );
                }
                Err(late) => {
                    let reason = late.to_string();
                    tracing::warn!(
                        reason,
                        "the lease on this node's number could not be renewed"
                    );
                }
            }
        }
    }

    /// Returns true if another node that was alive when this one started had, or may have, started `age` earlier.
    pub(crate) fn had_older(&self, now: SystemTime, age: Duration) -> bool {
        let is_older = |begun: &Option<SystemTime>| {
            begun.is_none_or(|begun| now.duration_since(begun).is_ok_and(|lived| lived >= age))
        };
        self.others_begun.iter().any(is_older)
    }

    /// Returns the database that the node has joined.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// Returns the number of parts into which limits are divided while each node decides alone, and its changes.
    pub(crate) fn quota_parts(&self) -> watch::Receiver<u32> {
        self.quota_parts.subscribe()
    }

    /// Waits until this node must stop, because another one has its number.
    pub(crate) async fn wait_until_replaced(&self) {
        let mut replaced = self.replaced.subscribe();
        // `self` owns the sender, so the channel stays open.
        let _replaced = replaced.wait_for(|replaced| *replaced).await;
    }

    /// Returns true if this node must stop, because another one has its number.
    pub(crate) fn is_replaced(&self) -> bool {
        *self.replaced.borrow()
    }

    /// Releases the leases of this node, so that others don't have to wait until they expire.
    pub(crate) async fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
        let leave = async {
            for work in SharedWork::ALL {
                self.leases.release(work).await?;
            }
            Ok::<_, anyhow::Error>(self.node_number.leave(&self.database).await?)
        };
        match timeout(LEAVE_TIMEOUT, leave).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(
                    reason = format!("{error:#}"),
                    "the leases of this node could not be released; they end by themselves"
                )
            }
            Err(late) => tracing::warn!(
                reason = late.to_string(),
                "the leases of this node could not be released; they end by themselves"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S977.
    #[test]
    fn the_name_of_a_node_says_when_it_began_and_other_names_do_not() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let name = process_id(at(1_800_000_000), [7; 10]);
        assert_eq!(name.get_version_num(), 7);
        assert_eq!(begun(&name.to_string()), Some(at(1_800_000_000)));
        assert_eq!(begun("0f0e0d0c0b0a09080706050403020100"), None);
        assert_eq!(begun("a node of an earlier version"), None);
        assert_eq!((parts(1, 3), parts(5, 3), parts(1, 1)), (3, 5, 1));
    }

    /// S928.
    #[test]
    fn clocks_differ_by_what_a_slow_answer_cannot_explain() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let difference =
            |database_time| clock_difference((at(100), at(103)), at(database_time)).as_secs();
        assert_eq!(
            [90, 98, 100, 102, 103, 105, 110].map(difference),
            [10, 2, 0, 0, 0, 2, 7]
        );
    }
}
