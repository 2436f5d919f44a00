//! Opening: the tables are created once, by one node, and unsuitable servers are refused.
use crate::support::{exists, options, runtime};
use std::time::Duration;
use workgraph_auth::conformance::block_on;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::storage::{Changes, GraphStore, NodeWrite};
use workgraph_store_postgres::server_nodes::node_number::NodeNumberLease;
use workgraph_store_postgres::{Database, DatabaseError, DatabaseOptions, PostgresStore, plan};
use workgraph_testkit::{PostgresCluster, TestDatabase};

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
    // A node that was starting at that time does not join.
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

/// User for whom the server accepts few connections; dropping the value removes the user.
struct LimitedUser<'d> {
    made: &'d TestDatabase,
    name: String,
}

impl<'d> LimitedUser<'d> {
    fn new(made: &'d TestDatabase, connections: u32) -> Self {
        let name = format!("few_{}", made.name());
        made.sql(&format!(
            "CREATE ROLE {name} LOGIN CONNECTION LIMIT {connections}; \
             GRANT ALL ON ALL TABLES IN SCHEMA public TO {name}"
        ));
        Self { made, name }
    }

    fn options(&self) -> DatabaseOptions {
        let url = self.made.url();
        DatabaseOptions {
            url: url.replace("user=postgres", &format!("user={}", self.name)),
            ..options(self.made)
        }
    }
}

impl Drop for LimitedUser<'_> {
    fn drop(&mut self) {
        let name = &self.name;
        let ended = self
            .made
            .try_sql(&format!("DROP OWNED BY {name}; DROP ROLE {name}"));
        assert!(ended || std::thread::panicking());
    }
}

/// S989.
#[test]
fn nodes_share_the_connections_that_they_have_where_the_server_takes_no_more() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let made = cluster.database();
    block_on(Database::open(options(&made), runtime())).unwrap();
    let user = LimitedUser::new(&made, 5);
    let open = |()| block_on(PostgresStore::open(user.options(), runtime())).unwrap();
    let nodes = [(); 2].map(open);
    let tag = |number: u64| Changes {
        node_writes: vec![NodeWrite {
            node: Draft::new(Type::Tag, Gid::new(number).unwrap(), None).finish(),
        }],
        ..Changes::default()
    };
    std::thread::scope(|scope| {
        for thread in 0..12u64 {
            let node = &nodes[usize::from(thread % 2 == 0)];
            scope.spawn(move || {
                for write in 0..8 {
                    let number = 100 + thread * 8 + write;
                    block_on(node.commit(tag(number))).unwrap();
                    assert!(exists(node, number));
                }
            });
        }
    });
}

/// S989.
#[test]
fn a_node_that_gets_no_connection_says_what_to_do() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let made = cluster.database();
    let user = LimitedUser::new(&made, 0);
    let options = DatabaseOptions {
        connect_timeout: Duration::from_millis(300),
        ..user.options()
    };
    let refused = block_on(Database::connect(options, runtime())).unwrap_err();
    assert!(
        refused.to_string().contains("raise max_connections"),
        "{refused}"
    );
}
