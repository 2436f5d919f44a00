//! Resources that live as long as a world: the store, the clock, the source of random bytes, and objects built from them.
use crate::adapters::blob_bucket::owner_id;
use crate::adapters::data_dir;
use crate::adapters::export_folder::ExportFolder;
use crate::adapters::folder_use::{self, AcceptedLosses};
use crate::adapters::postgres_node::{self, PostgresNode};
use crate::adapters::private_values::PrivateValues;
use crate::adapters::sealed_webhooks::WebhookSecretSealer;
use crate::adapters::signing_key_store::SigningKeyStore;
use crate::adapters::stores::Storage;
use crate::adapters::system_clock::{hex, pause, random};
use crate::adapters::user_directory::GraphUserDirectory;
use crate::admin::admin_service::AdminService;
use crate::admin::bootstrap::{self, FirstObjects};
use crate::admin::bootstrap_file::{Bootstrap, BootstrapFile, FirstPasswords};
use crate::config::Config;
use crate::data_commands::archive_restore::archive_options;
use crate::runtime_limits::RuntimeLimits;
use crate::workers::password_pool::PasswordPool;
use crate::workers::work_lease_renewal::WorkLeaseRenewal;
use crate::world_sources::WorldSources;
use anyhow::{Context, Result, bail};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use workgraph_api::{Api, ApiDependencies, Clock, Entropy};
use workgraph_core::storage::SharedWork;
use workgraph_portal::Portal;
use workgraph_wire::KeyRing;

/// Name of the stored id that nodes claim a bucket with.
const OWNER: &str = "bucket-owner";
/// Interval between checks whether another node creates the first users.
const TRY_EVERY: Duration = Duration::from_secs(1);
/// Interval between checks for limits that other nodes changed.
const FOLLOW_EVERY: Duration = Duration::from_secs(5);
/// Number of checks after which the keys that sign id_tokens are read again: every five minutes, which is much shorter than
/// the time that a new key waits before it signs.
const KEYS_EVERY: u32 = 60;

/// Options for opening the store.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Opening {
    pub(crate) demo: bool,
    /// True if the process serves requests; a command does not.
    pub(crate) is_server: bool,
    /// Losses that do not prevent the store from being opened.
    pub(crate) accepted: AcceptedLosses,
}

/// Resources that live as long as a world.
pub(crate) struct ServerResources {
    pub(crate) storage: Arc<Storage>,
    /// Private values: keys and settings.
    pub(crate) values: PrivateValues,
    pub(crate) keys: KeyRing,
    /// This process as a node of the database, if the store is a PostgreSQL database.
    node: Option<Arc<PostgresNode>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) first_passwords: Arc<FirstPasswords>,
    accepted: AcceptedLosses,
}

impl ServerResources {
    /// Opens the store of the settings: the file in the data folder, or a database. A process that serves requests joins the
    /// nodes of the database, or archives the file continuously if the settings say so; a command does neither.
    ///
    /// # Errors
    /// Fails if the store can't be used, or the folder was in use and has lost its database or its keys.
    pub(crate) async fn open(
        config: &Config,
        opening: Opening,
        sources: WorldSources,
    ) -> Result<Self> {
        let is_server = opening.is_server;
        data_dir::create_data_dir(config.folder())?;
        let WorldSources { clock, entropy } = sources;
        let (storage, values, keys, node) = if config.database.url.is_empty() {
            folder_use::check(config.folder(), opening.accepted)?;
            let keys = data_dir::keys(config.folder(), &*entropy)?;
            let sealer = WebhookSecretSealer::new(keys.clone(), entropy.clone());
            let number = config.server.node;
            let archive = if is_server {
                archive_options(config, &*entropy, &clock)?
            } else {
                None
            };
            let (folder, accepted) = (config.folder(), opening.accepted);
            let storage = Storage::open(folder, number, config.store, archive, sealer, accepted)?;
            let values = PrivateValues::Folder(config.folder().to_owned());
            (storage, values, keys, None)
        } else {
            let shared = postgres_node::open(config, &entropy, &*clock, is_server).await;
            let shared = shared.context("the store is a database that can't be used")?;
            let node = Arc::new(shared.node);
            let renewing = Arc::clone(&node);
            tokio::spawn(async move { renewing.renew_node_number().await });
            (shared.storage, shared.values, shared.keys, Some(node))
        };
        let sources = WorldSources { clock, entropy };
        let first_passwords = FirstPasswords::of(BootstrapFile::of(config), opening.demo);
        let mut opened = Self::over(sources, (storage, values, keys), first_passwords);
        opened.node = node;
        opened.accepted = opening.accepted;
        Ok(opened)
    }

    /// Returns the resources over an open store, given its private values and keys.
    pub(crate) fn over(
        WorldSources { clock, entropy }: WorldSources,
        (storage, values, keys): (Storage, PrivateValues, KeyRing),
        first_passwords: FirstPasswords,
    ) -> Self {
        Self {
            storage: Arc::new(storage),
            values,
            keys,
            node: None,
            clock,
            entropy,
            first_passwords: Arc::new(first_passwords),
            accepted: AcceptedLosses::default(),
        }
    }

    /// Returns a future that completes when this node must stop, because another one has its number.
    pub(crate) fn replaced(&self) -> impl Future<Output = ()> + use<> {
        let node = self.node.clone();
        async move {
            match node {
                Some(node) => node.wait_until_replaced().await,
                None => std::future::pending().await,
            }
        }
    }

