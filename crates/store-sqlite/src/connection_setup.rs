//! Files of a store, the lock on them, and the setup of every connection.
use crate::folder_lock::FolderLock;
use crate::migrations;
use crate::open_error::StoreOpenError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::ffi::CStr;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Oldest supported SQLite: earlier versions can lose commits when a write and a checkpoint overlap.
const OLDEST: i32 = 3_051_003;

/// Bytes of a page of the file.
pub(crate) const PAGE: u64 = 4096;

/// Time that the writer waits for a lock: longer than a checkpoint holds a lock.
pub(crate) const WRITER_WAITS: Duration = Duration::from_secs(10);

/// Name of the SQLite VFS that takes no locks. The default VFS shares the index of a log among all hard links of its
/// database.
const WITHOUT_LOCKS: &CStr = c"unix-none";

/// Options of a store. Commits are synced to disk before they are acknowledged, except with
/// [`single_connection`](Self::single_connection).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreOptions {
    /// Maximum number of connections that read at the same time; 0 means two more than there are cores. They are opened on
    /// first use.
    pub readers: usize,
    /// True if a separate thread copies the write-ahead log into the database. Without it the log grows until the store
    /// is closed.
    pub checkpoints: bool,
    /// Bytes of write-ahead log after which it is copied; if commits pause, a quarter of that.
    pub checkpoint_bytes: u64,
    /// Bytes of write-ahead log after which the writer waits until all of it is copied, so that it starts over.
    pub wal_limit_bytes: u64,
    /// Maximum number of bytes of the file that are mapped into memory, per connection: address space, not memory. A default
    /// build of SQLite maps at most 2 GiB, and reads the rest; `-DSQLITE_MAX_MMAP_SIZE`, as in `.cargo/config.toml`, raises
    /// that to 1 TiB.
    pub mmap_bytes: u64,
    /// Kibibytes of page cache, per connection.
    pub cache_kib: u32,
    /// Approximate bytes of nodes and edges that the node cache keeps until a write touches them; 0 keeps nothing.
    pub node_cache_bytes: usize,
    /// True if reads are cached, and snapshots are kept between reads. False sends every read to SQLite: answers are the same,
    /// only slower. This is meant for debugging.
    pub caches: bool,
    /// Time that a read may take before it is stopped; the interrupt of a request may stop it earlier.
    pub read_timeout: Duration,
    /// True if a single connection reads and writes, which suits a process with many small stores. Only the write-ahead log
    /// is written, never the database, so the databases of several stores may be hard links to one file
    /// ([`copy_to`](crate::SqliteStore::copy_to)). Commits outlive the process, but are not synced to disk.
    pub single_connection: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            readers: 0,
            checkpoints: true,
            checkpoint_bytes: 16 << 20,
            wal_limit_bytes: 64 << 20,
            mmap_bytes: 1 << 40,
            cache_kib: 1024,
            node_cache_bytes: 8 << 20,
            caches: true,
            read_timeout: Duration::from_secs(5),
            single_connection: false,
        }
    }
}

/// Paths of a store's folder and files.
#[derive(Clone, Debug)]
pub(crate) struct StorePaths {
    pub(crate) database: PathBuf,
    folder: PathBuf,
}

impl StorePaths {
    /// Returns the paths for a database file, or for the folder that contains it.
    pub(crate) fn at(path: &Path) -> Self {
        let is_file = path.is_file()
            || (!path.is_dir() && path.extension().is_some_and(|e| e == "db" || e == "sqlite"));
        let parent = path
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or_else(|| Path::new("."));
        if is_file {
            Self {
                database: path.to_owned(),
                folder: parent.to_owned(),
            }
        } else {
            Self::in_folder(path)
        }
    }

    /// Returns the paths for a folder.
    pub(crate) fn in_folder(path: &Path) -> Self {
        Self {
            database: path.join("workgraph.db"),
            folder: path.to_owned(),
        }
    }

    /// Returns the write-ahead log.
    pub(crate) fn log(&self) -> PathBuf {
        self.beside("-wal")
    }

