//! Backups of a store that is in use, and read-only access to a store.
use crate::connection_setup::{StoreOptions, StorePaths};
use crate::folder_lock::FolderLock;
use crate::open_error::{StoreOpenError, failed};
use crate::page_copy::copy;
use crate::sqlite_store::SqliteStore;
use crate::{connection_setup, integrity as check, migrations};
use rusqlite::Connection;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use workgraph_core::storage::GraphStoreError;

/// Store opened for reading only; another process may also have it open.
#[derive(Debug)]
pub struct ReadOnlyStore {
    pub(crate) conn: Connection,
}

impl ReadOnlyStore {
    fn of(files: &StorePaths, options: &StoreOptions) -> Result<Self, StoreOpenError> {
        let database = &files.database;
        fs::metadata(database).map_err(|e| StoreOpenError::Io(database.clone(), e))?;
        let conn = connection_setup::open_read_only_connection(files, options)?;
        if migrations::inspect(&conn)? || !migrations::is_newest(&conn)? {
            return Err(StoreOpenError::Older);
        }
        Ok(Self { conn })
    }

    /// Copies the current state into a new file, which is on disk when this returns. Writers continue at the same time. The copy
    /// contains hashes of passwords and tokens, so only its owner can read it, from its first byte on.
    ///
    /// # Errors
    /// Fails if the file already exists, or if a file cannot be read or written.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<(), GraphStoreError> {
        backup(&self.conn, to.as_ref())
    }

    /// Looks for damage to the file and for contradictions in the graph. Reads everything. Returns the problems found.
    ///
    /// # Errors
    /// Fails if the file cannot be read at all.
    pub fn check(&self) -> Result<Vec<String>, GraphStoreError> {
        check::problems(&self.conn).map_err(failed)
    }
}

/// Copies the current state into a new file, as [`ReadOnlyStore::backup`] does.
fn backup(from: &Connection, to: &Path) -> Result<(), GraphStoreError> {
    let io = |error: std::io::Error| GraphStoreError::Failed(format!("{}: {error}", to.display()));
    if to.try_exists().map_err(io)? {
        return Err(GraphStoreError::Failed(format!(
            "{} exists already",
            to.display()
        )));
    }
    // The file gets its final name only when it is complete.
    let mut partial = to.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    match fs::remove_file(&partial) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(io(e)),
        _ => {}
    }
    let mut made = OpenOptions::new();
    made.create_new(true).write(true).mode(0o600);
    made.open(&partial).map_err(io)?;
    let copied = copy(from, &partial).and_then(|()| {
        fs::File::open(&partial)
            .and_then(|file| file.sync_all())
            .map_err(io)?;
        fs::rename(&partial, to).map_err(io)
    });
    if copied.is_err() {
        // If the partial file remains, the next backup to this path removes it. The error that stopped this backup is more
        // important.
        let _ = fs::remove_file(&partial);
        return copied;
    }
    let folder = to
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."));
    connection_setup::sync_folder(folder).map_err(io)
}

impl SqliteStore {
    /// Opens a store for reading only; another process may also have it open.
    ///
    /// # Errors
    /// Fails if the store does not exist, or has another version.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<ReadOnlyStore, StoreOpenError> {
        ReadOnlyStore::of(&StorePaths::at(path.as_ref()), &StoreOptions::default())
    }

    /// Takes the lock on the store in a folder; servers cannot open it until the lock is dropped.
    ///
    /// # Errors
    /// Fails if another process has the store open, or it does not exist.
    pub fn lock_folder(folder: impl AsRef<Path>) -> Result<FolderLock, StoreOpenError> {
        let files = StorePaths::at(folder.as_ref());
        let database = &files.database;
        fs::metadata(database).map_err(|e| StoreOpenError::Io(database.clone(), e))?;
        files.lock()
    }

    fn read_only(&self) -> Result<ReadOnlyStore, GraphStoreError> {
        ReadOnlyStore::of(&self.files, &self.options)
            .map_err(|e| GraphStoreError::Failed(e.to_string()))
    }

    /// Makes a backup as [`ReadOnlyStore::backup`] does. Runs on this thread and may take long.
    ///
    /// # Errors
    /// Fails as [`ReadOnlyStore::backup`] does.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<(), GraphStoreError> {
        if self.options.single_connection {
            return self.readers.alone(|conn| backup(conn, to.as_ref()))?;
        }
        self.read_only()?.backup(to)
    }

    /// Checks the store as [`ReadOnlyStore::check`] does. Runs on this thread and may take long.
    ///
    /// # Errors
    /// Fails as [`ReadOnlyStore::check`] does.
    pub fn check(&self) -> Result<Vec<String>, GraphStoreError> {
        if self.options.single_connection {
            return self
                .readers
                .alone(|conn| check::problems(conn))?
                .map_err(failed);
        }
        self.read_only()?.check()
    }
}
