//! Stores whose databases are hard links to one file: each store writes only its own log, so a link serves as a copy.
//!
//! The database of a store with [a single connection](crate::StoreOptions::single_connection) is never written. A link costs
//! the same for a store of any size, and shares the pages in memory. A long log is folded into a separate database
//! ([`log_folding`](crate::log_folding)).
use crate::cache::StoreCaches;
use crate::connection_setup::{self, StoreOptions, StorePaths};
use crate::log_folding::{COPIED_LOG_MAX, fold_log};
use crate::open_error::{StoreOpenError, failed};
use crate::reader_pool::ReaderPool;
use crate::reader_pool::copied_from::{CopiedFrom, Preparation};
use crate::secret_resealing::{KeyCheck, SealingKeys, reseal_with};
use crate::sqlite_store::{SharedStore, SqliteStore};
use crate::statements::Sql;
use crate::token_alias::TokenAlias;
use crate::writer::Writer;
use rusqlite::Connection;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use workgraph_core::model::time::Time;
use workgraph_core::storage::{CommitClock, GraphStoreError};
use workgraph_webhooks::Reseal;

/// Method by which the database of a store was copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyMethod {
    /// The copy is a hard link.
    Linked,
    /// The copy is a separate file, because the file system cannot make the link.
    Copied,
}

impl SqliteStore {
    /// Opens a closed store as the source of copies. It is never written again, also not by its copies. Returns the method by
    /// which the file system copies its database into a folder beside its own.
    ///
    /// # Errors
    /// Fails as [`open`](Self::open) does, and if the database can't be copied.
    pub fn open_source(
        path: impl AsRef<Path>,
        options: StoreOptions,
    ) -> Result<(Self, CopyMethod), StoreOpenError> {
        let options = StoreOptions {
            single_connection: true,
            ..options
        };
        let files = StorePaths::at(path.as_ref());
        let lock = files.lock()?;
        let first = connection_setup::open_writer(&files, &options)?;
        let method =
            copy_method(&files).map_err(|e| StoreOpenError::Io(files.database.clone(), e))?;
        let caches = StoreCaches::new(&options);
        let readers = Arc::new(ReaderPool::new(files.clone(), options, caches));
        readers.adopt(first)?;
        let inner = SharedStore::without_threads(
            Writer::Closed,
            readers,
            (files, options),
            Vec::new(),
            Some(lock),
        );
        Ok((Self::over(Arc::new(inner)), method))
    }

    /// Opens a copy of a source in a folder, with a single connection. Until its first write, the copy has no files, and reads
    /// through the connections and caches of the source. The first write makes the folder and copies the database into it;
    /// before it, `check` and `reseal` are called as in [`open_sealed`](Self::open_sealed). It fails if the folder has a
    /// database, or a file can't be read or written; the next write then tries again.
    ///
    /// # Errors
    /// Fails if the source can't be read.
    pub fn open_copy(
        source: &Self,
        folder: impl AsRef<Path>,
        options: StoreOptions,
        token_aliases: Vec<TokenAlias>,
        (mut check, mut reseal): (Box<KeyCheck<'static>>, Box<Reseal<'static>>),
    ) -> Result<Self, StoreOpenError> {
        let options = StoreOptions {
            single_connection: true,
            ..options
        };
        let files = StorePaths::in_folder(folder.as_ref());
        let last = source.readers.read(|tx| {
            let last = tx.one(Sql::LastCommitTime, [], |row| row.get(0));
            last.map_err(failed)
        });
        let last = last.map_err(StoreOpenError::Source)?.unwrap_or(0);
        let (from, to, mut lock) = (source.files.clone(), files.clone(), None);
        let copy = move || {
            if lock.is_none() {
                let taken = to.lock()?;
                link(&from, &to).map_err(|e| StoreOpenError::Io(to.database.clone(), e))?;
                lock = Some(taken);
            }
            Ok(())
        };
        let reseal = move |conn: &mut Connection| {
            let keys = SealingKeys {
                check: Some(&mut *check),
                reseal: &mut *reseal,
            };
            reseal_with(conn, keys)
        };
        let preparation = Preparation {
            copy: Box::new(copy),
            reseal: Box::new(reseal),
        };
        let copied_from = CopiedFrom::new(Arc::clone(&source.readers), preparation);
        let caches = StoreCaches::new(&options);
        let readers = ReaderPool::of_copy(files.clone(), options, caches, copied_from);
        let readers = Arc::new(readers);
        let clock = CommitClock::after(Time::from_millis(last));
        let writer = Writer::single(&files, Arc::clone(&readers), clock);
        let inner =
            SharedStore::without_threads(writer, readers, (files, options), token_aliases, None);
        Ok(Self::over(Arc::new(inner)))
    }

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
        // A copy without files of its own gets them.
        self.readers.leave_source()?;
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

    /// Returns true if the store is a [copy](Self::open_copy) that was not written yet.
    #[must_use]
    pub fn reads_in_source(&self) -> bool {
        self.readers.reads_in_source()
    }

    /// Refuses the first write of a [copy](Self::open_copy) that was not written yet: its folder is about to be removed, and a
    /// late write would make it again. A copy that was written, or another store, is not affected.
    pub fn refuse_first_write(&self) {
        self.readers.stay_in_source();
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
    let copied = copy_log(from, to).and_then(|()| link_or_copy(&from.database, &to.database));
    if copied
        .as_ref()
        .is_err_and(|error| error.kind() != ErrorKind::AlreadyExists)
    {
        remove_partial(to);
    }
    copied
}

fn copy_log(from: &StorePaths, to: &StorePaths) -> io::Result<()> {
    if from.wal_bytes() > 0 {
        fs::copy(from.log(), to.log())?;
    }
    Ok(())
}

/// Removes what a copy that failed has left.
fn remove_partial(files: &StorePaths) {
    for file in [files.log(), files.database.clone()] {
        if let Err(error) = fs::remove_file(&file)
            && error.kind() != ErrorKind::NotFound
        {
            let file = file.display().to_string();
            tracing::error!(%error, file, "a part of a copy could not be removed");
        }
    }
}

/// Returns the method by which a database is copied into a folder on its file system.
fn copy_method(files: &StorePaths) -> io::Result<CopyMethod> {
    let probe = files.database.with_extension("link");
    let method = link_or_copy(&files.database, &probe)?;
    fs::remove_file(probe)?;
    Ok(method)
}

/// Links a file, or copies it if the file system makes no link.
fn link_or_copy(from: &Path, to: &Path) -> io::Result<CopyMethod> {
    match fs::hard_link(from, to) {
        Ok(()) => Ok(CopyMethod::Linked),
        Err(error) if makes_no_link(error.kind()) => {
            fs::copy(from, to)?;
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
