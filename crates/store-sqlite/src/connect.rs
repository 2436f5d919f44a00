//! Files, the lock on them, and how every connection is set up.
use crate::error::OpenError;
use crate::schema;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, File, Permissions, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The oldest SQLite that is used: older ones can lose commits when a write and a checkpoint
/// overlap.
const OLDEST: i32 = 3_051_003;

/// The size of a page of the file.
pub(crate) const PAGE: u64 = 4096;

/// How long the writer waits for a lock: longer than a checkpoint holds one.
pub(crate) const WRITER_WAITS: Duration = Duration::from_secs(10);

/// How a store runs. Commits are always synced to disk before they are acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// The most connections that read at the same time; 0 means two more than there are cores.
    /// They are opened when first needed.
    pub readers: usize,
    /// Whether a thread of its own copies the write-ahead log into the database. Without it the
    /// log grows until the store is closed.
    pub checkpoints: bool,
    /// Bytes of write-ahead log after which it is copied.
    pub checkpoint_bytes: u64,
    /// Bytes of write-ahead log after which the writer waits until all of it is copied, so that it
    /// starts over.
    pub wal_limit_bytes: u64,
    /// The most bytes of the file that are mapped into memory, per connection: address space, not
    /// memory. SQLite as it comes maps 2 GiB at the most, and reads what lies behind; it is compiled for
    /// 1 TiB by `-DSQLITE_MAX_MMAP_SIZE`, as `.cargo/config.toml` does.
    pub mmap_bytes: u64,
    /// Kibibytes of page cache, per connection.
    pub cache_kib: u32,
    /// About how many bytes of nodes and edges that were read are remembered until a write touches
    /// them; 0 remembers nothing.
    pub records_bytes: usize,
    /// How long a read may take before it is stopped; the interrupt of a request may do so earlier.
    pub read_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            readers: 0,
            checkpoints: true,
            checkpoint_bytes: 4 << 20,
            wal_limit_bytes: 64 << 20,
            mmap_bytes: 1 << 40,
            cache_kib: 1024,
            records_bytes: 64 << 20,
            read_timeout: Duration::from_secs(5),
        }
    }
}

/// Where a store's data is.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) database: PathBuf,
    folder: PathBuf,
}

impl Files {
    /// A path that names a database file, or the folder for one.
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
            Self {
                database: path.join("workgraph.db"),
                folder: path.to_owned(),
            }
        }
    }

    /// Bytes of the write-ahead log on disk.
    pub(crate) fn wal_bytes(&self) -> u64 {
        let mut name = self.database.clone().into_os_string();
        name.push("-wal");
        fs::metadata(name).map_or(0, |m| m.len())
    }

    /// Makes the folder and takes the lock that keeps other processes out. It ends with the file
    /// handle.
    pub(crate) fn lock(&self) -> Result<File, OpenError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| OpenError::Io(path, error)
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
        // Whoever can open it could hold the lock. Files of before had the mode of the process.
        let mode = file.metadata().map_err(io(&path))?.permissions().mode();
        if mode & 0o077 != 0 {
            let changed = file.set_permissions(Permissions::from_mode(0o600));
            if_possible(changed).map_err(io(&path))?;
        }
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked(self.folder.clone())),
            Err(TryLockError::Error(error)) => Err(OpenError::Io(path, error)),
        }
    }

    /// Makes sure that a new file is found after a power cut.
    pub(crate) fn sync_folder(&self) -> Result<(), OpenError> {
        sync_folder(&self.folder).map_err(|e| OpenError::Io(self.folder.clone(), e))
    }
}

/// Passes over a change of mode that is not possible: the file is another user's, or files of its volume
/// have no modes of their own.
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
pub(crate) fn check_version() -> Result<(), OpenError> {
    if rusqlite::version_number() < OLDEST {
        return Err(OpenError::OldSqlite(rusqlite::version().to_owned()));
    }
    Ok(())
}

/// The connection that writes. It makes the file if there is none, and brings it up to date.
pub(crate) fn writer(files: &Files, options: &Options) -> Result<Connection, OpenError> {
    check_version()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&files.database, flags)?;
    set_up(&conn, options)?;
    let new = schema::inspect(&conn)?;
    if new {
        conn.pragma_update(None, "page_size", signed(PAGE))?;
    }
    conn.busy_timeout(WRITER_WAITS)?;
    let mode: String = conn.pragma_update_and_check(None, "journal_mode", "WAL", |r| r.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(OpenError::NoWal(mode));
    }
    schema::migrate(&conn)?;
    if new {
        files.sync_folder()?;
    }
    Ok(conn)
}

/// A connection beside the writer that never writes.
pub(crate) fn reader(files: &Files, options: &Options) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&files.database, flags)?;
    set_up(&conn, options)?;
    conn.pragma_update(None, "query_only", true)?;
    Ok(conn)
}

/// The connection that copies the write-ahead log into the database.
pub(crate) fn checkpointer(files: &Files, options: &Options) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&files.database, flags)?;
    set_up(&conn, options)?;
    Ok(conn)
}

/// A connection to the file of a store that this or another process may have open.
pub(crate) fn onlooker(files: &Files, options: &Options) -> Result<Connection, OpenError> {
    check_version()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&files.database, flags)?;
    set_up(&conn, options)?;
    Ok(conn)
}

/// What all connections have in common.
fn set_up(conn: &Connection, options: &Options) -> Result<(), OpenError> {
    conn.busy_timeout(Duration::from_secs(2))?;
    // Plans must not depend on bound values: otherwise statements are prepared anew at each use.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    conn.set_prepared_statement_cache_capacity(crate::sql::Sql::ALL.len());
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "cache_size", -i64::from(options.cache_kib))?;
    // These three answer with a row.
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

fn signed(bytes: u64) -> i64 {
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
        let folder = workgraph_testkit::Scratch::new("mapping");
        let options = Options::default();
        let conn = writer(&Files::at(folder.path()), &options).unwrap();
        let mapped = |conn: &Connection| -> i64 {
            conn.query_row("PRAGMA mmap_size", [], |row| row.get(0))
                .unwrap()
        };
        assert_eq!(mapped(&conn), signed(options.mmap_bytes));
        assert!(mapped(&conn) > 2 << 30);
    }

    #[test]
    fn a_lock_that_others_can_open_is_made_private_where_that_is_possible() {
        let folder = workgraph_testkit::Scratch::new("private");
        let files = Files::at(folder.path());
        drop(files.lock().unwrap());
        let path = folder.path().join("lock");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        // One that only its owner can open is not touched.
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
        let of = |path: &str| Files::at(Path::new(path));
        assert_eq!(
            of("/nowhere/data").database,
            Path::new("/nowhere/data/workgraph.db")
        );
        assert_eq!(of("/nowhere/data").folder, Path::new("/nowhere/data"));
        assert_eq!(of("/nowhere/x.db").folder, Path::new("/nowhere"));
        assert_eq!(of("x.db").folder, Path::new("."));
    }
}
