//! The SQLite store keeps every promise of the ports.
use workgraph_auth::conformance::block_on;
use workgraph_store_sqlite::{Options, SqliteStore};
use workgraph_testkit::Scratch;

#[test]
fn sqlite_keeps_tokens_as_the_port_says() {
    let mut failed = Vec::new();
    for (rule, case) in workgraph_auth::conformance::CASES {
        let folder = Scratch::new("tokens");
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        failed.extend(block_on(case(&store)).err().map(|e| format!("{rule}: {e}")));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn sqlite_keeps_the_graph_as_the_port_says() {
    let mut failed = Vec::new();
    for (rule, case) in workgraph_testkit::conformance::CASES {
        let folder = Scratch::new("graph");
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        failed.extend(block_on(case(&store)).err().map(|e| format!("{rule}: {e}")));
        let problems = store.check().unwrap();
        // Some cases make edges that the rules never would; the file itself is always sound.
        assert!(
            !problems
                .iter()
                .any(|p| p.contains("damaged") || p.contains("journal")),
            "{rule}: {problems:?}"
        );
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn sqlite_keeps_webhooks_as_the_port_says() {
    let folder = Scratch::new("hooks");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    block_on(workgraph_testkit::conformance::webhooks(
        &store, &store, &store,
    ))
    .unwrap();
    let folder = Scratch::new("hooks");
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    block_on(workgraph_testkit::conformance::webhooks_of_apps(
        &store, &store,
    ))
    .unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}
