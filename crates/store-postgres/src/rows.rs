//! The tables as rows: reading them from one snapshot, and filling an empty database in one transaction.
//!
//! Everything is written in one transaction, so that an interrupted copy leaves the database as it was. Statements are generated
//! from the list of tables; the types of their columns come from the database.
mod row_values;
mod sealed_values;
mod statements;

pub use self::sealed_values::SealedValue;

use self::row_values::{Parameter, value};
use self::statements as sql;
use crate::database::{Connection, Database};
use crate::database_error::DatabaseError;
use crate::graph::aliases::alias_key;
use crate::transaction::PgTransaction;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type as SqlType};
use workgraph_core::engine::{build_entry, value_entries};
use workgraph_core::model::gid::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::Type;
use workgraph_core::search::is_searchable;
use workgraph_core::storage::GraphStoreError;
use workgraph_rows::{NodeIndexes, Row, RowReader, RowWriter, RowsError, Table, Value};

/// Maximum time for building the index rows of a page.
const PAGE_TIME: Duration = Duration::from_secs(600);

/// Rows of a database, in one transaction on a separate connection. It is used on a thread that may block.
pub struct PgRows {
    connection: Option<Connection>,
    runtime: Handle,
}

impl fmt::Debug for PgRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgRows").finish_non_exhaustive()
    }
}

/// Rolls back a transaction that was not committed, by closing its connection.
impl Drop for PgRows {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            let _in_runtime = self.runtime.enter();
            connection.close();
        }
    }
}

fn failed(error: impl Into<DatabaseError>) -> RowsError {
    RowsError::Failed(error.into().to_string())
}

impl PgRows {
    /// Begins to read the current state of a database. No node may be serving it.
    ///
    /// # Errors
    /// Fails if the database cannot be reached, or a node serves it.
    pub fn read(database: &Database) -> Result<Self, DatabaseError> {
        let rows = Self::begin(database, sql::BEGIN_READ)?;
        rows.refuse_nodes()?;
        Ok(rows)
    }

