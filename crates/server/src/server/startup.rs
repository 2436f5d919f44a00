//! The steps of a start, each of which requires the previous one: bind listeners, open the store, create its first
//! contents, and serve.
use crate::adapters::data_dir;
use crate::adapters::folder_use::AcceptedLosses;
use crate::adapters::shared_limits;
use crate::adapters::signing_key_store::SigningKeyStore;
use crate::adapters::signing_key_store::store_published_key;
use crate::adapters::system_clock::WallClock;
use crate::admin::bootstrap::FirstObjects;
use crate::admin::bootstrap_file::Bootstrap;
use crate::admin::socket;
use crate::config::{Config, exposure};
use crate::http::byte_budgets::ByteBudgets;
use crate::http::connections::ConnectionTracker;
use crate::http::listener;
use crate::http::own_address::BASE;
use crate::http::process::Process;
use crate::http::request_service::{Direct, RequestHandler};
use crate::http::stop_signal::StopSignal;
use crate::http::world::World;
use crate::metrics::Metrics;
use crate::runtime_limits::RuntimeLimits;
use crate::server::addresses::{bind, reachable};
use crate::server::background_work::BackgroundWork;
use crate::server::running_server::{Server, StopOnDrop};
use crate::server_resources::{Opening, ServerResources};
use crate::stand_in::{
    self, Interception, StandIn, StandInFolder, TestSources, TestWorld, TestWorlds, WorldBeginning,
    WorldOrigin, intercept,
};
use crate::start_options::{ClockMode, StartOptions};
use crate::workers::audit_signer::AuditSigner;
use crate::workers::job_workers;
use crate::workers::offload::Offload;
use crate::workers::webhook_worker;
use crate::workers::work_lease_renewal::WorkLeaseRenewal;
use crate::world_sources::WorldSources;
use crate::world_start::attachment_files::check_shared_files;
use crate::world_start::first_start::first_start;
use crate::world_start::maintenance::run_maintenance;
use crate::world_start::prepared_world::WorldParts;
use anyhow::{Context, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::net::TcpListener;
use workgraph_api::Clock;
use workgraph_auth::SecretDigest;
use workgraph_core::model::time::{Date, Time};
use workgraph_core::storage::SharedWork;

/// First step: the listeners. Nothing is created yet, so an address that is in use leaves no trace.
pub(crate) struct BoundServer {
    config: Config,
    options: StartOptions,
    listener: TcpListener,
    address: SocketAddr,
    metrics_listener: Option<TcpListener>,
}

impl BoundServer {
    /// Binds the listeners in the settings.
    ///
    /// # Errors
    /// Fails if an address is in use, or there is no folder for the files that nodes share.
    pub(crate) async fn bind(config: Config, options: StartOptions) -> Result<Self> {
        check_shared_files(&config)?;
        let listener = bind(&config.server.listen).await?;
        let address = listener
            .local_addr()
            .context("the address of the listener is unknown")?;
        let metrics_listener = match config.server.metrics_listen.as_str() {
            "" => None,
            own => Some(bind(own).await?),
        };
        Ok(Self {
            config,
            options,
            listener,
            address,
            metrics_listener,
        })
    }

    /// Opens the store.
    ///
    /// # Errors
    /// Fails if the store can't be used, or the shared limiter can't be reached.
    pub(crate) async fn open(self) -> Result<OpenedServer> {
        let mut config = self.config.clone();
        let shared_limiter = shared_limits::connect(&config.shared_limits).await?;
        let accepted = AcceptedLosses {
            database: self.options.new,
            keys: self.options.new_keys,
        };
        let opening = Opening {
            demo: self.options.demo,
            is_server: true,
            accepted,
        };
        let wall_clock = Arc::new(WallClock::start());
        let stand_in = if self.options.stand_in {
            let folder = StandInFolder::prepare(config.folder())?;
            stand_in::allow_open_files()?;
            Some((stand_in::sources(&self.options, &wall_clock)?, folder))
        } else {
            stand_in::check_is_real(config.folder())?;
            None
        };
        let sources = match &stand_in {
            Some((test_sources, _)) => test_sources.sources(),
            None => WorldSources::of_the_machine(&wall_clock),
        };
        let resources = ServerResources::open(&config, opening, sources).await?;
        #[cfg(debug_assertions)]
        crate::adapters::fault_injection::drive_test_clock(&wall_clock)?;
        let root = match config.server.public_url.0.as_str() {
            "" => format!("http://{}", reachable(self.address)),
            public => public.to_owned(),
        };
        if let Some(warning) = data_dir::warning(config.folder())? {
            tracing::warn!(folder = config.server.data, "{warning}");
        }
        warn_of_exposure(&config, self.address, &root);
        config.api.base_url = format!("{root}{BASE}");
        Ok(OpenedServer {
            bound: Self { config, ..self },
            wall_clock,
            stand_in,
            resources: Arc::new(resources),
            accepted,
            root,
            shared_limiter,
        })
    }
}

/// Logs warnings for addresses that other machines reach without protection, or under a name that is not in the settings.
fn warn_of_exposure(config: &Config, address: SocketAddr, root: &str) {
    let has_name = !config.server.public_url.0.is_empty();
    let is_far = !has_name && !address.ip().to_canonical().is_loopback();
    if is_far {
        tracing::warn!(
            address = address.to_string(),
            "other machines reach this server, and public_url is not set: links in replies begin with the host that each request names; set public_url to the address that people use, such as https://work.example"
        );
    }
    if is_far || exposure::is_plain(root) {
        tracing::warn!(
            root,
            "the address of this server is neither https nor this machine's: passwords, cookies and tokens cross the network readable; set public_url to an https address"
        );
    }
}

/// Second step: the store is open.
pub(crate) struct OpenedServer {
    bound: BoundServer,
    wall_clock: Arc<WallClock>,
    /// Time and random bytes of the world at the root of a stand-in, and its folder.
    stand_in: Option<(TestSources, StandInFolder)>,
    resources: Arc<ServerResources>,
    accepted: AcceptedLosses,
    root: String,
    shared_limiter: Option<Arc<workgraph_limits_redis::RedisLimiter>>,
}

impl OpenedServer {
    /// Creates the first users and workspaces of an empty store, and the parts that serve it.
    ///
    /// # Errors
    /// Fails if that is impossible, or a file store, the audit log or a worker can't be used.
    pub(crate) async fn prepare(self) -> Result<PreparedServer> {
        let Self {
            bound,
            wall_clock,
            stand_in,
            resources,
            accepted,
            root,
            shared_limiter,
        } = self;
        let (config, options, address) = (&bound.config, &bound.options, bound.address);
        let limits = Arc::new(RuntimeLimits::open(config, resources.values.clone()).await?);
        let is_demo = options.demo || options.stand_in;
        let (bootstrap, mut banner) = first_start(
            &resources,
            config,
            FirstObjects::of_demo(is_demo),
            &limits,
            &root,
        )
        .await?;
        let metrics = Arc::new(Metrics::new());
        let process = Arc::new(Process {
            clock: wall_clock,
            connections: ConnectionTracker::new(&config.http, Arc::clone(&metrics)),
            byte_budgets: ByteBudgets::new(&config.http),
            metrics,
            offload: Offload::start(config.offload.long_reads, config.store.read_timeout)?,
            http: config.http.clone(),
            log_requests: config.log.requests,
            metrics_public: bound.metrics_listener.is_none()
                && exposure::is_private(config, address),
            metrics_token: exposure::token(&config.server.metrics_token),
            transport_security: exposure::transport_security(&root, config.http.hsts),
            draining: AtomicBool::new(false),
            downloads: Arc::default(),
        });
        let mut own_addresses = vec![address];
        let of_metrics = bound.metrics_listener.as_ref();
        own_addresses.extend(of_metrics.and_then(|listener| listener.local_addr().ok()));
        if options.stand_in {
            // The inbox of a world is a target of its webhooks.
            own_addresses.clear();
        }
        let https_hosts: Arc<[String]> = options.intercept.as_slice().into();
        let prepared = WorldParts {
            config,
            accepted,
            resources: &resources,
            limits: &limits,
            root: &root,
            path: "",
            is_test: options.stand_in,
            https_hosts: Arc::clone(&https_hosts),
            webhook_client: &|client| match &stand_in {
                Some((sources, _)) => sources.webhook_client(client),
                None => client,
            },
            own_addresses,
            shared_limiter,
        }
        .prepare()
        .await?;
        prepared.audit_signer.check_key().await?;
        let service = Arc::clone(&prepared.service);
        if let Err(e) = socket::listen(config.folder(), service) {
            tracing::warn!(
                reason = e.to_string(),
                "there is no admin socket, so `workgraph admin` works only while the server does not run"
            );
        }
        let (world, keys) = (Arc::clone(&prepared.world), Arc::clone(&prepared.keys));
        let mut interception = None;
        let (work, handler): (_, Arc<dyn RequestHandler>) = match stand_in {
            None => {
                let signer = Arc::clone(&prepared.audit_signer);
                let work = start_work(&bound, &resources, &process, &world, signer).await?;
                (work, Arc::new(Direct))
            }
            Some((sources, folder)) => {
                banner += &stand_in::banner(&sources, &root);
                let work = BackgroundWork::of(Arc::clone(&prepared.audit_signer));
                let origin = WorldOrigin::of_the_root(&root, config.folder());
                let beginning = bootstrap.clone().map(|bootstrap| {
                    let token = bootstrap.personal_access_token.clone();
                    WorldBeginning::new(Arc::new(bootstrap), token)
                });
                let opened = (Arc::clone(&resources), beginning);
                store_published_key(&resources.values, sources.clock.now()).await?;
                let begun = TestWorld::begin(origin, config, &sources, opened, prepared).await?;
                begun
                    .timeline
                    .set_running(options.clock == ClockMode::Running);
                let config = config.clone();
                let token = options.control_token.as_deref().map(SecretDigest::of);
                if !https_hosts.is_empty() {
                    let free = SocketAddr::from(([127, 0, 0, 1], 0));
                    let listen = options.intercept_listen.unwrap_or(free);
                    let today = Date::of(Time::from_system(process.clock.now()));
                    let place = (config.folder(), today);
                    let hosts = Arc::clone(&https_hosts);
                    let begun = intercept(hosts, listen, reachable(bound.address), place).await?;
                    banner += &begun.banner(&https_hosts);
                    interception = Some(begun);
                }
                let worlds = TestWorlds::new(
                    Arc::clone(&process),
                    (config, folder),
                    token,
                    (Arc::new(begun), https_hosts),
                );
                (work, Arc::new(StandIn(worlds)))
            }
        };
        Ok(PreparedServer {
            bound,
            root,
            bootstrap,
            banner,
            resources,
            limits,
            keys,
            process,
            world,
            handler,
            work,
            interception,
        })
    }
}

/// Starts the workers of a world: deliveries of webhooks, and jobs.
async fn start_work(
    bound: &BoundServer,
    resources: &ServerResources,
    process: &Process,
    world: &World,
    audit_signer: Arc<AuditSigner>,
) -> Result<BackgroundWork> {
    let (config, is_shared) = (&bound.config, resources.storage.is_shared);
    let delivery_worker = webhook_worker::DeliveryWorker {
        api: Arc::clone(&world.api),
        clock: Arc::clone(&world.clock),
        offload: Arc::clone(&process.offload),
        lease: WorkLeaseRenewal::new(&resources.storage.leases, SharedWork::Webhooks),
    };
    let deliveries = webhook_worker::start(delivery_worker, &config.delivery, is_shared);
    // Nothing can prevent the server from starting any more, so a claimed job is also continued.
    let job_workers = if config.server.run_jobs && !bound.options.no_jobs {
        let (metrics, offload) = (&process.metrics, &process.offload);
        let started =
            job_workers::start(&world.api, &world.clock, metrics, offload, is_shared).await?;
        Some(started)
    } else {
        tracing::warn!("this server runs no jobs: they wait until one does");
        None
    };
    Ok(BackgroundWork {
        job_workers,
        deliveries: Some(deliveries),
        ..BackgroundWork::of(audit_signer)
    })
}

/// Third step: a server that has created or opened everything it needs, but serves nothing yet. Requests wait at its listener.
pub struct PreparedServer {
    bound: BoundServer,
    root: String,
    bootstrap: Option<Bootstrap>,
    banner: String,
    resources: Arc<ServerResources>,
    limits: Arc<RuntimeLimits>,
    keys: Arc<SigningKeyStore>,
    process: Arc<Process>,
    world: Arc<World>,
    handler: Arc<dyn RequestHandler>,
    work: BackgroundWork,
    interception: Option<Interception>,
}

impl PreparedServer {
    /// Starts serving requests.
    #[must_use]
    pub fn serve(self) -> Server {
        let mut work = self.work;
        let (config, address) = (self.bound.config, self.bound.address);
        tracing::info!(
            address = address.to_string(),
            base_url = config.api.base_url,
            data = config.server.data,
            demo = self.bound.options.demo,
            "serving"
        );
        if !self.bound.options.stand_in {
            let (resources, world) = (&self.resources, &self.world);
            let follower = resources.follow_other_nodes(&self.limits, &world.api, &self.keys);
            let remember = config.oauth.remember;
            let maintenance = run_maintenance(Arc::clone(world), self.keys, remember);
            let signer = Arc::clone(&work.audit_signer);
            let signing = tokio::spawn(async move { signer.run().await });
            work.loops = vec![follower, tokio::spawn(maintenance), signing];
        }
        let stop = Arc::new(StopSignal::default());
        let listening = tokio::spawn(listener::serve(
            (self.process, Arc::clone(&self.world)),
            self.handler,
            (self.bound.listener, self.bound.metrics_listener),
            Arc::clone(&stop),
            self.resources.replaced(),
        ));
        Server {
            address,
            root: self.root,
            base_url: config.api.base_url.clone(),
            bootstrap: self.bootstrap,
            banner: self.banner,
            folder: config.folder().to_owned(),
            resources: self.resources,
            limits: self.limits,
            api: Arc::clone(&self.world.api),
            work,
            stop: StopOnDrop(stop),
            interception: self.interception,
            listening,
            surroundings: None,
        }
    }
}

impl Server {
    /// Binds the listeners, opens the store and creates its first contents, in this order.
    ///
    /// # Errors
    /// Fails if an address is in use, or the store or another part can't be used.
    pub async fn prepare(config: Config, options: StartOptions) -> Result<PreparedServer> {
        let bound = BoundServer::bind(config, options).await?;
        let opened = bound.open().await?;
        opened.prepare().await
    }
}
