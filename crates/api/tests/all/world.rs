//! The world of the tests: two tenants, their users, nodes and tokens, and one way to call the API.
//!
//! Organization `orchid` is paid, workspace `basalt` is free. All names in the one are plants and all names in the
//! other are rocks, so that foreign bytes are easy to find.
mod nodes;
mod parts;
mod records;
mod service;
mod store_controls;
mod stored_rows;
mod tenants;

pub(crate) use parts::{Hand, IgnoredReads};
pub(crate) use service::no_limits;
pub(crate) use tenants::{BASALT_WORDS, ORCHID_WORDS, is_orchid};

use crate::attachments::{Blobs, Pieces};
use crate::exports::Files;
use crate::webhooks::Receiver;
use async_trait::async_trait;
use bytes::Bytes;
use parts::*;
use serde_json::{Value, json};
use service::Stores;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};
use tenants::tenants;
use tokio::runtime::Runtime;
use workgraph_api::SCOPES;
use workgraph_api::features::webhooks::service::WebhookSettings;
use workgraph_api::job_runner::{JobProgress, NextJob};
use workgraph_api::ports::EntropyUnavailable;
use workgraph_api::request::Method;
use workgraph_api::{
    Api, ApiDependencies, ApiRequest, ApiResponse, ApiSettings, Caller, Clock, Entropy,
    RequestOrigin,
};
use workgraph_auth::{
    Account, OAuthStore, SecretDigest, Tier, TokenKind, TokenRecord, TokenStore, mint_token,
};
use workgraph_core::access::{Level, Role};
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{CustomFieldType, Type, rel};
use workgraph_core::model::resources::{
    attachment, export, job, portfolio, project, project_template, status_update, story,
    task_template, team, user,
};
use workgraph_core::model::time::{Date, Time};
use workgraph_core::rules::membership_rules as membership;
use workgraph_core::rules::sharing::PORTFOLIOS;
use workgraph_core::rules::{portfolio_rules, status_rules};
use workgraph_core::search::{Search, SearchEffort};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{
    Changes, CommitReceipt, FactKey, GraphStore, GraphStoreError, GraphStoreWrapper, JournalEntry,
    ListPosition, ReadQuery, ReadView, ViewerKey,
};
use workgraph_core::{Gid, GidGenerator};
use workgraph_store_sqlite::{SqliteStore, StoreOptions};
use workgraph_testkit::{
    AppConnection, ConnectedApp, Fixture, ManualClock, MemoryStore, ScratchFolder, SeededBytes,
    WaveStore, connect_app,
};
use workgraph_webhooks::{WebhookClient, WebhookStore};
use workgraph_wire::KeyRing;

/// The address of the API in these tests.
pub(crate) const BASE: &str = "https://work.test/api/1.0";

/// The store of a world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Memory,
    Sqlite,
    /// Memory that loads in waves and commits by way of overlays.
    Waves,
}

/// Both kinds of store.
pub(crate) const KINDS: [Kind; 2] = [Kind::Memory, Kind::Sqlite];

/// A reply with its parsed body.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) json: Value,
    pub(crate) text: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) operation: &'static str,
}

impl Answer {
    /// Returns the message of the first error.
    pub(crate) fn message(&self) -> &str {
        self.json["errors"][0]["message"].as_str().unwrap_or("")
    }
    /// Returns the gids of the list.
    pub(crate) fn gids(&self) -> Vec<String> {
        let items = self.json["data"].as_array();
        let items = items.unwrap_or_else(|| panic!("no list: {} {}", self.status, self.text));
        items
            .iter()
            .map(|i| i["gid"].as_str().unwrap().to_owned())
            .collect()
    }
    /// Returns the offset of the next page, if there is one.
    pub(crate) fn next(&self) -> Option<String> {
        self.json["next_page"]["offset"].as_str().map(str::to_owned)
    }
    /// Returns the gid of the record.
    pub(crate) fn gid(&self) -> String {
        let gid = self.json["data"]["gid"].as_str();
        gid.unwrap_or_else(|| panic!("no record: {} {}", self.status, self.text))
            .to_owned()
    }
}

