//! Puts the parts together: the server, and the admin service beside it or without it.
use crate::adapters::blob_bucket::{BlobBucket, OwnedByAnother};
use crate::adapters::blob_folder::BlobFolder;
use crate::adapters::data_dir;
use crate::adapters::folder_use::AcceptedLosses;
use crate::adapters::shared_limits;
use crate::adapters::signing_key_store::SigningKeyStore;
use crate::adapters::stores::Storage;
use crate::adapters::system_clock::random;
use crate::admin::bootstrap_file::BootstrapFile;
use crate::admin::{commands as admin, demo, socket};
use crate::cli::{AdminCommand, ServeArgs};
use crate::config::{Config, exposure};
use crate::http::app_state::AppState;
use crate::http::byte_budgets::ByteBudgets;
use crate::http::connections::ConnectionTracker;
use crate::http::listener::{self, Signals};
use crate::http::openapi::ApiDescription;
use crate::http::own_address::OwnAddress;
use crate::log::request_id::RequestIdSeed;
use crate::metrics::Metrics;
use crate::runtime_limits::RuntimeLimits;
use crate::server_resources::{Opening, ServerResources};
use crate::service_manager;
use crate::workers::audit_signer::AuditSigner;
use crate::workers::offload::Offload;
use crate::workers::work_lease_renewal::WorkLeaseRenewal;
use crate::workers::{job_workers, webhook_worker};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::net::TcpListener;
use workgraph_api::features::attachments::SweepCounts;
use workgraph_api::ports::blob_store::BlobStore;
use workgraph_api::{Clock, Entropy};
use workgraph_core::storage::SharedWork;

/// Returns what would be right in place of a text that is no address with a port.
fn address_hint(text: &str) -> String {
    if text.is_empty() || text.contains(':') {
        return String::new();
    }
    let right = match text.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => format!("{text}:8080"),
    };
    format!(": an address and a port are expected, such as {right}")
}

