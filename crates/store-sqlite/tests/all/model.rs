//! SQLite, with caches and without, and the memory store give equal answers on random histories.
use proptest::prelude::*;
use workgraph_store_sqlite::{SqliteStore, StoreOptions};
use workgraph_testkit::MemoryStore;
use workgraph_testkit::ScratchFolder;
use workgraph_testkit::random_histories::{self, WellFormed};
use workgraph_testkit::search_histories;

fn options(caches: bool) -> StoreOptions {
    StoreOptions {
        caches,
        ..StoreOptions::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: random_histories::cases(40), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_histories_give_equal_answers(history in random_histories::histories(30), caches: bool) {
        let (folder, memory) = (ScratchFolder::new("model"), MemoryStore::new());
        let sqlite = SqliteStore::open(folder.path(), options(caches)).unwrap();
        let done = random_histories::compare(&WellFormed::over(&memory), &WellFormed::over(&sqlite), &history);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }

    #[test]
    fn searches_find_what_a_look_at_every_node_finds(history in search_histories::any_history(), caches: bool) {
        let folder = ScratchFolder::new("search");
        let sqlite = SqliteStore::open(folder.path(), options(caches)).unwrap();
        let done = search_histories::compare(&sqlite, &history);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
        let of_cards = |p: &String| p.contains("index entry") || p.contains("words");
        let wrong: Vec<String> = sqlite.check().unwrap().into_iter().filter(of_cards).collect();
        prop_assert_eq!(wrong, Vec::<String>::new());
    }
}
