//! SQLite and the memory store answer alike, whatever happens to them.
use proptest::prelude::*;
use workgraph_store_sqlite::{Options, SqliteStore};
use workgraph_testkit::{MemoryStore, Scratch, model, search};

proptest! {
    #![proptest_config(ProptestConfig { cases: model::cases(40), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_histories_give_equal_answers(history in model::histories(30)) {
        let folder = Scratch::new("model");
        let sqlite = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let done = model::compare(&MemoryStore::new(), &sqlite, &history);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }

    #[test]
    fn searches_find_what_a_look_at_every_node_finds(dice in search::dice()) {
        let folder = Scratch::new("search");
        let sqlite = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let done = search::compare(&sqlite, &dice);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
        let of_cards = |p: &String| p.contains("card") || p.contains("words");
        let wrong: Vec<String> = sqlite.check().unwrap().into_iter().filter(of_cards).collect();
        prop_assert_eq!(wrong, Vec::<String>::new());
    }
}
