//! State that worlds begin with: a store that nobody writes, and the files beside it.
use crate::adapters::data_dir::create_data_dir;
use crate::adapters::folder_use::AcceptedLosses;
use crate::adapters::private_values::{MemoryValues, PrivateValues, ValueTexts};
use crate::adapters::sealed_webhooks::WebhookSecretSealer;
use crate::adapters::signing_key_store::store_published_key;
use crate::adapters::stores::{CopyMethod, Storage, StorageSource, StoreOptions, TokenAlias};
use crate::adapters::system_clock::{SystemEntropy, random};
use crate::admin::bootstrap::FirstObjects;
use crate::admin::bootstrap_file::{Bootstrap, FirstPasswords};
use crate::config::Config;
use crate::runtime_limits::RuntimeLimits;
use crate::server_resources::{Opening, ServerResources};
use crate::stand_in::initial_files::InitialFiles;
use crate::stand_in::seeded_entropy::in_stream;
use crate::stand_in::test_sources::{BEGINNING, TestSources};
use crate::stand_in::world_beginning::WorldBeginning;
use crate::world_sources::WorldSources;
use crate::world_start::first_start::first_start;
use anyhow::{Context, Result};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use workgraph_api::{Clock as _, Entropy};
use workgraph_auth::{Secret, SecretDigest};
use workgraph_core::Gid;
use workgraph_wire::KeyRing;

/// Description of the token that each world begins with.
const TOKEN: &str = "Test";

/// State that worlds begin with. Its folder is removed with it.
pub(crate) struct InitialState {
    _folder: StateFolder,
    store: StorageSource,
    files: InitialFiles,
    values: ValueTexts,
    /// Keys that the content is sealed with; `None` if each world gets keys of its own.
    keys: Option<KeyRing>,
    pub(crate) is_demo: bool,
    /// Users and apps of the state, if it has any.
    pub(crate) bootstrap: Option<Arc<Bootstrap>>,
    /// Digest of a stored token of the first user. Nobody knows its text; each world has its own token in place of it.
    token: Option<SecretDigest>,
    /// Tokens of the world that the state was copied from.
    token_aliases: Vec<TokenAlias>,
}

