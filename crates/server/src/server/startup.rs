//! The steps of a start, each of which requires the previous one: bind listeners, open the store, create its first
//! contents, and serve.
use crate::adapters::data_dir;
use crate::adapters::folder_use::AcceptedLosses;
use crate::adapters::shared_limits;
use crate::adapters::signing_key_store::SigningKeyStore;
use crate::adapters::system_clock::random;
use crate::admin::admin_service::AdminService;
use crate::admin::bootstrap_file::{Bootstrap, BootstrapFile};
use crate::admin::{demo, socket};
use crate::config::{Config, exposure};
use crate::http::app_state::AppState;
use crate::http::byte_budgets::ByteBudgets;
use crate::http::connections::ConnectionTracker;
use crate::http::listener;
use crate::http::openapi::ApiDescription;
use crate::http::own_address::{BASE, OwnAddress};
use crate::http::stop_signal::StopSignal;
use crate::log::request_id::RequestIdSeed;
use crate::metrics::Metrics;
use crate::runtime_limits::RuntimeLimits;
use crate::server::addresses::{bind, reachable};
use crate::server::attachment_files::{blob_store, check_shared_files};
use crate::server::background_work::BackgroundWork;
use crate::server::maintenance::run_maintenance;
use crate::server::running_server::{Server, StopOnDrop};
use crate::server::start_options::StartOptions;
use crate::server_resources::{Opening, ServerResources};
use crate::workers::audit_signer::AuditSigner;
use crate::workers::job_workers;
use crate::workers::offload::Offload;
use crate::workers::webhook_worker;
use crate::workers::work_lease_renewal::WorkLeaseRenewal;
use anyhow::{Context, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::net::TcpListener;
use workgraph_api::{Clock, Entropy};
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
        let resources = ServerResources::open(&config, opening).await?;
        #[cfg(debug_assertions)]
        crate::adapters::fault_injection::drive_test_clock(&resources.clock)?;
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
            resources,
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
    resources: ServerResources,
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
            resources,
            accepted,
            root,
            shared_limiter,
        } = self;
        let (config, options, address) = (&bound.config, &bound.options, bound.address);
        let limits = Arc::new(RuntimeLimits::open(config, resources.values.clone()).await?);
        let (bootstrap, banner) = first_start(&resources, config, options, &limits, &root).await?;

        let api = resources.api(config, config.limits);
        limits.apply(&api)?;
        if let Some(shared) = shared_limiter {
            let now = Clock::now(&*resources.clock);
            shared_limits::follow_nodes(&shared, resources.node(), &resources.values, now).await?;
            api.set_shared_limiter(shared);
        }
        let service = Arc::new(resources.service(config, Arc::clone(&api), &limits));
        if let Err(e) = socket::listen(config.folder(), Arc::clone(&service)) {
            tracing::warn!(
                reason = e.to_string(),
                "there is no admin socket, so `workgraph admin` works only while the server does not run"
            );
        }
        let metrics = Arc::new(Metrics::new());
        let clock: Arc<dyn Clock> = resources.clock.clone();
        let exports = Arc::new(resources.export_folder(config));
        api.set_export_files(exports.clone());
        api.set_blob_store(blob_store(config, Arc::clone(&clock), &resources).await?);
        let offload = Offload::start(config.offload.long_reads, config.store.read_timeout)?;
        let is_shared = resources.storage.is_shared;
        let mut own = vec![address];
        let of_metrics = bound.metrics_listener.as_ref();
        own.extend(of_metrics.and_then(|listener| listener.local_addr().ok()));
        let delivery_worker = webhook_worker::DeliveryWorker {
            api: Arc::clone(&api),
            clock: Arc::clone(&clock),
            offload: Arc::clone(&offload),
            lease: WorkLeaseRenewal::new(&resources.storage.leases, SharedWork::Webhooks),
        };
        webhook_worker::set_up(
            &delivery_worker.api,
            &resources.storage,
            &config.webhooks,
            own,
        )
        .await?;
        let deliveries = webhook_worker::start(delivery_worker, &config.delivery, is_shared);
        let keys = SigningKeyStore::new(
            resources.values.clone(),
            config.oauth.key_lifetime,
            resources.clock.clone(),
        );
        let audit_signer = AuditSigner::open(
            (config.folder(), &resources.values),
            (&config.audit, accepted),
            config.api.audit_retention,
            &resources.storage,
            resources.clock.clone(),
            &*resources.entropy,
        )
        .await?;
        let portal = resources.portal(config, &root, &api, &service, &keys)?;
        // Nothing can prevent the server from starting any more, so a claimed job is also continued.
        let job_workers = if config.server.run_jobs && !options.no_jobs {
            Some(job_workers::start(&api, &clock, &metrics, &offload, is_shared).await?)
        } else {
            tracing::warn!("this server runs no jobs: they wait until one does");
            None
        };
        let own_address = OwnAddress::new(root.clone(), !config.server.public_url.0.is_empty());
        let app_state = Arc::new(AppState {
            connections: ConnectionTracker::new(&config.http, Arc::clone(&metrics)),
            byte_budgets: ByteBudgets::new(&config.http),
            description: ApiDescription::new(own_address.shared_root()),
            own_address,
            api,
            portal,
            storage: Arc::clone(&resources.storage),
            clock: Arc::clone(&resources.clock),
            entropy: resources.entropy.clone() as Arc<dyn Entropy>,
            metrics,
            offload,
            http: config.http.clone(),
            log_requests: config.log.requests,
            metrics_public: bound.metrics_listener.is_none()
                && exposure::is_private(config, address),
            metrics_token: exposure::token(&config.server.metrics_token),
            transport_security: exposure::transport_security(&root, config.http.hsts),
            draining: AtomicBool::new(false),
            exports,
            downloads: Arc::default(),
            request_id_seed: RequestIdSeed(random(&*resources.entropy)?),
        });
        Ok(PreparedServer {
            bound,
            root,
            bootstrap,
            banner,
            resources,
            limits,
            keys,
            app_state,
            work: BackgroundWork {
                audit_signer: Arc::new(audit_signer),
                job_workers,
                deliveries,
                loops: Vec::new(),
            },
        })
    }
}