/// The tenants, with the API and its stores.
pub(crate) struct World {
    pub(crate) api: Api,
    pub(crate) clock: Arc<Hand>,
    pub(crate) graph: Arc<dyn GraphStore>,
    hesitant: Arc<Hesitant>,
    pub(crate) tokens: Arc<dyn TokenStore>,
    /// Store of apps and their authorizations.
    pub(crate) oauth: Arc<dyn OAuthStore>,
    pub(crate) hooks: Arc<dyn WebhookStore>,
    /// Receiver of webhook deliveries.
    pub(crate) receiver: Arc<Receiver>,
    /// Files of exports.
    pub(crate) files: Arc<Files>,
    /// Files of attachments.
    pub(crate) blobs: Arc<Blobs>,
    runtime: Runtime,
    /// Nodes that were built, by name.
    pub(crate) names: BTreeMap<String, Gid>,
    /// Token texts by name: a user's name, or `name[scope,scope]`.
    texts: Mutex<BTreeMap<String, String>>,
    memory: Option<Arc<MemoryStore>>,
    waves: Option<Arc<WaveStore>>,
    sqlite: Option<Arc<SqliteStore>>,
    nodes: Option<nodes::Nodes>,
    _scratch: Option<ScratchFolder>,
    /// Address at which all clients reach the API, if it is another than that of the settings.
    pub(crate) reached_at: Option<&'static str>,
}

/// The users with a token; true if they own a paid workspace.
pub(crate) const PEOPLE: &[(&str, bool)] = &[
    ("ada", true),
    ("mel", true),
    ("moe", true),
    ("gus", true),
    ("vic", true),
    ("bob", false),
    ("ben", false),
];

impl World {
    /// Returns the world with the default settings.
    pub(crate) fn new(kind: Kind) -> Self {
        Self::with(kind, ApiSettings::default())
    }

    /// Returns the world with other settings. In memory it is built once and copied.
    pub(crate) fn with(kind: Kind, settings: ApiSettings) -> Self {
        static BUILT: OnceLock<World> = OnceLock::new();
        let build = |kind, settings| Self::build(kind, settings, |_, _| {});
        match kind {
            Kind::Memory | Kind::Waves => BUILT
                .get_or_init(|| build(Kind::Memory, ApiSettings::default()))
                .copy_to(kind, settings, 0),
            Kind::Sqlite => build(kind, settings),
        }
    }

    /// Builds the world with additional nodes, before anything is stored.
    pub(crate) fn build(
        kind: Kind,
        settings: ApiSettings,
        more: impl FnOnce(&mut Fixture, &mut BTreeMap<String, Gid>),
    ) -> Self {
        let (mut scratch, mut sqlite, mut memory, mut waves) = (None, None, None, None);
        let stores = match kind {
            Kind::Memory | Kind::Waves => {
                let store = Arc::new(MemoryStore::new());
                memory = Some(Arc::clone(&store));
                let (stores, in_waves) = Stores::in_memory(kind, store);
                waves = in_waves;
                stores
            }
            Kind::Sqlite => {
                let folder = ScratchFolder::new("api");
                let options = StoreOptions {
                    caches: settings.caches && workgraph_testkit::caches_are_on(),
                    ..StoreOptions::default()
                };
                let store = SqliteStore::open(folder.path(), options).unwrap();
                let store = Arc::new(store);
                scratch = Some(folder);
                sqlite = Some(Arc::clone(&store));
                Stores::of(store)
            }
        };
        let mut world = Self::filled(stores, settings, more);
        (world.memory, world.sqlite, world._scratch) = (memory, sqlite, scratch);
        world.waves = waves;
        world
    }

