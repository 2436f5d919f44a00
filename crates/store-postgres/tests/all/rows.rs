//! Copies of stores into PostgreSQL and back, row by row.
use crate::support::{another_store, empty_store, options, runtime};
use proptest::prelude::*;
use std::time::Duration;
use workgraph_auth::conformance::block_on;
use workgraph_core::access::Role;
use workgraph_core::model::gid::Gid;
use workgraph_core::model::time::Time;
use workgraph_core::storage::GraphStore;
use workgraph_rows::{
    ColumnKind, NodeIndexes, Row, RowReader, RowWriter, RowsError, StoreDigest, TABLES, Table,
    Value, copy, digest,
};
use workgraph_store_postgres::server_nodes::node_number::NodeNumberLease;
use workgraph_store_postgres::{Database, DatabaseOptions, PgRows, PostgresStore};
use workgraph_store_sqlite::{SqliteRowWriter, SqliteStore, StoreOptions};
use workgraph_testkit::random_histories::{self, WellFormed};
use workgraph_testkit::{Fixture, MemoryStore, PostgresCluster, ScratchFolder, TestDatabase};

/// Connects to a database with empty tables; `None` if there is no server.
fn empty_database() -> Option<(Database, TestDatabase)> {
    let test = PostgresCluster::shared()?.database();
    let database = block_on(Database::open(options(&test), runtime())).unwrap();
    Some((database, test))
}

fn digest_of_folder(folder: &ScratchFolder) -> StoreDigest {
    let store = SqliteStore::open_read_only(folder.path()).unwrap();
    digest(&mut store.rows().unwrap()).unwrap()
}

fn digest_of(database: &Database) -> StoreDigest {
    digest(&mut PgRows::read(database).unwrap()).unwrap()
}

fn to_database(from: &ScratchFolder, database: &Database) -> Result<(), RowsError> {
    let source = SqliteStore::open_read_only(from.path()).unwrap();
    let target = Box::new(PgRows::write(database).map_err(|e| RowsError::Failed(e.to_string()))?);
    copy(&mut source.rows().unwrap(), target, &mut |_| {}).map(drop)
}

fn to_folder(database: &Database, to: &ScratchFolder) {
    let target = Box::new(SqliteRowWriter::create(to.path()).unwrap());
    copy(&mut PgRows::read(database).unwrap(), target, &mut |_| {}).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: random_histories::cases(4), failure_persistence: None, ..ProptestConfig::default() })]

    /// S932.
    #[test]
    fn a_copy_into_the_database_and_back_has_equal_digests_and_goes_on(history in random_histories::histories(20)) {
        let Some((database, test)) = empty_database() else { return Ok(()) };
        let (from, back) = (ScratchFolder::new("to-postgres"), ScratchFolder::new("from-postgres"));
        let sqlite = SqliteStore::open(from.path(), StoreOptions::default()).unwrap();
        // Edges of existing nodes only: the indexes of a copy would know one to a node that was written later.
        let memory = MemoryStore::new();
        random_histories::compare(&WellFormed::over(&memory), &WellFormed::over(&sqlite), &history).map_err(TestCaseError::fail)?;
        let problems = sqlite.check().unwrap();
        let before = digest_of_folder(&from);
        to_database(&from, &database).unwrap();
        prop_assert_eq!(&digest_of(&database), &before);
        to_folder(&database, &back);
        prop_assert_eq!(&digest_of_folder(&back), &before);
        let returned = SqliteStore::open(back.path(), StoreOptions::default()).unwrap();
        prop_assert_eq!(returned.check().unwrap(), problems);

        // The journal is the same, and all three continue with the same numbers and the same chain.
        let store = block_on(PostgresStore::open(options(&test), runtime())).unwrap();
        let entries = |store: &dyn GraphStore| block_on(store.journal_entries(0, 10_000)).unwrap();
        prop_assert_eq!(entries(&store), entries(&sqlite));
        // New gids are above all existing ones, whatever the clock shows.
        let node = block_on(NodeNumberLease::join(&database, "after".to_owned())).unwrap();
        let highest = sqlite.max_gid().unwrap();
        prop_assert!(highest.is_none_or(|gid| node.gids_from_ms > gid.created_ms()));
        block_on(node.leave(&database)).unwrap();
        // Later than the history: a reopened writer gives other instants to equal times.
        let mut fixture = Fixture::new(Time::from_millis(1_900_000_000_000));
        while fixture.gid().get() <= random_histories::highest_gid() {}
        let workspace = fixture.workspace("After the move");
        fixture.member(workspace, "Late Comer", Role::Member);
        let changes = fixture.take();
        let seqs = [&store as &dyn GraphStore, &sqlite, &returned].map(|s| block_on(s.commit(changes.clone())).unwrap().seq);
        prop_assert!(seqs.iter().all(|seq| *seq == seqs[0]), "{:?}", seqs);
        drop((sqlite, returned));
        let after = digest_of(&database);
        prop_assert_eq!(&after, &digest_of_folder(&from));
        prop_assert_eq!(&after, &digest_of_folder(&back));
    }
}