/// World that an initial state is copied from.
pub(crate) struct CopiedWorld {
    pub(crate) folder: PathBuf,
    pub(crate) storage: Arc<Storage>,
    pub(crate) values: PrivateValues,
    pub(crate) keys: KeyRing,
    pub(crate) sources: WorldSources,
    /// True if the world began as a demo.
    pub(crate) is_demo: bool,
    pub(crate) bootstrap: Option<Arc<Bootstrap>>,
    /// Tokens of the world, each with the stored token that it represents.
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
            let (bootstrap, _) = first_start(&resources, config, objects, &limits, root).await?;
            store_published_key(&resources.values, sources.clock.now()).await?;
            let bootstrap = bootstrap.map(Arc::new);
            let token = add_token(&resources, config, &limits, bootstrap.as_deref()).await?;
            let values = resources.values.texts().await?;
            // Whatever a fixture has made is sealed with these keys.
            let is_sealed = matches!(objects, FirstObjects::Fixture(_));
            let keys = is_sealed.then(|| resources.keys.clone());
            anyhow::Ok((values, keys, bootstrap, token))
        };
        // The store is closed at the end of the block.
        let made = in_stream(BEGINNING.to_owned(), made).await?;
        let (values, keys, bootstrap, token) = made;
        let (store, files) = open_store(&folder, config.store)?;
        Ok(Self {
            store,
            files,
            _folder: folder,
            values,
            keys,
            is_demo,
            bootstrap,
            token,
            token_aliases: Vec::new(),
        })
    }

    /// Copies the present state of a world into a new folder, which the settings name.
    ///
    /// # Errors
    /// Fails if a file can't be read or written.
    pub(crate) async fn of_world(config: &Config, world: CopiedWorld) -> Result<Self> {
        let folder = StateFolder(config.folder().to_owned());
        let (from, to, storage) = (world.folder, folder.0.clone(), world.storage);
        let copying = tokio::task::spawn_blocking(move || {
            create_data_dir(&to)?;
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
        let values = world.values.texts().await?;
        let token = {
            // The keys are those of the world, also if it has not sealed anything yet.
            let accepted = AcceptedLosses {
                database: false,
                keys: true,
            };
            let node = config.server.node;
            let storage = Storage::open(&folder.0, node, options, None, sealer, accepted)?;
            let own = Arc::new(MemoryValues::new(Arc::clone(&values)));
            let parts = (storage, PrivateValues::Memory(own), keys.clone());
            let first_passwords = FirstPasswords::of_world(world.is_demo);
            let resources = ServerResources::over(world.sources, parts, first_passwords);
            let limits = RuntimeLimits::open(config, resources.values.clone()).await?;
            let bootstrap = world.bootstrap.as_deref();
            add_token(&resources, config, &Arc::new(limits), bootstrap).await?
        };
        let (store, files) = open_store(&folder, config.store)?;
        Ok(Self {
            store,
            files,
            _folder: folder,
            values,
            keys: Some(keys),
            is_demo: world.is_demo,
            bootstrap: world.bootstrap,
            token,
            token_aliases: world.token_aliases,
        })
    }

    /// Closes the connections of the store that are not in use; the next read opens one.
    pub(crate) fn close_idle_connections(&self) {
        self.store.close_idle_connections();
    }

    /// Returns the method by which the databases of worlds are copied.
    pub(crate) fn copy_method(&self) -> CopyMethod {
        self.store.method
    }

    /// Starts a store with this state in the folder of a world, which the settings name. The given token represents the
    /// stored token of the first user. Returns all tokens that represent others.
    ///
    /// # Errors
    /// Fails if a file can't be read or written.
    pub(crate) fn start(
        &self,
        config: &Config,
        sources: &TestSources,
        token: &Secret,
    ) -> Result<StartedState> {
        let folder = config.folder();
        self.files.copy_to(folder)?;
        let own = self.token.map(|stored| TokenAlias {
            given: SecretDigest::of(token.expose()),
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
        let storage = copied?;
        let values = Arc::new(MemoryValues::new(Arc::clone(&self.values)));
        let parts = (storage, PrivateValues::Memory(values), keys);
        let bootstrap = self.bootstrap.clone();
        let beginning =
            bootstrap.map(|bootstrap| WorldBeginning::new(bootstrap, token.expose().to_owned()));
        let first_passwords = FirstPasswords::of_world(self.is_demo);
        Ok(StartedState {
            resources: ServerResources::over(sources, parts, first_passwords),
            beginning,
            token_aliases,
        })
    }
}

/// Store of a world that has just begun.
pub(crate) struct StartedState {
    pub(crate) resources: ServerResources,
    pub(crate) beginning: Option<WorldBeginning>,
    /// Tokens of the world, each with the stored token that it represents.
    pub(crate) token_aliases: Vec<TokenAlias>,
}

/// Opens the store of a state, which is closed, and lists the files beside it.
fn open_store(
    folder: &StateFolder,
    options: StoreOptions,
) -> Result<(StorageSource, InitialFiles)> {
    let store = StorageSource::open(&folder.0, options)?;
    Ok((store, InitialFiles::list(&folder.0)?))
}

/// Adds a token of the first user whose text is thrown away. Returns its digest; `None` if the store began without users.
async fn add_token(
    resources: &ServerResources,
    config: &Config,
    limits: &Arc<RuntimeLimits>,
    bootstrap: Option<&Bootstrap>,
) -> Result<Option<SecretDigest>> {
    let Some(bootstrap) = bootstrap else {
        return Ok(None);
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
    Ok(Some(SecretDigest::of(secret.expose())))
}
