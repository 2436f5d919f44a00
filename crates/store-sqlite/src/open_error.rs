//! Errors of opening a store, and conversion of SQLite's errors.
use std::fmt;
use std::path::PathBuf;
use workgraph_core::storage::GraphStoreError;

/// Reason why a store could not be opened.
#[derive(Debug)]
pub enum StoreOpenError {
    /// The linked SQLite is older than the oldest one that is used.
    OldSqlite(String),
    /// Another process has the folder open.
    Locked(PathBuf),
    /// The file is of a newer version of this program.
    Newer {
        /// The version of the file.
        found: usize,
        /// The newest version this program knows.
        known: usize,
    },
    /// The file is an SQLite database of another program.
    Foreign,
    /// The file is of an older version, but was opened for reading only.
    Older,
    /// The file system cannot hold a write-ahead log, as networked ones cannot.
    NoWal(String),
    /// A folder or file could not be made or opened.
    Io(PathBuf, std::io::Error),
    /// The search index could not be made from the nodes of an older file.
    SearchIndex(GraphStoreError),
    /// A webhook's secret could not be converted to the form in which secrets are kept from now on.
    Secrets(String),
    /// SQLite failed.
    Sqlite(rusqlite::Error),
}

impl fmt::Display for StoreOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OldSqlite(version) => {
                write!(f, "SQLite {version} is linked, but 3.51.3 or newer is needed: older ones can lose commits")
            }
            Self::Locked(path) => {
                write!(f, "another Workgraph process has {} open", path.display())
            }
            Self::Newer { found, known } => write!(
                f,
                "the data is of a newer version of Workgraph: its form is {found}, this program knows {known}; \
                 use the newer program, or restore a backup made before the upgrade"
            ),
            Self::Foreign => f.write_str("the file is a database, but not one of Workgraph"),
            Self::Older => f.write_str(
                "the data is of an older version of Workgraph; start the server once, which brings it up to date",
            ),
            Self::NoWal(mode) => write!(
                f,
                "the file system does not support write-ahead logging (SQLite stays in mode {mode}); use a local disk"
            ),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::SearchIndex(error) => write!(f, "the search index: {error}"),
            Self::Secrets(why) => f.write_str(why),
            Self::Sqlite(error) => write!(f, "SQLite: {error}"),
        }
    }
}

impl std::error::Error for StoreOpenError {}

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
    GraphStoreError::Failed(error.to_string())
}