/// S931. Values that the database cannot store unchanged also come back.
#[test]
fn every_column_of_every_table_comes_back() {
    let Some((database, _test)) = empty_database() else {
        return;
    };
    let texts = ["\0\u{1}0 \u{1}\u{1}\u{10ffff}\"", "", &"long ".repeat(600)];
    let mut expected = vec![];
    let mut writer = Box::new(PgRows::write(&database).unwrap());
    for table in TABLES {
        let mut rows: Vec<Row> = vec![];
        for (number, text) in texts.iter().enumerate() {
            let of = |column: &workgraph_rows::Column| match column.kind {
                // Graph texts are JSON, in which such characters are escaped.
                _ if column.nullable && number == 1 => Value::Null,
                ColumnKind::Integer => Value::Integer(i64::from(
                    table.name == "account" && column.name == "disabled",
                )),
                ColumnKind::Text => Value::Text((*text).to_owned()),
                ColumnKind::Blob => Value::Blob(vec![number as u8, 0, 255]),
            };
            let mut row: Row = table.columns.iter().map(of).collect();
            row[0] = match (&row[0], table.name) {
                (_, "state") => Value::Text("floor".into()),
                (Value::Integer(_), _) => Value::Integer(i64::MAX - number as i64),
                (other, _) => other.clone(),
            };
            if table.name == "audit" {
                row[1] = Value::Integer(number as i64 + 1);
            }
            if table.name == "state" {
                row[1] = Value::Integer(i64::MAX);
            }
            rows.push(row);
            if table.name == "state" {
                break;
            }
        }
        writer.write(table, &rows).unwrap();
        let mut sum = workgraph_rows::TableDigest::empty(table);
        rows.iter().for_each(|row| sum.add(row));
        expected.push(sum);
    }
    assert_eq!(digest(&mut *writer).unwrap().tables, expected);
    // In pages of one row, too: each begins after the one before.
    for table in TABLES {
        let (mut sum, mut last) = (workgraph_rows::TableDigest::empty(table), None);
        while let Some(row) = writer.rows(table, last.as_ref(), 1).unwrap().pop() {
            sum.add(&row);
            last = Some(row);
        }
        assert_eq!(
            Some(&sum),
            expected.iter().find(|digest| digest.table == table.name)
        );
    }
    writer.finish().unwrap();
    assert_eq!(digest_of(&database).tables, expected);
}

/// Writer that fails at one of its calls.
struct CutOff(Box<PgRows>, usize);

impl CutOff {
    fn call(&mut self) -> Result<(), RowsError> {
        self.1 = self
            .1
            .checked_sub(1)
            .ok_or_else(|| RowsError::Failed("cut off".into()))?;
        Ok(())
    }
}

