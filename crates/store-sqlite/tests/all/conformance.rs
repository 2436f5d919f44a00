//! Conformance of the SQLite store to the ports, with its caches and without them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
use workgraph_auth::conformance::block_on;
use workgraph_store_sqlite::{SqliteStore, StoreOptions};
use workgraph_testkit::ScratchFolder;
use workgraph_testkit::conformance::{audit_log, webhooks, webhooks_of_apps};

/// Runs a case on two empty stores: with caches, and without.
fn on_both(case: impl Fn(&SqliteStore, &str)) {
    for caches in [true, false] {
        let folder = ScratchFolder::new("conformance");
        let options = StoreOptions {
            caches,
            ..StoreOptions::default()
        };
        let store = SqliteStore::open(folder.path(), options).unwrap();
        case(
            &store,
            if caches {
                "with caches"
            } else {
                "without caches"
            },
        );
    }
}

#[test]
fn sqlite_keeps_tokens_as_the_port_says() {
    for (rule, case) in workgraph_auth::conformance::CASES {
        on_both(|store, caches| {
            block_on(case(store)).unwrap_or_else(|reason| panic!("{rule}, {caches}: {reason}"));
        });
    }
}

#[test]
fn sqlite_keeps_the_graph_as_the_port_says() {
    for (rule, case) in workgraph_testkit::conformance::CASES {
        on_both(|store, caches| {
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
    on_both(|store, caches| {
        block_on(webhooks(store, store, store))
            .unwrap_or_else(|reason| panic!("{caches}: {reason}"));
    });
    on_both(|store, caches| {
        block_on(webhooks_of_apps(store, store))
            .unwrap_or_else(|reason| panic!("{caches}: {reason}"));
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
    });
}

#[test]
fn sqlite_keeps_the_audit_log_as_the_port_says() {
    on_both(|store, caches| {
        block_on(audit_log(store, store)).unwrap_or_else(|reason| panic!("{caches}: {reason}"));
    });
}
