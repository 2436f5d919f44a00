use crate::database::{Database, DatabaseOptions};
use std::collections::BTreeSet;
use workgraph_rows::{DERIVED_TABLES, TABLES};
use workgraph_testkit::PostgresCluster;

/// Tables about the database and its nodes, not about the data.
const LOCAL: [&str; 6] = [
    "member",
    "schema_version",
    "shared_value",
    "store_state",
    "work_lease",
    "write_attempt",
];
const COLUMNS: &str = "SELECT table_name::text, column_name::text FROM information_schema.columns \
    WHERE table_schema = current_schema()";

/// S930.
#[test]
fn the_list_of_tables_is_that_of_the_database() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let test = cluster.database();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let options = DatabaseOptions {
        accept_unsafe_server: true,
        ..DatabaseOptions::new(test.url())
    };
    let opened = Database::open(options, runtime.handle().clone());
    let database = runtime.block_on(opened).unwrap();
    let rows = runtime.block_on(async {
        let connection = database.connection().await.unwrap();
        connection.query(COLUMNS, &[]).await.unwrap()
    });
    let found: BTreeSet<(String, String)> = rows
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .filter(|(table, _): &(String, String)| {
            !LOCAL.contains(&table.as_str()) && !DERIVED_TABLES.contains(&table.as_str())
        })
        .collect();
    let listed = TABLES.iter().filter(|table| table.name != "state");
    let mut listed: BTreeSet<(String, String)> = listed
        .flat_map(|table| {
            table
                .columns
                .iter()
                .map(|c| (table.name.to_owned(), c.name.to_owned()))
        })
        .collect();
    // The text of an alias that is too long for its index, and the keys by which caches find out what a commit touched:
    // without them it may have touched anything.
    for (table, column) in [("alias", "text"), ("journal", "touched")] {
        listed.insert((table.to_owned(), column.to_owned()));
    }
    let differing: Vec<_> = found.symmetric_difference(&listed).collect();
    assert!(differing.is_empty(), "{differing:?}");
}
