//! Puts the parts together: the server, and the office beside it or without it.
use crate::bootstrap::{self, FirstPasswords};
use crate::cli::{Admin, Serve};
use crate::config::Config;
use crate::door::Door;
use crate::edge::Edge;
use crate::exports::ExportFolder;
use crate::limits::Desk;
use crate::metrics::Metrics;
use crate::notary::Notary;
use crate::office::Office;
use crate::offload::Offload;
use crate::password::Pool;
use crate::people::Users;
use crate::sealed_hooks::Sealer;
use crate::seams::{SystemEntropy, WallClock, hex, random};
use crate::signing::Signing;
use crate::storage::{Options, Storage};
use crate::{admin, demo, exposure, feeds, folder, jobs, listen, socket};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use workgraph_api::{Api, Clock, Entropy, Parts};
use workgraph_core::Mint;
use workgraph_portal::Portal;

/// What lasts as long as the process.
struct Base {
    storage: Arc<Storage>,
    clock: Arc<WallClock>,
    entropy: Arc<SystemEntropy>,
    first_passwords: Arc<FirstPasswords>,
}

impl Base {
    fn open(config: &Config, demo: bool) -> Result<Self, String> {
        folder::make(config.folder())?;
        let options = Options {
            read_timeout: config.store.read_timeout,
            ..Options::default()
        };
        let entropy = Arc::new(SystemEntropy::new());
        let keys = folder::keys(config.folder(), &*entropy)?;
        let sealer = Sealer::new(keys, entropy.clone());
        let storage = Arc::new(Storage::open(config.folder(), options, sealer)?);
        Ok(Self {
            storage,
            clock: Arc::new(WallClock::start()),
            entropy,
            first_passwords: Arc::new(FirstPasswords::of(config.folder(), demo)),
        })
    }

    /// An API that gives gids above all in the store. Only one may give gids at a time.
    fn api(&self, config: &Config, limits: workgraph_limits::Settings) -> Result<Arc<Api>, String> {
        let mint = Mint::new(
            u8::try_from(config.node).unwrap_or_default(),
            self.storage.floor()?,
        );
        Ok(Arc::new(Api::new(Parts {
            graph: Arc::clone(&self.storage.graph),
            tokens: Arc::clone(&self.storage.tokens),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            settings: config.api.clone(),
            limits,
            keys: folder::keys(config.folder(), &*self.entropy)?,
            mint,
        })))
    }

    /// The authorization server.
    fn portal(
        &self,
        config: &Config,
        root: &str,
        api: &Arc<Api>,
        office: &Arc<Office>,
        keys: &Arc<Signing>,
    ) -> Result<Arc<Portal>, String> {
        Ok(Arc::new(Portal::new(workgraph_portal::Parts {
            api: Arc::clone(api),
            store: Arc::clone(&self.storage.oauth),
            acts: self.storage.clone(),
            people: Arc::new(Users(Arc::clone(&self.storage.graph))),
            places: office.clone(),
            passwords: Arc::new(Pool::new(
                &random(&*self.entropy)?,
                &random(&*self.entropy)?,
            )?),
            keys: keys.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            settings: workgraph_portal::Settings {
                base_url: config.api.base_url.clone(),
                auth_url: root.to_owned(),
                loopback: config.oauth.loopback(),
                issuer_in_responses: config.oauth.issuer_in_responses,
                oob_without_pkce: config.oauth.oob_without_pkce,
                token_info_per_minute: config.oauth.token_info_per_minute,
                failures_per_minute: config.oauth.failures_per_minute,
                account_failures_per_minute: config.oauth.account_failures_per_minute,
            },
        })))
    }

    fn office(&self, config: &Config, api: Arc<Api>, limits: &Arc<Desk>) -> Office {
        Office {
            limits: Arc::clone(limits),
            first_passwords: Arc::clone(&self.first_passwords),
            api,
            storage: Arc::clone(&self.storage),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            loopback: config.oauth.loopback(),
        }
    }
}

