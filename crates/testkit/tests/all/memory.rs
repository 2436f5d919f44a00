//! Conformance of the memory store to the ports.
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use workgraph_auth::conformance::block_on;
use workgraph_testkit::MemoryStore;
use workgraph_testkit::random_histories;
use workgraph_testkit::search_histories;

#[test]
fn the_memory_store_keeps_tokens_as_the_port_says() {
    for (rule, case) in workgraph_auth::conformance::CASES {
        block_on(case(&MemoryStore::new())).unwrap_or_else(|reason| panic!("{rule}: {reason}"));
    }
}

#[test]
fn the_memory_store_keeps_apps_as_the_port_says() {
    for (rule, case) in workgraph_auth::conformance::OAUTH_CASES {
        block_on(case(&MemoryStore::new())).unwrap_or_else(|reason| panic!("{rule}: {reason}"));
    }
}

#[test]
fn the_memory_store_keeps_the_graph_as_the_port_says() {
    for (rule, case) in workgraph_testkit::conformance::CASES {
        block_on(case(&MemoryStore::new())).unwrap_or_else(|reason| panic!("{rule}: {reason}"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: random_histories::cases(40), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn searches_find_what_a_look_at_every_node_finds(history in search_histories::any_history()) {
        let done = search_histories::compare(&MemoryStore::new(), &history);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }
}

#[test]
fn cards_that_are_not_renewed_are_noticed() {
    let mut runner = TestRunner::deterministic();
    let noticed = runner.run(&search_histories::any_history(), |history| {
        let done = search_histories::compare(&MemoryStore::with_stale_index(), &history);
        done.map_err(TestCaseError::fail)
    });
    assert!(noticed.is_err());
}

#[test]
fn the_memory_store_keeps_webhooks_as_the_port_says() {
    let store = MemoryStore::new();
    block_on(workgraph_testkit::conformance::webhooks(
        &store, &store, &store,
    ))
    .unwrap();
    let store = MemoryStore::new();
    block_on(workgraph_testkit::conformance::webhooks_of_apps(
        &store, &store,
    ))
    .unwrap();
}
