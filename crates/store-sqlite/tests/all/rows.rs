//! Copies of random stores, row by row.
use proptest::prelude::*;
use workgraph_rows::{RowWriter, RowsError, Value, copy, digest};
use workgraph_store_sqlite::{SqliteRowWriter, SqliteStore, StoreOptions};
use workgraph_testkit::random_histories::{self, WellFormed};
use workgraph_testkit::{MemoryStore, ScratchFolder};

proptest! {
    #![proptest_config(ProptestConfig { cases: random_histories::cases(20), failure_persistence: None, ..ProptestConfig::default() })]

    /// S932.
    #[test]
    fn a_copy_has_equal_digests_and_is_sound(history in random_histories::histories(20)) {
        let (from, to) = (ScratchFolder::new("copied"), ScratchFolder::new("copy"));
        let store = SqliteStore::open(from.path(), StoreOptions::default()).unwrap();
        // Edges of existing nodes only: the indexes of a copy would know one to a node that was written later.
        let memory = MemoryStore::new();
        random_histories::compare(&WellFormed::over(&memory), &WellFormed::over(&store), &history).map_err(TestCaseError::fail)?;
        let problems = store.check().unwrap();

        let source = SqliteStore::open_read_only(from.path()).unwrap();
        let writer = SqliteRowWriter::create(to.path()).unwrap();
        let (mut steps, mut last) = (0, 0);
        let outcome = copy(&mut source.rows().unwrap(), Box::new(writer), &mut |progress| {
            assert!(last <= progress.copied && progress.copied <= progress.total);
            (steps, last) = (steps + 1, progress.copied);
        }).unwrap();
        prop_assert!(steps > 1);

        let target = SqliteStore::open_read_only(to.path()).unwrap();
        prop_assert_eq!(digest(&mut source.rows().unwrap()).unwrap(), outcome.digest.clone());
        prop_assert_eq!(digest(&mut target.rows().unwrap()).unwrap(), outcome.digest.clone());
        prop_assert_eq!(target.check().unwrap(), problems);
        // It opens and works as the source does.
        drop(target);
        let opened = SqliteStore::open(to.path(), StoreOptions::default()).unwrap();
        prop_assert_eq!(opened.stats().unwrap().seq, store.stats().unwrap().seq);
        prop_assert_eq!(opened.max_gid().unwrap(), store.max_gid().unwrap());
    }
}

/// S933.
#[test]
fn a_copy_that_is_cut_off_leaves_no_store_and_the_next_one_begins_anew() {
    let (from, to) = (ScratchFolder::new("cut"), ScratchFolder::new("cut-copy"));
    let store = SqliteStore::open(from.path(), StoreOptions::default()).unwrap();
    let source = SqliteStore::open_read_only(from.path()).unwrap();
    // The state that a process leaves if it is killed after some tables.
    let mut writer = SqliteRowWriter::create(to.path()).unwrap();
    let account = workgraph_rows::TABLES
        .iter()
        .find(|t| t.name == "account")
        .unwrap();
    writer
        .write(
            account,
            &[vec![
                Value::Integer(7),
                Value::Integer(1),
                Value::Integer(0),
            ]],
        )
        .unwrap();
    drop(writer);
    assert!(!to.join("workgraph.db").exists() && to.join("workgraph.db.partial").exists());
    let writer = Box::new(SqliteRowWriter::create(to.path()).unwrap());
    copy(&mut source.rows().unwrap(), writer, &mut |_| {}).unwrap();
    assert!(to.join("workgraph.db").exists() && !to.join("workgraph.db.partial").exists());
    // An existing store is never overwritten.
    let refused = SqliteRowWriter::create(to.path()).unwrap_err().to_string();
    assert!(refused.contains("workgraph.db"), "{refused}");
    drop(store);
}

/// S934.
#[test]
fn a_target_with_rows_and_a_copy_that_differs_are_refused() {
    use workgraph_core::model::gid::Gid;
    use workgraph_rows::{NodeIndexes, Row, RowReader, Table};

    /// Writer that already has a row, or loses a table.
    struct Faulty(Box<SqliteRowWriter>, &'static str, bool);
    impl RowReader for Faulty {
        fn rows(
            &mut self,
            t: &'static Table,
            after: Option<&Row>,
            n: usize,
        ) -> Result<Vec<Row>, RowsError> {
            if self.2 && t.name == self.1 {
                return Ok(vec![vec![Value::Integer(1); t.columns.len()]]);
            }
            self.0.rows(t, after, n)
        }
        fn count(&mut self, t: &'static Table) -> Result<u64, RowsError> {
            self.0.count(t)
        }
        fn indexes(&mut self, after: Option<Gid>, n: usize) -> Result<Vec<NodeIndexes>, RowsError> {
            self.0.indexes(after, n)
        }
    }
    impl RowWriter for Faulty {
        fn write(&mut self, t: &'static Table, rows: &[Row]) -> Result<(), RowsError> {
            let kept = if t.name == self.1 { &rows[1..] } else { rows };
            self.0.write(t, kept)
        }
        fn write_indexes(&mut self, nodes: &[NodeIndexes]) -> Result<(), RowsError> {
            self.0.write_indexes(nodes)
        }
        fn finish(self: Box<Self>) -> Result<(), RowsError> {
            self.0.finish()
        }
    }

    let (from, to) = (
        ScratchFolder::new("faulty"),
        ScratchFolder::new("faulty-copy"),
    );
    let mut writer = Box::new(SqliteRowWriter::create(from.path()).unwrap());
    let account = workgraph_rows::TABLES
        .iter()
        .find(|t| t.name == "account")
        .unwrap();
    writer
        .write(
            account,
            &[vec![
                Value::Integer(7),
                Value::Integer(1),
                Value::Integer(0),
            ]],
        )
        .unwrap();
    writer.finish().unwrap();
    let source = SqliteStore::open_read_only(from.path()).unwrap();
    for (has_rows, expected) in [
        (true, "the target is not empty: its table account"),
        (false, "the copy of table account"),
    ] {
        let writer = Box::new(SqliteRowWriter::create(to.path()).unwrap());
        let faulty = Box::new(Faulty(writer, "account", has_rows));
        let error = copy(&mut source.rows().unwrap(), faulty, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!to.join("workgraph.db").exists());
    }
}
