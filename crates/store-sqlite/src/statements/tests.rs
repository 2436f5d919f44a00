//! Query plans: no statement reads more than it returns.
use super::*;
use crate::migrations::migrate;
use crate::tables::search_index::{by_column, listed};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, StatementStatus};
use workgraph_core::search::IndexColumn;

/// Returns the column of the table `card` that stores a column of index entries.
fn sql_name(column: IndexColumn) -> String {
    match column {
        IndexColumn::Responsible => "who".to_owned(),
        IndexColumn::Subtask => "sub".to_owned(),
        IndexColumn::Blocked => "waits".to_owned(),
        IndexColumn::Blocking => "blocks".to_owned(),
        column => format!("{column:?}").to_lowercase(),
    }
}

/// Returns a connection that plans as those of the store do: without looking at bound values.
fn migrated() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .unwrap();
    migrate(&conn).unwrap();
    conn
}

fn plan(conn: &Connection, sql: &str) -> Vec<String> {
    let mut stmt = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let count = stmt.parameter_count();
    for at in 1..=count {
        stmt.raw_bind_parameter(at, 1).unwrap();
    }
    let mut rows = stmt.raw_query();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        lines.push(row.get::<_, String>(3).unwrap());
    }
    lines
}

#[test]
fn no_statement_scans_a_table_or_sorts() {
    let conn = migrated();
    for sql in Sql::ALL.iter().skip_while(|s| **s != Sql::LastSeq) {
        for line in plan(&conn, sql.text()) {
            assert!(
                !is_scan(&line) && !line.contains("TEMP B-TREE"),
                "{sql:?}: {line}"
            );
        }
    }
}

/// Returns true if a plan line reads the whole table. The tables of words call every use a scan; the end of the line
/// names the condition: a match (`M`), a row (`=`), or the first and the last word (512 and 1024).
fn is_scan(line: &str) -> bool {
    match line.split_once("VIRTUAL TABLE INDEX ") {
        Some(("SCAN word ", by)) => {
            let bounds: u32 = by.trim_end_matches(':').parse().unwrap();
            bounds & 1536 != 1536
        }
        Some((_, by)) => !by.contains(":M") && !by.contains(":="),
        None => line.contains("SCAN"),
    }
}

#[test]
fn cards_in_an_order_are_read_along_an_index() {
    let conn = migrated();
    for column in IndexColumn::SORTED {
        for descending in [false, true] {
            let sql = by_column(column, descending).unwrap();
            let name = sql_name(column);
            let (index, value) = match column {
                IndexColumn::Gid => ("PRIMARY KEY", "gid>? AND gid<?".to_owned()),
                _ if descending => ("card_", format!("({name},gid)<(?,?)")),
                _ => ("card_", format!("({name},gid)>(?,?)")),
            };
            let lines = plan(&conn, sql.text());
            let found = |l: &String| {
                let shaped = column != IndexColumn::Modified || l.contains("shape=?");
                l.contains(index) && l.contains("home=? AND kind=?") && l.contains(&value) && shaped
            };
            assert!(lines.iter().any(found), "{sql:?}: {lines:?}");
        }
    }
}

/// Checks that a search by one condition reads no row of the table, and no index row for which the condition does not hold.
#[test]
fn every_list_of_cards_is_an_index_alone() {
    let conn = migrated();
    let by_column = IndexColumn::ALL.into_iter().filter_map(|column| {
        let name = sql_name(column);
        let range = match column {
            IndexColumn::Likes | IndexColumn::Subtype => format!("({name},gid)>(?,?) AND {name}<?"),
            _ => format!("{name}>? AND {name}<?"),
        };
        Some((listed(column)?, format!("home=? AND kind=? AND {range}")))
    });
    let of = [
        (Sql::Shapes, "card_shape (home=? AND kind=? AND shape>?)"),
        (
            Sql::ListShape,
            "card_shape (home=? AND kind=? AND shape=? AND modified>? AND modified<?)",
        ),
        (
            Sql::ListOf,
            "card_who (home=? AND kind=? AND who=? AND done=?)",
        ),
        (
            Sql::ListOfDue,
            "card_who (home=? AND kind=? AND who=? AND done=? AND due>? AND due<?)",
        ),
        (Sql::ListIn, "PRIMARY KEY (dst=? AND rel=?)"),
    ];
    for (sql, range) in by_column.chain(of.map(|(sql, range)| (sql, range.to_owned()))) {
        let lines = plan(&conn, sql.text());
        // The primary key is the table itself.
        let alone = |l: &String| l.contains("COVERING INDEX") || l.contains("PRIMARY KEY");
        assert!(
            lines.iter().all(|l| l.contains(&range) && alone(l)),
            "{sql:?}: {lines:?}"
        );
    }
}

