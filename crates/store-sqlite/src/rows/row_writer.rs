//! A new file built from rows, which gets its name when it is complete.
use super::{Parameter, count, indexes, names, placeholders, read, unread};
use crate::connection_setup::{PAGE, StorePaths, signed, sync_folder};
use crate::edge_list::PACK_EDGES;
use crate::folder_lock::FolderLock;
use crate::migrations;
use crate::open_error::StoreOpenError;
use crate::tables::search_index::set_current;
use crate::transaction::SqliteTransaction;
use rusqlite::{Connection, params_from_iter};
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use workgraph_core::model::gid::Gid;
use workgraph_core::storage::snapshot::Transaction;
use workgraph_rows::{NodeIndexes, Row, RowReader, RowWriter, RowsError, Table};

/// New store in a folder, written row by row. The file has another name until it is complete, so a server never opens an
/// incomplete store. The next attempt removes the remains of an interrupted one.
#[derive(Debug)]
pub struct SqliteRowWriter {
    pub(super) conn: Connection,
    partial: PathBuf,
    database: PathBuf,
    folder: PathBuf,
    /// True if the rows of nodes have the edge lists of all edges.
    are_edges_packed: bool,
    _lock: FolderLock,
}

impl SqliteRowWriter {
    /// Begins a new store in a folder, which is created if needed.
    ///
    /// # Errors
    /// Fails if the folder already has a store or is open in another process, or it cannot be written.
    pub fn create(folder: impl AsRef<Path>) -> Result<Self, StoreOpenError> {
        let folder = folder.as_ref().to_owned();
        let files = StorePaths::at(&folder);
        let lock = files.lock()?;
        if let Some(file) = files.existing() {
            let exists = std::io::Error::from(ErrorKind::AlreadyExists);
            return Err(StoreOpenError::Io(file, exists));
        }
        let database = files.database;
        let partial = database.with_extension("db.partial");
        let io = |error| StoreOpenError::Io(partial.clone(), error);
        match fs::remove_file(&partial) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(io(e)),
            _ => {}
        }
        let mut made = OpenOptions::new();
        made.create_new(true).write(true).mode(0o600);
        made.open(&partial).map_err(io)?;
        let conn = Connection::open(&partial)?;
        conn.pragma_update(None, "page_size", signed(PAGE))?;
        // An unfinished file is thrown away, so nothing needs to be undone or synced in between.
        conn.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
        conn.pragma_update(None, "synchronous", "OFF")?;
        conn.pragma_update(None, "cache_size", -(64 << 10))?;
        migrations::migrate(&conn)?;
        conn.execute_batch("BEGIN IMMEDIATE")?;
        Ok(Self {
            conn,
            partial,
            database,
            folder,
            are_edges_packed: true,
            _lock: lock,
        })
    }

    fn insert(&self, table: &'static Table, rows: &[Row]) -> rusqlite::Result<()> {
        let name = if table.name == "state" {
            "meta"
        } else {
            table.name
        };
        let sql = format!(
            "INSERT INTO \"{name}\" ({}) VALUES ({})",
            names(table.columns),
            placeholders(table.columns.len())
        );
        let mut statement = self.conn.prepare_cached(&sql)?;
        for row in rows {
            statement.execute(params_from_iter(row.iter().map(Parameter)))?;
        }
        Ok(())
    }

    /// Writes the edges into the rows of their sources.
    fn pack_edges(&mut self) -> Result<(), StoreOpenError> {
        if !self.are_edges_packed {
            self.conn.execute_batch("COMMIT")?;
            migrations::with_temporary_files(&self.conn, |conn| {
                Ok(conn.execute_batch(PACK_EDGES)?)
            })?;
            self.conn.execute_batch("BEGIN IMMEDIATE")?;
            self.are_edges_packed = true;
        }
        Ok(())
    }

    /// Writes the rest, converts the file to its final format, and closes it.
    fn close(mut self) -> Result<(), StoreOpenError> {
        self.pack_edges()?;
        let Self {
            conn,
            partial,
            database,
            folder,
            are_edges_packed: _,
            _lock,
        } = self;
        set_current(&mut SqliteTransaction::new(&conn))?;
        conn.execute_batch("COMMIT")?;
        let mode: String =
            conn.pragma_update_and_check(None, "journal_mode", "WAL", |r| r.get(0))?;
        if !mode.eq_ignore_ascii_case("wal") {
            return Err(StoreOpenError::NoWal(mode));
        }
        conn.close().map_err(|(_, error)| error)?;
        let io = |error| StoreOpenError::Io(partial.clone(), error);
        File::open(&partial)
            .and_then(|file| file.sync_all())
            .map_err(io)?;
        fs::rename(&partial, &database).map_err(io)?;
        sync_folder(&folder).map_err(io)
    }
}

impl RowReader for SqliteRowWriter {
    fn rows(
        &mut self,
        table: &'static Table,
        after: Option<&Row>,
        limit: usize,
    ) -> Result<Vec<Row>, RowsError> {
        read(&self.conn, table, after, limit).map_err(unread)
    }

    fn count(&mut self, table: &'static Table) -> Result<u64, RowsError> {
        count(&self.conn, table).map_err(unread)
    }

    fn indexes(&mut self, after: Option<Gid>, limit: usize) -> Result<Vec<NodeIndexes>, RowsError> {
        let failed = |error: StoreOpenError| RowsError::Failed(error.to_string());
        self.pack_edges().map_err(failed)?;
        let made = indexes(&self.conn, after, limit);
        made.map_err(|error| RowsError::Failed(error.to_string()))
    }
}

impl RowWriter for SqliteRowWriter {
    fn write(&mut self, table: &'static Table, rows: &[Row]) -> Result<(), RowsError> {
        for row in rows {
            for (at, (column, value)) in table.columns.iter().zip(row).enumerate() {
                let empty = column.nullable && *value == workgraph_rows::Value::Null;
                if !empty && !value.is_of(column.kind) {
                    let reason = format!("{:?} was expected", column.kind);
                    return Err(RowsError::value(table, row, at, reason));
                }
            }
        }
        self.are_edges_packed &= !matches!(table.name, "node" | "edge");
        self.insert(table, rows).map_err(unread)
    }

    fn write_indexes(&mut self, nodes: &[NodeIndexes]) -> Result<(), RowsError> {
        let mut tx = SqliteTransaction::new(&self.conn);
        for node in nodes {
            let entry = node.entry.as_ref();
            let put = entry.map_or(Ok(()), |(entry, words)| tx.put_index_entry(entry, words));
            let put = put.and_then(|()| {
                let mut values = node.values.iter();
                values.try_for_each(|v| tx.put_values(v.node, v.field, &v.keys))
            });
            put.map_err(|error| RowsError::Failed(error.to_string()))?;
        }
        tx.write_words().map_err(unread)
    }

    fn finish(self: Box<Self>) -> Result<(), RowsError> {
        self.close()
            .map_err(|error| RowsError::Failed(error.to_string()))
    }
}
