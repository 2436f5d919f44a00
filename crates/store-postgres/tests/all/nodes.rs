//! Nodes that share a database: their numbers, their leases, their values.
use crate::support::{TestStore, empty_store};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};
use tokio::time::Instant;
use workgraph_auth::conformance::block_on;
use workgraph_core::storage::{SharedWork, WorkLeases};
use workgraph_store_postgres::server_nodes::node_number::{
    COMMAND_MARK, NodeNumberLease, server_time,
};
use workgraph_store_postgres::server_nodes::shared_values;
use workgraph_store_postgres::server_nodes::work_leases::{PostgresLeases, WORK_LEASE};

fn join(test: &TestStore, name: &str) -> NodeNumberLease {
    block_on(NodeNumberLease::join(
        test.store.database(),
        name.to_owned(),
    ))
    .unwrap()
}

/// Ends the leases of all numbers, as if their time had passed.
fn end_leases(test: &TestStore) {
    test.database.sql(
        "UPDATE member SET until = clock_timestamp() - interval '1 second'; \
            UPDATE work_lease SET until = clock_timestamp() - interval '1 second'",
    );
}

/// S923. S924.
#[test]
fn numbers_are_leased_to_one_node_each_and_their_gids_never_overlap() {
    let Some(test) = empty_store() else { return };
    let database = test.store.database();
    // As many nodes as there are numbers start at the same time.
    let joined: Vec<NodeNumberLease> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..31)
            .map(|n| {
                let test = &test;
                scope.spawn(move || join(test, &format!("node {n}")))
            })
            .collect();
        let joined = starts.into_iter().map(|start| start.join().unwrap());
        joined.collect()
    });
    let numbers: BTreeSet<u8> = joined.iter().map(|node| node.number).collect();
    assert_eq!(numbers, (0..=30).collect());
    let full = block_on(NodeNumberLease::join(database, "one more".to_owned())).unwrap_err();
    assert!(full.to_string().contains("31 nodes"), "{full}");

    let first = &joined[0];
    let renewed = block_on(first.renew(database)).unwrap().unwrap();
    assert_eq!(renewed.nodes, 31);
    let until = renewed.gids_until_ms;
    assert!(
        until >= first.gids_until_ms,
        "a renewal never takes gids back"
    );
    block_on(first.leave(database)).unwrap();
    let next = join(&test, "next");
    assert_eq!(next.number, first.number);
    assert_eq!(
        next.gids_from_ms, until,
        "it begins where the other could have ended"
    );
    assert!(next.gids_until_ms > next.gids_from_ms);
    assert_eq!(
        block_on(first.renew(database)).unwrap(),
        None,
        "the other is out"
    );

    // A node that slept renews its number if nobody took it.
    end_leases(&test);
    let renewed = block_on(next.renew(database)).unwrap().unwrap();
    assert_eq!(renewed.nodes, 1, "the leases of the others are over");
}

/// S970. A command holds a number while it works, and a node that leaves is gone at once: neither reduces the parts of limits.
#[test]
fn commands_and_nodes_that_left_are_not_counted() {
    let Some(test) = empty_store() else { return };
    let database = test.store.database();
    let [one, two] = ["one", "two"].map(|name| join(&test, name));
    let command = join(&test, &format!("{COMMAND_MARK}workspace list"));
    let counted = || {
        let mut others = block_on(one.others(database)).unwrap();
        others.sort();
        (
            block_on(one.renew(database)).unwrap().unwrap().nodes,
            others,
        )
    };
    assert_eq!(counted(), (2, vec!["two".to_owned()]));
    block_on(two.leave(database)).unwrap();
    assert_eq!(counted(), (1, vec![]));
    // A renewal that was under way when the node left comes too late.
    assert_eq!(block_on(two.renew(database)).unwrap(), None);
    assert_eq!(counted(), (1, vec![]));
    block_on(command.leave(database)).unwrap();
    assert_eq!(counted(), (1, vec![]));
    let again = join(&test, "two, again");
    assert_eq!(counted(), (2, vec!["two, again".to_owned()]));
    block_on(again.leave(database)).unwrap();
}

/// S920. S924.
#[test]
fn work_is_leased_to_one_process_at_a_time_and_epochs_tell_them_apart() {
    let Some(test) = empty_store() else { return };
    let leases = |name: &str| PostgresLeases::new(test.store.database().clone(), name.to_owned());
    let (a, b) = (leases("a"), leases("b"));
    let now = Instant::now().into_std();
    let acquire = |leases: &PostgresLeases, work| block_on(leases.acquire(work, now)).unwrap();
    let first = acquire(&a, SharedWork::Webhooks).unwrap();
    assert_eq!(first.remaining(now), Some(WORK_LEASE));
    assert_eq!(acquire(&b, SharedWork::Webhooks), None);
    assert!(
        acquire(&b, SharedWork::Maintenance).is_some(),
        "each work by itself"
    );
    assert_eq!(
        acquire(&a, SharedWork::Webhooks).unwrap().epoch,
        first.epoch
    );

    block_on(b.release(SharedWork::Webhooks)).unwrap();
    assert_eq!(
        acquire(&b, SharedWork::Webhooks),
        None,
        "only its holder gives it up"
    );
    block_on(a.release(SharedWork::Webhooks)).unwrap();
    let second = acquire(&b, SharedWork::Webhooks).unwrap();
    assert!(second.epoch > first.epoch);
    end_leases(&test);
    let third = acquire(&a, SharedWork::Webhooks).unwrap();
    assert!(third.epoch > second.epoch, "a lease ends by itself");

    // Of many that try at the same time, one gets it.
    end_leases(&test);
    let holders: usize = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8)
            .map(|n| {
                let leases = leases(&format!("racer {n}"));
                scope.spawn(move || block_on(leases.acquire(SharedWork::Webhooks, now)).unwrap())
            })
            .collect();
        let tries = tries.into_iter().map(|attempt| attempt.join().unwrap());
        tries.filter(Option::is_some).count()
    });
    assert_eq!(holders, 1);
}

/// S925.
#[test]
fn of_writers_of_a_shared_value_one_wins() {
    let Some(test) = empty_store() else { return };
    let database = test.store.database();
    let write = |version, content: &str| {
        let written = shared_values::replace(database, "keys", version, content.to_owned());
        block_on(written).unwrap()
    };
    assert_eq!(
        block_on(shared_values::read(database, "keys")).unwrap(),
        None
    );
    assert!(!write(Some(1), "too early"));
    assert!(write(None, "first"));
    assert!(!write(None, "another first"));
    let first = block_on(shared_values::read(database, "keys"))
        .unwrap()
        .unwrap();
    assert_eq!(first.content, "first");
    assert!(
        !format!("{first:?}").contains("first"),
        "it may be a secret"
    );
    assert!(write(Some(first.version), "second"));
    assert!(!write(Some(first.version), "late"));
    let second = block_on(shared_values::read(database, "keys"))
        .unwrap()
        .unwrap();
    assert_eq!(second.content, "second");
}

#[test]
fn the_clock_of_the_server_can_be_asked() {
    let Some(test) = empty_store() else { return };
    let told = block_on(server_time(test.store.database())).unwrap();
    let since = told.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    assert!(since > Duration::from_secs(1_700_000_000));
}
