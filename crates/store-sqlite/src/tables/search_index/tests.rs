//! Words are found as last written, also in older files that had no words.
use super::rebuild::{FORM_KEY, agrees};
use super::*;
use crate::migrations::migrate;
use rusqlite::Connection;
use workgraph_core::engine::apply::apply;
use workgraph_core::engine::update_entry;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Relation, rel};
use workgraph_core::model::resources::task;
use workgraph_core::search::WordQuery;
use workgraph_core::storage::snapshot::Transaction;
use workgraph_core::storage::{Changes, EdgeWrite, ListPosition, NodeWrite};

fn found(conn: &Connection, text: &str) -> Vec<u64> {
    let words = WordQuery::new(text, false, false);
    let scan = WordScan {
        workspace: Gid::new(1),
        ty: Type::Task,
        words: &words,
        names: false,
        descending: true,
        after: None,
        limit: 10,
    };
    let mut gids = Vec::new();
    let mut tx = SqliteTransaction::new(conn);
    tx.words(&scan, &mut |gid| gids.push(gid.get())).unwrap();
    gids
}

/// Returns a file whose nodes were written before index entries existed.
fn older() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    migrate(&conn).unwrap();
    let mut tx = SqliteTransaction::new(&conn);
    for gid in [7, 8, 9] {
        let mut draft = Draft::new(Type::Task, Gid::new(gid).unwrap(), Gid::new(1));
        draft.set(task::NAME, "an old task");
        tx.put_node(&draft.finish(), 1).unwrap();
    }
    tx.trash_node(Gid::new(9).unwrap(), 2).unwrap();
    drop(tx);
    conn
}

#[test]
fn a_file_from_before_gets_its_cards_and_words_once() {
    let conn = older();
    assert!(found(&conn, "old").is_empty());
    for _ in 0..2 {
        rebuild(&conn).unwrap();
        assert_eq!(found(&conn, "old task"), [8, 7]);
    }
    conn.execute("UPDATE meta SET value = 0 WHERE key = ?1", [FORM_KEY])
        .unwrap();
    conn.execute("DELETE FROM words WHERE rowid = 8", [])
        .unwrap();
    rebuild(&conn).unwrap();
    assert_eq!(
        found(&conn, "old task"),
        [8, 7],
        "another form is made anew"
    );
}

#[test]
fn prefixes_have_one_length_so_that_no_word_is_found_under_another() {
    let largest = Gid::new((1 << 53) - 1);
    let all = [
        prefix(None, Type::User),
        prefix(Gid::new(1), Type::Task),
        prefix(largest, Type::Task),
    ];
    assert_eq!(all, ["0000000000002", "0000000000109", "2gosa7pa2gv09"]);
}

#[test]
fn of_several_changes_the_last_counts() {
    let conn = older();
    rebuild(&conn).unwrap();
    let mut tx = SqliteTransaction::new(&conn);
    tx.run(Sql::BeginImmediate, []).unwrap();
    for (number, name) in [
        (7, "new"),
        (10, "first"),
        (7, "newer"),
        (10, "second"),
        (8, "gone"),
    ] {
        let mut draft = Draft::new(Type::Task, gid(number), Gid::new(1));
        draft.set(task::NAME, name);
        let mut node = draft.finish();
        node.version = if name == "first" { 1 } else { 2 };
        tx.put_node(&node, 3).unwrap();
        update_entry(&mut tx, node.gid).unwrap();
    }
    tx.trash_node(Gid::new(8).unwrap(), 3).unwrap();
    tx.write_words().unwrap();
    tx.run(Sql::Commit, []).unwrap();
    for (text, expected) in [
        ("newer", vec![7]),
        ("second", vec![10]),
        ("old", vec![]),
        ("new", vec![]),
        ("first", vec![]),
        ("gone", vec![]),
    ] {
        assert_eq!(found(&conn, text), expected, "{text}");
    }
}

fn gid(number: u64) -> Gid {
    Gid::new(number).unwrap()
}

/// Returns the first version of a task.
fn new_task(number: u64) -> NodeWrite {
    let mut draft = Draft::new(Type::Task, gid(number), Some(gid(1)));
    draft.set(task::NAME, "a new task");
    let node = draft.finish();
    NodeWrite { node }
}

fn edge(src: u64, rel: Relation, dst: u64) -> EdgeWrite {
    EdgeWrite {
        src: gid(src),
        rel,
        dst: gid(dst),
        position: ListPosition::Rank(1),
        aux: None,
    }
}

#[test]
fn entries_of_new_nodes_show_the_edges_that_came_with_them() {
    let conn = Connection::open_in_memory().unwrap();
    migrate(&conn).unwrap();
    let changes = Changes {
        node_writes: [7, 8, 9, 10].map(new_task).into(),
        edge_writes: vec![
            edge(8, rel::PARENT, 7),
            edge(8, rel::LIKES, 3),
            edge(8, rel::LIKES, 3),
            edge(9, rel::DEPENDS, 8),
        ],
        ..Changes::default()
    };
    let mut tx = SqliteTransaction::new(&conn);
    apply(&mut tx, &changes).unwrap();
    tx.write_words().unwrap();
    for put in &changes.node_writes {
        assert!(agrees(&conn, &put.node).unwrap(), "{}", put.node.gid);
    }
    let of = |number| tx.card_of(Some(gid(1)), Type::Task, gid(number));
    let entries = [7, 8, 9, 10].map(of).map(|entry| entry.unwrap().unwrap());
    let shown = entries.map(|e| (e.is_subtask, e.likes, e.is_blocked, e.is_blocking));
    let expected = [
        (false, 0, false, false),
        (true, 1, false, true),
        (false, 0, true, false),
        (false, 0, false, false),
    ];
    assert_eq!(shown, expected);
}

/// Checks orders of writes that the port allows: a node may be the target of edges before its first version is written, and may
/// be written after it was trashed.
#[test]
fn the_entry_of_a_first_version_shows_the_edges_from_before_and_none_is_made_of_a_trashed_node() {
    let conn = Connection::open_in_memory().unwrap();
    migrate(&conn).unwrap();
    let mut tx = SqliteTransaction::new(&conn);
    let mut commit = |changes: Changes| {
        apply(&mut tx, &changes).unwrap();
    };
    commit(Changes {
        node_writes: vec![new_task(8), new_task(9)],
        edge_writes: vec![edge(8, rel::PARENT, 7), edge(9, rel::DEPENDS, 7)],
        ..Changes::default()
    });
    commit(Changes {
        trashed: vec![gid(8)],
        ..Changes::default()
    });
    let mut written = [7, 8].map(new_task);
    written[1].node.version = 2;
    commit(Changes {
        node_writes: written.clone().into(),
        ..Changes::default()
    });
    tx.write_words().unwrap();
    assert!(agrees(&conn, &written[0].node).unwrap());
    let mut of = |number| tx.card_of(Some(gid(1)), Type::Task, gid(number)).unwrap();
    let entry = of(7).unwrap();
    assert!(entry.is_blocking && !entry.is_blocked);
    assert_eq!(of(8), None);
}