/// Runs the server until it is told to stop. `again` reads the configuration anew.
///
/// # Errors
/// When it can't start.
pub(crate) async fn serve(
    mut config: Config,
    options: &Serve,
    again: impl Fn() -> Result<Config, String>,
) -> Result<(), String> {
    let base = Base::open(&config, options.demo)?;
    #[cfg(debug_assertions)]
    crate::sabotage::drive(&base.clock)?;
    let bind = async |address: &str| {
        TcpListener::bind(address)
            .await
            .map_err(|e| format!("can't listen on {address}: {e}"))
    };
    let listener = bind(&config.listen).await?;
    let address = listener.local_addr().map_err(|e| e.to_string())?;
    let metrics_listener = match config.metrics_listen.as_str() {
        "" => None,
        own => Some(bind(own).await?),
    };
    let root = if config.public_url.is_empty() {
        format!("http://{}", reachable(address))
    } else {
        config.public_url.clone()
    };
    if let Some(warning) = folder::warning(config.folder())? {
        tracing::warn!(folder = config.data, "{warning}");
    }
    let far = config.public_url.is_empty() && !address.ip().to_canonical().is_loopback();
    if far || exposure::is_plain(&root) {
        tracing::warn!(
            root,
            "the address of this server is neither https nor this machine's: passwords, cookies and tokens cross the network readable; set public_url to an https address"
        );
    }
    config.api.base_url = format!("{root}{}", crate::routes::BASE);
    config.oauth.loopback_redirects |= options.demo;
    config.oauth.oob_without_pkce |= options.demo;
    config.webhooks.allow_loopback |= options.demo;

    // The first start calls the API often; those calls are nobody's and count against no limit.
    let limits = Arc::new(Desk::open(&config)?);
    let office = base.office(&config, base.api(&config, unlimited(&config))?, &limits);
    let boot = bootstrap::prepare(&office, &config, options.demo, &root).await?;
    let banner = match &boot {
        Some(boot) if options.demo => demo::banner(boot, &office).await,
        Some(_) => format!(
            "Workgraph serves {}; who may use it stands in {}/bootstrap.json",
            config.api.base_url, config.data
        ),
        None => format!("Workgraph serves {}", config.api.base_url),
    };
    drop(office);

    let api = base.api(&config, config.limits)?;
    limits.apply(&api)?;
    let office = Arc::new(base.office(&config, Arc::clone(&api), &limits));
    if let Err(e) = socket::listen(config.folder(), Arc::clone(&office)) {
        tracing::warn!(
            why = e.to_string(),
            "there is no admin socket, so `workgraph admin` works only while the server does not run"
        );
    }
    let metrics = Arc::new(Metrics::new());
    let clock: Arc<dyn workgraph_api::Clock> = base.clock.clone();
    let exports = Arc::new(ExportFolder::new(config.folder()));
    api.set_exports(exports.clone());
    let offload = Offload::start(config.store.long_reads, config.store.read_timeout)?;
    let mut own = vec![address];
    own.extend(metrics_listener.as_ref().and_then(|l| l.local_addr().ok()));
    let courier = feeds::Courier {
        api: Arc::clone(&api),
        clock: Arc::clone(&clock),
        offload: Arc::clone(&offload),
    };
    feeds::start(courier, &base.storage, &config.webhooks, own).await?;
    let keys = Signing::new(
        config.folder(),
        config.oauth.key_lifetime,
        base.clock.clone(),
    );
    let notary = Notary::open(
        config.folder(),
        &config.audit,
        config.api.audit_retention,
        &base.storage,
        base.clock.clone(),
        &*base.entropy,
    )?;
    let portal = base.portal(&config, &root, &api, &office, &keys)?;
    // Nothing can keep the server from starting any more: a job that is taken up is gone on with.
    let workers = if config.run_jobs && !options.no_jobs {
        Some(jobs::start(&api, &clock, &metrics, &offload).await?)
    } else {
        tracing::warn!("jobs are taken in and wait; this server does not carry them out");
        None
    };
    let edge = Arc::new(Edge {
        door: Door::new(&config.http, Arc::clone(&metrics)),
        api,
        portal,
        storage: Arc::clone(&base.storage),
        clock: Arc::clone(&base.clock),
        entropy: base.entropy.clone() as Arc<dyn Entropy>,
        metrics,
        offload,
        http: config.http.clone(),
        log_requests: config.log.requests,
        own_metrics: metrics_listener.is_none() && exposure::is_private(&config, address),
        metrics_token: exposure::token(&config.metrics_token),
        transport_security: exposure::transport_security(&root, config.http.hsts),
        draining: AtomicBool::new(false),
        exports,
        downloads: Arc::new(Semaphore::new(DOWNLOADS)),
        prefix: hex(&random::<6>(&*base.entropy)?),
    });
    tracing::info!(
        address = address.to_string(),
        base_url = config.api.base_url,
        data = config.data,
        demo = options.demo,
        "serving"
    );
    if let Some(path) = &options.port_file {
        write_port(path, address.port())?;
    }
    crate::say(&banner);
    let reload = {
        let api = Arc::clone(&edge.api);
        move || match again().and_then(|config| limits.reload(&config, &api)) {
            Ok(()) => tracing::info!(
                "the limits of the configuration are in force; other settings need a restart"
            ),
            Err(why) => tracing::error!(why, "the configuration was not reloaded"),
        }
    };
    let chores = tokio::spawn(chores(
        Arc::clone(&edge),
        keys,
        Arc::clone(&base.storage),
        config.oauth.remember,
    ));
    let notary = Arc::new(notary);
    let watch = {
        let notary = Arc::clone(&notary);
        tokio::spawn(async move { notary.watch().await })
    };
    let outcome = listen::serve(edge, listener, metrics_listener, reload).await;
    if let Some(workers) = workers {
        workers.stop().await;
    }
    chores.abort();
    watch.abort();
    // What was done until the end is covered, too.
    notary.tend(true).await;
    socket::remove(config.folder());
    tracing::info!("stopped");
    outcome
}