    /// Builds the world in empty stores.
    fn filled(
        stores: Stores,
        mut settings: ApiSettings,
        more: impl FnOnce(&mut Fixture, &mut BTreeMap<String, Gid>),
    ) -> Self {
        of_tests(&mut settings);
        let clock = Arc::new(Hand(ManualClock::default()));
        let now = clock.0.now();
        let mut fixture = Fixture::new(Time::from_system(now));
        let mut names = BTreeMap::new();
        tenants(&mut fixture, &mut names);
        records::records(&mut fixture, &mut names);
        more(&mut fixture, &mut names);
        let changes = fixture.take();
        let mut world = Self::over(stores, clock, settings, 0, None);
        world.names = names;
        world.run(world.graph.commit(changes)).unwrap();
        world.rig();
        for (name, paid) in PEOPLE {
            let tier = if *paid { Tier::new(1) } else { Tier::DEFAULT };
            world.account(name, tier);
            world.token(name, |id, digest, user| {
                TokenRecord::personal(id, digest, user, now)
            });
        }
        world.account("robot", Tier::new(1));
        let orchid = world.gid("orchid").get();
        world.token("robot", |id, digest, user| {
            TokenRecord::service(id, digest, user, orchid, now)
        });
        world
    }

    fn account(&self, name: &str, tier: Tier) {
        let account = Account::new(self.gid(name).get(), tier);
        self.runtime
            .block_on(self.tokens.put_account(account, None))
            .unwrap();
    }

    fn token(&self, name: &str, record: impl FnOnce(u64, SecretDigest, u64) -> TokenRecord) {
        let user = name.split('[').next().unwrap();
        let mut texts = self.texts.lock().unwrap();
        let id = texts.len() as u64 + 1;
        let mut random = [0; 32];
        random[..8].copy_from_slice(&id.to_le_bytes());
        let (secret, digest) = mint_token(TokenKind::Personal, &random);
        let record = record(id, digest, self.gid(user).get());
        self.runtime
            .block_on(self.tokens.insert_token(record))
            .unwrap();
        texts.insert(name.to_owned(), secret.expose().to_owned());
    }

    /// Returns the token text of this name. `ada[tasks:read,users:read]` is an app's token with those scopes, issued at
    /// its first use; `ada[tasks:read]@2` is that of another app.
    pub(crate) fn text(&self, name: &str) -> String {
        if let Some(text) = self.texts.lock().unwrap().get(name) {
            return text.clone();
        }
        let (user, rest) = name
            .split_once('[')
            .unwrap_or_else(|| panic!("no token {name}"));
        let (scopes, app) = rest.split_once(']').unwrap();
        let app = app
            .strip_prefix('@')
            .map_or(900, |n| 900 + n.parse::<u64>().unwrap());
        self.connect(user, app, scopes, &format!("{user}[{rest}")).1
    }

    /// Authorizes an app for a user, for a token of this name; returns the token's text, too.
    pub(crate) fn connect(
        &self,
        user: &str,
        app: u64,
        scopes: &str,
        name: &str,
    ) -> (ConnectedApp, String) {
        self.connect_in(user, app, scopes, name, &["orchid", "basalt"])
    }

    /// Authorizes an app as [`connect`](Self::connect) does. The app is distributed to these workspaces alone.
    pub(crate) fn connect_in(
        &self,
        user: &str,
        app: u64,
        scopes: &str,
        name: &str,
        workspaces: &[&str],
    ) -> (ConnectedApp, String) {
        let mut texts = self.texts.lock().unwrap();
        let ask = AppConnection {
            user: self.gid(user).get(),
            app,
            workspaces: workspaces.iter().map(|w| self.gid(w).get()).collect(),
            scopes: SCOPES.parse(&scopes.replace(',', " ")).unwrap(),
            number: 1_000 + 3 * texts.len() as u64,
            at: self.clock.now(),
        };
        let done = self.run(connect_app(&*self.oauth, &ask)).unwrap();
        let text = done.bearer.expose().to_owned();
        texts.insert(name.to_owned(), text.clone());
        (done, text)
    }

    /// Returns the gid of a named node.
    pub(crate) fn gid(&self, name: &str) -> Gid {
        let gid = self.names.get(name);
        *gid.unwrap_or_else(|| panic!("nothing is called {name}"))
    }