/// Runs the server until it gets a signal to stop. `again` reads the configuration anew.
///
/// # Errors
/// Fails if it can't start.
pub(crate) async fn serve(
    mut config: Config,
    options: &ServeArgs,
    again: impl Fn() -> Result<Config>,
) -> Result<()> {
    check_shared_files(&config)?;
    let bind = async |address: &str| {
        TcpListener::bind(address)
            .await
            .with_context(|| format!("can't listen on {address}{}", address_hint(address)))
    };
    let listener = bind(&config.server.listen).await?;
    let address = listener
        .local_addr()
        .context("the address of the listener is unknown")?;
    let metrics_listener = match config.server.metrics_listen.as_str() {
        "" => None,
        own => Some(bind(own).await?),
    };
    // Nothing was made yet: an address that is in use leaves no trace.
    let shared_limiter = shared_limits::connect(&config.shared_limits).await?;
    let opening = Opening {
        demo: options.demo,
        is_server: true,
        accepted: AcceptedLosses {
            database: options.new,
            keys: options.new_keys,
        },
    };
    let base = ServerResources::open(&config, opening).await?;
    #[cfg(debug_assertions)]
    crate::adapters::fault_injection::drive_test_clock(&base.clock)?;
    let root = if config.server.public_url.0.is_empty() {
        format!("http://{}", reachable(address))
    } else {
        config.server.public_url.0.clone()
    };
    if let Some(warning) = data_dir::warning(config.folder())? {
        tracing::warn!(folder = config.server.data, "{warning}");
    }
    let has_name = !config.server.public_url.0.is_empty();
    let far = !has_name && !address.ip().to_canonical().is_loopback();
    if far {
        tracing::warn!(
            address = address.to_string(),
            "other machines reach this server, and public_url is not set: links in replies begin with the host that each request names; set public_url to the address that people use, such as https://work.example"
        );
    }
    if far || exposure::is_plain(&root) {
        tracing::warn!(
            root,
            "the address of this server is neither https nor this machine's: passwords, cookies and tokens cross the network readable; set public_url to an https address"
        );
    }
    let own_address = OwnAddress::new(root.clone(), has_name);
    config.api.base_url = format!("{root}{}", crate::http::own_address::BASE);

    // The first start calls the API often; those calls have no client and count against no limit.
    let limits = Arc::new(RuntimeLimits::open(&config, base.values.clone()).await?);
    let service = base.service(
        &config,
        base.api(&config, bootstrap_limits(&config)),
        &limits,
    );
    let boot = base
        .first_start(&service, &config, options.demo, &root)
        .await?;
    let banner = match &boot {
        Some(boot) if options.demo => demo::banner(boot, &service).await,
        Some(_) => format!(
            "Workgraph serves {}\nReference: {root}/-/docs\nSign in: {root}/-/console\nFirst address, password and token: {}",
            config.api.base_url,
            BootstrapFile::of(&config).path().display()
        ),
        None => format!("Workgraph serves {}", config.api.base_url),
    };
    drop(service);

    let api = base.api(&config, config.limits);
    limits.apply(&api)?;
    if let Some(shared) = shared_limiter {
        let now = Clock::now(&*base.clock);
        shared_limits::follow_nodes(&shared, base.node(), &base.values, now).await?;
        api.set_shared_limiter(shared);
    }
    let service = Arc::new(base.service(&config, Arc::clone(&api), &limits));
    if let Err(e) = socket::listen(config.folder(), Arc::clone(&service)) {
        tracing::warn!(
            reason = e.to_string(),
            "there is no admin socket, so `workgraph admin` works only while the server does not run"
        );
    }
    let metrics = Arc::new(Metrics::new());
    let clock: Arc<dyn workgraph_api::Clock> = base.clock.clone();
    let exports = Arc::new(base.export_folder(&config));
    api.set_export_files(exports.clone());
    api.set_blob_store(blob_store(&config, Arc::clone(&clock), &base).await?);
    let offload = Offload::start(config.offload.long_reads, config.store.read_timeout)?;
    let is_shared = base.storage.is_shared;
    let mut own = vec![address];
    own.extend(metrics_listener.as_ref().and_then(|l| l.local_addr().ok()));
    let delivery_worker = webhook_worker::DeliveryWorker {
        api: Arc::clone(&api),
        clock: Arc::clone(&clock),
        offload: Arc::clone(&offload),
        lease: WorkLeaseRenewal::new(&base.storage.leases, SharedWork::Webhooks),
    };
    webhook_worker::set_up(&delivery_worker.api, &base.storage, &config.webhooks, own).await?;
    let deliveries = webhook_worker::start(delivery_worker, &config.delivery, is_shared);
    let keys = SigningKeyStore::new(
        base.values.clone(),
        config.oauth.key_lifetime,
        base.clock.clone(),
    );
    let audit_signer = AuditSigner::open(
        (config.folder(), &base.values),
        (&config.audit, opening.accepted),
        config.api.audit_retention,
        &base.storage,
        base.clock.clone(),
        &*base.entropy,
    )
    .await?;
    let portal = base.portal(&config, &root, &api, &service, &keys)?;
    // Nothing can keep the server from starting any more: a job that is claimed is carried on with.
    let workers = if config.server.run_jobs && !options.no_jobs {
        Some(job_workers::start(&api, &clock, &metrics, &offload, is_shared).await?)
    } else {
        tracing::warn!("jobs are taken in and wait; this server does not carry them out");
        None
    };
    let edge = Arc::new(AppState {
        connections: ConnectionTracker::new(&config.http, Arc::clone(&metrics)),
        byte_budgets: ByteBudgets::new(&config.http),
        description: ApiDescription::new(own_address.shared_root()),
        own_address,
        api,
        portal,
        storage: Arc::clone(&base.storage),
        clock: Arc::clone(&base.clock),
        entropy: base.entropy.clone() as Arc<dyn Entropy>,
        metrics,
        offload,
        http: config.http.clone(),
        log_requests: config.log.requests,
        metrics_public: metrics_listener.is_none() && exposure::is_private(&config, address),
        metrics_token: exposure::token(&config.server.metrics_token),
        transport_security: exposure::transport_security(&root, config.http.hsts),
        draining: AtomicBool::new(false),
        exports,
        downloads: Arc::default(),
        request_id_seed: RequestIdSeed(random(&*base.entropy)?),
    });
    // Signals are handled before the server says that it is ready, since it may be stopped from then on.
    let signals = Signals::watch()?;
    tracing::info!(
        address = address.to_string(),
        base_url = config.api.base_url,
        data = config.server.data,
        demo = options.demo,
        "serving"
    );
    if let Some(path) = &options.port_file {
        write_port(path, address.port())?;
    }
    crate::cli::say(&banner);
    service_manager::notify("READY=1");
    let follower = base.follow_other_nodes(&limits, &edge.api, &keys);
    let reload = {
        let api = Arc::clone(&edge.api);
        move || match again().and_then(|config| limits.reload(&config, &api)) {
            Ok(()) => tracing::info!(
                "the limits of the configuration are in force; other settings need a restart"
            ),
            Err(error) => tracing::error!(
                reason = format!("{error:#}"),
                "the configuration was not reloaded"
            ),
        }
    };
    let chores = tokio::spawn(run_maintenance(
        Arc::clone(&edge),
        keys,
        Arc::clone(&base.storage),
        config.oauth.remember,
    ));
    let audit_signer = Arc::new(audit_signer);
    let watch = {
        let audit_signer = Arc::clone(&audit_signer);
        tokio::spawn(async move { audit_signer.run().await })
    };
    let replaced = base.replaced();
    let outcome = listener::serve(
        edge,
        (listener, metrics_listener),
        signals,
        reload,
        replaced,
    )
    .await;
    service_manager::notify("STOPPING=1");
    if let Some(workers) = workers {
        workers.stop().await;
    }
    chores.abort();
    watch.abort();
    // Changes that were made until the end are covered, too.
    audit_signer.run_once(true).await;
    follower.abort();
    // No attempt goes on beside those of the node that takes over.
    deliveries.abort();
    let left = base.leave().await;
    socket::remove(config.folder());
    tracing::info!("stopped");
    outcome.and(left)
}

