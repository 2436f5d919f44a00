//! Loads in waves and commits by way of overlays come to what loads and commits of the same store come to.
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::sync::Arc;
use workgraph_auth::conformance::block_on;
use workgraph_testkit::memory_store::{WaveFault, WaveGuesses, WaveOptions};
use workgraph_testkit::random_histories::{self, WellFormed};
use workgraph_testkit::{MemoryStore, WaveStore, search_histories};

fn wave_store(guesses: WaveGuesses, lag: usize, fault: Option<WaveFault>) -> WaveStore {
    // Every second one has a cache, which is so small that it is full at times.
    let cache_bytes = if lag.is_multiple_of(2) { 0 } else { 120_000 };
    let options = WaveOptions {
        guesses,
        lag,
        cache_bytes,
        pending: 0,
        fault,
    };
    WaveStore::over(Arc::new(MemoryStore::new()), options)
}

/// Returns a store that applies change sets to the state after commits of which its cache learns only later.
fn pending_store(pending: usize, cache_bytes: usize, fault: Option<WaveFault>) -> WaveStore {
    let options = WaveOptions {
        cache_bytes,
        pending,
        fault,
        ..WaveOptions::default()
    };
    WaveStore::over(Arc::new(MemoryStore::new()), options)
}

fn config(usual: u32) -> ProptestConfig {
    ProptestConfig {
        cases: random_histories::cases(usual),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn any_guesses() -> impl Strategy<Value = WaveGuesses> {
    prop_oneof![
        Just(WaveGuesses::Usual),
        Just(WaveGuesses::None),
        Just(WaveGuesses::Useless)
    ]
}

/// Compares both stores after a history.
fn compare(waves: &WaveStore, history: &[random_histories::ModelRound]) -> Result<(), String> {
    let direct = MemoryStore::new();
    random_histories::compare(
        &WellFormed::over(&direct),
        &WellFormed::over(waves),
        history,
    )?;
    if !direct.has_same_graph(waves.store()) {
        return Err("graphs differ".to_owned());
    }
    waves.broken_law().map_or(Ok(()), Err)
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn waves_and_overlays_come_to_what_the_store_itself_comes_to(
        history in random_histories::histories(12),
        guesses in any_guesses(),
        lag in 0..4usize,
    ) {
        let done = compare(&wave_store(guesses, lag, None), &history);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }

    #[test]
    fn groups_of_commits_come_to_what_single_ones_come_to(
        history in random_histories::histories(20),
        size in 1..9usize,
        lag in 0..3usize,
    ) {
        let waves = wave_store(WaveGuesses::Usual, lag, None);
        let done = random_histories::compare_groups(&MemoryStore::new(), &waves, &history, size);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
        prop_assert_eq!(waves.broken_law(), None);
    }
}

proptest! {
    #![proptest_config(config(120))]

    #[test]
    fn commits_after_pending_ones_come_to_what_the_store_itself_comes_to(
        history in random_histories::histories(12),
        size in 1..4usize,
        pending in 1..5usize,
        cache_bytes in prop_oneof![Just(60_000usize), Just(10_000_000)],
    ) {
        let waves = pending_store(pending, cache_bytes, None);
        let done = random_histories::compare_groups(&MemoryStore::new(), &waves, &history, size);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }
}

proptest! {
    #![proptest_config(config(30))]

    #[test]
    fn searches_in_waves_find_what_a_look_at_every_node_finds(
        history in search_histories::any_history(),
        guesses in any_guesses(),
    ) {
        let waves = wave_store(guesses, 3, None);
        let done = search_histories::compare(&waves, &history);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
        prop_assert_eq!(waves.broken_law(), None);
    }
}

#[test]
fn a_wave_store_keeps_the_graph_as_the_port_says() {
    for (rule, case) in workgraph_testkit::conformance::CASES {
        for guesses in [WaveGuesses::Usual, WaveGuesses::None] {
            let waves = wave_store(guesses, 0, None);
            block_on(case(&waves)).unwrap_or_else(|reason| panic!("{rule}: {reason}"));
            assert_eq!(waves.broken_law(), None, "{rule}");
        }
    }
}

#[test]
fn each_fault_is_noticed() {
    for (fault, lag) in [
        (WaveFault::LostRows, 0),
        (WaveFault::Credulous, 0),
        (WaveFault::LostEdges, 0),
        (WaveFault::NotValidated, 3),
        (WaveFault::UntouchedLists, 0),
        (WaveFault::UntouchedLists, 3),
        (WaveFault::StaleCache, 1),
        (WaveFault::CacheWithoutEdges, 1),
    ] {
        let store = || wave_store(WaveGuesses::Usual, lag, Some(fault));
        assert!(is_noticed(&store), "{fault:?}");
    }
    let fault = WaveFault::PendingWithoutEdges;
    let store = || pending_store(2, 10_000_000, Some(fault));
    assert!(is_noticed(&store), "{fault:?}");
}

fn is_noticed(store: &dyn Fn() -> WaveStore) -> bool {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let config = ProptestConfig {
        max_shrink_iters: 0,
        ..config(256)
    };
    let mut runner = TestRunner::new_with_rng(config, rng);
    let noticed = runner.run(&random_histories::histories(12), |history| {
        compare(&store(), &history).map_err(TestCaseError::fail)
    });
    noticed.is_err()
}
