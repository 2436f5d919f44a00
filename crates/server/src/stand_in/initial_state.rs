//! State that worlds begin with: a store that nobody writes, and the files beside it.
use crate::adapters::folder_use::AcceptedLosses;
use crate::adapters::private_values::PrivateValues;
use crate::adapters::sealed_webhooks::WebhookSecretSealer;
use crate::adapters::signing_key_store::store_published_key;
use crate::adapters::stores::{CopyMethod, Storage, StorageSource, StoreOptions, TokenAlias};
use crate::adapters::system_clock::{SystemEntropy, random};
use crate::admin::bootstrap::FirstObjects;
use crate::admin::bootstrap_file::{Bootstrap, BootstrapFile};
use crate::config::Config;
use crate::runtime_limits::RuntimeLimits;
use crate::server_resources::{Opening, ServerResources};
use crate::stand_in::initial_files::InitialFiles;
use crate::stand_in::seeded_entropy::in_stream;
use crate::stand_in::test_sources::{BEGINNING, TestSources};
use crate::world_sources::WorldSources;
use crate::world_start::first_start::first_start;
use anyhow::{Context, Result};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use workgraph_api::{Clock as _, Entropy};
use workgraph_auth::SecretDigest;
use workgraph_core::Gid;
use workgraph_wire::KeyRing;

/// Description of the token that each world begins with.
const TOKEN: &str = "Test";

/// State that worlds begin with. Its folder is removed with it.
pub(crate) struct InitialState {
    _folder: StateFolder,
    store: StorageSource,
    files: InitialFiles,
    /// Keys that the content is sealed with; `None` if each world gets keys of its own.
    keys: Option<KeyRing>,
    /// True if this is a demo.
    pub(crate) is_demo: bool,
    /// Users and apps of the state, if it has any.
    pub(crate) bootstrap: Option<Bootstrap>,
    /// Digest of a token of the first user whose text nobody knows: the token of each world stands for it.
    token: Option<SecretDigest>,
    /// Tokens of the world that the state was copied from.
    token_aliases: Vec<TokenAlias>,
}

/// World that an initial state is copied from.
pub(crate) struct CopiedWorld {
    pub(crate) folder: PathBuf,
    pub(crate) storage: Arc<Storage>,
    pub(crate) keys: KeyRing,
    pub(crate) sources: WorldSources,
    /// True if the world began as a demo.
    pub(crate) is_demo: bool,
    /// Tokens that stand for others in its store.
    pub(crate) token_aliases: Vec<TokenAlias>,
}

/// Folder that is removed at the end.
struct StateFolder(PathBuf);

impl Drop for StateFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0)
            && error.kind() != ErrorKind::NotFound
        {
            let folder = self.0.display().to_string();
            tracing::error!(%error, folder, "the initial state of worlds could not be removed");
        }
    }
}

impl InitialState {
    /// Makes the state of a demo, a fixture or an empty workspace in a new folder, which the settings name.
    ///
    /// # Errors
    /// Fails if an object can't be created, or a file can't be written.
    pub(crate) async fn of_objects(
        config: &Config,
        objects: FirstObjects<'_>,
        sources: &TestSources,
        root: &str,
    ) -> Result<Self> {
        let folder = StateFolder(config.folder().to_owned());
        let is_demo = objects.is_demo();
        let opening = Opening {
            demo: is_demo,
            ..Opening::default()
        };
        let made = async {
            let resources = ServerResources::open(config, opening, sources.sources()).await?;
            let limits = RuntimeLimits::open(config, resources.values.clone()).await?;
            let limits = Arc::new(limits);
            first_start(&resources, config, objects, &limits, root).await?;
            store_published_key(&resources.values, sources.clock.now()).await?;
            let made = add_token(&resources, config, &limits).await?;
            // Whatever a fixture has made is sealed with these keys.
            let is_sealed = matches!(objects, FirstObjects::Fixture(_));
            anyhow::Ok((made, is_sealed.then(|| resources.keys.clone())))
        };
        // The store is closed at the end of the block.
        let (made, keys) = in_stream(BEGINNING.to_owned(), made).await?;
        Self::closed(folder, config.store, keys, (made, is_demo, Vec::new()))
    }