    /// Begins to read the current state of a database, while nodes may be serving it.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub fn snapshot(database: &Database) -> Result<Self, DatabaseError> {
        Self::begin(database, sql::BEGIN_SNAPSHOT)
    }

    /// Begins to fill an empty database. Nodes cannot write to it until this ends.
    ///
    /// # Errors
    /// Fails if the database cannot be reached, a node serves it, or anything was committed to it.
    pub fn write(database: &Database) -> Result<Self, DatabaseError> {
        let rows = Self::begin(database, sql::BEGIN_WRITE)?;
        rows.refuse_nodes()?;
        let state =
            rows.wait(|connection| async { connection.query_one(sql::LOCK_STATE, &[]).await })?;
        if state.try_get::<_, i64>(0)? > 0 {
            let text = "it is not empty: move into a new database".into();
            return Err(DatabaseError::Unsuitable(text));
        }
        Ok(rows)
    }

    fn begin(database: &Database, begin: &str) -> Result<Self, DatabaseError> {
        let runtime = database.runtime().clone();
        let connection = runtime.block_on(database.write_connection())?;
        let rows = Self {
            connection: Some(connection),
            runtime,
        };
        rows.wait(|connection| async { connection.batch_execute(begin).await })?;
        Ok(rows)
    }

    /// Refuses a database that nodes serve.
    fn refuse_nodes(&self) -> Result<(), DatabaseError> {
        let nodes = self.wait(|connection| async { connection.query(sql::SERVING, &[]).await })?;
        let numbers: Vec<String> = nodes
            .iter()
            .map(|row| row.try_get::<_, i16>(0).map(|number| number.to_string()))
            .collect::<Result<_, _>>()?;
        if !numbers.is_empty() {
            return Err(DatabaseError::Unsuitable(format!(
                "nodes are serving it (number {}): stop them first, or wait until the lease of a node that was killed is over",
                numbers.join(", ")
            )));
        }
        Ok(())
    }

    fn connection(&self) -> Result<&Connection, DatabaseError> {
        let ended = || DatabaseError::Failed("the transaction has ended".into());
        self.connection.as_ref().ok_or_else(ended)
    }

    fn wait<'c, T, F>(&'c self, work: impl FnOnce(&'c Connection) -> F) -> Result<T, DatabaseError>
    where
        F: Future<Output = Result<T, tokio_postgres::Error>>,
    {
        Ok(self.runtime.block_on(work(self.connection()?))?)
    }

    /// Returns a transaction for the primitives of the graph, inside the transaction of the connection.
    fn transaction(&self) -> Result<PgTransaction<'_>, DatabaseError> {
        // An empty statement, since the transaction has already begun.
        Ok(PgTransaction::new(
            self.connection()?,
            &self.runtime,
            "",
            PAGE_TIME,
        ))
    }

    fn read_rows(
        &self,
        table: &'static Table,
        after: Option<&Row>,
        limit: usize,
    ) -> Result<Vec<Row>, DatabaseError> {
        let text = sql::select(table, after.is_some(), limit);
        let key: Vec<Value> = match after {
            None => Vec::new(),
            Some(row) => row
                .iter()
                .take(table.key)
                .map(|value| stored_key(table, value))
                .collect(),
        };
        let is_stored = table.name == "alias";
        let rows = self.wait(|connection| async move {
            let statement = connection.prepare_cached(&text).await?;
            let key: Vec<Parameter<'_>> = key
                .iter()
                .map(|value| Parameter { value, is_stored })
                .collect();
            let key: Vec<&(dyn ToSql + Sync)> =
                key.iter().map(|k| k as &(dyn ToSql + Sync)).collect();
            connection.query(&statement, &key).await
        })?;
        let columns = 0..table.columns.len();
        rows.iter()
            .map(|row| columns.clone().map(|at| value(row, at)).collect())
            .collect()
    }

    fn write_rows(&self, table: &'static Table, rows: &[Row]) -> Result<(), DatabaseError> {
        if table.name == "state" {
            for row in rows {
                if let [Value::Text(key), Value::Integer(floor)] = row.as_slice()
                    && key == "floor"
                {
                    self.wait(|connection| async move {
                        connection.execute(sql::SET_FLOOR, &[floor]).await
                    })?;
                } else {
                    return Err(DatabaseError::unreadable("state.key"));
                }
            }
            return Ok(());
        }
        let (types, copy) = (sql::types(table), sql::copy_in(table));
        // An alias that is too long for an index has an additional column.
        let stored: Vec<Row> = match table.name {
            "alias" => rows
                .iter()
                .map(alias_row)
                .collect::<Option<_>>()
                .ok_or_else(|| DatabaseError::unreadable("alias"))?,
            _ => Vec::new(),
        };
        let is_stored = table.name == "alias";
        let rows = if is_stored { &stored } else { rows };
        self.wait(|connection| async move {
            let statement = connection.prepare_cached(&types).await?;
            let types: Vec<SqlType> = statement
                .columns()
                .iter()
                .map(|c| c.type_().clone())
                .collect();
            let sink = connection.copy_in(&copy).await?;
            let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
            for row in rows {
                let values: Vec<Parameter<'_>> = row
                    .iter()
                    .map(|value| Parameter { value, is_stored })
                    .collect();
                let values: Vec<&(dyn ToSql + Sync)> =
                    values.iter().map(|v| v as &(dyn ToSql + Sync)).collect();
                writer.as_mut().write(&values).await?;
            }
            writer.finish().await
        })?;
        Ok(())
    }

    fn read_indexes(
        &self,
        after: Option<Gid>,
        limit: usize,
    ) -> Result<Vec<NodeIndexes>, GraphStoreError> {
        let kinds: Vec<i16> = (0..=u8::MAX)
            .filter(|code| Type::from_code(*code).is_some_and(is_searchable))
            .map(i16::from)
            .collect();
        let (after, limit) = (
            after.map_or(0, Gid::as_i64),
            i64::try_from(limit).unwrap_or(i64::MAX),
        );
        let mut transaction = self.transaction()?;
        let rows = transaction.rows(sql::NODES, &[&after, &kinds, &limit])?;
        let nodes = rows
            .iter()
            .map(row_values::node)
            .collect::<Result<Vec<Node>, _>>()?;
        let mut heads: HashMap<Gid, Option<String>> = HashMap::new();
        let mut made = Vec::with_capacity(nodes.len());
        for node in &nodes {
            let entry = build_entry(&mut transaction, node)?;
            let mut head_of = |field: Gid| -> Result<Option<String>, DatabaseError> {
                if let Some(head) = heads.get(&field) {
                    return Ok(head.clone());
                }
                let row = transaction.one(sql::HEAD, &[&field.as_i64()])?;
                let head: Option<String> = row.map(|row| row.try_get(0)).transpose()?;
                heads.insert(field, head.clone());
                Ok(head)
            };
            let values = match node.ty {
                Type::Task => value_entries(node, &mut head_of)?,
                _ => Vec::new(),
            };
            made.push(NodeIndexes {
                node: node.gid,
                entry: Some(entry),
                values,
            });
        }
        Ok(made)
    }

    fn put_indexes(&self, nodes: &[NodeIndexes]) -> Result<(), GraphStoreError> {
        let mut transaction = self.transaction()?;
        transaction.insert_indexes(nodes)?;
        Ok(transaction.flush()?)
    }

    fn commit(mut self) -> Result<(), DatabaseError> {
        self.wait(|connection| async { connection.batch_execute(sql::FINISH).await })?;
        let row =
            self.wait(|connection| async { connection.query_one(sql::HIGHEST, &[]).await })?;
        let highest = row.try_get::<_, Option<i64>>(0)?.and_then(Gid::from_i64);
        if let Some(next) = highest.and_then(|gid| i64::try_from(gid.created_ms() + 1).ok()) {
            self.wait(
                |connection| async move { connection.execute(sql::RESERVE, &[&next]).await },
            )?;
        }
        let done = self.wait(|connection| async { connection.batch_execute("COMMIT").await });
        done.map_err(|error| match error {
            broken if broken.breaks_connection() => DatabaseError::Unknown(format!(
                "{broken}; the rows may have been copied: compare the digests of both sides"
            )),
            other => other,
        })?;
        // Without statistics, the plans for a table are bad. If `ANALYZE` fails, the database collects them later by itself.
        let analyzed = self.wait(|connection| async { connection.batch_execute("ANALYZE").await });
        if let Err(error) = analyzed {
            tracing::warn!(%error, "the database has no statistics of its tables yet");
        }
        if let Some(connection) = self.connection.take() {
            connection.close();
        }
        Ok(())
    }
}

