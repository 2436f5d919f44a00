//! PostgreSQL and the memory store give equal answers on random histories.
use crate::support::empty_store;
use proptest::prelude::*;
use workgraph_testkit::{MemoryStore, random_histories, search_histories};

proptest! {
    #![proptest_config(ProptestConfig { cases: random_histories::cases(12), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_histories_give_equal_answers(history in random_histories::histories(20)) {
        let Some(test) = empty_store() else { return Ok(()) };
        let done = random_histories::compare(&MemoryStore::new(), &test.store, &history);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }

    #[test]
    fn searches_find_what_a_look_at_every_node_finds(history in search_histories::any_history()) {
        let Some(test) = empty_store() else { return Ok(()) };
        let done = search_histories::compare(&test.store, &history);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }
}