/// Longest wait for the bucket at the start.
const BUCKET_WAIT: Duration = Duration::from_secs(5);

/// Refuses a database that nodes share without a folder for the files that they share, and a folder in which others can
/// change them.
fn check_shared_files(config: &Config) -> Result<()> {
    let folder = config.database.shared_files.as_str();
    if config.database.url.is_empty() {
        return Ok(());
    }
    if Path::new(folder).is_dir() {
        let folder = Path::new(folder);
        return data_dir::require_unwritable_by_others(folder, data_dir::SHARED_FILES, "o-w");
    }
    let use_of_it = "all nodes of the database share it, for files of exports, and for those of attachments if no bucket is set";
    if folder.is_empty() {
        bail!(
            "the store is a database, and --shared-files (store.shared_files) names no folder: {use_of_it}"
        );
    }
    bail!("--shared-files {folder}: there is no such folder; make it, or mount it ({use_of_it})")
}

/// Returns the store of the files of attachments: the bucket, if one is set, else a folder.
///
/// # Errors
/// Fails if the settings of the bucket are wrong, or the files of another server are in it. A bucket that does not answer
/// now is only warned of: it is claimed when it does.
async fn blob_store(
    config: &Config,
    clock: Arc<dyn Clock>,
    base: &ServerResources,
) -> Result<Arc<dyn BlobStore>> {
    let folder = BlobFolder::new(config.files_folder());
    if config.bucket.endpoint.0.is_empty() {
        return Ok(Arc::new(folder));
    }
    let upload_max = config.api.upload_max;
    let owner = base.bucket_owner(config).await?;
    let bucket = BlobBucket::new(&config.bucket, config.folder(), owner, clock, upload_max)?;
    let bucket = Arc::new(bucket);
    if exposure::is_plain(&config.bucket.endpoint.0) {
        tracing::warn!(
            "the address of the bucket is neither https nor this machine's: files of attachments cross the network readable"
        );
    }
    // The server does not wait long: without a bucket everything but files goes on.
    let checked = tokio::time::timeout(BUCKET_WAIT, bucket.check()).await;
    if let Err(error) = checked.unwrap_or_else(|late| Err(late.into())) {
        if error.is::<OwnedByAnother>() {
            return Err(error);
        }
        tracing::warn!(
            reason = format!("{error:#}"),
            "the bucket of attachments cannot be listed; uploads and downloads will fail"
        );
    }
    if folder.exists() {
        tracing::warn!(
            "there are files of attachments in the data folder, which are not looked for there while a bucket is set"
        );
    }
    Ok(bucket)
}

/// Most steps of forgetting jobs that are taken each time.
const CLEANUP_STEPS_MAX: usize = 10_000;
/// Age at which a file that another node began to upload has an owner, or never will.
const FOREIGN_UPLOAD_MAX: Duration = Duration::from_secs(86_400);
/// Time between two runs of the maintenance.
const HOUR: Duration = Duration::from_secs(3600);

