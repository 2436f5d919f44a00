//! The world of the tests: two tenants, their people, things and tokens, and one way to call.
//!
//! Organization `orchid` is paid, workspace `basalt` is free. Everything of the one is called after
//! plants and everything of the other after rocks, so that foreign bytes are easy to find.
mod kept;
mod parts;
mod tenants;

pub(crate) use parts::Hand;
pub(crate) use tenants::{BASALT_WORDS, ORCHID_WORDS, is_orchid};

use crate::exports::Files;
use crate::webhooks::Receiver;
use async_trait::async_trait;
use bytes::Bytes;
use parts::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tenants::tenants;
use tokio::runtime::Runtime;
use workgraph_api::hooks::HookSettings;
use workgraph_api::request::Method;
use workgraph_api::runner::{Gone, Taken};
use workgraph_api::seams::NoEntropy;
use workgraph_api::{Api, Clock, Entropy, Parts, Reply, Request, Settings};
use workgraph_auth::{
    Account, Digest, OAuthStore, ScopeSet, Tier, TokenKind, TokenRecord, TokenStore, mint,
};
use workgraph_core::access::{Level, Role};
use workgraph_core::audit::{Ask, Row};
use workgraph_core::draft::Draft;
use workgraph_core::graph::{
    Changes, Committed, Event, Fed, Feed, GraphStore, Place, Seq, StoreError, View, ViewerKey, Want,
};
use workgraph_core::registry::{Kind as Fields, Type, rel};
use workgraph_core::resources::{
    export, job, project, project_template, story, task_template, team, user,
};
use workgraph_core::rules::membership;
use workgraph_core::search::{Effort, Search};
use workgraph_core::time::Time;
use workgraph_core::work::Work;
use workgraph_core::{Gid, Mint};
use workgraph_store_sqlite::{Options, SqliteStore};
use workgraph_testkit::{
    Connect, Connected, Fixture, ManualClock, MemoryStore, Scratch, SeededBytes, connect,
};
use workgraph_webhooks::{Deliver, HookStore};
use workgraph_wire::KeyRing;

/// The address of the API in these tests.
pub(crate) const BASE: &str = "https://work.test/api/1.0";

/// Which store a world is kept in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Memory,
    Sqlite,
}

/// Both stores.
pub(crate) const KINDS: [Kind; 2] = [Kind::Memory, Kind::Sqlite];

/// A reply, read.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) json: Value,
    pub(crate) text: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) operation: &'static str,
}

impl Answer {
    /// The message of the first error.
    pub(crate) fn message(&self) -> &str {
        self.json["errors"][0]["message"].as_str().unwrap_or("")
    }
    /// The gids of the list.
    pub(crate) fn gids(&self) -> Vec<String> {
        let items = self.json["data"].as_array();
        let items = items.unwrap_or_else(|| panic!("no list: {} {}", self.status, self.text));
        items
            .iter()
            .map(|i| i["gid"].as_str().unwrap().to_owned())
            .collect()
    }
    /// The offset of the next page, if there is one.
    pub(crate) fn next(&self) -> Option<String> {
        self.json["next_page"]["offset"].as_str().map(str::to_owned)
    }
    /// The gid of the record.
    pub(crate) fn gid(&self) -> String {
        let gid = self.json["data"]["gid"].as_str();
        gid.unwrap_or_else(|| panic!("no record: {} {}", self.status, self.text))
            .to_owned()
    }
}

/// The tenants and everything around them.
pub(crate) struct World {
    pub(crate) api: Api,
    pub(crate) clock: Arc<Hand>,
    pub(crate) graph: Arc<dyn GraphStore>,
    hesitant: Arc<Hesitant>,
    pub(crate) tokens: Arc<dyn TokenStore>,
    /// Apps, and what lets them in.
    pub(crate) oauth: Arc<dyn OAuthStore>,
    pub(crate) hooks: Arc<dyn HookStore>,
    /// What webhooks are sent to.
    pub(crate) receiver: Arc<Receiver>,
    /// The files of exports.
    pub(crate) files: Arc<Files>,
    runtime: Runtime,
    /// What was built, by name.
    pub(crate) names: BTreeMap<String, Gid>,
    /// Token texts by name: a user's name, or `name[scope,scope]`.
    texts: Mutex<BTreeMap<String, String>>,
    sqlite: Option<Arc<SqliteStore>>,
    _scratch: Option<Scratch>,
}