impl RowReader for CutOff {
    fn rows(
        &mut self,
        table: &'static Table,
        after: Option<&Row>,
        limit: usize,
    ) -> Result<Vec<Row>, RowsError> {
        self.call()?;
        self.0.rows(table, after, limit)
    }
    fn count(&mut self, table: &'static Table) -> Result<u64, RowsError> {
        self.0.count(table)
    }
    fn indexes(&mut self, after: Option<Gid>, limit: usize) -> Result<Vec<NodeIndexes>, RowsError> {
        self.0.indexes(after, limit)
    }
}

impl RowWriter for CutOff {
    fn write(&mut self, table: &'static Table, rows: &[Row]) -> Result<(), RowsError> {
        self.call()?;
        self.0.write(table, rows)
    }
    fn write_indexes(&mut self, nodes: &[NodeIndexes]) -> Result<(), RowsError> {
        self.call()?;
        self.0.write_indexes(nodes)
    }
    fn finish(mut self: Box<Self>) -> Result<(), RowsError> {
        self.call()?;
        self.0.finish()
    }
}

/// S933.
#[test]
fn a_copy_that_is_cut_off_at_any_call_leaves_the_database_empty() {
    let Some((database, _test)) = empty_database() else {
        return;
    };
    let from = ScratchFolder::new("cut-off");
    let store = SqliteStore::open(from.path(), StoreOptions::default()).unwrap();
    let mut fixture = Fixture::default();
    let workspace = fixture.workspace("Company");
    let user = fixture.member(workspace, "Ada", Role::Member);
    let project = fixture.project(workspace, "Plan", user);
    fixture.task_in(fixture.section_in(project), "Task", user);
    block_on(store.commit(fixture.take())).unwrap();
    let source = SqliteStore::open_read_only(from.path()).unwrap();
    let empty = digest_of(&database);
    let mut calls = 0;
    loop {
        let target = CutOff(Box::new(PgRows::write(&database).unwrap()), calls);
        match copy(&mut source.rows().unwrap(), Box::new(target), &mut |_| {}) {
            Ok(_) => break,
            Err(error) => assert!(error.to_string().contains("cut off"), "{error}"),
        }
        if calls.is_multiple_of(5) {
            assert_eq!(digest_of(&database), empty, "{calls}");
        }
        calls += 1;
    }
    assert!(calls > 40, "{calls}");
    assert_eq!(digest_of(&database), digest_of_folder(&from));
    // Now it is no longer empty.
    let refused = to_database(&from, &database).unwrap_err().to_string();
    assert!(refused.contains("it is not empty"), "{refused}");
}

/// S934.
#[test]
fn a_database_that_nodes_serve_or_that_has_data_is_refused() {
    let Some(made) = empty_store() else { return };
    let other = another_store(&made);
    let mut fixture = Fixture::default();
    fixture.workspace("Company");
    block_on(other.commit(fixture.take())).unwrap();
    let refused = PgRows::write(made.store.database())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("it is not empty"), "{refused}");
    PgRows::read(made.store.database()).unwrap();
    // A node that has a number may write at any time.
    let Some(serving) = empty_store() else { return };
    let database = serving.store.database();
    let node = block_on(NodeNumberLease::join(database, "a node".to_owned())).unwrap();
    for refused in [PgRows::write(database), PgRows::read(database)] {
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("nodes are serving it (number"),
            "{refused}"
        );
    }
    block_on(node.leave(database)).unwrap();
    // No node can join while rows are copied.
    let copied = PgRows::write(database).unwrap();
    let impatient = DatabaseOptions {
        lock_timeout: Duration::from_millis(50),
        ..options(&serving.database)
    };
    let joining = block_on(Database::connect(impatient, runtime())).unwrap();
    let refused = block_on(NodeNumberLease::join(&joining, "too early".to_owned()));
    assert!(refused.is_err(), "{refused:?}");
    drop(copied);
    block_on(NodeNumberLease::join(database, "later".to_owned())).unwrap();
}
