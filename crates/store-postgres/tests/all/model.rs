//! PostgreSQL, SQLite and the memory store give equal answers on random histories.
use crate::support::{empty_store, store_with};
use async_trait::async_trait;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestRunner};
use std::sync::atomic::{AtomicUsize, Ordering};
use workgraph_core::storage::{
    Changes, CommitReceipt, GraphStore, GraphStoreError, GraphStoreWrapper, ReadQuery, ReadView,
};
use workgraph_store_postgres::PostgresStore;
use workgraph_store_sqlite::{SqliteStore, StoreOptions};
use workgraph_testkit::random_histories::{ModelRound, WellFormed};
use workgraph_testkit::{MemoryStore, ScratchFolder, random_histories, search_histories};

/// Compares a store with one in memory. Changes are like those of the service's rules, on which the waves of commits rely.
fn compare(store: &(impl GraphStore + 'static), history: &[ModelRound]) -> Result<(), String> {
    let direct = MemoryStore::new();
    random_histories::compare(
        &WellFormed::over(&direct),
        &WellFormed::over(store),
        history,
    )
}

fn config(cases: u32) -> Config {
    Config {
        cases: random_histories::cases(cases),
        failure_persistence: None,
        ..Config::default()
    }
}

/// Runs a property, each time on empty stores.
fn holds<T: std::fmt::Debug>(
    cases: u32,
    histories: &impl Strategy<Value = T>,
    property: impl Fn(&PostgresStore, &T) -> Result<(), String>,
) {
    holds_with(true, cases, histories, &property);
    holds_with(false, cases / 3, histories, &property);
}

fn holds_with<T: std::fmt::Debug>(
    waves: bool,
    cases: u32,
    histories: &impl Strategy<Value = T>,
    property: impl Fn(&PostgresStore, &T) -> Result<(), String>,
) {
    let Some(test) = store_with(waves) else {
        return;
    };
    let done = TestRunner::new(config(cases)).run(histories, |history| {
        property(&test.cleared(), &history).map_err(TestCaseError::fail)
    });
    if let Err(difference) = done {
        panic!("{difference}");
    }
}

#[test]
fn equal_histories_give_equal_answers() {
    holds(9, &random_histories::histories(20), |store, history| {
        compare(store, history)
    });
}

#[test]
fn searches_find_what_a_look_at_every_node_finds() {
    holds(8, &search_histories::any_history(), |store, history| {
        search_histories::compare(store, history)
    });
}

/// Two nodes over one database: one commits, and the other, whose cache must learn of it, loads.
struct TwoNodes(PostgresStore, PostgresStore);

#[async_trait]
impl GraphStoreWrapper for TwoNodes {
    fn inner(&self) -> &dyn GraphStore {
        &self.1
    }
    async fn wrapped_commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        self.0.commit(changes).await
    }
}

#[test]
fn a_commit_on_one_node_is_seen_by_the_next_load_on_another() {
    let Some(first) = empty_store() else { return };
    let mut runner = TestRunner::new(config(10));
    let histories = random_histories::histories(20);
    let done = runner.run(&histories, |history| {
        let (one, other) = (first.cleared(), first.open());
        compare(&TwoNodes(one, other), &history).map_err(TestCaseError::fail)
    });
    assert!(done.is_ok(), "{}", done.unwrap_err());
}

/// Two nodes over one database that take turns: each commits and loads after the other.
struct TakingTurns([PostgresStore; 2], AtomicUsize);

impl TakingTurns {
    /// Returns the node whose turn it is.
    fn next(&self) -> &PostgresStore {
        let [one, other] = &self.0;
        match self.1.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => other,
            _ => one,
        }
    }
}

#[async_trait]
impl GraphStoreWrapper for TakingTurns {
    fn inner(&self) -> &dyn GraphStore {
        &self.0[0]
    }
    async fn wrapped_load(&self, want: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        self.next().load(want).await
    }
    async fn wrapped_commit(&self, changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        self.next().commit(changes).await
    }
}

#[test]
fn two_nodes_that_take_turns_give_equal_answers() {
    let Some(first) = empty_store() else { return };
    let mut runner = TestRunner::new(config(10));
    let done = runner.run(&random_histories::histories(20), |history| {
        let nodes = [first.cleared(), first.open()];
        compare(&TakingTurns(nodes, AtomicUsize::new(0)), &history).map_err(TestCaseError::fail)
    });
    assert!(done.is_ok(), "{}", done.unwrap_err());
}

/// Store that keeps the nodes that a change set trashes.
struct KeptNodes(PostgresStore);

#[async_trait]
impl GraphStoreWrapper for KeptNodes {
    fn inner(&self) -> &dyn GraphStore {
        &self.0
    }
    async fn wrapped_commit(&self, mut changes: Changes) -> Result<CommitReceipt, GraphStoreError> {
        changes.trashed.clear();
        self.inner().commit(changes).await
    }
}

#[test]
fn a_store_that_keeps_trashed_nodes_is_noticed() {
    let Some(test) = empty_store() else { return };
    let mut config = config(200);
    config.rng_algorithm = RngAlgorithm::ChaCha;
    config.rng_seed = RngSeed::Fixed(1);
    config.max_shrink_iters = 0;
    let done = TestRunner::new(config).run(&random_histories::histories(20), |history| {
        compare(&KeptNodes(test.cleared()), &history).map_err(TestCaseError::fail)
    });
    assert!(done.is_err());
}

/// Runs a million operations in `just differential`. Each history runs on PostgreSQL in waves, on PostgreSQL with a trip for each
/// read, and on SQLite; all must give the answers of the memory store.
#[test]
fn all_stores_give_equal_answers() {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let wanted = number("WORKGRAPH_DIFFERENTIAL_OPS").unwrap_or(2_000);
    let first_seed = number("WORKGRAPH_DIFFERENTIAL_SEED").unwrap_or(0);
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for seed in [first_seed, first_seed + 1] {
            let done = &done;
            scope.spawn(move || {
                let stores = [store_with(true), store_with(false)];
                let [Some(waves), Some(trips)] = stores else {
                    return;
                };
                let mut runner = TestRunner::new(Config {
                    rng_seed: RngSeed::Fixed(seed as u64),
                    ..config(1)
                });
                let histories = random_histories::histories(200);
                while done.load(Ordering::Relaxed) < wanted {
                    let history = histories.new_tree(&mut runner).unwrap().current();
                    for (name, made) in [("waves", &waves), ("trips", &trips)] {
                        if let Err(difference) = compare(&made.cleared(), &history) {
                            panic!("seed {seed}, PostgreSQL in {name}: {difference}");
                        }
                    }
                    let folder = ScratchFolder::in_memory("differential");
                    let sqlite = SqliteStore::open(folder.path(), StoreOptions::default()).unwrap();
                    if let Err(difference) = compare(&sqlite, &history) {
                        panic!("seed {seed}, SQLite: {difference}");
                    }
                    let count = random_histories::operations(&history);
                    let total = done.fetch_add(count, Ordering::Relaxed) + count;
                    eprintln!("{total} of {wanted} operations");
                }
            });
        }
    });
}
