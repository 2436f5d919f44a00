//! A world of a stand-in: its store and its time belong to one test.
use crate::adapters::stores::{CopyMethod, TokenAlias};
use crate::admin::admin_service::AdminService;
use crate::admin::fixture_export::{ExportedWorld, export_fixture};
use crate::config::Config;
use crate::http::world::World;
use crate::server_resources::ServerResources;
use crate::stand_in::authorization_log::AuthorizationLog;
use crate::stand_in::client_history::{ClientHistory, WorldWatch};
use crate::stand_in::delivery_faults::DeliveryFaults;
use crate::stand_in::faults::Faults;
use crate::stand_in::given_secrets::GivenSecrets;
use crate::stand_in::inbox::Inboxes;
use crate::stand_in::initial_state::CopiedWorld;
use crate::stand_in::request_log::RequestLog;
use crate::stand_in::request_notes::RequestNotes;
use crate::stand_in::test_sources::TestSources;
use crate::stand_in::timeline::{Timeline, time_text};
use crate::stand_in::virtual_clock::VirtualClock;
use crate::stand_in::world_beginning::{ShownBeginning, WorldBeginning};
use crate::stand_in::world_plan::WorldPlan;
use crate::world_sources::WorldSources;
use crate::world_start::prepared_world::PreparedWorld;
use anyhow::Result;
use serde::{Serialize, Serializer};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::SystemTime;
use tokio::task::JoinHandle;
use workgraph_api::Clock;

/// Id of the world at the root of the server.
const ROOT_WORLD: &str = "w0";

/// Names and places of a world.
pub(crate) struct WorldOrigin {
    /// Short name in addresses, such as `w7`.
    pub(crate) id: String,
    /// Name that the test gave it.
    pub(crate) name: Option<String>,
    /// Address that its links begin with: the server's address, and the world's path.
    pub(crate) root: String,
    /// Path of the world; empty at the root.
    pub(crate) path: String,
    pub(crate) folder: PathBuf,
}

impl WorldOrigin {
    /// Returns the origin of the world at the root of a server.
    pub(crate) fn of_the_root(root: &str, folder: &Path) -> Self {
        Self {
            id: ROOT_WORLD.to_owned(),
            name: None,
            root: root.to_owned(),
            path: String::new(),
            folder: folder.to_owned(),
        }
    }
}

/// World of a stand-in, with everything that a test can do to it.
pub(crate) struct TestWorld {
    pub(crate) origin: WorldOrigin,
    pub(crate) seed: u64,
    pub(crate) began_at: SystemTime,
    pub(crate) world: Arc<World>,
    service: Arc<AdminService>,
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) timeline: Arc<Timeline>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) requests: Arc<RequestLog>,
    pub(crate) notes: Arc<RequestNotes>,
    pub(crate) is_strict: bool,
    pub(crate) authorizations: AuthorizationLog,
    pub(super) deliveries: Arc<DeliveryFaults>,
    pub(crate) inboxes: Inboxes,
    /// Plan to reset the world with; `None` at the root.
    pub(super) plan: Option<Arc<WorldPlan>>,
    pub(super) beginning: Option<WorldBeginning>,
    /// Number of grants that the test has asked for.
    pub(super) grants: AtomicU64,
    /// Tokens and codes of these grants, and of the authorization server.
    pub(crate) given: GivenSecrets,
    /// Tokens of the world, each with the stored token that it represents.
    pub(super) token_aliases: Vec<TokenAlias>,
    /// The store and everything that depends on it. They live as long as the world.
    resources: Arc<ServerResources>,
    /// Task that carries out acts when they are due.
    following: JoinHandle<()>,
}

impl TestWorld {
    /// Starts a prepared world: from now on, acts happen in it when they are due.
    ///
    /// # Errors
    /// Fails if the store can't be used.
    pub(crate) async fn begin(
        origin: WorldOrigin,
        config: &Config,
        sources: &TestSources,
        (resources, beginning): (Arc<ServerResources>, Option<WorldBeginning>),
        prepared: PreparedWorld,
    ) -> Result<Self> {
        let began_at = sources.clock.now();
        if let Some(beginning) = &beginning {
            resources.first_passwords.follow(beginning.shared());
        }
        let faults = Arc::clone(&sources.faults);
        let requests = Arc::<RequestLog>::default();
        let notes = Arc::<RequestNotes>::default();
        let watch = WorldWatch {
            faults: Arc::clone(&faults),
            requests: Arc::clone(&requests),
            notes: Arc::clone(&notes),
            is_strict: sources.is_strict,
        };
        prepared.world.api.set_request_watch(Arc::new(watch));
        let timeline = Timeline::new(
            Arc::clone(&prepared.world),
            Arc::clone(&sources.clock),
            Arc::clone(&prepared.audit_signer),
            Arc::clone(&sources.deliveries),
            config.oauth.remember,
        );
        let timeline = Arc::new(timeline.await?);
        Ok(Self {
            origin,
            seed: sources.seed,
            began_at,
            world: prepared.world,
            service: prepared.service,
            clock: Arc::clone(&sources.clock),
            following: tokio::spawn(Arc::clone(&timeline).follow()),
            timeline,
            faults,
            requests,
            notes,
            is_strict: sources.is_strict,
            authorizations: AuthorizationLog::default(),
            deliveries: Arc::clone(&sources.deliveries),
            inboxes: Inboxes::default(),
            plan: None,
            beginning,
            grants: AtomicU64::new(0),
            given: GivenSecrets::default(),
            token_aliases: Vec::new(),
            resources,
        })
    }

