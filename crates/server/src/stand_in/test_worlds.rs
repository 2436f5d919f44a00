//! The worlds of a stand-in: the one at the root, and those that tests make.
use crate::adapters::folder_use::AcceptedLosses;
use crate::adapters::system_clock::random;
use crate::admin::bootstrap::FirstObjects;
use crate::config::{self, Config};
use crate::http::own_address::BASE;
use crate::http::process::Process;
use crate::runtime_limits::RuntimeLimits;
use crate::stand_in::initial_state::InitialState;
use crate::stand_in::initial_states::InitialStates;
use crate::stand_in::oauth_traffic::WorldHints;
use crate::stand_in::recent_stores::RecentStores;
use crate::stand_in::seeded_entropy::in_stream;
use crate::stand_in::stand_in_folder::StandInFolder;
use crate::stand_in::test_sources::{BEGINNING, TestSources};
use crate::stand_in::test_world::{TestWorld, WorldOrigin};
use crate::stand_in::time_text;
use crate::stand_in::world_options::{WorldContent, WorldOptions};
use crate::stand_in::world_plan::WorldPlan;
use crate::world_start::prepared_world::WorldParts;
use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;
use workgraph_api::Clock;
use workgraph_auth::{SecretDigest, TokenKind, mint_token};

/// Prefix of the paths of all worlds but the root.
pub(crate) const WORLDS: &str = "/w/";
/// Seed of the initial states that are not copied from a world.
const INITIAL_SEED: u64 = 0;
/// Maximum number of worlds at the same time: each has an open file, and some memory.
const WORLDS_MAX: usize = 5_000;
/// Bytes of records that the store of a world caches.
const NODE_CACHE_BYTES: usize = 4 << 20;

/// Worlds of a stand-in, by their ids.
pub(crate) struct TestWorlds {
    pub(crate) process: Arc<Process>,
    /// Settings of the server; the settings of each world are based on them.
    config: Config,
    /// Settings about the first admin, as text.
    admin: String,
    /// Digest of the token that allows control from other machines.
    pub(crate) control_token: Option<SecretDigest>,
    /// Lock on the data folder of the server.
    _server_folder: StandInFolder,
    /// Folder with a subfolder for each world.
    folder: PathBuf,
    pub(crate) root_world: Arc<TestWorld>,
    /// Hosts whose requests are intercepted.
    https_hosts: Arc<[String]>,
    worlds: Mutex<BTreeMap<u64, Arc<TestWorld>>>,
    initial_states: InitialStates,
    recent: RecentStores,
    last: AtomicU64,
    last_folder: AtomicU64,
}

impl TestWorlds {
    /// Returns the worlds of a server whose root is a world.
    pub(crate) fn new(
        process: Arc<Process>,
        (config, server_folder): (Config, StandInFolder),
        control_token: Option<SecretDigest>,
        (root_world, https_hosts): (Arc<TestWorld>, Arc<[String]>),
    ) -> Self {
        let folder = config.folder().join("worlds");
        Self {
            process,
            initial_states: InitialStates::new(folder.clone()),
            folder,
            admin: admin_text(&config),
            config,
            _server_folder: server_folder,
            control_token,
            root_world,
            https_hosts,
            worlds: Mutex::default(),
            recent: RecentStores::default(),
            last: AtomicU64::new(0),
            last_folder: AtomicU64::new(0),
        }
    }

