//! Loads in waves over this store give the same results as its own loads. A store behind a network loads in this way.
use super::*;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use workgraph_core::engine::waves::{Attempt, Facts, WAVES_MAX, load_attempt, load_guesses};
use workgraph_core::storage::GraphStoreWrapper;
use workgraph_testkit::random_histories::{self, WellFormed, cases};
use workgraph_testkit::{MemoryStore, ScratchFolder, search_histories};

/// Store that is read in waves; each answer comes from the read that the engine would make.
struct InWaves(SqliteStore);

#[async_trait]
impl GraphStoreWrapper for InWaves {
    fn inner(&self) -> &dyn GraphStore {
        &self.0
    }

    async fn wrapped_load(&self, want: &ReadQuery) -> Result<ReadView, GraphStoreError> {
        self.0.readers.read(|tx| {
            let mut facts = Facts::at(tx.seq()?);
            let mut wave = load_guesses(want, true);
            for _ in 0..=WAVES_MAX {
                for read in wave {
                    let answer = read.run(tx)?;
                    facts.insert(&read, answer)?;
                }
                match load_attempt(&facts, want, None) {
                    Attempt::Whole(view) => return view,
                    Attempt::Lacks(reads) => wave = reads,
                }
            }
            Err(GraphStoreError::Failed("too many waves".into()))
        })
    }
}

fn store(caches: bool) -> (ScratchFolder, InWaves) {
    let folder = ScratchFolder::new("waves");
    let options = StoreOptions {
        caches,
        ..StoreOptions::default()
    };
    let store = SqliteStore::open(folder.path(), options).unwrap();
    (folder, InWaves(store))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(20), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn histories_in_waves_give_equal_answers(history in random_histories::histories(15), caches: bool) {
        let (_folder, store) = store(caches);
        let memory = MemoryStore::new();
        random_histories::compare(&WellFormed::over(&memory), &WellFormed::over(&store), &history).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn searches_in_waves_find_what_a_look_at_every_node_finds(history in search_histories::any_history(), caches: bool) {
        let (_folder, store) = store(caches);
        search_histories::compare(&store, &history).map_err(TestCaseError::fail)?;
    }
}
