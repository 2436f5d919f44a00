//! Stores on databases of their own.
use std::sync::OnceLock;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use workgraph_auth::conformance::block_on;
use workgraph_core::model::gid::Gid;
use workgraph_core::storage::{GraphStore, ReadQuery, ViewerKey};
use workgraph_store_postgres::{DatabaseOptions, PostgresStore};
use workgraph_testkit::{PostgresCluster, TestDatabase};

/// Returns the runtime that the stores of all tests run on.
pub(crate) fn runtime() -> Handle {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let start = || {
        Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap()
    };
    RUNTIME.get_or_init(start).handle().clone()
}

/// Returns options for a database of the test server.
pub(crate) fn options(database: &TestDatabase) -> DatabaseOptions {
    DatabaseOptions {
        accept_unsafe_server: true,
        // Other programs may use the processors for a long time.
        connect_timeout: Duration::from_secs(120),
        read_timeout: Duration::from_secs(120),
        write_timeout: Duration::from_secs(120),
        ..DatabaseOptions::new(database.url())
    }
}

/// Store with an empty database of its own.
pub(crate) struct TestStore {
    // Dropped before its database.
    pub(crate) store: PostgresStore,
    pub(crate) database: TestDatabase,
    waves: bool,
}

impl TestStore {
    /// Opens the database again.
    pub(crate) fn open(&self) -> PostgresStore {
        open(&self.database, self.waves)
    }

    /// Deletes all rows, and opens the database again: an open store does not notice that rows were deleted.
    pub(crate) fn cleared(&self) -> PostgresStore {
        self.database.clear();
        self.open()
    }
}

fn open(database: &TestDatabase, waves: bool) -> PostgresStore {
    let options = DatabaseOptions {
        waves,
        ..options(database)
    };
    block_on(PostgresStore::open(options, runtime())).unwrap()
}

/// Creates an empty store; `None` if there is no server, which is then printed.
pub(crate) fn empty_store() -> Option<TestStore> {
    store_with(true)
}

/// Creates an empty store that reads in waves, or makes each read by itself.
pub(crate) fn store_with(waves: bool) -> Option<TestStore> {
    let database = PostgresCluster::shared()?.database();
    let store = open(&database, waves);
    Some(TestStore {
        store,
        database,
        waves,
    })
}

/// Opens the store of another node on the same database.
pub(crate) fn another_store(made: &TestStore) -> PostgresStore {
    made.open()
}

/// Returns the gid of a number.
pub(crate) fn gid(number: u64) -> Gid {
    Gid::new(number).unwrap()
}

/// Returns true if the store has a node of this number.
pub(crate) fn exists(store: &PostgresStore, number: u64) -> bool {
    let viewer = ViewerKey {
        user: gid(2),
        service: None,
    };
    let view = block_on(store.load(&ReadQuery::of(viewer).node(gid(number)))).unwrap();
    view.node(gid(number)).is_some()
}