/// Creates the first users and workspaces of an empty store. Returns the content of `bootstrap.json`, if it still exists,
/// and the text that describes what the server provides.
async fn first_start(
    resources: &ServerResources,
    config: &Config,
    options: &StartOptions,
    limits: &Arc<RuntimeLimits>,
    root: &str,
) -> Result<(Option<Bootstrap>, String)> {
    // The first start calls the API often; those calls have no client and count against no limit.
    let api = resources.api(config, bootstrap_limits(config));
    let service: AdminService = resources.service(config, api, limits);
    let bootstrap = resources
        .first_start(&service, config, options.demo, root)
        .await?;
    let base_url = &config.api.base_url;
    let banner = match &bootstrap {
        Some(bootstrap) if options.demo => demo::banner(bootstrap, &service).await,
        Some(_) => format!(
            "Workgraph serves {base_url}\nReference: {root}/-/docs\nSign in: {root}/-/console\nFirst address, password and token: {}",
            BootstrapFile::of(config).path().display()
        ),
        None => format!("Workgraph serves {base_url}"),
    };
    Ok((bootstrap, banner))
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

/// Third step: a server that has created or opened everything it needs, but serves nothing yet. Requests wait at its listener.
pub struct PreparedServer {
    bound: BoundServer,
    root: String,
    bootstrap: Option<Bootstrap>,
    banner: String,
    resources: ServerResources,
    limits: Arc<RuntimeLimits>,
    keys: Arc<SigningKeyStore>,
    app_state: Arc<AppState>,
    work: BackgroundWork,
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
        let follower =
            self.resources
                .follow_other_nodes(&self.limits, &self.app_state.api, &self.keys);
        let maintenance = tokio::spawn(run_maintenance(
            Arc::clone(&self.app_state),
            self.keys,
            Arc::clone(&self.resources.storage),
            config.oauth.remember,
        ));
        let signer = Arc::clone(&work.audit_signer);
        let signing = tokio::spawn(async move { signer.run().await });
        work.loops = vec![follower, maintenance, signing];
        let stop = Arc::new(StopSignal::default());
        let listening = tokio::spawn(listener::serve(
            Arc::clone(&self.app_state),
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
            api: Arc::clone(&self.app_state.api),
            work,
            stop: StopOnDrop(stop),
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