/// Converts a value of a key to the form stored in the table.
fn stored_key(table: &Table, value: &Value) -> Value {
    match (table.name, value) {
        ("alias", Value::Text(alias)) => Value::Text(alias_key(alias).key.into_owned()),
        _ => value.clone(),
    }
}

/// Returns the columns `key, gid, text` of an alias.
fn alias_row(row: &Row) -> Option<Row> {
    let [Value::Text(alias), gid] = row.as_slice() else {
        return None;
    };
    let stored = alias_key(alias);
    let text = stored
        .text
        .map_or(Value::Null, |text| Value::Text(text.into_owned()));
    Some(vec![
        Value::Text(stored.key.into_owned()),
        gid.clone(),
        text,
    ])
}

impl RowReader for PgRows {
    fn rows(
        &mut self,
        table: &'static Table,
        after: Option<&Row>,
        limit: usize,
    ) -> Result<Vec<Row>, RowsError> {
        self.read_rows(table, after, limit).map_err(failed)
    }

    fn count(&mut self, table: &'static Table) -> Result<u64, RowsError> {
        let text = sql::count(table);
        let row = self.wait(|connection| async move { connection.query_one(&text, &[]).await });
        let rows: i64 = row.and_then(|row| Ok(row.try_get(0)?)).map_err(failed)?;
        Ok(u64::try_from(rows).unwrap_or_default())
    }

    fn indexes(&mut self, after: Option<Gid>, limit: usize) -> Result<Vec<NodeIndexes>, RowsError> {
        let made = self.read_indexes(after, limit);
        made.map_err(|error| RowsError::Failed(error.to_string()))
    }
}

impl RowWriter for PgRows {
    fn write(&mut self, table: &'static Table, rows: &[Row]) -> Result<(), RowsError> {
        self.write_rows(table, rows).map_err(failed)
    }

    fn write_indexes(&mut self, nodes: &[NodeIndexes]) -> Result<(), RowsError> {
        let put = self.put_indexes(nodes);
        put.map_err(|error| RowsError::Failed(error.to_string()))
    }

    fn finish(self: Box<Self>) -> Result<(), RowsError> {
        self.commit().map_err(failed)
    }
}

#[cfg(test)]
mod tests;
