//! Statements for rows. Statements on a table are generated from the list of tables.
use workgraph_rows::{Column, Table};

/// Begins a transaction. A copy has no time limit; the lock keeps nodes from joining the database until the transaction
/// ends.
macro_rules! begin {
    ($mode:literal $(, $more:literal)?) => {
        concat!(
            "BEGIN ISOLATION LEVEL ",
            $mode,
            "; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0",
            $($more)?
        )
    };
}
pub(super) const BEGIN_READ: &str =
    begin!("REPEATABLE READ", "; LOCK TABLE member IN EXCLUSIVE MODE");
pub(super) const BEGIN_WRITE: &str =
    begin!("READ COMMITTED", "; LOCK TABLE member IN EXCLUSIVE MODE");
pub(super) const BEGIN_SNAPSHOT: &str = begin!("REPEATABLE READ, READ ONLY");
/// Numbers of the nodes whose leases have not ended.
pub(super) const SERVING: &str = "SELECT number FROM member WHERE until > now() ORDER BY number";
pub(super) const LOCK_STATE: &str = "SELECT seq FROM store_state FOR UPDATE";
pub(super) const SET_FLOOR: &str = "UPDATE store_state SET floor = $1";
pub(super) const NODES: &str = "SELECT gid, kind, home, version, head, body FROM node \
    WHERE gid > $1 AND gone IS NULL AND kind = ANY ($2::smallint[]) ORDER BY gid LIMIT $3";
pub(super) const HEAD: &str = "SELECT head FROM node WHERE gid = $1";
/// Sets the numbers of the state and of sequences that follow from the rows.
pub(super) const FINISH: &str = "UPDATE store_state SET \
        seq = coalesce((SELECT max(seq) FROM journal), 0), \
        pruned = coalesce((SELECT min(seq) - 1 FROM journal), 0), \
        hook_revision = hook_revision + 1; \
    UPDATE store_state SET audit_seq = a.seq, audit_gid = a.gid, audit_at = a.at, audit_digest = a.digest \
        FROM (SELECT seq, gid, at, digest FROM audit ORDER BY gid DESC LIMIT 1) a; \
    SELECT setval(pg_get_serial_sequence('delivery', 'id'), max(id)) FROM delivery HAVING max(id) IS NOT NULL; \
    SELECT setval(pg_get_serial_sequence('checkpoint', 'id'), max(id)) FROM checkpoint HAVING max(id) IS NOT NULL";

/// Highest gid in use.
pub(super) const HIGHEST: &str = "SELECT greatest((SELECT max(gid) FROM node), (SELECT max(id) FROM token), \
    (SELECT max(id) FROM app), (SELECT max(id) FROM \"authorization\"), (SELECT max(id) FROM hook), \
    (SELECT floor FROM store_state))";
/// Makes the gids of every node number begin at the given millisecond or later: the clock behind the copied gids may have
/// been ahead.
pub(super) const RESERVE: &str = "INSERT INTO member AS m \
        (number, incarnation, until, mint_start, mint_end, schema_min, schema_max) \
    SELECT n, 'moved', now() - interval '1 second', 0, $1, 0, 0 FROM generate_series(0, 30) AS n \
    ON CONFLICT (number) DO UPDATE SET mint_end = greatest(m.mint_end, excluded.mint_end)";

fn names(columns: &[Column]) -> String {
    let quoted: Vec<String> = columns.iter().map(|c| format!("\"{}\"", c.name)).collect();
    quoted.join(", ")
}

/// Returns the source of a table's rows, for `FROM`.
fn source(table: &Table) -> String {
    match table.name {
        "state" => "(SELECT 'floor'::text COLLATE \"C\" AS key, floor AS value FROM store_state WHERE floor > 0) s".into(),
        name => format!("\"{name}\""),
    }
}

/// Returns the statement that reads the next rows; its parameters are the key of the previous row.
pub(super) fn select(table: &Table, after: bool, limit: usize) -> String {
    let key = names(table.key_columns());
    let columns = match table.name {
        "alias" => "coalesce(text, key), gid".into(),
        _ => names(table.columns),
    };
    let behind = if after {
        let parameters: Vec<String> = (1..=table.key).map(|n| format!("${n}")).collect();
        format!("WHERE ({key}) > ({})", parameters.join(", "))
    } else {
        String::new()
    };
    format!(
        "SELECT {columns} FROM {} {behind} ORDER BY {key} LIMIT {limit}",
        source(table)
    )
}

pub(super) fn count(table: &Table) -> String {
    format!("SELECT count(*) FROM {}", source(table))
}

/// Returns the names of the columns that a copy writes, separated by commas.
fn written(table: &Table) -> String {
    let text = if table.name == "alias" { ", text" } else { "" };
    format!("{}{text}", names(table.columns))
}

/// Returns a statement whose columns have the types of the written columns.
pub(super) fn types(table: &Table) -> String {
    format!("SELECT {} FROM \"{}\" LIMIT 0", written(table), table.name)
}

pub(super) fn copy_in(table: &Table) -> String {
    format!(
        "COPY \"{}\" ({}) FROM STDIN BINARY",
        table.name,
        written(table)
    )
}
