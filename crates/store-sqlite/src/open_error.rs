//! Errors of opening a store, and conversion of SQLite's errors.
use rusqlite::ErrorCode;
use std::path::PathBuf;
use thiserror::Error;
use workgraph_core::storage::GraphStoreError;
use workgraph_webhooks::ResealError;

/// Reason why a store could not be opened.
#[derive(Debug, Error)]
pub enum StoreOpenError {
    /// The linked SQLite is older than the oldest supported version.
    #[error("SQLite {0} is linked, but 3.51.3 or newer is needed: older ones can lose commits")]
    OldSqlite(String),
    /// Another process has the folder open.
    #[error("another Workgraph process has {} open", .0.display())]
    Locked(PathBuf),
    /// The file is of a newer version of this program.
    #[error(
        "the data is of a newer version of Workgraph: its form is {found}, this program knows {known}; use the newer program, or restore a backup made before the upgrade"
    )]
    Newer {
        /// The version of the file.
        found: usize,
        /// The newest version this program knows.
        known: usize,
    },
    /// The file is an SQLite database of another program.
    #[error("the file is a database, but not one of Workgraph")]
    Foreign,
    /// The file is of an older version, but was opened for reading only.
    #[error(
        "the data is of an older version of Workgraph; start the server once, which brings it up to date"
    )]
    Older,
    /// The file system does not support a write-ahead log, as is the case for network file systems.
    #[error(
        "the file system does not support write-ahead logging (SQLite stays in mode {0}); use a local disk"
    )]
    NoWal(String),
    /// A folder or file could not be created or opened.
    #[error("{path}: {1}", path = .0.display())]
    Io(PathBuf, std::io::Error),
    /// The search index could not be built from the nodes of an older file.
    #[error("the search index: {0}")]
    SearchIndex(GraphStoreError),
    /// A webhook's secret could not be converted to the new stored form.
    #[error("{0}")]
    Secrets(ResealError),
    /// The source of a copy could not be read.
    #[error("the store to copy: {0}")]
    Source(GraphStoreError),
    /// The archive could not be begun.
    #[error("the archive: {0}")]
    Archive(Box<crate::archive_error::ArchiveError>),
    /// SQLite failed.
    #[error("{text}", text = described(.0))]
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for StoreOpenError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Converts an error of SQLite to the port's error.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
pub(crate) fn failed(error: rusqlite::Error) -> GraphStoreError {
    GraphStoreError::Failed(described(&error))
}

/// Returns the text of an error; for a damaged file it says what to do.
fn described(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => format!(
            "the database file is damaged ({error}). Stop the server, keep a copy of the file, and make it again with `workgraph restore` from a backup or the archive: docs/BACKUPS.md"
        ),
        _ => format!("SQLite: {error}"),
    }
}
