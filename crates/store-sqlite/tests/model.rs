//! SQLite and the memory store answer alike, whatever happens to them.
use proptest::prelude::*;
use workgraph_store_sqlite::{Options, SqliteStore};
use workgraph_testkit::{MemoryStore, Scratch, model};

proptest! {
    #![proptest_config(ProptestConfig { cases: model::cases(40), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_histories_give_equal_answers(history in model::histories(30)) {
        let folder = Scratch::new("model");
        let sqlite = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let done = model::compare(&MemoryStore::new(), &sqlite, &history);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }
}
