//! The worlds of a stand-in: the one at the root, and those that tests make.
use crate::adapters::folder_use::AcceptedLosses;
use crate::adapters::signing_key_store::store_published_key;
use crate::adapters::stores::CopyMethod;
use crate::admin::bootstrap_file::{Bootstrap, BootstrapFile};
use crate::config::{self, Config};
use crate::http::own_address::BASE;
use crate::http::process::Process;
use crate::runtime_limits::RuntimeLimits;
use crate::server_resources::{Opening, ServerResources};
use crate::stand_in::oauth_traffic::WorldHints;
use crate::stand_in::seeded_entropy::in_stream;
use crate::stand_in::stand_in_folder::StandInFolder;
use crate::stand_in::test_world::{TestSources, TestWorld, WorldOrigin};
use crate::stand_in::time_text;
use crate::stand_in::world_copy::CopySource;
use crate::stand_in::world_options::{WorldContent, WorldOptions};
use crate::stand_in::world_plan::{FirstContent, WorldPlan};
use crate::world_start::first_start::first_start;
use crate::world_start::prepared_world::WorldParts;
use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;
use workgraph_api::Clock;
use workgraph_auth::SecretDigest;
use workgraph_core::Gid;

/// Prefix of the paths of all worlds but the root.
pub(crate) const WORLDS: &str = "/w/";
/// Stream of random bytes for the creation of a world.
const BEGINNING: &str = "beginning";
/// Seed of the template worlds, which other worlds are copied from.
const TEMPLATE_SEED: u64 = 0;
/// Maximum number of template worlds that are kept.
const TEMPLATES_MAX: usize = 16;
/// Maximum number of worlds at the same time: each has an open file, and some memory.
const WORLDS_MAX: usize = 5_000;
/// Maximum number of worlds whose stores are open: each has two files, and the memory of a connection.
const OPEN_STORES_MAX: usize = 64;
/// Bytes of records that the store of a world caches.
const NODE_CACHE_BYTES: usize = 4 << 20;

/// Worlds of a stand-in.
pub(crate) struct TestWorlds {
    pub(crate) process: Arc<Process>,
    /// Settings of the server; the settings of each world are based on them.
    config: Config,
    /// Digest of the token that allows control from other machines.
    pub(crate) control_token: Option<SecretDigest>,
    /// Lock on the folder of the server.
    _server_folder: StandInFolder,
    /// Folder with a folder for each world.
    folder: PathBuf,
    pub(crate) root_world: Arc<TestWorld>,
    /// Hosts whose requests are intercepted.
    https_hosts: Arc<[String]>,
    worlds: Mutex<BTreeMap<u64, Arc<TestWorld>>>,
    /// Folders of template worlds, which others are copied from, by content and time.
    templates: tokio::sync::Mutex<BTreeMap<String, PathBuf>>,
    /// Worlds whose stores are open, by number; the most recently used one is last.
    recent: Mutex<VecDeque<u64>>,
    last: AtomicU64,
    last_folder: AtomicU64,
    last_template: AtomicU64,
}

/// Opens the store of a world, and its limits.
async fn open_store(
    config: &Config,
    opening: Opening,
    sources: &TestSources,
) -> Result<(ServerResources, Arc<RuntimeLimits>)> {
    let resources = ServerResources::open(config, opening, sources.sources()).await?;
    let limits = Arc::new(RuntimeLimits::open(config, resources.values.clone()).await?);
    Ok((resources, limits))
}

