//! Acts outside the graph, and their rows after a crash.
use super::open;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;
use workgraph_audit::AuditLogStore;
use workgraph_auth::conformance::block_on;
use workgraph_core::model::time::Time;
use workgraph_store_sqlite::SqliteStore;
use workgraph_testkit::ScratchFolder;
use workgraph_testkit::conformance::{AuditedActs, AuditedStore, act_without_actor, audited_acts};

fn audited(path: &Path) -> AuditedStore<SqliteStore> {
    AuditedStore {
        store: open(path),
        as_actor: SqliteStore::as_actor,
        record_failed_sign_in: |store, user| block_on(store.record_failed_sign_in(user)),
    }
}

fn all_acts(path: &Path) -> AuditedActs<SqliteStore> {
    audited_acts(audited(path)).unwrap()
}

#[test]
fn each_act_outside_the_graph_is_in_the_log_of_its_workspace() {
    let folder = ScratchFolder::new("acts");
    all_acts(folder.path());
}

#[test]
fn an_act_that_nobody_is_named_for_has_the_time_of_the_last_commit() {
    let folder = ScratchFolder::new("unnamed");
    act_without_actor(audited(folder.path())).unwrap_or_else(|reason| panic!("{reason}"));
}

#[test]
fn rows_with_numbers_that_no_log_has_do_not_stop_its_pruning() {
    let folder = ScratchFolder::new("numbers");
    let acts = AuditedActs::begin(audited(folder.path())).unwrap();
    let other = Connection::open(folder.join("workgraph.db")).unwrap();
    for number in [0, i64::MAX] {
        other
            .execute("UPDATE audit SET seq = ?1", [number])
            .unwrap();
        let found = block_on(acts.store().prunable_rows(Time::MAX.to_system()));
        assert!(found.is_ok(), "{number}");
    }
}

/// Returns the number of acts of each kind in a file, with the number of rows of that kind.
fn acts_and_rows(conn: &Connection) -> BTreeMap<&'static str, (i64, i64)> {
    let count = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let rows = |code: u8| count(&format!("SELECT count(*) FROM audit WHERE kind = {code}"));
    use workgraph_core::audit::event_kinds;
    let tokens = "SELECT count(*) FROM token WHERE kind IN ('personal', 'service')";
    BTreeMap::from([
        (
            "seats",
            (
                count("SELECT count(*) FROM node WHERE kind = 4"),
                rows(event_kinds::INVITED.code),
            ),
        ),
        (
            "tokens",
            (count(tokens), rows(event_kinds::TOKEN_AUTHORIZED.code)),
        ),
        (
            "revoked tokens",
            (
                count(&format!("{tokens} AND revoked_at IS NOT NULL")),
                rows(event_kinds::TOKEN_REVOKED.code),
            ),
        ),
        (
            "revoked authorizations",
            (
                count("SELECT count(*) FROM authorization WHERE revoked_at IS NOT NULL"),
                rows(event_kinds::APP_REVOKED.code),
            ),
        ),
        (
            "sessions",
            (
                count("SELECT count(*) FROM session") + rows(event_kinds::LOGGED_OUT.code),
                rows(event_kinds::LOGIN_SUCCEEDED.code),
            ),
        ),
        (
            "disabled accounts",
            (
                count("SELECT count(*) FROM account WHERE disabled"),
                rows(event_kinds::DEPROVISIONED.code) - rows(event_kinds::REPROVISIONED.code),
            ),
        ),
    ])
}

/// B67. After a crash at any point of the write-ahead log, every act has its row.
#[test]
fn a_crash_leaves_no_act_without_its_row() {
    let folder = ScratchFolder::new("crashes");
    let acts = all_acts(folder.path());
    let log = std::fs::read(folder.join("workgraph.db-wal")).unwrap();
    let page = usize::try_from(u32::from_be_bytes(log[8..12].try_into().unwrap())).unwrap();
    let frame = 24 + page;
    let frames = (log.len() - 32) / frame;
    let image = ScratchFolder::in_memory("crash");
    let mut states = BTreeMap::new();
    // At every frame, and in the middle of each.
    for cut in (0..=2 * frames).map(|half| 32 + half * frame / 2) {
        std::fs::copy(folder.join("workgraph.db"), image.join("c.db")).unwrap();
        std::fs::write(image.join("c.db-wal"), &log[..cut.min(log.len())]).unwrap();
        let _ = std::fs::remove_file(image.join("c.db-shm"));
        let conn = Connection::open(image.join("c.db")).unwrap();
        if conn.prepare("SELECT 1 FROM audit").is_err() {
            continue;
        }
        let found = acts_and_rows(&conn);
        for (what, (acts, rows)) in &found {
            assert_eq!(acts, rows, "{what}, cut at {cut}");
        }
        states.insert(format!("{found:?}"), cut);
        drop(conn);
    }
    // The images differ, so acts were really cut off.
    assert!(states.len() >= 8, "{states:?} of {:?}", acts.acts());
}
