//! The tables as rows: reading them from one snapshot, and writing a new file from them.
mod row_writer;

pub use self::row_writer::SqliteRowWriter;

use crate::backup::ReadOnlyStore;
use crate::integrity;
use crate::migrations::roll_back;
use crate::open_error::failed;
use crate::transaction::SqliteTransaction;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, ToSql, params_from_iter};
use workgraph_core::engine::{build_entry, value_entries};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::search::is_searchable;
use workgraph_core::storage::GraphStoreError;
use workgraph_rows::{NodeIndexes, Row, RowReader, RowsError, Table, Value};

/// Rows of a store as of the creation of this reader; another process may write at the same time.
#[derive(Debug)]
pub struct SqliteRowReader<'c> {
    conn: &'c Connection,
}

impl ReadOnlyStore {
    /// Returns the rows of the current state.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn rows(&self) -> Result<SqliteRowReader<'_>, GraphStoreError> {
        let begun = self.conn.execute_batch("BEGIN").and_then(|()| {
            // The first read takes the snapshot.
            let any = "SELECT count(*) FROM sqlite_schema";
            self.conn.query_row(any, [], |row| row.get::<_, i64>(0))
        });
        begun.map_err(failed)?;
        Ok(SqliteRowReader { conn: &self.conn })
    }
}

impl Drop for SqliteRowReader<'_> {
    fn drop(&mut self) {
        if let Err(error) = roll_back(self.conn) {
            tracing::warn!(%error, "a snapshot could not be ended");
        }
    }
}

fn unread(error: rusqlite::Error) -> RowsError {
    RowsError::Failed(error.to_string())
}

/// Value as a parameter of a statement.
struct Parameter<'v>(&'v Value);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Returns the source of a table's rows, for `FROM`.
fn source(table: &Table) -> String {
    match table.name {
        // Other rows of `meta` are only about this file.
        "state" => "(SELECT key, value FROM meta WHERE key = 'floor')".into(),
        name => format!("\"{name}\""),
    }
}

/// Returns column names separated by commas.
fn names(columns: &[workgraph_rows::Column]) -> String {
    let quoted: Vec<String> = columns.iter().map(|c| format!("\"{}\"", c.name)).collect();
    quoted.join(", ")
}

/// Returns placeholders separated by commas.
fn placeholders(count: usize) -> String {
    vec!["?"; count].join(", ")
}

/// Reads the next rows of a table.
fn read(
    conn: &Connection,
    table: &'static Table,
    after: Option<&Row>,
    limit: usize,
) -> rusqlite::Result<Vec<Row>> {
    let key = names(table.key_columns());
    let behind = match after {
        Some(_) => format!("WHERE ({key}) > ({})", placeholders(table.key)),
        None => String::new(),
    };
    let (columns, from) = (names(table.columns), source(table));
    let sql = format!("SELECT {columns} FROM {from} {behind} ORDER BY {key} LIMIT {limit}");
    let mut statement = conn.prepare_cached(&sql)?;
    let key = after.iter().flat_map(|row| row.iter()).take(table.key);
    let mut rows = statement.query(params_from_iter(key.map(Parameter)))?;
    let mut found = Vec::with_capacity(limit.min(1_000));
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(table.columns.len());
        for at in 0..table.columns.len() {
            values.push(match row.get_ref(at)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Integer(number),
                ValueRef::Text(_) => Value::Text(row.get(at)?),
                ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
                ValueRef::Real(_) => {
                    let name = table.columns.get(at).map_or("", |c| c.name).to_owned();
                    let real = rusqlite::types::Type::Real;
                    return Err(rusqlite::Error::InvalidColumnType(at, name, real));
                }
            });
        }
        found.push(values);
    }
    Ok(found)
}

fn count(conn: &Connection, table: &'static Table) -> rusqlite::Result<u64> {
    let sql = format!("SELECT count(*) FROM {}", source(table));
    let rows: i64 = conn.query_row(&sql, [], |row| row.get(0))?;
    Ok(u64::try_from(rows).unwrap_or_default())
}

/// Builds the index rows of the next nodes.
fn indexes(
    conn: &Connection,
    after: Option<Gid>,
    limit: usize,
) -> Result<Vec<NodeIndexes>, GraphStoreError> {
    let kinds = (0..=u8::MAX).filter(|code| Type::from_code(*code).is_some_and(is_searchable));
    let kinds: Vec<String> = kinds.map(|code| code.to_string()).collect();
    let sql = format!(
        "SELECT gid, kind, home, version, head, body FROM node
         WHERE gid > ?1 AND gone IS NULL AND kind IN ({}) ORDER BY gid LIMIT ?2",
        kinds.join(", ")
    );
    let mut nodes = Vec::new();
    let mut statement = conn.prepare_cached(&sql).map_err(failed)?;
    let after = after.map_or(0, Gid::as_i64);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query((after, limit)).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let node = integrity::node(row).map_err(failed)?;
        let unknown = || GraphStoreError::Failed("a node has an unknown number or type".into());
        nodes.push(node.ok_or_else(unknown)?);
    }
    let mut head = conn
        .prepare_cached("SELECT head FROM node WHERE gid = ?1")
        .map_err(failed)?;
    let mut head_of = |field: Gid| {
        let found = head.query_row([field.as_i64()], |row| row.get(0));
        found.optional().map_err(failed)
    };
    let mut tx = SqliteTransaction::new(conn);
    let made = nodes.iter().map(|node| {
        Ok(NodeIndexes {
            node: node.gid,
            entry: Some(build_entry(&mut tx, node)?),
            values: match node.ty {
                Type::Task => value_entries(node, &mut head_of)?,
                _ => Vec::new(),
            },
        })
    });
    made.collect()
}

impl RowReader for SqliteRowReader<'_> {
    fn rows(
        &mut self,
        table: &'static Table,
        after: Option<&Row>,
        limit: usize,
    ) -> Result<Vec<Row>, RowsError> {
        read(self.conn, table, after, limit).map_err(unread)
    }

    fn count(&mut self, table: &'static Table) -> Result<u64, RowsError> {
        count(self.conn, table).map_err(unread)
    }

    fn indexes(&mut self, after: Option<Gid>, limit: usize) -> Result<Vec<NodeIndexes>, RowsError> {
        let made = indexes(self.conn, after, limit);
        made.map_err(|error| RowsError::Failed(error.to_string()))
    }
}

#[cfg(test)]
mod tests;
