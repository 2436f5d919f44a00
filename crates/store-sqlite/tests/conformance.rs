//! Conformance of the SQLite store to the ports.
use workgraph_auth::conformance::block_on;
use workgraph_store_sqlite::{SqliteStore, StoreOptions};
use workgraph_testkit::ScratchFolder;

#[test]
fn sqlite_keeps_tokens_as_the_port_says() {
    for (rule, case) in workgraph_auth::conformance::CASES {
        let folder = ScratchFolder::new("tokens");
        let store = SqliteStore::open(folder.path(), StoreOptions::default()).unwrap();
        block_on(case(&store)).unwrap_or_else(|why| panic!("{rule}: {why}"));
    }
}

#[test]
fn sqlite_keeps_the_graph_as_the_port_says() {
    for (rule, case) in workgraph_testkit::conformance::CASES {
        let folder = ScratchFolder::new("graph");
        let store = SqliteStore::open(folder.path(), StoreOptions::default()).unwrap();
        block_on(case(&store)).unwrap_or_else(|why| panic!("{rule}: {why}"));
        let problems = store.check().unwrap();
        // Some cases make edges that the rules never would; the file itself is always sound.
        assert!(
            !problems
                .iter()
                .any(|p| p.contains("damaged") || p.contains("journal")),
            "{rule}: {problems:?}"
        );
    }
}

#[test]
fn sqlite_keeps_webhooks_as_the_port_says() {
    let folder = ScratchFolder::new("hooks");
    let store = SqliteStore::open(folder.path(), StoreOptions::default()).unwrap();
    block_on(workgraph_testkit::conformance::webhooks(
        &store, &store, &store,
    ))
    .unwrap();
    let folder = ScratchFolder::new("hooks");
    let store = SqliteStore::open(folder.path(), StoreOptions::default()).unwrap();
    block_on(workgraph_testkit::conformance::webhooks_of_apps(
        &store, &store,
    ))
    .unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}