    /// Returns the file beside the database with this suffix.
    fn beside(&self, end: &str) -> PathBuf {
        let mut name = self.database.clone().into_os_string();
        name.push(end);
        name.into()
    }

    /// Returns the size of the write-ahead log on disk in bytes.
    pub(crate) fn wal_bytes(&self) -> u64 {
        fs::metadata(self.log()).map_or(0, |m| m.len())
    }

    /// Returns the size of the database on disk in bytes.
    pub(crate) fn database_bytes(&self) -> u64 {
        fs::metadata(&self.database).map_or(0, |m| m.len())
    }

    /// Returns the path of the database, or of a file left by a removed database, if one exists: SQLite would take the pages
    /// of an old log for pages of a new database.
    pub(crate) fn existing(&self) -> Option<PathBuf> {
        let left = ["-wal", "-shm", "-journal"].map(|end| self.beside(end));
        let mut files = std::iter::once(self.database.clone()).chain(left);
        files.find(|file| file.exists())
    }

    /// Creates the folder and takes the lock that keeps other processes out.
    pub(crate) fn lock(&self) -> Result<FolderLock, StoreOpenError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| StoreOpenError::Io(path, error)
        };
        fs::create_dir_all(&self.folder).map_err(io(&self.folder))?;
        let path = self.folder.join("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(io(&path))?;
        // A user who can open the file could hold the lock. Older versions created files with the mode of the process.
        let mode = file.metadata().map_err(io(&path))?.permissions().mode();
        if mode & 0o077 != 0 {
            let changed = file.set_permissions(Permissions::from_mode(0o600));
            if_possible(changed).map_err(io(&path))?;
        }
        match FolderLock::take(file) {
            Ok(lock) => Ok(lock),
            Err(TryLockError::WouldBlock) => Err(StoreOpenError::Locked(self.folder.clone())),
            Err(TryLockError::Error(error)) => Err(StoreOpenError::Io(path, error)),
        }
    }

    /// Syncs the folder, so that a new file is found after a power failure.
    pub(crate) fn sync_folder(&self) -> Result<(), StoreOpenError> {
        sync_folder(&self.folder).map_err(|e| StoreOpenError::Io(self.folder.clone(), e))
    }
}

/// Ignores the error of a mode change that is not possible: the file belongs to another user, or the volume does not support
/// modes.
fn if_possible(changed: std::io::Result<()>) -> std::io::Result<()> {
    let passes = |kind| matches!(kind, ErrorKind::PermissionDenied | ErrorKind::Unsupported);
    match changed {
        Err(error) if passes(error.kind()) => Ok(()),
        other => other,
    }
}

/// Syncs the entries of a folder to disk.
pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Refuses to run with an SQLite that is too old.
pub(crate) fn check_version() -> Result<(), StoreOpenError> {
    if rusqlite::version_number() < OLDEST {
        return Err(StoreOpenError::OldSqlite(rusqlite::version().to_owned()));
    }
    Ok(())
}

/// Opens the connection that writes. Creates the file if it does not exist, and brings it up to date.
pub(crate) fn open_writer(
    files: &StorePaths,
    options: &StoreOptions,
) -> Result<Connection, StoreOpenError> {
    check_version()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = if options.single_connection {
        let conn = Connection::open_with_flags_and_vfs(&files.database, flags, WITHOUT_LOCKS)?;
        // Before the file is first read: the index of the log stays in the memory of this connection, and the log is kept.
        conn.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        conn
    } else {
        Connection::open_with_flags(&files.database, flags)?
    };
    set_up(&conn, options)?;
    let new = migrations::inspect(&conn)?;
    if new {
        conn.pragma_update(None, "page_size", signed(PAGE))?;
    }
    conn.busy_timeout(WRITER_WAITS)?;
    let mode: String = conn.pragma_update_and_check(None, "journal_mode", "WAL", |r| r.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(StoreOpenError::NoWal(mode));
    }
    migrations::migrate(&conn)?;
    if new {
        files.sync_folder()?;
    }
    Ok(conn)
}