const CARDS: i64 = 1_000;

/// Returns a file with many index entries; each has its number in every column, and as its column set.
fn with_cards() -> Connection {
    let conn = migrated();
    for n in 1..=CARDS {
        let columns = "home, kind, gid, created, modified, completed, due, start, who, creator, assigner, \
            subtype, flags, likes, sub, waits, blocks, sum, done, shape";
        let sql = format!(
            "INSERT INTO card ({columns}) VALUES (1, 1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, ?1, 0, ?1, ?1, ?1, ?1, 0, 0, ?1)"
        );
        conn.execute(&sql, [n]).unwrap();
    }
    conn
}

/// Returns the lists of index entries that take more than a hundred steps to return one row, the last.
fn dear(conn: &Connection) -> Vec<Sql> {
    let of_column = IndexColumn::ALL.into_iter().filter_map(listed);
    let of_column = of_column.map(|sql| (sql, vec![1, 1, CARDS, i64::MAX, 10]));
    let others = [
        (Sql::ListShape, vec![1, 1, CARDS, 0, CARDS, 10]),
        (Sql::Shapes, vec![1, 1, CARDS - 1]),
        (Sql::ListOf, vec![1, 1, CARDS, 0, 10]),
        (Sql::ListOfDue, vec![1, 1, CARDS, 0, CARDS, i64::MAX, 10]),
        (Sql::DownModified, vec![1, 1, CARDS, i64::MAX, 0, 10, CARDS]),
        (Sql::UpModified, vec![1, 1, 0, 0, CARDS, 10, CARDS]),
    ];
    let is_dear = |(sql, params): (Sql, Vec<i64>)| {
        let mut stmt = conn.prepare(sql.text()).unwrap();
        let mut rows = stmt.query(rusqlite::params_from_iter(params)).unwrap();
        let mut found = 0;
        while rows.next().unwrap().is_some() {
            found += 1;
        }
        drop(rows);
        assert_eq!(found, 1, "{sql:?}");
        (stmt.get_status(StatementStatus::VmStep) > 100).then_some(sql)
    };
    of_column.chain(others).filter_map(is_dear).collect()
}

/// Counts the rows that are read, since plans say `due>?` even if the bound is not a parameter of the statement. A list without
/// its index is detected.
#[test]
fn lists_of_entries_begin_where_they_should() {
    let conn = with_cards();
    assert_eq!(dear(&conn), []);
    let mut indexes = conn
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'card\\_%' ESCAPE '\\'")
        .unwrap();
    let names = indexes
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap();
    let names: Vec<String> = names.map(Result::unwrap).collect();
    for name in &names {
        let conn = with_cards();
        conn.execute_batch(&format!("DROP INDEX {name}")).unwrap();
        assert_ne!(dear(&conn), [], "nothing is read along {name}");
    }
}

#[test]
fn keysets_and_homes_are_searched_in_their_indexes() {
    let conn = migrated();
    for (sql, index) in [
        (
            Sql::ScanInFull,
            "PRIMARY KEY (dst=? AND rel=? AND (rank,src)>(?,?))",
        ),
        (
            Sql::BeforeIn,
            "PRIMARY KEY (dst=? AND rel=? AND (rank,src)<(?,?))",
        ),
        (
            Sql::ScanValues,
            "PRIMARY KEY (field=? AND (key,node)>(?,?) AND key<?)",
        ),
        (Sql::KeysOf, "value_of (node=? AND field=?)"),
        (Sql::ScanHomeHead, "node_home (home=? AND kind=? AND gid>?)"),
        (Sql::AuditHome, "audit_home (home=? AND gid>? AND gid<?)"),
        (
            Sql::AuditKind,
            "audit_kind (home=? AND kind=? AND gid>? AND gid<?)",
        ),
        (
            Sql::AuditActorType,
            "audit_actor_type (home=? AND actor_type=? AND gid>? AND gid<?)",
        ),
        (
            Sql::AuditActor,
            "audit_actor (home=? AND actor=? AND gid>? AND gid<?)",
        ),
        (
            Sql::AuditResource,
            "audit_resource (home=? AND resource=? AND gid>? AND gid<?)",
        ),
        (Sql::AuditSince, "audit_at (home=? AND at>?)"),
        (
            Sql::ScanHomeTasksFull,
            "PRIMARY KEY (home=? AND kind=? AND gid>?)",
        ),
        (Sql::OutHead, "PRIMARY KEY (src=? AND rel>? AND rel<?)"),
        (Sql::ScanOutEdge, "PRIMARY KEY (src=? AND rel=? AND dst>?)"),
    ] {
        let lines = plan(&conn, sql.text());
        assert!(
            lines.iter().any(|l| l.contains(index)),
            "{sql:?}: {lines:?}"
        );
    }
}
