//! Conformance of the SQLite store to the ports, with its caches, without them, and with a single connection.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
use workgraph_auth::conformance::block_on;
use workgraph_store_sqlite::{SqliteStore, StoreOptions};
use workgraph_testkit::ScratchFolder;
use workgraph_testkit::conformance::{audit_log, webhooks, webhooks_of_apps};

/// Runs a case on three empty stores: with caches, without, and with a single connection.
fn on_all(case: impl Fn(&SqliteStore, &str)) {
    for (caches, single_connection, name) in [
        (true, false, "with caches"),
        (false, false, "without caches"),
        (true, true, "with a single connection"),
    ] {
        let folder = ScratchFolder::new("conformance");
        let options = StoreOptions {
            caches,
            single_connection,
            ..StoreOptions::default()
        };
        case(&SqliteStore::open(folder.path(), options).unwrap(), name);
    }
}

#[test]
fn sqlite_keeps_tokens_as_the_port_says() {
    for (rule, case) in workgraph_auth::conformance::CASES {
        on_all(|store, caches| {
            block_on(case(store)).unwrap_or_else(|reason| panic!("{rule}, {caches}: {reason}"));
        });
    }
}

#[test]
fn sqlite_keeps_the_graph_as_the_port_says() {
    for (rule, case) in workgraph_testkit::conformance::CASES {
        on_all(|store, caches| {
            block_on(case(store)).unwrap_or_else(|reason| panic!("{rule}, {caches}: {reason}"));
            let problems = store.check().unwrap();
            // Some cases create edges that the rules never would; the file itself is always sound.
            assert!(
                !problems
                    .iter()
                    .any(|p| p.contains("damaged") || p.contains("journal")),
                "{rule}, {caches}: {problems:?}"
            );
        });
    }
}

#[test]
fn sqlite_keeps_webhooks_as_the_port_says() {
    on_all(|store, caches| {
        block_on(webhooks(store, store, store))
            .unwrap_or_else(|reason| panic!("{caches}: {reason}"));
    });
    on_all(|store, caches| {
        block_on(webhooks_of_apps(store, store))
            .unwrap_or_else(|reason| panic!("{caches}: {reason}"));
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
    });
}

#[test]
fn sqlite_keeps_the_audit_log_as_the_port_says() {
    on_all(|store, caches| {
        block_on(audit_log(store, store)).unwrap_or_else(|reason| panic!("{caches}: {reason}"));
    });
}