    /// Returns the parts that a copy of the world needs besides its files.
    pub(crate) fn copied_world(&self) -> CopiedWorld {
        CopiedWorld {
            folder: self.origin.folder.clone(),
            storage: Arc::clone(&self.world.storage),
            values: self.resources.values.clone(),
            keys: self.resources.keys.clone(),
            sources: WorldSources {
                clock: Arc::clone(&self.resources.clock),
                entropy: Arc::clone(&self.resources.entropy),
            },
            is_demo: self.plan.as_ref().is_some_and(|plan| plan.initial.is_demo),
            bootstrap: self.beginning.as_ref().map(WorldBeginning::bootstrap),
            token_aliases: self.token_aliases.clone(),
        }
    }

    /// Returns a text that differs between any two states of the world.
    ///
    /// # Errors
    /// Fails if the private values of the world can't be read.
    pub(crate) fn state_version(&self) -> Result<String> {
        let values = self.resources.values.state_version()?;
        let commits = self.world.storage.graph.version();
        Ok(format!("{commits:?} {values} {:?}", self.clock.now()))
    }

    /// Returns true if the world began with an app.
    pub(crate) fn has_app(&self, client_id: &str) -> bool {
        let beginning = self.beginning.as_ref();
        beginning.is_some_and(|beginning| beginning.has_app(client_id))
    }

    /// Returns true if this world issued a token or a code.
    pub(crate) fn gave(&self, token: &str) -> bool {
        let beginning = self.beginning.as_ref();
        beginning.is_some_and(|beginning| beginning.has_token(token)) || self.given.contains(token)
    }

    /// Exports the current content of the world as a fixture.
    ///
    /// # Errors
    /// Fails if the world can't be read, or has too much content for a fixture.
    pub(crate) async fn export(&self) -> Result<ExportedWorld> {
        // Due acts are completed first, so that nothing in the fixture is half done.
        self.timeline.settle().await?;
        let bootstrap = self.beginning.as_ref().map(WorldBeginning::bootstrap);
        let apps = bootstrap.as_ref().map(|bootstrap| &*bootstrap.apps);
        export_fixture(&self.service, apps.unwrap_or_default()).await
    }

    /// Returns the history of the world's clients.
    pub(crate) fn history(&self) -> ClientHistory {
        let (requests, used) = self.requests.all();
        ClientHistory {
            requests,
            deliveries: self.deliveries.logged(),
            authorizations: self.authorizations.all(),
            used,
        }
    }
}

/// Record of a world, with everything that a test needs to use it.
#[derive(Serialize)]
struct ShownWorldRecord<'a> {
    id: &'a str,
    name: Option<&'a str>,
    seed: u64,
    began_at: String,
    now: String,
    clock: &'static str,
    strict: bool,
    copied: Option<&'static str>,
    base_url: &'a str,
    auth_url: &'a str,
    #[serde(flatten)]
    beginning: Option<ShownBeginning<'a>>,
}

impl Serialize for TestWorld {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let begun = self.beginning.as_ref();
        let begun = begun.map(|beginning| (beginning, beginning.bootstrap()));
        let plan = self.plan.as_ref();
        let copied = plan.map(|plan| match plan.initial.copy_method() {
            CopyMethod::Linked => "linked",
            CopyMethod::Copied => "copied",
        });
        let beginning = begun
            .as_ref()
            .map(|(beginning, bootstrap)| beginning.shown(bootstrap));
        let record = ShownWorldRecord {
            id: &self.origin.id,
            name: self.origin.name.as_deref(),
            seed: self.seed,
            began_at: time_text(self.began_at),
            now: time_text(self.clock.now()),
            clock: self.clock.mode(),
            strict: self.is_strict,
            copied,
            base_url: &self.world.api.settings().base_url,
            auth_url: &self.origin.root,
            beginning,
        };
        record.serialize(serializer)
    }
}

impl Drop for TestWorld {
    fn drop(&mut self) {
        self.following.abort();
    }
}
