//! Ports for reading and writing rows, which stores implement.
use crate::tables::Table;
use crate::values::{Row, Value};
use thiserror::Error;
use workgraph_core::model::gid::Gid;
use workgraph_core::search::{IndexEntry, NodeWords};
use workgraph_core::storage::custom_field_index::ValueIndexEntry;

/// Reason why rows could not be read, written or compared.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RowsError {
    /// The store could not be read or written.
    #[error("{0}")]
    Failed(String),
    /// The target has rows already.
    #[error("the target is not empty: its table {0} has rows")]
    NotEmpty(&'static str),
    /// A value cannot be written to the target's engine.
    #[error("table {table}, column {column}: {reason} (row {row})")]
    Value {
        /// Name of the table.
        table: &'static str,
        /// Name of the column.
        column: &'static str,
        /// Key of the row, without secrets.
        row: String,
        /// Reason why the value does not fit.
        reason: String,
    },
    /// A table of the copy differs from the source.
    #[error(
        "the copy of table {table} is not its source: {source_rows} rows with the digest {source_digest} there, {target_rows} rows with {target_digest} here"
    )]
    Different {
        /// Name of the table.
        table: &'static str,
        /// Number of rows in the source.
        source_rows: u64,
        /// Digest of the source, in hexadecimal digits.
        source_digest: String,
        /// Number of rows in the copy.
        target_rows: u64,
        /// Digest of the copy, in hexadecimal digits.
        target_digest: String,
    },
}

impl RowsError {
    /// Returns the error for a value that cannot be written.
    #[must_use]
    pub fn value(table: &Table, row: &[Value], column: usize, reason: impl Into<String>) -> Self {
        let key = table
            .key_columns()
            .iter()
            .zip(row)
            .map(|(column, value)| match value {
                Value::Integer(number) => number.to_string(),
                Value::Text(text) => format!("{:?}", text.chars().take(64).collect::<String>()),
                _ => column.name.to_owned(),
            });
        Self::Value {
            table: table.name,
            column: table.columns.get(column).map_or("", |column| column.name),
            row: key.collect::<Vec<_>>().join(" "),
            reason: reason.into(),
        }
    }
}

/// Index rows of one node; they follow from the node and its edges.
#[derive(Clone, Debug)]
pub struct NodeIndexes {
    /// Gid of the node.
    pub node: Gid,
    /// Index entry and words, if the node is searchable.
    pub entry: Option<(IndexEntry, NodeWords)>,
    /// Keys of its custom field values.
    pub values: Vec<ValueIndexEntry>,
}

/// Snapshot of a store, read as rows. All calls show one state.
pub trait RowReader {
    /// Returns the next rows of a table in the order of its key, as the engine sorts it, after a given row that an earlier
    /// call returned. An empty result means that there are no more.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn rows(
        &mut self,
        table: &'static Table,
        after: Option<&Row>,
        limit: usize,
    ) -> Result<Vec<Row>, RowsError>;

    /// Returns the number of rows of a table, for progress reports.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn count(&mut self, table: &'static Table) -> Result<u64, RowsError>;

    /// Returns the index rows of the next live nodes after this one, in the order of their gids.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    fn indexes(&mut self, after: Option<Gid>, limit: usize) -> Result<Vec<NodeIndexes>, RowsError>;
}

/// Store that is being written, row by row. Nothing of it is visible before [`finish`](RowWriter::finish) returns successfully.
pub trait RowWriter: RowReader {
    /// Writes rows. They come table by table, in the order of the source.
    ///
    /// # Errors
    /// Fails if a value does not fit the engine, or the store cannot be written.
    fn write(&mut self, table: &'static Table, rows: &[Row]) -> Result<(), RowsError>;

    /// Writes the index rows of nodes, after all tables.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    fn write_indexes(&mut self, nodes: &[NodeIndexes]) -> Result<(), RowsError>;

    /// Makes everything durable and visible.
    ///
    /// # Errors
    /// Fails if the store cannot be written; nothing is visible then.
    fn finish(self: Box<Self>) -> Result<(), RowsError>;
}