    /// Returns this process as a node of a database, if the store is one.
    pub(crate) fn node(&self) -> Option<&Arc<PostgresNode>> {
        self.node.as_ref()
    }

    /// Releases the leases that this process holds among the nodes of a database.
    ///
    /// # Errors
    /// Fails if the process stops because another node has its number, so that its supervisor restarts it.
    pub(crate) async fn leave(&self) -> Result<()> {
        let Some(node) = &self.node else {
            return Ok(());
        };
        node.leave().await;
        if node.is_replaced() {
            bail!("another node has taken the number of this one");
        }
        Ok(())
    }

    /// Creates the first users and workspaces of an empty store. If several nodes start, one of them does this, and the
    /// others wait for it.
    ///
    /// # Errors
    /// Fails as [`bootstrap::prepare`] does.
    pub(crate) async fn first_start(
        &self,
        service: &AdminService,
        config: &Config,
        objects: FirstObjects<'_>,
        root: &str,
    ) -> Result<Option<Bootstrap>> {
        let mut lease = WorkLeaseRenewal::new(&self.storage.leases, SharedWork::FirstStart);
        while lease.renew_if_due().await.is_none() {
            pause(TRY_EVERY).await;
        }
        let places = (&self.values, self.accepted);
        let boot = bootstrap::prepare(service, config, objects, root, places).await?;
        self.storage.leases.release(SharedWork::FirstStart).await?;
        Ok(boot)
    }

    /// Returns the id that claims the attachment bucket: the id of the data folder, or of the database that nodes share.
    ///
    /// # Errors
    /// Fails if the id can't be read or created.
    pub(crate) async fn bucket_owner(&self) -> Result<String> {
        if let PrivateValues::Folder(folder) = &self.values {
            return owner_id(folder, &*self.entropy);
        }
        if let Some(owner) = self.values.read(OWNER).await? {
            return Ok(owner.text);
        }
        let id = hex(&random::<16>(&*self.entropy)?);
        if self.values.replace(OWNER, None, &id).await? {
            return Ok(id);
        }
        // Another node has just created it.
        let owner = self.values.read(OWNER).await?;
        Ok(owner.context("there is no id for the bucket")?.text)
    }

    /// Returns the folder of the export files.
    pub(crate) fn export_folder(&self, config: &Config) -> ExportFolder {
        ExportFolder::new(config.files_folder(), self.node.is_some())
    }

    /// Applies the changes that other nodes make to the limits, and to the keys that sign id_tokens.
    pub(crate) fn follow_other_nodes(
        &self,
        limits: &Arc<RuntimeLimits>,
        api: &Arc<Api>,
        keys: &Arc<SigningKeyStore>,
    ) -> JoinHandle<()> {
        let is_shared = self.node.is_some();
        let (limits, api, keys) = (Arc::clone(limits), Arc::clone(api), Arc::clone(keys));
        tokio::spawn(async move {
            if !is_shared {
                return;
            }
            let mut looks = interval(FOLLOW_EVERY);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            for look in 1u32.. {
                looks.tick().await;
                if let Err(error) = limits.refresh(&api).await {
                    let reason = format!("{error:#}");
                    tracing::warn!(
                        reason,
                        "the limits that other nodes changed could not be read"
                    );
                }
                if look.is_multiple_of(KEYS_EVERY) {
                    keys.refresh();
                }
            }
        })
    }

    /// Returns an API over the store.
    pub(crate) fn api(&self, config: &Config, limits: workgraph_api::TokenLimits) -> Arc<Api> {
        Arc::new(Api::new(ApiDependencies {
            graph: Arc::clone(&self.storage.graph),
            tokens: Arc::clone(&self.storage.tokens),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            settings: config.api.clone(),
            limits,
            keys: self.keys.clone(),
            gid_generator: Arc::clone(&self.storage.gid_generator),
        }))
    }

    /// Returns the portal, the authorization server.
    pub(crate) fn portal(
        &self,
        config: &Config,
        root: &str,
        api: &Arc<Api>,
        service: &Arc<AdminService>,
        keys: &Arc<SigningKeyStore>,
    ) -> Result<Arc<Portal>> {
        Ok(Arc::new(Portal::new(
            workgraph_portal::PortalDependencies {
                api: Arc::clone(api),
                store: Arc::clone(&self.storage.oauth),
                audited_store: self.storage.clone(),
                user_directory: Arc::new(GraphUserDirectory(Arc::clone(&self.storage.graph))),
                workspaces: service.clone(),
                passwords: Arc::new(PasswordPool::new(
                    &random(&*self.entropy)?,
                    &random(&*self.entropy)?,
                )?),
                keys: keys.clone(),
                clock: self.clock.clone(),
                entropy: self.entropy.clone(),
                settings: workgraph_portal::PortalSettings {
                    base_url: config.api.base_url.clone(),
                    auth_url: root.to_owned(),
                    ..config.portal.clone()
                },
            },
        )))
    }

    /// Returns the service that carries out the commands of `workgraph admin`.
    pub(crate) fn service(
        &self,
        config: &Config,
        api: Arc<Api>,
        limits: &Arc<RuntimeLimits>,
    ) -> AdminService {
        AdminService {
            limits: Arc::clone(limits),
            first_passwords: Arc::clone(&self.first_passwords),
            api,
            storage: Arc::clone(&self.storage),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            loopback: config.portal.loopback,
        }
    }
}
