//! Keys that a commit writes to the journal for the caches of other nodes.
use crate::support::{another_store, empty_store, exists, gid};
use workgraph_auth::conformance::block_on;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::Type;
use workgraph_core::storage::{Changes, GraphStore, NodeWrite};

fn tags(numbers: impl Iterator<Item = u64>) -> Vec<NodeWrite> {
    let node = |number| Draft::new(Type::Tag, gid(number), Some(gid(1))).finish();
    numbers
        .map(|number| NodeWrite { node: node(number) })
        .collect()
}

/// S943.
#[test]
fn a_commit_that_touches_very_much_makes_other_nodes_forget_everything() {
    let Some(test) = empty_store() else { return };
    let other = another_store(&test);
    let commit = |changes| block_on(test.store.commit(changes)).unwrap().seq;
    let small = commit(Changes {
        node_writes: tags(10..20),
        ..Changes::default()
    });
    // The other node keeps its reads.
    assert!((0..3).all(|_| exists(&other, 10) && exists(&other, 11) && !exists(&other, 6_000)));
    let large = commit(Changes {
        node_writes: tags(1_000..6_500),
        trashed: vec![gid(10)],
        ..Changes::default()
    });
    assert!(exists(&other, 6_000) && exists(&other, 11) && !exists(&other, 10));
    test.database.sql(&format!(
        "DO $$ BEGIN ASSERT (SELECT touched IS NOT NULL FROM journal WHERE seq = {small}); \
         ASSERT (SELECT touched IS NULL FROM journal WHERE seq = {large}); \
         ASSERT (SELECT max(pg_column_size(touched)) < 40000 FROM journal); END $$"
    ));
    // It keeps its new reads, and learns of the next change.
    assert!((0..3).all(|_| exists(&other, 11) && exists(&other, 12)));
    commit(Changes {
        trashed: vec![gid(12)],
        ..Changes::default()
    });
    assert!(exists(&other, 11) && !exists(&other, 12));
}
