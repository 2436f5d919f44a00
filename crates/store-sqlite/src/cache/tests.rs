//! Caches that omit one kind of invalidation each: the suites of the ports detect every one of them, and none if the caches are
//! off.
use super::*;
use crate::secret_resealing::SealingKeys;
use crate::sqlite_store::SqliteStore;
use workgraph_auth::conformance::{CASES as TOKEN_CASES, OAUTH_CASES, block_on};
use workgraph_testkit::ScratchFolder;
use workgraph_testkit::conformance::CASES as GRAPH_CASES;

/// Opens an empty store whose caches omit these kinds of invalidation.
fn open(folder: &ScratchFolder, caches: bool, omitted: &'static [InvalidationKind]) -> SqliteStore {
    let options = StoreOptions {
        caches,
        ..StoreOptions::default()
    };
    let caches = StoreCaches::omitting(&options, Omissions(omitted));
    let keys = SealingKeys {
        check: None,
        reseal: &mut |_, _| Ok(None),
    };
    SqliteStore::open_with(folder.path(), options, caches, None, keys).unwrap()
}

/// Runs the cases of all ports, each on a store of its own, until one fails; returns its rule.
fn first_failure(caches: bool, omitted: &'static [InvalidationKind]) -> Option<&'static str> {
    let run = |case: &dyn Fn(&SqliteStore) -> bool| {
        let folder = ScratchFolder::in_memory("omitting");
        case(&open(&folder, caches, omitted))
    };
    let oauth = OAUTH_CASES
        .iter()
        .map(|(rule, case)| (*rule, run(&|store| block_on(case(store)).is_ok())));
    let tokens = TOKEN_CASES
        .iter()
        .map(|(rule, case)| (*rule, run(&|store| block_on(case(store)).is_ok())));
    let graph = GRAPH_CASES
        .iter()
        .map(|(rule, case)| (*rule, run(&|store| block_on(case(store)).is_ok())));
    let mut outcomes = oauth.chain(tokens).chain(graph);
    outcomes.find(|(_, kept)| !kept).map(|(rule, _)| rule)
}

/// Kinds of invalidation, all except `Tokens`: the number that it increments is also the version of the token port.
const KINDS: &[InvalidationKind] = &[
    InvalidationKind::NodePut,
    InvalidationKind::NodeTrashed,
    InvalidationKind::EdgePut,
    InvalidationKind::EdgeDropped,
    InvalidationKind::ListPut,
    InvalidationKind::ListDropped,
    InvalidationKind::Snapshots,
    InvalidationKind::Viewers,
    InvalidationKind::RefreshTokens,
    InvalidationKind::Apps,
];

#[test]
fn the_suites_notice_each_kind_of_invalidation_that_is_left_out() {
    for omitted in KINDS.chunks(1).chain([&[InvalidationKind::Tokens][..]]) {
        assert!(first_failure(true, omitted).is_some(), "{omitted:?}");
    }
}

#[test]
fn without_caches_there_is_nothing_to_invalidate() {
    assert_eq!(first_failure(false, KINDS), None);
}