/// Runs the maintenance at the start and every hour, beside the requests: signing keys are made and rotated, codes,
/// sessions and tokens that ended long ago are forgotten, and old files and jobs are removed.
async fn run_maintenance(
    edge: Arc<AppState>,
    keys: Arc<SigningKeyStore>,
    storage: Arc<Storage>,
    remember: Duration,
) {
    let mut lease = WorkLeaseRenewal::new(&storage.leases, SharedWork::Maintenance);
    let mut hours = tokio::time::interval(HOUR);
    hours.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for hour in 0u64.. {
        hours.tick().await;
        keys.refresh();
        edge.portal.sweep();
        sweep_files(&edge).await;
        if lease.renew_if_due().await.is_none() {
            // Another node does the rest.
            continue;
        }
        if hour % 24 == 0 {
            sweep_attachments(&edge).await;
        }
        match edge.api.cleanup_jobs(CLEANUP_STEPS_MAX).await {
            Ok(0) => {}
            Ok(steps) => tracing::debug!(steps, "forgot jobs"),
            Err(error) => tracing::warn!(reason = error.to_string(), "no job was forgotten"),
        }
        let before = Clock::now(&*edge.clock).checked_sub(remember);
        let swept = match before {
            Some(before) => storage.oauth.delete_expired(before).await,
            None => Ok(0),
        };
        match swept {
            Ok(0) => {}
            Ok(rows) => tracing::debug!(rows, "forgot what was over"),
            Err(e) => tracing::warn!(reason = e.to_string(), "nothing was swept"),
        }
    }
}

/// Removes the files of exports whose time is up.
async fn sweep_files(edge: &AppState) {
    let (exports, now) = (Arc::clone(&edge.exports), Clock::now(&*edge.clock));
    match tokio::task::spawn_blocking(move || exports.sweep(now)).await {
        Ok(Ok(0)) => {}
        Ok(Ok(files)) => tracing::debug!(files, "removed files of exports"),
        Ok(Err(e)) => tracing::warn!(reason = e.to_string(), "no file of an export was removed"),
        Err(e) => tracing::warn!(reason = e.to_string(), "no file of an export was removed"),
    }
}

/// Removes files of attachments that nothing owns: left over from a crash, or of attachments that were deleted.
async fn sweep_attachments(edge: &AppState) {
    let min_age = if edge.storage.is_shared {
        FOREIGN_UPLOAD_MAX
    } else {
        Duration::ZERO
    };
    match edge.api.sweep_attachment_files(min_age).await {
        Ok(SweepCounts {
            removed: 0,
            failed: 0,
            ..
        }) => {}
        Ok(SweepCounts {
            kept,
            removed,
            failed,
        }) => tracing::info!(kept, removed, failed, "swept the files of attachments"),
        Err(e) => tracing::warn!(
            reason = e.to_string(),
            "the files of attachments were not swept"
        ),
    }
}

/// Carries out an admin command: in the running server if there is one, else here.
///
/// # Errors
/// Says what is wrong with the command, or that the store can't be opened.
pub(crate) async fn admin(config: &Config, what: AdminCommand) -> Result<Value> {
    if let Some(outcome) = socket::send(config.folder(), &what) {
        return outcome;
    }
    if !config.folder().is_dir() {
        bail!(
            "{}: there is no such data folder; start the server once, or name another with --data",
            config.server.data
        );
    }
    let base = ServerResources::open(config, Opening::default()).await?;
    let limits = Arc::new(RuntimeLimits::open(config, base.values.clone()).await?);
    let api = base.api(config, config.limits);
    webhook_worker::set_up(&api, &base.storage, &config.webhooks, Vec::new()).await?;
    api.set_export_files(Arc::new(base.export_folder(config)));
    let service = base.service(config, api, &limits);
    let answer = admin::run(&service, what).await;
    base.leave().await?;
    answer
}

/// Returns limits that the start itself never reaches.
fn bootstrap_limits(config: &Config) -> workgraph_api::TokenLimits {
    let mut limits = config.limits;
    limits.standard.free = 1_000_000;
    limits.standard.paid = 1_000_000;
    limits.concurrent_reads = 1_000;
    limits.concurrent_writes = 1_000;
    limits.cost_per_minute = None;
    limits
}

/// Returns the address that a client on this machine can use.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address {
        SocketAddr::V4(a) if a.ip().is_unspecified() => std::net::Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(a) if a.ip().is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
        other => other.ip(),
    };
    SocketAddr::new(ip, address.port())
}

/// Writes the port in one step, so that a process that waits for the file never sees half of it.
fn write_port(path: &Path, port: u16) -> Result<()> {
    let draft = path.with_extension("new");
    let written = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)?;
        writeln!(file, "{port}")?;
        std::fs::rename(&draft, path)
    };
    written().with_context(|| format!("{}: the port can't be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::address_hint;

    #[test]
    fn what_is_no_address_with_a_port_is_answered_with_one_that_is() {
        assert!(address_hint("8090").ends_with("such as 127.0.0.1:8090"));
        assert!(address_hint("localhost").ends_with("such as localhost:8080"));
        assert_eq!(address_hint("127.0.0.1:80"), "");
    }
}