impl TestWorlds {
    /// Returns the worlds of a server whose root is a world.
    pub(crate) fn new(
        process: Arc<Process>,
        (config, server_folder): (Config, StandInFolder),
        control_token: Option<SecretDigest>,
        (root_world, https_hosts): (Arc<TestWorld>, Arc<[String]>),
    ) -> Self {
        Self {
            process,
            folder: config.folder().join("worlds"),
            config,
            _server_folder: server_folder,
            control_token,
            root_world,
            https_hosts,
            worlds: Mutex::default(),
            templates: tokio::sync::Mutex::default(),
            recent: Mutex::default(),
            last: AtomicU64::new(0),
            last_folder: AtomicU64::new(0),
            last_template: AtomicU64::new(0),
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

    /// Creates a world.
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
        let (now, content) = match &options.content {
            WorldContent::CopyOf(id) => {
                let source = self.find(id);
                let source = source.with_context(|| format!("from: there is no world `{id}`"))?;
                // Due acts are completed first, so that nothing in the copy is half done.
                source.timeline.settle().await?;
                // The content is kept, so that the world can be reset after its source has changed or is gone.
                let kept = self.folder.join(format!("w{number}-begin"));
                let storage = Arc::clone(&source.world.storage);
                let copied = CopySource::open(source.origin.folder.clone(), storage);
                copied.copy_to(kept.clone(), true).await?;
                (source.clock.now(), FirstContent::Kept(kept))
            }
            WorldContent::Demo => (self.root_world.began_at, FirstContent::Demo),
            WorldContent::Empty => (self.root_world.began_at, FirstContent::Empty),
            WorldContent::Fixture(fixture) => {
                let content = FirstContent::Fixture(Arc::clone(fixture));
                (self.root_world.began_at, content)
            }
        };
        let plan = WorldPlan {
            number,
            seed,
            now: options.now.unwrap_or(now),
            content,
            options,
        };
        let plan = Arc::new(plan);
        let begun = self.begin(Arc::clone(&plan)).await;
        if begun.is_err() {
            plan.remove_kept()?;
        }
        begun
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
        remove_folder(&former.origin.folder)?;
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
        let mut config = self.config.clone();
        plan.options.apply(&mut config)?;
        config::set_folder(&mut config, &origin.folder)?;
        config.api.base_url = format!("{}{BASE}", origin.root);
        let to = origin.folder.clone();
        let copied = match &plan.content {
            FirstContent::Kept(folder) => {
                CopySource::closed(folder.clone()).copy_to(to, true).await?
            }
            content => self.copy_template(&config, content, plan.now, to).await?,
        };
        config.store.single_connection = true;
        config.store.node_cache_bytes = NODE_CACHE_BYTES;
        let strict = plan.options.strict.unwrap_or(self.root_world.is_strict);
        let sources = TestSources::new(&self.process.clock, plan.seed, plan.now).strict(strict);
        let opening = Opening {
            demo: plan.content == FirstContent::Demo,
            is_server: false,
            accepted: AcceptedLosses {
                database: false,
                keys: !plan.content.has_own_keys(),
            },
        };
        let folder = origin.folder.clone();
        let opened = self.open((origin, plan), &config, &sources, opening);
        let opened = in_stream(BEGINNING.to_owned(), opened).await;
        let made = match opened {
            Ok(mut made) => {
                made.copied = Some(copied);
                Arc::new(made)
            }
            Err(error) => {
                std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
                return Err(error);
            }
        };
        self.worlds.lock().insert(number, Arc::clone(&made));
        self.note_use(&made);
        Ok(made)
    }

    /// Records that a world is used, and closes the files of the least recently used one if too many are open.
    pub(crate) fn note_use(&self, test_world: &Arc<TestWorld>) {
        let mut recent = self.recent.lock();
        let number = test_world.number();
        recent.retain(|other| *other != number);
        recent.push_back(number);
        if recent.len() <= OPEN_STORES_MAX {
            return;
        }
        let longest = recent.pop_front();
        drop(recent);
        let longest = longest.and_then(|number| self.worlds.lock().get(&number).cloned());
        if let Some(longest) = longest {
            longest.world.storage.close_idle_connections();
        }
    }

    /// Copies the template world with this content and start time, which is created if it does not exist. Its random bytes
    /// do not depend on the seed of the server, so the demo is the same in all worlds that begin at the same time.
    async fn copy_template(
        &self,
        config: &Config,
        content: &FirstContent,
        now: SystemTime,
        to: PathBuf,
    ) -> Result<CopyMethod> {
        let admin = config::section(&mut config.clone(), "admin");
        let key = format!("{} {} {admin:?}", content.name(), time_text(now));
        let copy = |folder: &Path| {
            CopySource::closed(folder.to_owned()).copy_to(to, content.has_own_keys())
        };
        let mut templates = self.templates.lock().await;
        if let Some(folder) = templates.get(&key) {
            return copy(folder).await;
        }
        if templates.len() >= TEMPLATES_MAX
            && let Some((_, former)) = templates.pop_first()
        {
            std::fs::remove_dir_all(&former).with_context(|| former.display().to_string())?;
        }
        let number = self.last_template.fetch_add(1, Relaxed) + 1;
        let folder = self.folder.join(format!("template-{number}"));
        let mut config = config.clone();
        config::set_folder(&mut config, &folder)?;
        let sources = TestSources::new(&self.process.clock, TEMPLATE_SEED, now);
        let opening = Opening {
            demo: *content == FirstContent::Demo,
            ..Opening::default()
        };
        let root = &self.root_world.origin.root;
        // The store is closed at the end of this block, so that the database is complete, and never written again.
        let made = async {
            let (resources, limits) = open_store(&config, opening, &sources).await?;
            let objects = content.first_objects();
            first_start(&resources, &config, objects, &limits, root).await?;
            store_published_key(&resources.values, now).await
        };
        if let Err(error) = in_stream(BEGINNING.to_owned(), made).await {
            std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
            return Err(error);
        }
        // The lock is still held, so nobody removes the folder before it is copied.
        let copied = copy(&folder).await;
        templates.insert(key, folder);
        copied
    }

    async fn open(
        &self,
        (origin, plan): (WorldOrigin, Arc<WorldPlan>),
        config: &Config,
        sources: &TestSources,
        opening: Opening,
    ) -> Result<TestWorld> {
        let (resources, limits) = open_store(config, opening, sources).await?;
        let kept = BootstrapFile::of(config).kept()?;
        let mut bootstrap = kept.map(|(_, bootstrap)| bootstrap);
        let prepared = WorldParts {
            config,
            accepted: opening.accepted,
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
        if let Some(boot) = &mut bootstrap {
            let user = boot.users.first().and_then(|user| Gid::parse(&user.gid));
            let user = user.context("the world has no user")?;
            let token = boot.token(&prepared.service, user, "Test").await?;
            boot.personal_access_token = token;
        }
        let opened: (_, Option<Bootstrap>) = (Arc::new(resources), bootstrap);
        let mut begun = TestWorld::begin(origin, config, sources, opened, prepared).await?;
        begun.plan = Some(plan);
        Ok(begun)
    }

    /// Deletes a world with everything in it. Returns false if there is none with this id.
    ///
    /// # Errors
    /// Fails if its folder can't be removed.
    pub(crate) fn delete(&self, id: &str) -> Result<bool> {
        let number = id.strip_prefix('w').and_then(|number| number.parse().ok());
        let removed = number.and_then(|number: u64| self.worlds.lock().remove(&number));
        let Some(world) = removed else {
            return Ok(false);
        };
        remove_folder(&world.origin.folder)?;
        if let Some(plan) = &world.plan {
            plan.remove_kept()?;
        }
        Ok(true)
    }
}

/// Removes the folder of a world. Unfinished requests and work still use the store; the files that they write by its path
/// must not end up in the folder while it is being removed.
fn remove_folder(folder: &Path) -> Result<()> {
    let moved = folder.with_extension("deleted");
    let named = || folder.display().to_string();
    std::fs::rename(folder, &moved).with_context(named)?;
    std::fs::remove_dir_all(&moved).with_context(named)
}
