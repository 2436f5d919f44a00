//! Three nodes over one PostgreSQL database, in one process: each request is answered by the next of them.
//!
//! Each has a store of its own, with its own connections, writer and caches. They share what a recorded exchange depends
//! on: the clock, which stands, the random bytes, and the generator of gids, by which objects of one moment are listed.
use super::service::{Stores, api_of};
use super::*;
use std::sync::atomic::AtomicUsize;
use workgraph_store_postgres::{DatabaseOptions, PostgresStore};
use workgraph_testkit::{PostgresCluster, TestDatabase};

const NODES: u8 = 3;

/// Nodes of a world. The first of them is the world's own API.
pub(super) struct Nodes {
    others: Vec<Api>,
    turn: AtomicUsize,
    /// Store of the first node.
    pub(super) store: Arc<PostgresStore>,
    // Dropped after the stores.
    _database: TestDatabase,
}

/// Returns the runtime that the stores run on.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(2).enable_all().build().unwrap()
    })
}

/// Returns a store of a database.
fn open(database: &TestDatabase) -> Arc<PostgresStore> {
    let options = DatabaseOptions {
        accept_unsafe_server: true,
        // Other programs may take the processors for long.
        read_timeout: Duration::from_secs(60),
        write_timeout: Duration::from_secs(60),
        ..DatabaseOptions::new(database.url())
    };
    let opened = PostgresStore::open(options, runtime().handle().clone());
    Arc::new(runtime().block_on(opened).unwrap())
}

impl World {
    /// Returns the world on one node over PostgreSQL, with its store; `None` if there is no PostgreSQL, which was printed
    /// then.
    pub(crate) fn of_postgres() -> Option<(Self, Arc<PostgresStore>)> {
        let database = PostgresCluster::shared()?.database();
        let store = open(&database);
        let stores = Stores::of(Arc::clone(&store));
        let mut world = Self::filled(stores, ApiSettings::default(), |_, _| {});
        world.nodes = Some(Nodes {
            others: Vec::new(),
            turn: AtomicUsize::new(0),
            store: Arc::clone(&store),
            _database: database,
        });
        Some((world, store))
    }

    /// Returns the world on three nodes; `None` if there is no PostgreSQL, which was printed then.
    pub(crate) fn of_nodes() -> Option<Self> {
        let database = PostgresCluster::shared()?.database();
        let store = open(&database);
        let stores = (1..NODES).map(|_| Stores::of(open(&database)));
        let stores: Vec<Stores> = stores.collect();
        let mut world = Self::filled(
            Stores::of(Arc::clone(&store)),
            ApiSettings::default(),
            |_, _| {},
        );
        let gids = Arc::new(GidGenerator::new(0, None));
        let settings = world.api.settings().clone();
        let bytes: Arc<dyn Entropy> = Arc::new(Seeded(SeededBytes::new(7)));
        let api = |graph: &Arc<dyn GraphStore>, tokens: &Arc<dyn TokenStore>| {
            let shared = (Arc::clone(&gids), Arc::clone(&bytes));
            api_of(graph, tokens, &world.clock, settings.clone(), shared)
        };
        let own = api(&world.graph, &world.tokens);
        let mut others = Vec::new();
        for stores in &stores {
            let tokens: Arc<dyn TokenStore> = stores.oauth.clone();
            let other = api(&stores.graph, &tokens);
            world.rig_api(&other, &stores.hooks);
            others.push(other);
        }
        world.api = own;
        world.rig();
        world.nodes = Some(Nodes {
            others,
            turn: AtomicUsize::new(0),
            store,
            _database: database,
        });
        Some(world)
    }

    /// Returns the node that answers the next request.
    pub(crate) fn next_node(&self) -> &Api {
        let Some(nodes) = &self.nodes else {
            return &self.api;
        };
        let turn = nodes.turn.fetch_add(1, Ordering::Relaxed) % (nodes.others.len() + 1);
        nodes.others.get(turn).unwrap_or(&self.api)
    }
}
