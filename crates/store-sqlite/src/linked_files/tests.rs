//! Linked stores: each has what the other had, and nothing that the other writes.
mod copies;

use super::*;
use crate::connection_setup::StoreOptions;
use crate::log_folding::fold_log;
use rusqlite::{Connection, OpenFlags};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use workgraph_auth::conformance::block_on;
use workgraph_auth::{Account, Tier, TokenStore};
use workgraph_core::access::Role;
use workgraph_core::storage::GraphStore;
use workgraph_testkit::{Fixture, ScratchFolder};

fn single() -> StoreOptions {
    StoreOptions {
        single_connection: true,
        ..StoreOptions::default()
    }
}

fn open(folder: &ScratchFolder) -> SqliteStore {
    SqliteStore::open(folder.path(), single()).unwrap()
}

/// Creates a workspace with a project in an ordinary store, and closes it.
fn base() -> (ScratchFolder, Fixture) {
    let (folder, mut fixture) = (ScratchFolder::new("base"), Fixture::default());
    let store = SqliteStore::open(folder.path(), StoreOptions::default()).unwrap();
    let acme = fixture.workspace("Acme");
    let ann = fixture.member(acme, "Ann", Role::Admin);
    fixture.project(acme, "Launch", ann);
    block_on(store.commit(fixture.take())).unwrap();
    (folder, fixture)
}

/// Makes a linked store in a new folder.
fn linked(from: &ScratchFolder) -> (ScratchFolder, SqliteStore) {
    let folder = ScratchFolder::new("linked");
    let made = SqliteStore::link_closed(from.path(), folder.path());
    assert_eq!(made.unwrap(), CopyMethod::Linked);
    let store = open(&folder);
    (folder, store)
}

/// Adds a workspace with a name.
fn add(store: &SqliteStore, fixture: &mut Fixture, name: &str) {
    fixture.workspace(name);
    block_on(store.commit(fixture.take())).unwrap();
}

fn count(store: &SqliteStore) -> u64 {
    store.stats().unwrap().seq
}

/// Returns the rows of the nodes in order, as text.
fn nodes(store: &SqliteStore) -> Vec<String> {
    let rows = store.readers.alone(|conn| {
        let mut all = conn.prepare("SELECT * FROM node ORDER BY 1").unwrap();
        let width = all.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            let values = (0..width).map(|at| row.get::<_, rusqlite::types::Value>(at).unwrap());
            Ok(format!("{:?}", values.collect::<Vec<_>>()))
        };
        let rows = all.query_map([], row).unwrap();
        rows.map(Result::unwrap).collect::<Vec<_>>()
    });
    rows.unwrap()
}

#[test]
fn linked_stores_have_nothing_of_each_other_and_leave_their_database_as_it_was() {
    let (from, fixture) = base();
    let database = from.join("workgraph.db");
    let before = fs::read(&database).unwrap();
    let stores: Vec<_> = (0..8).map(|_| linked(&from)).collect();
    for (number, (_, store)) in stores.iter().enumerate() {
        let mut fixture = fixture.clone();
        for name in 0..=number {
            add(store, &mut fixture, &format!("of {number}, {name}"));
        }
    }
    for (number, (folder, store)) in stores.into_iter().enumerate() {
        let expected = nodes(&store);
        assert_eq!(expected.len(), nodes(&open_copy(&store)).len());
        let own = |row: &String| row.contains(&format!("of {number}, "));
        assert_eq!(expected.iter().filter(|row| own(row)).count(), number + 1);
        assert_eq!(
            expected.iter().filter(|row| row.contains("of ")).count(),
            number + 1
        );
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
        // A connection that was closed is opened again, and so is the store.
        store.close_idle_connections();
        assert_eq!(nodes(&store), expected);
        drop(store);
        assert_eq!(nodes(&open(&folder)), expected);
    }
    assert!(fs::read(&database).unwrap() == before);
}

