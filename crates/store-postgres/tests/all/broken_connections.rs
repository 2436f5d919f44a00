//! Connections that break: a commit is acknowledged if and only if it is durable, and an error means that nothing was kept.
use crate::cutting_proxy::{Cut, CuttingProxy};
use crate::support::{TestStore, empty_store, exists, gid, options, runtime};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use workgraph_auth::conformance::{block_on, oauth_laws};
use workgraph_auth::{Account, AuthStoreError, SecretDigest, Tier, TokenStore};
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::Type;
use workgraph_core::storage::{
    Changes, GraphStore, GraphStoreError, NodeWrite, ReadQuery, ViewerKey,
};
use workgraph_store_postgres::{DatabaseOptions, PostgresStore};
use workgraph_testkit::PostgresCluster;

/// Returns the changes that create a tag with a unique name.
fn tag(number: u64) -> Changes {
    let node = Draft::new(Type::Tag, gid(number), Some(gid(1))).finish();
    Changes {
        node_writes: vec![NodeWrite { node }],
        add_aliases: vec![(format!("name:{number}"), gid(number))],
        ..Changes::default()
    }
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
            matches!(refused, GraphStoreError::Unavailable(_)),
            "{refused}"
        );
        assert!(proxy.was_cut());
        assert!(!exists(&test.store, number));
        assert_eq!(block_on(store.commit(tag(number))).unwrap().seq, number - 9);
    }
}

/// S941.
#[test]
fn acts_on_tokens_whose_answers_were_lost_are_what_they_were() {
    let Some(test) = empty_store() else { return };
    let Some(proxy) = CuttingProxy::before(&test.database) else {
        return;
    };
    let store = through(&proxy, &test);
    proxy.cut_each(3);
    let tally = block_on(oauth_laws::run(&store, 7, 600)).unwrap();
    assert!(
        tally.redeemed > 3 && tally.replayed > 0 && tally.refreshed > 3,
        "{tally:?}"
    );
    assert_eq!(
        block_on(store.database().check()).unwrap(),
        Vec::<String>::new()
    );
}

/// S941.
#[test]
fn acts_on_tokens_that_never_arrived_are_refused_and_can_be_repeated() {
    let Some(test) = empty_store() else { return };
    let Some(proxy) = CuttingProxy::before(&test.database) else {
        return;
    };
    let store = through(&proxy, &test);
    for user in 20..25 {
        let account = Account::new(user, Tier::DEFAULT);
        proxy.cut(Cut::Before);
        let refused = block_on(store.put_account(account, None)).unwrap_err();
        assert!(
            matches!(refused, AuthStoreError::Unreachable(_)),
            "{refused}"
        );
        assert!(proxy.was_cut());
        assert_eq!(block_on(store.account(user)), Ok(None));
        block_on(store.put_account(account, None)).unwrap();
        assert_eq!(block_on(store.account(user)), Ok(Some(account)));
    }
}

/// S941.
#[test]
fn a_change_of_which_the_database_does_not_tell_is_unknown_and_not_failed() {
    let Some(test) = empty_store() else { return };
    let Some(proxy) = CuttingProxy::before(&test.database) else {
        return;
    };
    let options = DatabaseOptions {
        url: proxy.url(),
        // Long enough for a busy machine: lateness before the commit does not put the outcome in doubt.
        write_timeout: Duration::from_secs(4),
        connect_timeout: Duration::from_secs(4),
        ..options(&test.database)
    };
    let store = block_on(PostgresStore::open(options, runtime())).unwrap();
    proxy.cut(Cut::AndAway);
    let unknown = block_on(store.commit(tag(10))).unwrap_err();
    assert!(matches!(unknown, GraphStoreError::Unknown(_)), "{unknown}");
    proxy.cut(Cut::Never);
    proxy.cut(Cut::AndAway);
    let unknown = block_on(store.put_account(Account::new(20, Tier::DEFAULT), None)).unwrap_err();
    assert!(matches!(unknown, AuthStoreError::Unknown(_)), "{unknown}");
    // Both were kept.
    assert!(exists(&test.store, 10));
    assert!(block_on(test.store.account(20)).unwrap().is_some());
}

