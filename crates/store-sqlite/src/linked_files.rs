//! Stores whose databases are hard links of one file: each writes only a log of its own, so a link is a copy.
//!
//! The database of a store with [a single connection](crate::StoreOptions::single_connection) is never written. A link of it
//! costs no more for a large store, and shares its pages in memory. A long log becomes part of a database of its own
//! ([`log_folding`](crate::log_folding)).
use crate::connection_setup::StorePaths;
use crate::log_folding::{COPIED_LOG_MAX, fold_log};
use crate::open_error::StoreOpenError;
use crate::sqlite_store::SqliteStore;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use workgraph_core::storage::GraphStoreError;

/// Way in which the database of a store was copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyMethod {
    /// It is a hard link.
    Linked,
    /// It is a file of its own: the file system makes no link, or no more of them.
    Copied,
}

impl SqliteStore {
    /// Makes a store in another folder that has everything this store has now: by a link if it has
    /// [a single connection](crate::StoreOptions::single_connection), as the other one must have too, else by a backup. Runs on
    /// this thread; a backup may take long.
    ///
    /// # Errors
    /// Fails if the other folder has a database, or a file can't be read or written.
    pub fn copy_to(&self, folder: impl AsRef<Path>) -> Result<CopyMethod, GraphStoreError> {
        let to = StorePaths::at(folder.as_ref());
        if !self.options.single_connection {
            self.backup(&to.database)?;
            return Ok(CopyMethod::Copied);
        }
        // Once here costs less than in every copy.
        fold_log(&self.readers, &self.files, COPIED_LOG_MAX)?;
        let linked = self.readers.alone(|_| link(&self.files, &to))?;
        linked.map_err(|error| broken(&to, &error))
    }

    /// Makes a store in another folder that has everything that a closed store has. Neither may be opened but with
    /// [a single connection](crate::StoreOptions::single_connection) from now on.
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

    /// Closes the connections that are not in use, and with them their files and memory. The next read or write opens one.
    pub fn close_idle_connections(&self) {
        self.readers.close_idle();
    }
}

fn broken(files: &StorePaths, error: &io::Error) -> GraphStoreError {
    GraphStoreError::Failed(format!("{}: {error}", files.database.display()))
}

/// Links a database that nobody writes, and copies its log. The database comes last: a copy without it does not count as
/// one.
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

/// Returns true if the file system makes no link here, but may make a copy.
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