    /// Copies the present state of a world into a new folder, which the settings name.
    ///
    /// # Errors
    /// Fails if a file can't be read or written.
    pub(crate) async fn of_world(config: &Config, world: CopiedWorld) -> Result<Self> {
        let folder = StateFolder(config.folder().to_owned());
        let (from, to, storage) = (world.folder, folder.0.clone(), world.storage);
        let copying = tokio::task::spawn_blocking(move || {
            InitialFiles::list(&from)?.copy_to(&to)?;
            storage.copy_to(&to)
        });
        copying.await.context("the copy broke off")??;
        let keys = world.keys;
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy::new());
        let sealer = WebhookSecretSealer::new(keys.clone(), entropy);
        let options = StoreOptions {
            single_connection: true,
            ..config.store
        };
        let made = {
            // The keys are those of the world, also if it has not sealed anything yet.
            let accepted = AcceptedLosses {
                database: false,
                keys: true,
            };
            let node = config.server.node;
            let storage = Storage::open(&folder.0, node, options, None, sealer, accepted)?;
            let values = PrivateValues::Folder(folder.0.clone());
            let parts = (storage, values, keys.clone());
            let opening = Opening::default();
            let resources = ServerResources::over(config, opening, world.sources, parts);
            let limits = RuntimeLimits::open(config, resources.values.clone()).await?;
            add_token(&resources, config, &Arc::new(limits)).await?
        };
        let known = (made, world.is_demo, world.token_aliases);
        Self::closed(folder, config.store, Some(keys), known)
    }

    /// Returns the state in a folder whose store is closed.
    fn closed(
        folder: StateFolder,
        options: StoreOptions,
        keys: Option<KeyRing>,
        ((bootstrap, token), is_demo, token_aliases): (FirstToken, bool, Vec<TokenAlias>),
    ) -> Result<Self> {
        Ok(Self {
            store: StorageSource::open(&folder.0, options)?,
            files: InitialFiles::list(&folder.0)?,
            _folder: folder,
            keys,
            is_demo,
            bootstrap,
            token,
            token_aliases,
        })
    }

    /// Closes the connections of the store that are not in use; the next read opens one.
    pub(crate) fn close_idle_connections(&self) {
        self.store.close_idle_connections();
    }

    /// Starts a store with this state in a new folder, which the settings name. The first user has the token with the given
    /// digest, which stands for the one in the state. Returns the tokens that stand for others, too.
    ///
    /// # Errors
    /// Fails if a file can't be read or written.
    pub(crate) fn start(
        &self,
        config: &Config,
        sources: &TestSources,
        token: SecretDigest,
    ) -> Result<(ServerResources, CopyMethod, Vec<TokenAlias>)> {
        let folder = config.folder();
        self.files.copy_to(folder)?;
        let own = self.token.map(|stored| TokenAlias {
            given: token,
            stored,
        });
        let token_aliases: Vec<_> = own
            .into_iter()
            .chain(self.token_aliases.iter().copied())
            .collect();
        let sources = sources.sources();
        let (keys, accepted) = match &self.keys {
            Some(keys) => (keys.clone(), AcceptedLosses::default()),
            None => (
                KeyRing::new(1, random(&*sources.entropy)?),
                AcceptedLosses {
                    database: false,
                    keys: true,
                },
            ),
        };
        let sealer = WebhookSecretSealer::new(keys.clone(), Arc::clone(&sources.entropy));
        let place = (folder, token_aliases.clone());
        let node = config.server.node;
        let copied = Storage::open_copy(&self.store, place, node, config.store, (sealer, accepted));
        let (storage, method) = copied?;
        let opening = Opening {
            demo: self.is_demo,
            is_server: false,
            accepted,
        };
        let values = PrivateValues::Folder(folder.to_owned());
        let resources = ServerResources::over(config, opening, sources, (storage, values, keys));
        Ok((resources, method, token_aliases))
    }
}

/// Users and apps of a store, if it has any, and the digest of a token of the first user.
type FirstToken = (Option<Bootstrap>, Option<SecretDigest>);

/// Adds a token of the first user whose text is thrown away.
async fn add_token(
    resources: &ServerResources,
    config: &Config,
    limits: &Arc<RuntimeLimits>,
) -> Result<FirstToken> {
    let Some((_, bootstrap)) = BootstrapFile::of(config).kept()? else {
        return Ok((None, None));
    };
    let user = bootstrap
        .users
        .first()
        .and_then(|user| Gid::parse(&user.gid));
    let user = user.context("the world has no user")?;
    let api = resources.api(config, config.limits);
    let service = resources.service(config, api, limits);
    // The bytes don't follow from the seed, so that nobody can compute the text.
    let bytes = random(&SystemEntropy::new())?;
    let secret = service.create_token_of(user, TOKEN, &bytes).await?;
    Ok((Some(bootstrap), Some(SecretDigest::of(secret.expose()))))
}