/// Returns a store that was linked to one that is open.
fn open_copy(store: &SqliteStore) -> SqliteStore {
    let folder = ScratchFolder::new("copy");
    assert_eq!(store.copy_to(folder.path()), Ok(CopyMethod::Linked));
    open(&folder)
}

#[test]
fn a_link_of_a_changed_store_has_its_changes_and_not_the_later_ones() {
    let (from, mut fixture) = base();
    let (_folder, store) = linked(&from);
    add(&store, &mut fixture, "before");
    let copy = open_copy(&store);
    add(&store, &mut fixture, "after");
    assert_eq!((count(&store), count(&copy)), (3, 2));
    let shows = |store: &SqliteStore, name| nodes(store).iter().any(|row| row.contains(name));
    assert!(shows(&copy, "before") && !shows(&copy, "after") && shows(&store, "after"));
}

#[test]
fn a_store_with_several_connections_is_copied_and_only_a_closed_one_is_linked_by_its_folder() {
    let (from, mut fixture) = base();
    let (copied, linked) = (ScratchFolder::new("copied"), ScratchFolder::new("to"));
    let store = SqliteStore::open(from.path(), StoreOptions::default()).unwrap();
    assert_eq!(store.copy_to(copied.path()), Ok(CopyMethod::Copied));
    add(&store, &mut fixture, "after");
    let refused = SqliteStore::link_closed(from.path(), linked.path());
    assert!(matches!(refused, Err(StoreOpenError::Locked(_))));
    assert!(!linked.join("workgraph.db").exists());
    drop(store);
    SqliteStore::link_closed(from.path(), linked.path()).unwrap();
    assert!(SqliteStore::link_closed(from.path(), linked.path()).is_err());
    assert_eq!((count(&open(&copied)), count(&open(&linked))), (1, 2));
}

#[test]
fn copies_of_a_much_changed_store_share_its_database_and_have_no_long_logs() {
    use std::os::unix::fs::MetadataExt;
    let (from, mut fixture) = base();
    let (folder, store) = linked(&from);
    let mut number = 0;
    while store.files.wal_bytes() <= COPIED_LOG_MAX {
        number += 1;
        add(&store, &mut fixture, &format!("workspace {number}"));
    }
    let expected = nodes(&store);
    let copies = [ScratchFolder::new("first"), ScratchFolder::new("second")];
    for copy in &copies {
        assert_eq!(store.copy_to(copy.path()), Ok(CopyMethod::Linked));
        let (own, other) = (copy.join("workgraph.db"), folder.join("workgraph.db"));
        assert_eq!(
            fs::metadata(own).unwrap().ino(),
            fs::metadata(other).unwrap().ino()
        );
        assert!(StorePaths::at(copy.path()).wal_bytes() <= COPIED_LOG_MAX);
        assert_eq!(nodes(&open(copy)), expected);
    }
    // The one that it was a link of has nothing of that.
    assert!(nodes(&open(&from)).len() < expected.len());
    add(&store, &mut fixture, "later");
    assert_eq!(count(&open(&copies[0])) + 1, count(&store));
}

#[test]
fn a_long_log_becomes_part_of_a_database_of_its_own() {
    let (from, mut fixture) = base();
    let before = fs::read(from.join("workgraph.db")).unwrap();
    let (folder, store) = linked(&from);
    add(&store, &mut fixture, "first");
    let (expected, log) = (nodes(&store), fs::read(store.files.log()).unwrap());
    fold_log(&store.readers, &store.files, 1 << 30).unwrap();
    assert_eq!(fs::read(store.files.log()).unwrap(), log);
    fold_log(&store.readers, &store.files, 0).unwrap();
    assert_eq!(store.files.wal_bytes(), 0);
    assert_eq!(nodes(&store), expected);
    assert!(fs::read(from.join("workgraph.db")).unwrap() == before);
    // A crash before the log was removed.
    drop(store);
    fs::write(folder.join("workgraph.db-wal"), log).unwrap();
    let store = open(&folder);
    assert_eq!(nodes(&store), expected);
    add(&store, &mut fixture, "second");
    assert_eq!((count(&store), store.check()), (3, Ok(vec![])));
}

