//! Stores whose databases are hard links to one file: each store writes only its own log, so a link serves as a copy.
//!
//! The database of a store with [a single connection](crate::StoreOptions::single_connection) is never written. A link costs
//! the same for a store of any size, and shares the pages in memory. A long log is folded into a separate database
//! ([`log_folding`](crate::log_folding)).
use crate::connection_setup::StorePaths;
use crate::log_folding::{COPIED_LOG_MAX, fold_log};
use crate::open_error::StoreOpenError;
use crate::sqlite_store::SqliteStore;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use workgraph_core::storage::GraphStoreError;

/// Method by which the database of a store was copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyMethod {
    /// The copy is a hard link.
    Linked,
    /// The copy is a separate file, because the file system cannot make the link.
    Copied,
}

impl SqliteStore {
    /// Copies the current state of this store into another folder: by a hard link if the store has
    /// [a single connection](crate::StoreOptions::single_connection), else by a backup. A linked copy must also be opened
    /// with a single connection. Runs on this thread; a backup may take long.
    ///
    /// # Errors
    /// Fails if the other folder has a database, or a file can't be read or written.
    pub fn copy_to(&self, folder: impl AsRef<Path>) -> Result<CopyMethod, GraphStoreError> {
        let to = StorePaths::at(folder.as_ref());
        if !self.options.single_connection {
            self.backup(&to.database)?;
            return Ok(CopyMethod::Copied);
        }
        // Folding the log once costs less than folding it in every copy.
        fold_log(&self.readers, &self.files, COPIED_LOG_MAX)?;
        let linked = self.readers.alone(|_| link(&self.files, &to))?;
        linked.map_err(|error| broken(&to, &error))
    }

    /// Copies a closed store into another folder by a hard link. From then on, both stores may be opened only with
    /// [a single connection](crate::StoreOptions::single_connection).
    ///
    /// # Errors
    /// Fails if the store does not exist or is open, the other folder has a database, or a file can't be read or written.
    pub fn link_closed(
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
    ) -> Result<CopyMethod, StoreOpenError> {
        let _closed = Self::lock_folder(&from)?;
        let to = StorePaths::at(to.as_ref());
        let linked = link(&StorePaths::at(from.as_ref()), &to);
        linked.map_err(|error| StoreOpenError::Io(to.database, error))
    }

    /// Closes idle connections, which frees their files and memory. The next read or write opens a connection again.
    pub fn close_idle_connections(&self) {
        self.readers.close_idle();
    }
}

fn broken(files: &StorePaths, error: &io::Error) -> GraphStoreError {
    GraphStoreError::Failed(format!("{}: {error}", files.database.display()))
}

/// Copies the log of a database that nobody writes, then links the database. The database comes last, because a folder
/// without one does not count as a copy.
fn link(from: &StorePaths, to: &StorePaths) -> io::Result<CopyMethod> {
    if let Some(existing) = to.existing() {
        let exists = format!("{} exists already", existing.display());
        return Err(io::Error::new(ErrorKind::AlreadyExists, exists));
    }
    match fs::copy(from.log(), to.log()) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        copied => drop(copied?),
    }
    match fs::hard_link(&from.database, &to.database) {
        Ok(()) => Ok(CopyMethod::Linked),
        Err(error) if makes_no_link(error.kind()) => {
            fs::copy(&from.database, &to.database)?;
            Ok(CopyMethod::Copied)
        }
        Err(error) => Err(error),
    }
}

/// Returns true if the error rules out a link, but perhaps not a copy.
fn makes_no_link(error: ErrorKind) -> bool {
    matches!(
        error,
        ErrorKind::CrossesDevices
            | ErrorKind::TooManyLinks
            | ErrorKind::Unsupported
            | ErrorKind::PermissionDenied
    )
}

#[cfg(test)]
mod tests;