/// Opens a read-only connection, in addition to the connection of the writer.
pub(crate) fn open_reader(
    files: &StorePaths,
    options: &StoreOptions,
) -> Result<Connection, StoreOpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&files.database, flags)?;
    set_up(&conn, options)?;
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}

/// Opens the connection that copies the write-ahead log into the database.
pub(crate) fn open_checkpointer(
    files: &StorePaths,
    options: &StoreOptions,
) -> Result<Connection, StoreOpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&files.database, flags)?;
    set_up(&conn, options)?;
    Ok(conn)
}

/// Opens a connection to the file of a store that this or another process may have open.
pub(crate) fn open_read_only_connection(
    files: &StorePaths,
    options: &StoreOptions,
) -> Result<Connection, StoreOpenError> {
    check_version()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&files.database, flags)?;
    set_up(&conn, options)?;
    Ok(conn)
}

/// Applies the setup that is common to all connections.
fn set_up(conn: &Connection, options: &StoreOptions) -> Result<(), StoreOpenError> {
    conn.busy_timeout(Duration::from_secs(2))?;
    // Plans must not depend on bound values: otherwise statements are prepared again at each use.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_prepared_statement_cache_capacity(crate::statements::Sql::ALL.len());
    let synchronous = if options.single_connection {
        "OFF"
    } else {
        "FULL"
    };
    conn.pragma_update(None, "synchronous", synchronous)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "cache_size", -i64::from(options.cache_kib))?;
    // These three return a row.
    conn.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
    conn.pragma_update_and_check(
        None,
        "journal_size_limit",
        signed(options.wal_limit_bytes),
        |_| Ok(()),
    )?;
    conn.pragma_update_and_check(None, "mmap_size", signed(options.mmap_bytes), |_| Ok(()))?;
    Ok(())
}

pub(crate) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linked_sqlite_is_new_enough() {
        assert!(
            rusqlite::version_number() >= 3_051_003,
            "{}",
            rusqlite::version()
        );
        check_version().unwrap();
    }

    #[test]
    fn a_file_is_mapped_beyond_two_gibibytes() {
        let folder = workgraph_testkit::ScratchFolder::new("mapping");
        let options = StoreOptions::default();
        let conn = open_writer(&StorePaths::at(folder.path()), &options).unwrap();
        let mapped = |conn: &Connection| -> i64 {
            conn.query_row("PRAGMA mmap_size", [], |row| row.get(0))
                .unwrap()
        };
        assert_eq!(mapped(&conn), signed(options.mmap_bytes));
        assert!(mapped(&conn) > 2 << 30);
    }

    #[test]
    fn a_lock_that_others_can_open_is_made_private_where_that_is_possible() {
        let folder = workgraph_testkit::ScratchFolder::new("private");
        let files = StorePaths::at(folder.path());
        drop(files.lock().unwrap());
        let path = folder.path().join("lock");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        // A file that only its owner can open is not changed.
        for (before, after) in [(0o644, 0o600), (0o660, 0o600), (0o700, 0o700)] {
            fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
            drop(files.lock().unwrap());
            assert_eq!(mode(), after, "{before:o}");
        }
        for (kind, passes) in [
            (ErrorKind::PermissionDenied, true),
            (ErrorKind::Unsupported, true),
            (ErrorKind::NotFound, false),
        ] {
            assert_eq!(if_possible(Err(kind.into())).is_ok(), passes, "{kind}");
        }
    }

    #[test]
    fn a_path_names_a_folder_or_a_file_in_one() {
        let of = |path: &str| StorePaths::at(Path::new(path));
        assert_eq!(
            of("/nowhere/data").database,
            Path::new("/nowhere/data/workgraph.db")
        );
        assert_eq!(of("/nowhere/data").folder, Path::new("/nowhere/data"));
        assert_eq!(of("/nowhere/x.db").folder, Path::new("/nowhere"));
        assert_eq!(of("x.db").folder, Path::new("."));
    }
}