/// Fails if a connection of the store has a statement that waits for a lock.
const NONE_WAITS: &str = "DO $$ BEGIN \
    IF EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() \
        AND application_name LIKE 'workgraph/%' AND wait_event_type = 'Lock') \
    THEN RAISE 'a statement goes on'; END IF; END $$";

/// S942.
#[test]
fn a_read_that_was_stopped_does_not_go_on_at_the_server() {
    let Some(test) = empty_store() else { return };
    let options = DatabaseOptions {
        read_timeout: Duration::from_millis(300),
        connect_timeout: Duration::from_secs(60),
        connections: 2,
        cache_bytes: 0,
        ..options(&test.database)
    };
    let store = block_on(PostgresStore::open(options, runtime())).unwrap();
    let locked = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (test, locked) = (&test, &locked);
        scope.spawn(move || {
            test.database.sql(
                "BEGIN; LOCK TABLE node, token IN ACCESS EXCLUSIVE MODE; \
                 SELECT pg_sleep(3); ROLLBACK",
            );
            locked.store(true, Ordering::Relaxed);
        });
        let viewer = ViewerKey {
            user: gid(2),
            service: None,
        };
        let mut stopped = 0;
        while !locked.load(Ordering::Relaxed) {
            // More of them than there are connections: those of stopped reads are free again.
            if block_on(store.load(&ReadQuery::of(viewer).node(gid(7)))).is_err() {
                stopped += 1;
                let found = block_on(store.find_token(&SecretDigest([1; 32])));
                stopped += u32::from(found.is_err());
            }
            if stopped >= 4 && !locked.load(Ordering::Relaxed) {
                // The server gets the cancellation at once, but needs a moment.
                let refused = (0..20).all(|_| !test.database.try_sql(NONE_WAITS));
                assert!(!refused, "the statements go on");
                break;
            }
        }
        assert!(stopped >= 4, "only {stopped} reads met the lock");
    });
}

/// Kills all backends of the store, 40 times.
const KILLS: &str = "DO $$ BEGIN FOR i IN 1..40 LOOP \
    PERFORM pg_stat_clear_snapshot(); \
    PERFORM pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name LIKE 'workgraph/%'; \
    PERFORM pg_sleep(0.01 + random() * 0.05); END LOOP; END $$";

/// Returns the sequence numbers of the journal.
fn journal(store: &PostgresStore) -> Vec<u64> {
    let events = block_on(store.journal_entries(0, 100_000)).unwrap();
    events.iter().map(|event| event.seq).collect()
}

#[test]
fn every_commit_counts_once_while_backends_are_killed() {
    let Some(test) = empty_store() else { return };
    let stop = AtomicBool::new(false);
    let acknowledged: u64 = std::thread::scope(|scope| {
        scope.spawn(|| {
            test.database.sql(KILLS);
            stop.store(true, Ordering::Relaxed);
        });
        let (store, stop) = (&test.store, &stop);
        let write = |writer: u64| {
            let (mut commits, mut refused) = (0, 0);
            while !stop.load(Ordering::Relaxed) {
                let number = 1_000_000 * (1 + writer) + commits;
                // An error means that nothing was kept, so the same changes can be made again.
                while let Err(error) = block_on(store.commit(tag(number))) {
                    assert!(matches!(error, GraphStoreError::Unavailable(_)), "{error}");
                    refused += 1;
                }
                commits += 1;
            }
            (commits, refused)
        };
        let writing: Vec<_> = (0..6)
            .map(|writer| scope.spawn(move || write(writer)))
            .collect();
        let done = writing.into_iter().map(|writer| writer.join().unwrap());
        let (commits, refused) = done.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        assert!(refused > 0, "no kill met a commit");
        commits
    });
    // A commit that was made twice, or that was refused but kept, would have a number of its own.
    assert_eq!(
        journal(&fresh(&test)),
        (1..=acknowledged).collect::<Vec<_>>()
    );
}

/// Opens the database again: connections in the old pool may be dead.
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
    assert!(
        matches!(
            refused,
            GraphStoreError::Failed(_) | GraphStoreError::Unavailable(_)
        ),
        "{refused}"
    );
}
