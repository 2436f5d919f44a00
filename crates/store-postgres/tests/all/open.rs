//! Opening: the tables are made once, by one node, and unsuitable servers are refused.
use crate::support::{options, runtime};
use workgraph_auth::conformance::block_on;
use workgraph_store_postgres::server_nodes::node_number::NodeNumberLease;
use workgraph_store_postgres::{Database, DatabaseError, DatabaseOptions, PostgresStore, plan};
use workgraph_testkit::PostgresCluster;

#[test]
fn the_tables_are_made_once_and_the_plan_says_what_is_missing() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let made = cluster.database();
    let database = block_on(Database::connect(options(&made), runtime())).unwrap();
    let before = block_on(plan(&database)).unwrap();
    assert_eq!(before[0].name, "0001_graph");
    // Eight nodes start at the same time.
    let opened: Vec<_> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| block_on(PostgresStore::open(options(&made), runtime()))))
            .collect();
        starts
            .into_iter()
            .map(|start| start.join().unwrap())
            .collect()
    });
    for store in opened {
        assert!(store.is_ok(), "{store:?}");
    }
    assert_eq!(block_on(plan(&database)).unwrap(), Vec::new());
}

/// S944.
#[test]
fn tables_of_a_newer_program_are_refused_only_if_something_was_removed() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let made = cluster.database();
    let open = || block_on(Database::open(options(&made), runtime()));
    open().unwrap();
    made.sql("INSERT INTO schema_version (version, name, contract) VALUES (800, 'more', false)");
    let database = open().unwrap();
    assert_eq!(block_on(plan(&database)).unwrap(), Vec::new());
    block_on(database.check_tables()).unwrap();
    made.sql("INSERT INTO schema_version (version, name, contract) VALUES (801, 'less', true)");
    let newer = open().unwrap_err();
    assert!(
        matches!(newer, DatabaseError::Newer { found: 801, .. }),
        "{newer}"
    );
    // A node that was starting then does not become one.
    let refused = block_on(NodeNumberLease::join(&database, "late".into())).unwrap_err();
    assert!(matches!(refused, DatabaseError::Newer { .. }), "{refused}");
    assert!(
        made.try_sql(
            "DO $$ BEGIN ASSERT NOT EXISTS (SELECT FROM member WHERE until > now()); END $$"
        )
    );
}

#[test]
fn a_server_that_can_lose_commits_is_refused_with_what_to_do() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let made = cluster.database();
    let strict = DatabaseOptions::new(made.url());
    let refused = block_on(Database::connect(strict, runtime())).unwrap_err();
    assert!(refused.to_string().contains("set fsync = on"), "{refused}");
}

#[test]
fn a_server_that_is_not_there_is_unavailable_and_its_password_is_not_shown() {
    let url = "postgres://u:geheim@127.0.0.1:1/w";
    let options = DatabaseOptions::new(url);
    assert!(!format!("{options:?}").contains("geheim"));
    let refused = block_on(Database::connect(options, runtime())).unwrap_err();
    assert!(
        matches!(refused, DatabaseError::Unavailable(_)),
        "{refused:?}"
    );
    assert!(!format!("{refused} {refused:?}").contains("geheim"));
}
