//! Tests of kept and renewed snapshots, connections of threads, and stopped statements.
use super::*;
use crate::migrations::migrate;
use std::sync::Arc;
use workgraph_auth::conformance::block_on;
use workgraph_core::{Interrupt, InterruptReason};
use workgraph_testkit::ScratchFolder;

fn readers() -> (ReaderPool, Connection, ScratchFolder) {
    let folder = ScratchFolder::new("readers");
    let (files, options) = (StorePaths::at(folder.path()), StoreOptions::default());
    let writer = connection_setup::open_writer(&files, &options).unwrap();
    migrate(&writer).unwrap();
    (
        ReaderPool::new(files, options, StoreCaches::new(&options)),
        writer,
        folder,
    )
}

fn append(writer: &Connection, seq: i64) {
    writer
        .execute(
            "INSERT INTO journal VALUES (?1, 0, NULL, '[]', '[]')",
            [seq],
        )
        .unwrap();
}

#[test]
fn a_snapshot_is_kept_until_a_commit_and_then_renewed() {
    let (readers, writer, _folder) = readers();
    let seq = || readers.read(|tx| tx.seq()).unwrap();
    assert_eq!(seq(), 0);
    assert!(readers.lock().idle.iter().all(|r| r.snapshot.is_some()));
    append(&writer, 1);
    readers.notify_committed();
    assert!(readers.lock().idle.iter().all(|r| r.snapshot.is_none()));
    assert_eq!(seq(), 1);
}

#[test]
fn threads_have_connections_of_their_own_once_one_has_gone_to_and_fro() {
    let (readers, _writer, _folder) = readers();
    let read = || readers.read(|tx| tx.seq()).unwrap();
    let open = || readers.lock().open;
    read();
    for _ in 0..THREAD_CHANGES_MAX {
        assert_eq!(open(), 1, "one is enough for a while");
        std::thread::scope(|threads| threads.spawn(read).join().unwrap());
    }
    std::thread::scope(|threads| threads.spawn(read).join().unwrap());
    assert_eq!(open(), 2);
    let user = Some(thread::current().id());
    read();
    read();
    let idle = &readers.lock().idle;
    assert_eq!(idle.iter().filter(|r| r.user == user).count(), 1);
}

#[test]
fn whoever_waits_hears_of_a_commit_whether_it_comes_before_or_after() {
    let (readers, _writer, _folder) = readers();
    let before = readers.version();
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| block_on(readers.changed(before)));
        readers.notify_committed();
        waits.join().unwrap();
    });
    block_on(readers.changed(before));
}

#[test]
fn nothing_is_in_the_way_of_a_log_that_starts_over() {
    let (readers, writer, _folder) = readers();
    append(&writer, 1);
    readers.notify_committed();
    readers.read(|tx| tx.seq()).unwrap();
    let busy = |writer: &Connection| -> i64 {
        writer
            .query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get(0))
            .unwrap()
    };
    writer.busy_timeout(std::time::Duration::ZERO).unwrap();
    assert_eq!(busy(&writer), 1, "a kept snapshot is in the way");
    assert_eq!(readers.without_snapshots(|| busy(&writer)), 0);
}

/// Interrupt that stops at once.
#[derive(Debug)]
struct Never(InterruptReason);

impl Interrupt for Never {
    fn check(&self, _steps: u32) -> Result<(), InterruptReason> {
        Err(self.0)
    }
}

/// Runs some ten thousand instructions of SQLite's virtual machine.
fn long(tx: &mut SqliteTransaction<'_>) -> Result<i64, GraphStoreError> {
    let counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) \
                    SELECT count(*) FROM n";
    let count = tx.conn.query_row(counting, [], |row| row.get(0));
    count.map_err(failed)
}

/// S100.
#[test]
fn a_statement_that_is_stopped_leaves_its_connection_and_snapshot_in_order() {
    let (readers, writer, _folder) = readers();
    append(&writer, 1);
    readers.notify_committed();
    for reason in [
        InterruptReason::Deadline,
        InterruptReason::Abandoned,
        InterruptReason::AllowanceSpent,
    ] {
        let stopped = readers.read_under(Some(Arc::new(Never(reason))), long);
        assert_eq!(stopped, Err(GraphStoreError::Interrupted(reason)));
        {
            let state = readers.lock();
            assert_eq!((state.idle.len(), state.open), (1, 1), "it is kept");
            assert!(state.idle.iter().all(|r| r.snapshot.is_some()));
        }
        assert_eq!(readers.read(long), Ok(2000));
        assert_eq!(readers.read(|tx| tx.seq()), Ok(1));
    }
    append(&writer, 2);
    readers.notify_committed();
    assert_eq!(readers.read(|tx| tx.seq()), Ok(2));
}

/// S100.
#[test]
fn a_statement_has_a_time_to_end_in_even_if_nobody_set_one() {
    let (mut readers, _writer, _folder) = readers();
    readers.options.read_timeout = std::time::Duration::ZERO;
    let stopped = readers.read(long);
    assert_eq!(
        stopped,
        Err(GraphStoreError::Interrupted(InterruptReason::Deadline))
    );
    assert_eq!(
        readers.read(|tx| tx.seq()),
        Ok(0),
        "short ones are not looked at"
    );
}

#[test]
fn a_connection_that_failed_is_closed() {
    let (readers, _writer, _folder) = readers();
    let failed = readers.read(|_| Err::<(), _>(GraphStoreError::Failed("no".into())));
    assert!(failed.is_err());
    let state = readers.lock();
    assert_eq!((state.idle.len(), state.open), (0, 0));
}