/// How many files are sent at the same time, at most.
const DOWNLOADS: usize = 32;
/// How many steps of forgetting jobs are taken each time, at most.
const FORGOTTEN: usize = 10_000;
/// How often the chores are done.
const HOUR: Duration = Duration::from_secs(3600);

/// What is done at the start and every hour, beside the requests: signing keys are made and rotated,
/// codes, sessions and tokens that were over long ago are forgotten, and old files and jobs are removed.
async fn chores(edge: Arc<Edge>, keys: Arc<Signing>, storage: Arc<Storage>, remember: Duration) {
    let mut hours = tokio::time::interval(HOUR);
    hours.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        hours.tick().await;
        keys.tend();
        edge.portal.sweep();
        sweep_files(&edge).await;
        match edge.api.forget_jobs(FORGOTTEN).await {
            Ok(0) => {}
            Ok(steps) => tracing::debug!(steps, "forgot jobs"),
            Err(why) => tracing::warn!(why, "no job was forgotten"),
        }
        let before = Clock::now(&*edge.clock).checked_sub(remember);
        let swept = match before {
            Some(before) => storage.oauth.sweep(before).await,
            None => Ok(0),
        };
        match swept {
            Ok(0) => {}
            Ok(rows) => tracing::debug!(rows, "forgot what was over"),
            Err(e) => tracing::warn!(why = e.to_string(), "nothing was swept"),
        }
    }
}

/// Removes the files of exports whose time is up.
async fn sweep_files(edge: &Edge) {
    let (exports, now) = (Arc::clone(&edge.exports), Clock::now(&*edge.clock));
    match tokio::task::spawn_blocking(move || exports.sweep(now)).await {
        Ok(Ok(0)) => {}
        Ok(Ok(files)) => tracing::debug!(files, "removed files of exports"),
        Ok(Err(e)) => tracing::warn!(why = e.to_string(), "no file of an export was removed"),
        Err(e) => tracing::warn!(why = e.to_string(), "no file of an export was removed"),
    }
}

/// Carries out an admin command: in the running server if there is one, else here.
///
/// # Errors
/// Says what is wrong with the command, or that the store can't be opened.
pub(crate) async fn admin(config: &Config, what: Admin) -> Result<Value, String> {
    if let Some(outcome) = socket::send(config.folder(), &what) {
        return outcome;
    }
    if !config.folder().is_dir() {
        return Err(format!(
            "{}: there is no such data folder; start the server once, or name another with --data",
            config.data
        ));
    }
    let base = Base::open(config, false)?;
    let limits = Arc::new(Desk::open(config)?);
    let api = base.api(config, config.limits)?;
    feeds::set_up(&api, &base.storage, &config.webhooks, Vec::new()).await?;
    api.set_exports(Arc::new(ExportFolder::new(config.folder())));
    let office = base.office(config, api, &limits);
    admin::run(&office, what).await
}

/// Limits that the start itself never meets.
fn unlimited(config: &Config) -> workgraph_limits::Settings {
    let mut limits = config.limits;
    limits.standard.free = 1_000_000;
    limits.standard.paid = 1_000_000;
    limits.concurrent_reads = 1_000;
    limits.concurrent_writes = 1_000;
    limits.cost_per_minute = None;
    limits
}

/// The address a client on this machine can use.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address {
        SocketAddr::V4(a) if a.ip().is_unspecified() => std::net::Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(a) if a.ip().is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
        other => other.ip(),
    };
    SocketAddr::new(ip, address.port())
}

/// Writes the port so that whoever waits for the file never sees half of it.
fn write_port(path: &Path, port: u16) -> Result<(), String> {
    let say = |e: std::io::Error| format!("{}: {e}", path.display());
    let draft = path.with_extension("new");
    std::fs::write(&draft, format!("{port}\n")).map_err(say)?;
    std::fs::rename(&draft, path).map_err(say)
}
