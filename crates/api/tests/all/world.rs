//! The world of the tests: two tenants, their people, things and tokens, and one way to call.
//!
//! Organization `orchid` is paid, workspace `basalt` is free. Everything of the one is called after
//! plants and everything of the other after rocks, so that foreign bytes are easy to find.
use crate::exports::Files;
use crate::webhooks::Receiver;
use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::runtime::Runtime;
use workgraph_api::hooks::HookSettings;
use workgraph_api::runner::{Gone, Taken};
use workgraph_api::seams::NoEntropy;
use workgraph_api::{Api, Clock, Entropy, Parts, Reply, Request, Settings};
use workgraph_auth::{
    Account, Digest, Login, ScopeSet, Secret, Tier, TokenKind, TokenRecord, TokenStore, mint,
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
use workgraph_core::time::Time;
use workgraph_core::work::Work;
use workgraph_core::{Gid, Mint};
use workgraph_store_sqlite::{Options, SqliteStore};
use workgraph_testkit::{Fixture, ManualClock, MemoryStore, Scratch, SeededBytes};
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

/// The manual clock at the API's seam.
pub(crate) struct Hand(pub(crate) ManualClock);

impl Clock for Hand {
    fn now(&self) -> SystemTime {
        self.0.now()
    }
}

struct Seeded(SeededBytes);

impl Entropy for Seeded {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), NoEntropy> {
        self.0.fill(buffer);
        Ok(())
    }
}

/// A store that lets others run before it commits, when it is told to.
struct Hesitant {
    store: Arc<dyn GraphStore>,
    on: AtomicBool,
}

#[async_trait]
impl GraphStore for Hesitant {
    async fn load(&self, want: &Want) -> Result<View, StoreError> {
        self.store.load(want).await
    }
    async fn commit(&self, changes: Changes) -> Result<Committed, StoreError> {
        if self.on.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        self.store.commit(changes).await
    }
    async fn events(&self, after: Seq, limit: usize) -> Result<Vec<Event>, StoreError> {
        self.store.events(after, limit).await
    }
    async fn feed(&self, ask: Feed) -> Result<Fed, StoreError> {
        self.store.feed(ask).await
    }
    async fn audited(&self, ask: Ask) -> Result<Vec<Row>, StoreError> {
        self.store.audited(ask).await
    }
    async fn prune(&self, before: Time, upto: Seq, limit: usize) -> Result<usize, StoreError> {
        self.store.prune(before, upto, limit).await
    }
}

/// The token store, with tokens of apps beside it: how an app gets one is not the API's concern.
struct Tokens {
    store: Arc<dyn TokenStore>,
    apps: Mutex<BTreeMap<Digest, TokenRecord>>,
}

type Kept<T> = Result<T, workgraph_auth::StoreError>;

