//! Preparation of a world: the API, the authorization server and the audit signer over an open store.
use crate::adapters::folder_use::AcceptedLosses;
use crate::adapters::shared_limits;
use crate::adapters::signing_key_store::SigningKeyStore;
use crate::adapters::system_clock::random;
use crate::admin::admin_service::AdminService;
use crate::config::Config;
use crate::http::openapi::ApiDescription;
use crate::http::own_address::OwnAddress;
use crate::http::world::World;
use crate::log::request_id::RequestIdSeed;
use crate::runtime_limits::RuntimeLimits;
use crate::server_resources::ServerResources;
use crate::workers::audit_signer::AuditSigner;
use crate::workers::webhook_worker::{self, WrapClient};
use crate::world_start::attachment_files::blob_store;
use anyhow::Result;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use workgraph_limits_redis::RedisLimiter;

/// Parts from which a world is prepared.
pub(crate) struct WorldParts<'a> {
    pub(crate) config: &'a Config,
    pub(crate) accepted: AcceptedLosses,
    pub(crate) resources: &'a ServerResources,
    pub(crate) limits: &'a Arc<RuntimeLimits>,
    /// Scheme, host and port of the server.
    pub(crate) root: &'a str,
    /// Path of the world below the root; empty for a server with one world.
    pub(crate) path: &'a str,
    /// Addresses of the server, which webhooks must not target.
    pub(crate) own_addresses: Vec<SocketAddr>,
    /// True for a world of a stand-in.
    pub(crate) is_test: bool,
    /// Hosts that are reached over https although their requests arrive without it.
    pub(crate) https_hosts: Arc<[String]>,
    /// Function that returns the client of webhooks, given the one that sends requests.
    pub(crate) webhook_client: WrapClient<'a>,
    pub(crate) shared_limiter: Option<Arc<RedisLimiter>>,
}

/// A world, with the parts that work on it besides requests.
pub(crate) struct PreparedWorld {
    pub(crate) world: Arc<World>,
    pub(crate) service: Arc<AdminService>,
    pub(crate) keys: Arc<SigningKeyStore>,
    pub(crate) audit_signer: Arc<AuditSigner>,
}

impl WorldParts<'_> {
    /// Prepares the world. Nothing works on it yet.
    ///
    /// # Errors
    /// Fails if the files of attachments, the webhooks or the shared limiter can't be used.
    pub(crate) async fn prepare(self) -> Result<PreparedWorld> {
        let (config, resources) = (self.config, self.resources);
        let api = resources.api(config, config.limits);
        self.limits.apply(&api)?;
        if let Some(shared) = self.shared_limiter {
            let now = resources.clock.now();
            shared_limits::follow_nodes(&shared, resources.node(), &resources.values, now).await?;
            api.set_shared_limiter(shared);
        }
        let service = Arc::new(resources.service(config, Arc::clone(&api), self.limits));
        let exports = Arc::new(resources.export_folder(config));
        api.set_export_files(exports.clone());
        api.set_blob_store(blob_store(config, Arc::clone(&resources.clock), resources).await?);
        let (storage, hooks) = (&resources.storage, &config.webhooks);
        let client = (self.own_addresses, self.webhook_client);
        webhook_worker::set_up(&api, storage, hooks, client).await?;
        let keys = SigningKeyStore::new(
            resources.values.clone(),
            config.oauth.key_lifetime,
            resources.clock.clone(),
            resources.entropy.clone(),
        );
        let audit_signer = AuditSigner::new(
            (config.folder(), &resources.values),
            (&config.audit, self.accepted),
            config.api.audit_retention,
            &resources.storage,
            resources.clock.clone(),
            &*resources.entropy,
        )?;
        let auth_url = format!("{}{}", self.root, self.path);
        let portal = resources.portal(config, &auth_url, &api, &service, &keys)?;
        let is_fixed = !config.server.public_url.0.is_empty();
        let own_address = OwnAddress::new(self.root.to_owned(), is_fixed);
        let own_address = own_address.behind_https(self.https_hosts).below(self.path);
        let world = Arc::new(World {
            description: ApiDescription::new(own_address.shared_root()),
            own_address,
            api,
            portal,
            storage: Arc::clone(&resources.storage),
            clock: Arc::clone(&resources.clock),
            entropy: Arc::clone(&resources.entropy),
            exports,
            request_id_seed: RequestIdSeed(random(&*resources.entropy)?),
            request_count: self.is_test.then(AtomicU64::default),
        });
        Ok(PreparedWorld {
            world,
            service,
            keys,
            audit_signer: Arc::new(audit_signer),
        })
    }
}
