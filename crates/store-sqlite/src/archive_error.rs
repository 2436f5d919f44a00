//! Error of the archive, in a separate module because opening a store can also fail with it.
use std::path::PathBuf;
use thiserror::Error;

/// Reason why something could not be archived or restored.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// A file or folder could not be read or written.
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
    /// The store could not be read.
    #[error("the store: {0}")]
    Store(String),
    /// Too many bytes of segments are waiting for the archive.
    #[error("{0} bytes of commits wait for the archive, which is slow or cannot be written")]
    Behind(u64),
    /// The write-ahead log does not continue from the last copied frames.
    #[error("the write-ahead log does not continue where the archive ends")]
    Lost,
    /// A file of the archive is damaged.
    #[error("{name} of the archive is damaged: {reason}")]
    Damaged {
        /// Name of the file.
        name: String,
        /// Reason why it cannot be used.
        reason: String,
    },
    /// A file of the archive does not exist.
    #[error("{0} of the archive is missing, and later ones are there")]
    Missing(String),
    /// The archive has no copy of the database that is old enough.
    #[error("{0}")]
    NothingSoOld(String),
    /// The target already has a store.
    #[error("{} exists already; restore into a folder without a store", .0.display())]
    Exists(PathBuf),
    /// The restored database failed its checks.
    #[error("the restored store in {} has problems: {}", .0.display(), .1.join("; "))]
    Unsound(PathBuf, Vec<String>),
}

impl ArchiveError {
    /// Returns the error for a damaged file.
    pub(crate) fn damaged(name: &str, reason: impl Into<String>) -> Self {
        Self::Damaged {
            name: name.to_owned(),
            reason: reason.into(),
        }
    }
}

impl From<rusqlite::Error> for ArchiveError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.to_string())
    }
}