    /// Returns the world with an id, if it exists.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<TestWorld>> {
        let number: u64 = id.strip_prefix('w').unwrap_or(id).parse().ok()?;
        if number == 0 {
            return Some(Arc::clone(&self.root_world));
        }
        self.worlds.lock().get(&number).cloned()
    }

    /// Returns the world that issued a token, or the root if none did.
    pub(crate) fn of_token(&self, token: &str) -> Arc<TestWorld> {
        let worlds = self.worlds.lock();
        // Worlds of one fixture have the same tokens: the newest of them is meant.
        let found = worlds.values().rev().find(|world| world.gave(token));
        Arc::clone(found.unwrap_or(&self.root_world))
    }

    /// Returns the world of a request to the authorization server at the root: the one that issued its token or code, or
    /// else the newest one that began with its app. Returns the root if no world fits, or if the root began with that app,
    /// too.
    pub(crate) fn of_hints(&self, hints: &WorldHints) -> Arc<TestWorld> {
        if let Some(given) = &hints.given {
            let found = self.of_token(given);
            if !Arc::ptr_eq(&found, &self.root_world) {
                return found;
            }
        }
        let client = hints.client_id.as_deref();
        let client = client.filter(|client| !self.root_world.has_app(client));
        let worlds = self.worlds.lock();
        let found = client.and_then(|client| worlds.values().rev().find(|w| w.has_app(client)));
        Arc::clone(found.unwrap_or(&self.root_world))
    }

    /// Returns all worlds, the root first.
    pub(crate) fn all(&self) -> Vec<Arc<TestWorld>> {
        let worlds = self.worlds.lock();
        let root = std::iter::once(&self.root_world);
        root.chain(worlds.values()).cloned().collect()
    }

    /// Creates a world with these options.
    ///
    /// # Errors
    /// Fails if there are too many, a setting is wrong, or the world to copy does not exist.
    pub(crate) async fn create(&self, options: WorldOptions) -> Result<Arc<TestWorld>> {
        if self.worlds.lock().len() >= WORLDS_MAX {
            bail!("there are {WORLDS_MAX} worlds already: delete some");
        }
        let number = self.last.fetch_add(1, Relaxed) + 1;
        let seed = options.seed;
        let seed = seed.unwrap_or_else(|| self.root_world.seed.wrapping_add(number));
        let mut now = options.now.unwrap_or(self.root_world.began_at);
        let first = async |name, objects| self.first_state((name, objects), &options, now).await;
        let initial = match &options.content {
            WorldContent::Demo => first("demo", FirstObjects::Demo).await?,
            WorldContent::Empty => first("empty", FirstObjects::Admin).await?,
            WorldContent::Fixture(fixture) => {
                first(&fixture.digest, FirstObjects::Fixture(&fixture.fixture)).await?
            }
            WorldContent::CopyOf(id) => {
                let source = self.find(id);
                let source = source.with_context(|| format!("from: there is no world `{id}`"))?;
                now = options.now.unwrap_or_else(|| source.clock.now());
                self.state_of(&source).await?
            }
        };
        let plan = WorldPlan {
            number,
            seed,
            now,
            initial,
            options,
        };
        self.begin(Arc::new(plan)).await
    }

    /// Returns the present state of a world.
    async fn state_of(&self, source: &TestWorld) -> Result<Arc<InitialState>> {
        // Due acts are completed first, so that nothing in the copy is half done.
        source.timeline.settle().await?;
        let key = (state_key(source), source.state_version()?);
        let make = async |folder: &Path| {
            let mut config = self.config.clone();
            config::set_folder(&mut config, folder)?;
            InitialState::of_world(&config, source.copied_world()).await
        };
        self.initial_states.get(key, make).await
    }

    /// Returns the state that a world begins with at a time, given its objects and their name. It does not depend on the seed
    /// of the server, so the demo is the same in all worlds that begin at the same time.
    async fn first_state(
        &self,
        (name, objects): (&str, FirstObjects<'_>),
        options: &WorldOptions,
        now: SystemTime,
    ) -> Result<Arc<InitialState>> {
        let own = match options.has_settings() {
            true => Some(self.config_with(options)?),
            false => None,
        };
        let own_admin = own.as_ref().map(admin_text);
        let admin = own_admin.as_deref().unwrap_or(&self.admin);
        let key = format!("{name} {} {admin}", time_text(now));
        let make = async |folder: &Path| {
            let mut config = own.unwrap_or_else(|| self.config.clone());
            config::set_folder(&mut config, folder)?;
            let sources = TestSources::new(&self.process.clock, INITIAL_SEED, now);
            let root = &self.root_world.origin.root;
            InitialState::of_objects(&config, objects, &sources, root).await
        };
        self.initial_states.get((key, String::new()), make).await
    }

    /// Returns the settings of a world with these options.
    fn config_with(&self, options: &WorldOptions) -> Result<Config> {
        let mut config = self.config.clone();
        options.apply(&mut config)?;
        Ok(config)
    }

    /// Replaces a world with a new one in its initial state, with the same tokens. Returns `None` if the world does not
    /// exist.
    ///
    /// # Errors
    /// Fails if the new world can't be created; the former one then remains.
    pub(crate) async fn reset(&self, id: &str) -> Result<Option<Arc<TestWorld>>> {
        let Some(former) = self.find(id) else {
            return Ok(None);
        };
        let Some(plan) = former.plan.clone() else {
            bail!("the world at the root can't be reset: make a world for the test");
        };
        let made = self.begin(plan).await?;
        self.initial_states.forget(&state_key(&former)).await;
        remove_files(&former)?;
        Ok(Some(made))
    }

    /// Starts a world by its plan. It replaces the world with its number, if there is one.
    async fn begin(&self, plan: Arc<WorldPlan>) -> Result<Arc<TestWorld>> {
        let number = plan.number;
        let path = format!("{WORLDS}{number}");
        let beginning = self.last_folder.fetch_add(1, Relaxed) + 1;
        let origin = WorldOrigin {
            folder: self.folder.join(format!("w{number}-{beginning}")),
            id: format!("w{number}"),
            name: plan.options.name.clone(),
            root: format!("{}{path}", self.root_world.origin.root),
            path,
        };
        let mut config = self.config_with(&plan.options)?;
        config::set_folder(&mut config, &origin.folder)?;
        config.api.base_url = format!("{}{BASE}", origin.root);
        config.store.node_cache_bytes = NODE_CACHE_BYTES;
        let strict = plan.options.strict.unwrap_or(self.root_world.is_strict);
        let sources = TestSources::new(&self.process.clock, plan.seed, plan.now).strict(strict);
        let folder = origin.folder.clone();
        let opened = self.open((origin, plan), &config, &sources);
        let opened = in_stream(BEGINNING.to_owned(), opened).await;
        let made = match opened {
            Ok(made) => Arc::new(made),
            Err(error) => match std::fs::remove_dir_all(&folder) {
                Err(left) if left.kind() != ErrorKind::NotFound => {
                    return Err(left).with_context(|| folder.display().to_string());
                }
                _ => return Err(error),
            },
        };
        self.worlds.lock().insert(number, Arc::clone(&made));
        self.recent.note(&made);
        Ok(made)
    }

    /// Records that a world is used, and closes the files of the least recently used store if too many are open.
    pub(crate) fn note_use(&self, test_world: &Arc<TestWorld>) {
        self.recent.note(test_world);
    }

    /// Records the use of a world that may have been written for the first time, and thus has opened its own store.
    pub(crate) fn note_first_write(&self, test_world: &Arc<TestWorld>) {
        if test_world.plan.is_some() && !test_world.world.storage.reads_in_source() {
            self.recent.note(test_world);
        }
    }

    async fn open(
        &self,
        (origin, plan): (WorldOrigin, Arc<WorldPlan>),
        config: &Config,
        sources: &TestSources,
    ) -> Result<TestWorld> {
        let initial = Arc::clone(&plan.initial);
        let entropy = sources.sources().entropy;
        let (token, _) = mint_token(TokenKind::Personal, &random(&*entropy)?);
        let started = initial.start(config, sources, &token)?;
        let resources = started.resources;
        let limits = Arc::new(RuntimeLimits::open(config, resources.values.clone()).await?);
        let prepared = WorldParts {
            config,
            accepted: AcceptedLosses::default(),
            resources: &resources,
            limits: &limits,
            root: &self.root_world.origin.root,
            path: &origin.path,
            is_test: true,
            https_hosts: Arc::clone(&self.https_hosts),
            webhook_client: &|client| sources.webhook_client(client),
            // The inbox of a world is a target of its webhooks.
            own_addresses: Vec::new(),
            shared_limiter: None,
        }
        .prepare()
        .await?;
        let opened = (Arc::new(resources), started.beginning);
        let mut begun = TestWorld::begin(origin, config, sources, opened, prepared).await?;
        begun.plan = Some(plan);
        begun.token_aliases = started.token_aliases;
        Ok(begun)
    }

    /// Deletes a world with everything in it. Returns false if there is none with this id.
    ///
    /// # Errors
    /// Fails if its folder can't be removed.
    pub(crate) async fn delete(&self, id: &str) -> Result<bool> {
        let number = id.strip_prefix('w').and_then(|number| number.parse().ok());
        let removed = number.and_then(|number: u64| self.worlds.lock().remove(&number));
        let Some(world) = removed else {
            return Ok(false);
        };
        self.initial_states.forget(&state_key(&world)).await;
        remove_files(&world)?;
        Ok(true)
    }
}

/// Returns the settings of the first admin as text.
fn admin_text(config: &Config) -> String {
    format!("{:?}", config::section(&mut config.clone(), "admin"))
}

/// Returns the name of the state of a world among all initial states.
fn state_key(world: &TestWorld) -> String {
    format!("copy of {}", world.origin.folder.display())
}

/// Removes the folder of a world. Unfinished requests and work still use the store: they must not make the folder of a world
/// without one, and the files that they write by its path must not end up in it while it is being removed.
fn remove_files(test_world: &TestWorld) -> Result<()> {
    test_world.world.storage.refuse_first_write();
    let folder = &test_world.origin.folder;
    let moved = folder.with_extension("deleted");
    let named = || folder.display().to_string();
    match std::fs::rename(folder, &moved) {
        // Nothing was written.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        renamed => renamed.with_context(named)?,
    }
    std::fs::remove_dir_all(&moved).with_context(named)
}
