//! Guarantees below the port, about a transaction that is rolled back afterwards.
use crate::{DatabaseError, DatabaseOptions, PostgresStore};
use workgraph_auth::conformance::block_on;
use workgraph_core::storage::GraphStoreError;
use workgraph_core::storage::snapshot::Transaction;
use workgraph_testkit::PostgresCluster;
use workgraph_testkit::conformance::{self, GraphStoreFailure};

fn keeps(promise: fn(&mut dyn Transaction) -> Result<(), GraphStoreFailure>) {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let options = DatabaseOptions {
        accept_unsafe_server: true,
        ..DatabaseOptions::new(database.url())
    };
    let store = block_on(PostgresStore::open(options, runtime.handle().clone())).unwrap();
    let done = store
        .writer
        .work(move |transaction| -> Result<(), GraphStoreError> {
            let text =
                promise(transaction).map_or_else(|failure| failure.to_string(), |()| "kept".into());
            Err(DatabaseError::Failed(text).into())
        });
    assert_eq!(block_on(done), Err(GraphStoreError::Failed("kept".into())));
}

#[test]
fn values_are_found_as_the_port_says() {
    keeps(conformance::index);
}

#[test]
fn lists_of_entries_have_and_give_what_the_port_says() {
    keeps(conformance::lists);
}