    /// Moves the clock forward.
    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.0.advance(Duration::from_secs(seconds));
    }

    /// Returns the time of the clock.
    pub(crate) fn now(&self) -> SystemTime {
        self.clock.0.now()
    }

    /// Runs a future to its end.
    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Runs every job to its end; returns the number of steps.
    pub(crate) fn work(&self) -> usize {
        let mut steps = 0;
        while let NextJob::Job(mut held) = self.run(self.api.lease_next_job()).unwrap() {
            while let JobProgress::Continues(next) = self.run(self.api.run_job_step(&held)).unwrap()
            {
                held = next;
                steps += 1;
            }
            steps += 1;
        }
        steps
    }

    /// Renames a user, as they would do it themselves.
    pub(crate) fn rename_user(&self, user: &str, name: &str) {
        let gid = Gid::parse(user).unwrap();
        let key = ViewerKey {
            user: gid,
            service: None,
        };
        let view = self
            .run(self.graph.load(&ReadQuery::of(key).node(gid)))
            .unwrap();
        let mut draft = Draft::edit(view.node(gid).unwrap());
        draft.set(user::NAME, name);
        let generate_gid = || self.api.next_gid();
        let mut work = ChangeBuilder::new(
            Some(gid),
            Time::from_system(self.clock.now()),
            &generate_gid,
        );
        work.save(&draft);
        self.run(self.graph.commit(work.changes)).unwrap();
    }

    /// Returns a reply as it leaves the API, with its permit.
    pub(crate) fn reply(&self, request: ApiRequest) -> ApiResponse {
        self.run(self.api.handle(&request))
    }

    /// Sends a request.
    pub(crate) fn send(&self, request: ApiRequest) -> Answer {
        let api = self.next_node();
        let caller = Caller {
            base_url: self.reached_at,
            ..Caller::default()
        };
        let origin = RequestOrigin::from(caller);
        let reply = if api.is_upload(&request) {
            let mut body = Pieces::of(&request.body);
            self.run(api.handle_streamed(&request, origin, &mut body))
        } else {
            self.run(api.handle_from(&request, origin))
        };
        let text = String::from_utf8(reply.body.to_vec()).expect("replies are UTF-8");
        let json: Value = serde_json::from_str(&text).expect("replies are JSON");
        if reply.status >= 500 {
            panic!("{}: {text}", reply.operation);
        }
        Answer {
            status: reply.status,
            json,
            text,
            headers: reply.headers,
            operation: reply.operation,
        }
    }

    /// Calls the API with a token (`-` for none), and a body when `data` is not null.
    pub(crate) fn call(&self, token: &str, method: &str, target: &str, data: &Value) -> Answer {
        let body = if data.is_null() {
            String::new()
        } else {
            json!({ "data": data }).to_string()
        };
        self.send(self.request(token, method, target, body))
    }

    /// Returns a request with a JSON body, or without a body.
    pub(crate) fn request(
        &self,
        token: &str,
        method: &str,
        target: &str,
        body: String,
    ) -> ApiRequest {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        ApiRequest {
            method: Method::parse(method),
            path: path.to_owned(),
            query: query.to_owned(),
            authorization: match token {
                "-" => Vec::new(),
                name => vec![format!("Bearer {}", self.text(name))],
            },
            content_type: (!body.is_empty()).then(|| "application/json".to_owned()),
            explain: false,
            body: Bytes::from(body),
        }
    }

    /// Sends a `GET` request.
    pub(crate) fn get(&self, token: &str, target: &str) -> Answer {
        self.call(token, "GET", target, &Value::Null)
    }

    /// Sends a `POST` request, which creates or acts.
    pub(crate) fn post(&self, token: &str, target: &str, data: Value) -> Answer {
        self.call(token, "POST", target, &data)
    }
}

/// Sets the address of these tests, and switches the caches off if the tests are to run without them.
fn of_tests(settings: &mut ApiSettings) {
    settings.base_url = BASE.to_owned();
    settings.caches &= workgraph_testkit::caches_are_on();
}

/// Returns all scopes but one, without full permissions.
pub(crate) fn all_scopes_but(left_out: &str) -> String {
    let names: Vec<&str> = SCOPES
        .iter()
        .map(|s| s.name)
        .filter(|n| *n != left_out)
        .collect();
    names.join(",")
}
