//! Connections that break: a commit is acknowledged if and only if it is durable, and an error says that nothing was
//! kept.
use crate::cutting_proxy::{Cut, CuttingProxy};
use crate::support::{TestStore, empty_store, options, runtime};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use workgraph_auth::conformance::block_on;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::storage::{
    Changes, GraphStore, GraphStoreError, NodeWrite, ReadQuery, ViewerKey,
};
use workgraph_store_postgres::{DatabaseOptions, PostgresStore};
use workgraph_testkit::PostgresCluster;

fn gid(number: u64) -> Gid {
    Gid::new(number).unwrap()
}

/// Returns the changes that make a tag with a name that nothing else may have.
fn tag(number: u64) -> Changes {
    let node = Draft::new(Type::Tag, gid(number), Some(gid(1))).finish();
    Changes {
        node_writes: vec![NodeWrite { node }],
        add_aliases: vec![(format!("name:{number}"), gid(number))],
        ..Changes::default()
    }
}

fn exists(store: &PostgresStore, number: u64) -> bool {
    let viewer = ViewerKey {
        user: gid(2),
        service: None,
    };
    let view = block_on(store.load(&ReadQuery::of(viewer).node(gid(number)))).unwrap();
    view.node(gid(number)).is_some()
}

fn through(proxy: &CuttingProxy, test: &TestStore) -> PostgresStore {
    let options = DatabaseOptions {
        url: proxy.url(),
        ..options(&test.database)
    };
    block_on(PostgresStore::open(options, runtime())).unwrap()
}

#[test]
fn a_commit_whose_answer_was_lost_is_acknowledged() {
    let Some(test) = empty_store() else { return };
    let Some(proxy) = CuttingProxy::before(&test.database) else {
        return;
    };
    let store = through(&proxy, &test);
    for number in 10..15 {
        proxy.cut(Cut::After);
        let receipt = block_on(store.commit(tag(number))).unwrap();
        assert_eq!(receipt.seq, number - 9);
        assert!(proxy.was_cut());
        assert!(exists(&test.store, number));
    }
}

#[test]
fn a_commit_that_never_arrived_is_unavailable_and_can_be_repeated() {
    let Some(test) = empty_store() else { return };
    let Some(proxy) = CuttingProxy::before(&test.database) else {
        return;
    };
    let store = through(&proxy, &test);
    for number in 10..15 {
        proxy.cut(Cut::Before);
        let refused = block_on(store.commit(tag(number))).unwrap_err();
        assert!(
            matches!(&refused, GraphStoreError::Failed(text) if text.contains("unavailable")),
            "{refused}"
        );
        assert!(proxy.was_cut());
        assert!(!exists(&test.store, number));
        assert_eq!(block_on(store.commit(tag(number))).unwrap().seq, number - 9);
    }
}

/// Returns the number of rows of the journal and whether its numbers have no gap.
fn journal(store: &PostgresStore) -> Vec<u64> {
    let events = block_on(store.journal_entries(0, 100_000)).unwrap();
    events.iter().map(|event| event.seq).collect()
}

#[test]
fn every_commit_counts_once_while_backends_are_killed() {
    let Some(test) = empty_store() else { return };
    let (stop, kills) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (writers, commits) = (6, 40);
    let acknowledged: usize = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                test.database.sql(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                     WHERE datname = current_database() AND application_name LIKE 'workgraph/%'",
                );
                kills.fetch_add(1, Ordering::Relaxed);
            }
        });
        let store = &test.store;
        let writing: Vec<_> = (0..writers)
            .map(|writer| {
                scope.spawn(move || {
                    let mut refused = 0;
                    for commit in 0..commits {
                        let number = 1000 + 1000 * writer + commit;
                        // An error means that nothing was kept, so the same changes can be made again.
                        while let Err(error) = block_on(store.commit(tag(number))) {
                            assert!(error.to_string().contains("unavailable"), "{error}");
                            refused += 1;
                        }
                    }
                    refused
                })
            })
            .collect();
        let refused: usize = writing
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .sum();
        stop.store(true, Ordering::Relaxed);
        eprintln!(
            "{refused} refused, {} rounds of kills",
            kills.load(Ordering::Relaxed)
        );
        (writers * commits) as usize
    });
    assert!(kills.load(Ordering::Relaxed) > 0);
    // A commit that was made twice, or that was refused and kept, would have a number of its own.
    let seqs = journal(&fresh(&test));
    assert_eq!(seqs, (1..=acknowledged as u64).collect::<Vec<_>>());
    let distinct: BTreeSet<u64> = seqs.into_iter().collect();
    assert_eq!(distinct.len(), acknowledged);
}

/// Opens the database anew: connections in the old pool may be dead.
fn fresh(test: &TestStore) -> PostgresStore {
    block_on(PostgresStore::open(options(&test.database), runtime())).unwrap()
}

#[test]
fn a_server_that_is_gone_makes_reads_fail_and_not_hang() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    let store = block_on(PostgresStore::open(options(&database), runtime())).unwrap();
    database.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'workgraph/%' AND datname = current_database()");
    drop(database);
    let viewer = ViewerKey {
        user: gid(2),
        service: None,
    };
    let refused = block_on(store.load(&ReadQuery::of(viewer).node(gid(7)))).unwrap_err();
    assert!(matches!(refused, GraphStoreError::Failed(_)), "{refused}");
}