#[async_trait]
impl TokenStore for Tokens {
    async fn find(&self, digest: &Digest) -> Kept<Option<(TokenRecord, Account)>> {
        let held = self.apps.lock().unwrap().get(digest).cloned();
        let Some(record) = held else {
            return self.store.find(digest).await;
        };
        let account = self.store.account(record.user).await?;
        Ok(account.map(|account| (record, account)))
    }
    async fn insert(&self, record: TokenRecord) -> Kept<()> {
        if record.app.is_none() {
            return self.store.insert(record).await;
        }
        self.apps.lock().unwrap().insert(record.digest, record);
        Ok(())
    }
    async fn revoke(&self, id: u64, now: SystemTime) -> Kept<bool> {
        self.store.revoke(id, now).await
    }
    async fn list(&self, user: u64) -> Kept<Vec<TokenRecord>> {
        self.store.list(user).await
    }
    async fn touch(&self, used: &[(u64, SystemTime)]) -> Kept<()> {
        self.store.touch(used).await
    }
    async fn put_account(&self, account: Account, login: Option<Login>) -> Kept<()> {
        self.store.put_account(account, login).await
    }
    async fn account(&self, user: u64) -> Kept<Option<Account>> {
        self.store.account(user).await
    }
    async fn login(&self, email: &str) -> Kept<Option<(Account, Secret)>> {
        self.store.login(email).await
    }
}

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
    tokens: Arc<dyn TokenStore>,
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
        let (graph, tokens, hooks): (Arc<dyn GraphStore>, Arc<dyn TokenStore>, Arc<dyn HookStore>) =
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
        });
        let graph: Arc<dyn GraphStore> = hesitant.clone();
        let tokens: Arc<dyn TokenStore> = Arc::new(Tokens {
            store: tokens,
            apps: Mutex::default(),
        });

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
    /// scopes, made when it is first named; `ada[tasks:read]@2` is that of another app.
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
        let scopes = ScopeSet::parse(&scopes.replace(',', " ")).unwrap();
        let now = self.clock.now();
        self.token(&format!("{user}[{rest}"), |id, digest, user| TokenRecord {
            kind: TokenKind::Access,
            app: Some(app),
            grant: Some(800),
            scopes,
            expires_at: Some(now + Duration::from_secs(3600)),
            ..TokenRecord::personal(id, digest, user, now)
        });
        self.texts.lock().unwrap()[name].clone()
    }

    /// The gid of a thing.
    pub(crate) fn gid(&self, name: &str) -> Gid {
        let gid = self.names.get(name);
        *gid.unwrap_or_else(|| panic!("nothing is called {name}"))
    }

    /// Whether commits let other requests run first.
    pub(crate) fn hesitate(&self, on: bool) {
        self.hesitant.on.store(on, Ordering::Relaxed);
    }

    /// What the check of the store finds, if it is one that can be checked.
    pub(crate) fn problems(&self) -> Vec<String> {
        let store = self.sqlite.as_ref();
        store.map_or_else(Vec::new, |store| store.check().unwrap())
    }

    /// Turns the clock.
    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.0.advance(Duration::from_secs(seconds));
    }

    /// The time.
    pub(crate) fn now(&self) -> SystemTime {
        self.clock.0.now()
    }

    /// When the token of this person was last used, as it stands after a write of uses.
    pub(crate) fn last_used(&self, who: &str) -> Option<SystemTime> {
        self.run(self.api.write_uses()).unwrap();
        let all = self.run(self.tokens.list(self.gid(who).get())).unwrap();
        all.first().unwrap().last_used_at
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

    /// All that was committed after this one.
    pub(crate) fn events(&self, after: u64) -> Vec<Event> {
        self.run(self.graph.events(after, usize::MAX >> 1)).unwrap()
    }

    /// Drops what the journal has of the time before so many seconds ago.
    pub(crate) fn prune(&self, seconds: u64) {
        let before = Time::from_system(self.clock.0.now() - Duration::from_secs(seconds));
        self.run(self.graph.prune(before, u64::MAX, usize::MAX))
            .unwrap();
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
            method: method.to_owned(),
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

/// Builds both tenants.
fn tenants(f: &mut Fixture, names: &mut BTreeMap<String, Gid>) {
    let mut put =
        |name: &str, gid: Gid| assert!(names.insert(name.to_owned(), gid).is_none(), "{name}");

    let orchid = f.workspace("Orchid");
    put("orchid", orchid);
    let seat = |f: &mut Fixture, name: &str, home: Gid, role: Role| {
        let shown = name[..1].to_uppercase() + &name[1..];
        let user = f.user(
            &format!(
                "{shown} of {}",
                if home == orchid { "Orchid" } else { "Basalt" }
            ),
            &format!(
                "{name}@{}.test",
                if home == orchid { "orchid" } else { "basalt" }
            ),
        );
        let seat = f.seat(user, home, role);
        (user, seat)
    };
    let mut people = BTreeMap::new();
    for (name, role) in [
        ("ada", Role::Admin),
        ("mel", Role::Member),
        ("moe", Role::Member),
        ("gus", Role::Guest),
        ("vic", Role::Member),
    ] {
        let (user, membership) = seat(f, name, orchid, role);
        put(name, user);
        put(&format!("{name}_seat"), membership);
        put(&format!("{name}_list"), f.task_list(user, orchid));
        people.insert(name, user);
    }
    // Vic's seat is view-only.
    f.with(|work| {
        let held = work.changes.puts.iter_mut().rev();
        for put in held {
            if put.node.ty == Type::WorkspaceMembership {
                let body = put.node.body.replacen('{', "{\"is_view_only\":true,", 1);
                put.node.body = body.into();
                break;
            }
        }
    });
    let robot = f.user("Robot of Orchid", "robot@orchid.test");
    put("robot", robot);
    let (ada, mel, moe, gus) = (people["ada"], people["mel"], people["moe"], people["gus"]);

    let gardeners = f.with(|work| {
        let mut draft = work.draft(Type::Team, Some(orchid));
        draft.set(team::NAME, "Gardeners");
        draft.set(team::VISIBILITY, "secret");
        membership::found_team(work, draft, Some(ada))
    });
    put("gardeners", gardeners);
    put("mel_in_gardeners", f.join_team(mel, gardeners, orchid));
    let commons = f.with(|work| {
        let mut draft = work.draft(Type::Team, Some(orchid));
        draft.set(team::NAME, "Commons");
        draft.set(team::VISIBILITY, "public");
        membership::found_team(work, draft, Some(mel))
    });
    put("commons", commons);

    // An open project, one for a team, one for its members.
    let garden = f.project(orchid, "Garden", ada);
    put("garden", garden);
    put(
        "gus_in_garden",
        f.share(garden, orchid, gus, Level::Commenter),
    );
    let herbs = f.with(|work| {
        let mut draft = work.draft(Type::Project, Some(orchid));
        draft.set(project::NAME, "Herbs");
        draft.set(project::PRIVACY, "private_to_team");
        membership::found_project(work, draft, ada)
    });
    f.link(herbs, rel::TEAM, gardeners, Place::Rank(0), None);
    put("herbs", herbs);
    let moss = f.private_project(orchid, "Moss", ada);
    put("moss", moss);

    let beds = f.section_in(garden);
    put("beds", beds);
    let paths = f.section(garden, orchid, "Paths");
    put("paths", paths);
    put("herb_bed", f.section_in(herbs));
    put("moss_bed", f.section_in(moss));

    let water = f.task_in(beds, "Water the roses", ada);
    put("water", water);
    put("rake", f.task_in(paths, "Rake the gravel", mel));
    put("water_buds", f.subtask(water, "Count the buds", ada));
    put("mint", f.task_in(f.section_in(herbs), "Cut the mint", ada));
    put(
        "lichen",
        f.task_in(f.section_in(moss), "Scrape the lichen", ada),
    );
    put("loose", f.task(orchid, "Loose leaf", ada));
    for (task, who) in [(water, ada), (water, mel)] {
        f.link(task, rel::FOLLOWERS, who, Place::Rank(0), None);
    }
    let (vigor, options) = f.custom_field(orchid, "Vigor", Fields::Enum, &["Lush", "Wilted"]);
    put("vigor", vigor);
    put("lush", options[0]);
    put("wilted", options[1]);
    put("vigor_in_moss", f.field_on(vigor, moss, orchid));
    let urgent = f.tag(orchid, "Thirsty");
    put("thirsty", urgent);
    f.link(water, rel::TAGS, urgent, Place::Rank(0), None);
    put(
        "water_note",
        comment(f, orchid, water, mel, "The roses are dry"),
    );
    f.link(
        water,
        rel::DEPENDS,
        names_of(names, "rake"),
        Place::Rank(0),
        None,
    );
    f.link(ada, rel::FAVORITES, garden, Place::Rank(0), None);
    f.link(moe, rel::FAVORITES, garden, Place::Rank(0), None);
    garden_member(f, names, garden, ada);

    let mut put =
        |name: &str, gid: Gid| assert!(names.insert(name.to_owned(), gid).is_none(), "{name}");
    let basalt = f.with(|work| membership::found_workspace(work, "Basalt", false, false));
    put("basalt", basalt);
    for (name, role) in [("bob", Role::Admin), ("ben", Role::Member)] {
        let (user, membership) = seat(f, name, basalt, role);
        put(name, user);
        put(&format!("{name}_seat"), membership);
        put(&format!("{name}_list"), f.task_list(user, basalt));
        people.insert(name, user);
    }
    let (bob, ben) = (people["bob"], people["ben"]);
    // Basalt is no organization, but a team there must stay as foreign as anything.
    let miners = f.team(basalt, "Miners", bob);
    put("miners", miners);
    put("ben_in_miners", f.join_team(ben, miners, basalt));
    let quarry = f.project(basalt, "Quarry", bob);
    put("quarry", quarry);
    put("ben_in_quarry", f.share(quarry, basalt, ben, Level::Editor));
    let pit = f.section_in(quarry);
    put("pit", pit);
    put("ramp", f.section(quarry, basalt, "Ramp"));
    let blast = f.task_in(pit, "Blast the granite", bob);
    put("blast", blast);
    put("haul", f.task_in(pit, "Haul the gneiss", bob));
    put("blast_fuse", f.subtask(blast, "Lay the fuse wire", bob));
    f.link(blast, rel::FOLLOWERS, bob, Place::Rank(0), None);
    let hard = f.tag(basalt, "Brittle");
    put("brittle", hard);
    f.link(blast, rel::TAGS, hard, Place::Rank(0), None);
    put(
        "blast_note",
        comment(f, basalt, blast, ben, "The schist crumbles"),
    );
    f.link(bob, rel::FAVORITES, quarry, Place::Rank(0), None);
    // From when Basalt was paid for.
    let (grain, options) = f.custom_field(basalt, "Grain", Fields::Enum, &["Coarse", "Vesicular"]);
    put("grain", grain);
    put("coarse", options[0]);
    put("vesicular", options[1]);
    put("grain_in_quarry", f.field_on(grain, quarry, basalt));
    for (name, title, home, who, at) in [
        ("plot_plan", "Plot plan", orchid, ada, None),
        ("dig_plan", "Ramp plan", basalt, bob, None),
        ("weeding", "Weed the garden", orchid, ada, Some(garden)),
        ("drilling", "Drill the granite", basalt, bob, Some(quarry)),
    ] {
        let ty = match at {
            Some(_) => Type::TaskTemplate,
            None => Type::ProjectTemplate,
        };
        let gid = f.node(ty, Some(home), |draft, now| match at {
            Some(project) => {
                draft.set(task_template::NAME, title);
                draft.set(task_template::PROJECT, project);
                draft.set(task_template::CREATED_BY, who);
                draft.set(task_template::CREATED_AT, now);
                let recipe = format!(
                    r#"{{"name":"{title}","task_resource_subtype":"default_task","description":"By hand","relative_due_on":3,"subtasks":[{{"name":"Get the tools","task_resource_subtype":"approval_task"}}]}}"#
                );
                draft.set(task_template::TEMPLATE, recipe);
            }
            None => {
                draft.set(project_template::NAME, title);
                draft.set(project_template::OWNER, who);
            }
        });
        if let Some(project) = at {
            f.link(gid, rel::TEMPLATE_OF, project, Place::Rank(0), None);
        }
        put(name, gid);
    }
    for (name, home, who) in [("ada_job", orchid, ada), ("bob_job", basalt, bob)] {
        let gid = f.node(Type::Job, Some(home), |draft, _| {
            draft.set(job::CREATED_BY, who);
            draft.set(job::STATUS, "succeeded");
        });
        put(name, gid);
    }
    for (name, home) in [("orchid_export", orchid), ("basalt_export", basalt)] {
        let gid = f.node(Type::OrganizationExport, Some(home), |draft, now| {
            draft.set(export::CREATED_AT, now);
        });
        put(name, gid);
    }
}

fn names_of(names: &BTreeMap<String, Gid>, name: &str) -> Gid {
    names[name]
}

/// The membership that came with a project.
fn garden_member(f: &mut Fixture, names: &mut BTreeMap<String, Gid>, project: Gid, who: Gid) {
    f.with(|work| {
        let mut links = work.changes.links.iter();
        let link = links.find(|l| l.src == project && l.rel == rel::MEMBERS && l.dst == who);
        names.insert(
            "ada_in_garden".to_owned(),
            link.and_then(|l| l.aux).unwrap(),
        );
    });
}

fn comment(f: &mut Fixture, home: Gid, on: Gid, by: Gid, text: &str) -> Gid {
    let gid = f.node(Type::Story, Some(home), |draft, now| {
        draft.set(story::CREATED_AT, now);
        draft.set(story::SUBTYPE, story::COMMENT);
        draft.set(story::CREATED_BY, by);
        draft.set(story::TEXT, text);
    });
    f.link(gid, rel::STORY_OF, on, Place::Rank(0), None);
    gid
}

/// Whether something belongs to the tenant of the plants.
pub(crate) fn is_orchid(name: &str) -> bool {
    !matches!(
        name,
        "basalt"
            | "bob"
            | "ben"
            | "bob_seat"
            | "ben_seat"
            | "bob_list"
            | "ben_list"
            | "miners"
            | "ben_in_miners"
            | "quarry"
            | "ben_in_quarry"
            | "pit"
            | "ramp"
            | "blast"
            | "haul"
            | "blast_fuse"
            | "brittle"
            | "blast_note"
            | "grain"
            | "coarse"
            | "vesicular"
            | "grain_in_quarry"
            | "bob_job"
            | "basalt_export"
            | "dig_plan"
            | "drilling"
    )
}

/// Names that must never reach the other tenant.
pub(crate) const ORCHID_WORDS: &[&str] = &[
    "Orchid",
    "orchid.test",
    "Gardeners",
    "Commons",
    "Garden",
    "Herbs",
    "Moss",
    "Paths",
    "roses",
    "gravel",
    "buds",
    "mint",
    "lichen",
    "Loose leaf",
    "Thirsty",
    "Vigor",
    "Lush",
    "Wilted",
];
/// Names that must never reach the other tenant.
pub(crate) const BASALT_WORDS: &[&str] = &[
    "Basalt",
    "basalt.test",
    "Miners",
    "Quarry",
    "Ramp",
    "granite",
    "gneiss",
    "fuse wire",
    "Brittle",
    "schist",
    "Grain",
    "Coarse",
    "Vesicular",
];