/// The usual interface to files shares the index of the log among links: the second linked store can't be used.
#[test]
fn linked_files_fail_with_the_usual_interface_to_files() {
    let (from, _) = base();
    let opened = |folder: &ScratchFolder| {
        let conn = Connection::open_with_flags(
            folder.join("workgraph.db"),
            OpenFlags::SQLITE_OPEN_READ_WRITE,
        )
        .unwrap();
        let write = "BEGIN IMMEDIATE; INSERT INTO meta (key, value) VALUES ('twin', 1); COMMIT";
        conn.execute_batch(write).map(|()| conn)
    };
    let folders = [ScratchFolder::new("one"), ScratchFolder::new("two")];
    for folder in &folders {
        SqliteStore::link_closed(from.path(), folder.path()).unwrap();
    }
    let _first = opened(&folders[0]).unwrap();
    assert!(opened(&folders[1]).is_err());
}

/// Variable with the folder of the store of a process that is killed.
const FOLDER: &str = "WORKGRAPH_LINKED_STORE";
/// Number of kills, if `WORKGRAPH_KILL_POINTS` does not say another.
const KILLS: u64 = 10;

/// Returns the highest account in a store.
fn last_account(store: &SqliteStore) -> u64 {
    let last = store.readers.alone(|conn| {
        let found = conn.query_row("SELECT max(user) FROM account", [], |row| row.get(0));
        found.unwrap_or(None)
    });
    last.unwrap().map_or(0, i64::cast_unsigned)
}

/// Writes one account after another, and prints each that is written, until the process is killed.
fn write_accounts(folder: &str) {
    let store = SqliteStore::open(folder, single()).unwrap();
    for user in last_account(&store) + 1.. {
        let account = Account::new(user, Tier::new(1));
        block_on(store.put_account(account, None)).unwrap();
        eprintln!("wrote {user}");
    }
}

#[test]
fn what_a_killed_process_wrote_is_there_and_its_database_is_as_it_was() {
    // The process that is killed runs this test, too.
    if let Ok(folder) = std::env::var(FOLDER) {
        return write_accounts(&folder);
    }
    let kills = std::env::var("WORKGRAPH_KILL_POINTS").map_or(KILLS, |n| n.parse().unwrap());
    let (from, _) = base();
    let before = fs::read(from.join("workgraph.db")).unwrap();
    let (mut folder, _) = linked(&from);
    let mut written = 0;
    for kill in 0..kills {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("linked_files::tests::what_a_killed_process_wrote_is_there_and_its_database_is_as_it_was")
            .env(FOLDER, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let printed = BufReader::new(process.stderr.take().unwrap());
        for (number, line) in printed.lines().enumerate() {
            // The last line may be cut off, and is then empty or a smaller number.
            let line = line.unwrap();
            let user = line
                .strip_prefix("wrote ")
                .and_then(|user| user.parse().ok());
            written = user.map_or(written, |user: u64| user.max(written));
            // What it prints between the signal and its end was written, too.
            if number as u64 == kill * 7 % 31 {
                process.kill().unwrap();
            }
        }
        process.wait().unwrap();
        let store = open(&folder);
        assert!(last_account(&store) >= written, "kill {kill}: {written}");
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
        if kill % 5 == 4 {
            // The work goes on in a copy of what the killed process has left.
            let copy = ScratchFolder::new("after-kills");
            store.copy_to(copy.path()).unwrap();
            drop(store);
            folder = copy;
        }
    }
    assert!(written > kills, "{written}");
    assert!(fs::read(from.join("workgraph.db")).unwrap() == before);
}
