//! No statement reads more than it gives.
use super::*;
use crate::schema::migrate;
use crate::search::{by_column, listed};
use rusqlite::Connection;
use workgraph_core::search::Column;

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
    let conn = Connection::open_in_memory().unwrap();
    migrate(&conn).unwrap();
    for sql in Sql::ALL.iter().skip_while(|s| **s != Sql::LastSeq) {
        for line in plan(&conn, sql.text()) {
            assert!(
                !is_scan(&line) && !line.contains("TEMP B-TREE"),
                "{sql:?}: {line}"
            );
        }
    }
}

/// Whether everything is read. The table of words says so of every use; by what it is searched stands
/// at the end: a match (`M`), or a row (`=`).
fn is_scan(line: &str) -> bool {
    match line.split_once("VIRTUAL TABLE INDEX ") {
        Some((_, by)) => !by.contains(":M") && !by.contains(":="),
        None => line.contains("SCAN"),
    }
}

#[test]
fn cards_in_an_order_are_read_along_an_index() {
    let conn = Connection::open_in_memory().unwrap();
    migrate(&conn).unwrap();
    for column in Column::SORTED {
        for descending in [false, true] {
            let sql = by_column(column, descending).unwrap();
            let name = format!("{column:?}").to_lowercase();
            let (index, value) = match column {
                Column::Gid => ("PRIMARY KEY", "gid>? AND gid<?".to_owned()),
                _ if descending => ("card_", format!("({name},gid)<(?,?)")),
                _ => ("card_", format!("({name},gid)>(?,?)")),
            };
            let lines = plan(&conn, sql.text());
            let found = |l: &String| {
                l.contains(index) && l.contains("home=? AND kind=?") && l.contains(&value)
            };
            assert!(lines.iter().any(found), "{sql:?}: {lines:?}");
        }
    }
}

/// What a search by one condition reads: no row of the table, and nothing that the condition does not
/// hold for.
#[test]
fn every_list_of_cards_is_an_index_alone() {
    let conn = Connection::open_in_memory().unwrap();
    migrate(&conn).unwrap();
    let by_column = Column::ALL.into_iter().map(|column| {
        let name = format!("{column:?}").to_lowercase();
        (
            listed(column),
            format!("home=? AND kind=? AND {name}>? AND {name}<?"),
        )
    });
    let of = [
        (
            Sql::ListOf,
            "card_who (home=? AND kind=? AND who=? AND done=?)",
        ),
        (
            Sql::ListOfDue,
            "card_who (home=? AND kind=? AND who=? AND done=? AND due>? AND due<?)",
        ),
        (Sql::ListIn, "edge_in (dst=? AND rel=?)"),
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

#[test]
fn keysets_and_homes_are_searched_in_their_indexes() {
    let conn = Connection::open_in_memory().unwrap();
    migrate(&conn).unwrap();
    for (sql, index) in [
        (
            Sql::ScanInFull,
            "edge_in (dst=? AND rel=? AND (rank,src)>(?,?))",
        ),
        (
            Sql::BeforeIn,
            "edge_in (dst=? AND rel=? AND (rank,src)<(?,?))",
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