/// The people with a token, and whether a paid workspace is theirs.
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
    /// The world with the default settings.
    pub(crate) fn new(kind: Kind) -> Self {
        Self::with(kind, Settings::default())
    }

    /// The world with other settings.
    pub(crate) fn with(kind: Kind, settings: Settings) -> Self {
        Self::build(kind, settings, |_, _| {})
    }

    /// The world with more in it, built before anything is stored.
    pub(crate) fn build(
        kind: Kind,
        mut settings: Settings,
        more: impl FnOnce(&mut Fixture, &mut BTreeMap<String, Gid>),
    ) -> Self {
        base_url(&mut settings);
        let clock = Arc::new(Hand(ManualClock::default()));
        let now = clock.0.now();
        let mut fixture = Fixture::new(Time::from_system(now));
        let mut names = BTreeMap::new();
        tenants(&mut fixture, &mut names);
        more(&mut fixture, &mut names);
        let changes = fixture.take();

        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let (mut scratch, mut sqlite) = (None, None);
        let (graph, oauth, hooks): (Arc<dyn GraphStore>, Arc<dyn OAuthStore>, Arc<dyn HookStore>) =
            match kind {
                Kind::Memory => {
                    let store = Arc::new(MemoryStore::new());
                    (store.clone(), store.clone(), store)
                }
                Kind::Sqlite => {
                    let folder = Scratch::new("api");
                    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
                    let store = Arc::new(store);
                    scratch = Some(folder);
                    sqlite = Some(Arc::clone(&store));
                    (store.clone(), store.clone(), store)
                }
            };
        runtime.block_on(graph.commit(changes)).unwrap();
        let hesitant = Arc::new(Hesitant {
            store: graph,
            on: AtomicBool::new(false),
            effort: Mutex::default(),
            read: AtomicU64::default(),
        });
        let graph: Arc<dyn GraphStore> = hesitant.clone();
        let tokens: Arc<dyn TokenStore> = oauth.clone();
        let api = api(
            &graph,
            &tokens,
            &clock,
            settings,
            KeyRing::new(1, [7; 32]),
            0,
        );
        let world = Self {
            api,
            clock,
            graph,
            hesitant,
            tokens,
            oauth,
            hooks,
            receiver: Arc::default(),
            files: Arc::default(),
            runtime,
            names,
            texts: Mutex::default(),
            sqlite,
            _scratch: scratch,
        };
        world.rig();
        for (name, paid) in PEOPLE {
            let tier = if *paid { Tier::Paid } else { Tier::Free };
            world.account(name, tier);
            world.token(name, |id, digest, user| {
                TokenRecord::personal(id, digest, user, now)
            });
        }
        world.account("robot", Tier::Paid);
        let orchid = world.gid("orchid").get();
        world.token("robot", |id, digest, user| {
            TokenRecord::service(id, digest, user, orchid, now)
        });
        world
    }

    /// Starts the API anew with the limits of the contract, which these tests are otherwise free of.
    pub(crate) fn limit(&mut self) {
        let limits = workgraph_limits::Settings::default();
        let settings = self.api.settings().clone();
        let keys = KeyRing::new(1, [7; 32]);
        self.api = limited(
            limits,
            &self.graph,
            &self.tokens,
            &self.clock,
            settings,
            keys,
            0,
        );
        self.rig();
    }

    /// Starts the API anew over the same stores, with other keys for page tokens. `node` tells its
    /// gids and random bytes from those of the API before it.
    pub(crate) fn restart(&mut self, keys: KeyRing, node: u8) {
        let settings = self.api.settings().clone();
        self.api = api(&self.graph, &self.tokens, &self.clock, settings, keys, node);
        self.rig();
    }

    /// Starts the API anew over the same stores, with something else that carries deliveries.
    pub(crate) fn carried_by(&mut self, deliver: Arc<dyn Deliver>) {
        let settings = self.api.settings().clone();
        let keys = KeyRing::new(1, [7; 32]);
        self.api = api(&self.graph, &self.tokens, &self.clock, settings, keys, 1);
        self.run(
            self.api
                .set_hooks(self.hooks.clone(), deliver, HookSettings::default()),
        )
        .unwrap();
    }

    /// Sets webhooks up, from what the store has of them.
    fn rig(&self) {
        let settings = HookSettings {
            event_ids: true,
            ..HookSettings::default()
        };
        let deliver: Arc<dyn Deliver> = self.receiver.clone();
        self.run(self.api.set_hooks(self.hooks.clone(), deliver, settings))
            .unwrap();
        self.api.set_exports(self.files.clone());
    }

    fn account(&self, name: &str, tier: Tier) {
        let account = Account::new(self.gid(name).get(), tier);
        self.runtime
            .block_on(self.tokens.put_account(account, None))
            .unwrap();
    }

    fn token(&self, name: &str, record: impl FnOnce(u64, Digest, u64) -> TokenRecord) {
        let user = name.split('[').next().unwrap();
        let mut texts = self.texts.lock().unwrap();
        let id = texts.len() as u64 + 1;
        let mut random = [0; 32];
        random[..8].copy_from_slice(&id.to_le_bytes());
        let (secret, digest) = mint(TokenKind::Personal, &random);
        let record = record(id, digest, self.gid(user).get());
        self.runtime.block_on(self.tokens.insert(record)).unwrap();
        texts.insert(name.to_owned(), secret.expose().to_owned());
    }

    /// The token text of this name. `ada[tasks:read,users:read]` is an app's token with those
    /// scopes, got when it is first named; `ada[tasks:read]@2` is that of another app.
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

    /// Has a user let an app in, for a token of this name; gives the token's text, too.
    pub(crate) fn connect(
        &self,
        user: &str,
        app: u64,
        scopes: &str,
        name: &str,
    ) -> (Connected, String) {
        self.connect_in(user, app, scopes, name, &["orchid", "basalt"])
    }

    /// As [`connect`](Self::connect), with an app that is distributed to these workspaces alone.
    pub(crate) fn connect_in(
        &self,
        user: &str,
        app: u64,
        scopes: &str,
        name: &str,
        workspaces: &[&str],
    ) -> (Connected, String) {
        let mut texts = self.texts.lock().unwrap();
        let ask = Connect {
            user: self.gid(user).get(),
            app,
            workspaces: workspaces.iter().map(|w| self.gid(w).get()).collect(),
            scopes: ScopeSet::parse(&scopes.replace(',', " ")).unwrap(),
            number: 1_000 + 3 * texts.len() as u64,
            at: self.clock.now(),
        };
        let done = self.run(connect(&*self.oauth, &ask)).unwrap();
        let text = done.bearer.expose().to_owned();
        texts.insert(name.to_owned(), text.clone());
        (done, text)
    }

    /// The gid of a thing.
    pub(crate) fn gid(&self, name: &str) -> Gid {
        let gid = self.names.get(name);
        *gid.unwrap_or_else(|| panic!("nothing is called {name}"))
    }

    /// Turns the clock.
    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.0.advance(Duration::from_secs(seconds));
    }

    /// The time.
    pub(crate) fn now(&self) -> SystemTime {
        self.clock.0.now()
    }

    /// Runs a future to its end.
    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Lets every job go on to its end; says how many steps that took.
    pub(crate) fn work(&self) -> usize {
        let mut steps = 0;
        while let Taken::Job(mut held) = self.run(self.api.take_up()).unwrap() {
            while let Gone::On(next) = self.run(self.api.go_on(&held)).unwrap() {
                held = next;
                steps += 1;
            }
            steps += 1;
        }
        steps
    }

    /// Renames a user, as they would themselves.
    pub(crate) fn rename_user(&self, who: &str, name: &str) {
        let gid = Gid::parse(who).unwrap();
        let key = ViewerKey {
            user: gid,
            service: None,
        };
        let view = self.run(self.graph.load(&Want::of(key).node(gid))).unwrap();
        let mut draft = Draft::edit(view.node(gid).unwrap());
        draft.set(user::NAME, name);
        let mint = || self.api.fresh();
        let mut work = Work::new(Some(gid), Time::from_system(self.clock.now()), &mint);
        work.save(&draft);
        self.run(self.graph.commit(work.changes)).unwrap();
    }

    /// A reply as it leaves the API, with its permit.
    pub(crate) fn reply(&self, request: Request) -> Reply {
        self.run(self.api.handle(&request))
    }

    /// Sends a request.
    pub(crate) fn send(&self, request: Request) -> Answer {
        let reply = self.run(self.api.handle(&request));
        let text = String::from_utf8(reply.body).expect("replies are UTF-8");
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

    /// Calls with a token (`-` for none), and a body when `data` is not null.
    pub(crate) fn call(&self, token: &str, method: &str, target: &str, data: &Value) -> Answer {
        let body = if data.is_null() {
            String::new()
        } else {
            json!({ "data": data }).to_string()
        };
        self.send(self.request(token, method, target, body))
    }

    /// A request with a JSON body, or none.
    pub(crate) fn request(&self, token: &str, method: &str, target: &str, body: String) -> Request {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Request {
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

    /// Reads.
    pub(crate) fn get(&self, token: &str, target: &str) -> Answer {
        self.call(token, "GET", target, &Value::Null)
    }

    /// Creates or acts.
    pub(crate) fn post(&self, token: &str, target: &str, data: Value) -> Answer {
        self.call(token, "POST", target, &data)
    }
}

fn api(
    graph: &Arc<dyn GraphStore>,
    tokens: &Arc<dyn TokenStore>,
    clock: &Arc<Hand>,
    settings: Settings,
    keys: KeyRing,
    node: u8,
) -> Api {
    let mut limits = workgraph_limits::Settings::default();
    limits.standard.free = 1_000_000;
    limits.standard.paid = 1_000_000;
    limits.search_per_minute = 1_000_000;
    limits.cost_per_minute = None;
    limited(limits, graph, tokens, clock, settings, keys, node)
}

fn limited(
    limits: workgraph_limits::Settings,
    graph: &Arc<dyn GraphStore>,
    tokens: &Arc<dyn TokenStore>,
    clock: &Arc<Hand>,
    settings: Settings,
    keys: KeyRing,
    node: u8,
) -> Api {
    Api::new(Parts {
        graph: graph.clone(),
        tokens: tokens.clone(),
        clock: clock.clone(),
        entropy: Arc::new(Seeded(SeededBytes::new(7 + u64::from(node)))),
        settings,
        limits,
        keys,
        mint: Mint::new(node, None),
    })
}

fn base_url(settings: &mut Settings) {
    settings.base_url = BASE.to_owned();
}

/// Every scope there is, but not full permissions.
pub(crate) fn all_scopes_but(left_out: &str) -> String {
    let names: Vec<&str> = workgraph_auth::scope::SCOPES
        .iter()
        .map(|s| s.name)
        .filter(|n| *n != left_out)
        .collect();
    names.join(",")
}
