//! Copies of a store that is in use, and looking at one without writing to it.
use crate::check;
use crate::connect::{self, Files, Options};
use crate::error::{OpenError, failed};
use crate::schema;
use crate::store::SqliteStore;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use workgraph_core::graph::StoreError;

/// A store opened for reading only, also beside the process that has it open.
#[derive(Debug)]
pub struct ReadOnly {
    pub(crate) conn: Connection,
}

impl ReadOnly {
    fn of(files: &Files, options: &Options) -> Result<Self, OpenError> {
        let database = &files.database;
        fs::metadata(database).map_err(|e| OpenError::Io(database.clone(), e))?;
        let conn = connect::onlooker(files, options)?;
        if schema::inspect(&conn)? || !schema::is_newest(&conn)? {
            return Err(OpenError::Older);
        }
        Ok(Self { conn })
    }

    /// Copies the state of this moment into a new file, which is on disk when this returns.
    /// Writers go on meanwhile. Hashes of passwords and tokens are in it, so from its first byte on it is its
    /// owner's alone.
    ///
    /// # Errors
    /// When there is such a file already, or one cannot be read or written.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<(), StoreError> {
        let to = to.as_ref();
        let io = |error: std::io::Error| StoreError::Failed(format!("{}: {error}", to.display()));
        if to.try_exists().map_err(io)? {
            return Err(StoreError::Failed(format!(
                "{} exists already",
                to.display()
            )));
        }
        // Under its own name only when it is whole.
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
        let copied = copy(&self.conn, &partial).and_then(|()| {
            fs::File::open(&partial)
                .and_then(|file| file.sync_all())
                .map_err(io)?;
            fs::rename(&partial, to).map_err(io)
        });
        if copied.is_err() {
            // If it stays, the next copy to this place removes it; why there is none now is what matters.
            let _ = fs::remove_file(&partial);
            return copied;
        }
        let folder = to
            .parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or_else(|| Path::new("."));
        connect::sync_folder(folder).map_err(io)
    }

    /// Looks for what must not be: damage to the file, and contradictions in the graph. Reads
    /// everything. No problems means an empty list.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        check::problems(&self.conn).map_err(failed)
    }
}

fn copy(from: &Connection, to: &Path) -> Result<(), StoreError> {
    let mut target = Connection::open(to).map_err(failed)?;
    let done = Backup::new(from, &mut target)
        // In one step: in several, each commit in between would make it start over.
        .and_then(|backup| backup.step(-1))
        .map_err(failed)?;
    if done != StepResult::Done {
        return Err(StoreError::Failed(format!(
            "the copy did not finish: {done:?}"
        )));
    }
    target.close().map_err(|(_, error)| failed(error))
}

impl SqliteStore {
    /// Opens a store for reading only; another process may have it open.
    ///
    /// # Errors
    /// When there is none, or it is not of this version.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<ReadOnly, OpenError> {
        ReadOnly::of(&Files::at(path.as_ref()), &Options::default())
    }

    fn read_only(&self) -> Result<ReadOnly, StoreError> {
        ReadOnly::of(&self.files, &self.options).map_err(|e| StoreError::Failed(e.to_string()))
    }

    /// See [`ReadOnly::backup`]. Runs on this thread and may take long.
    ///
    /// # Errors
    /// As there.
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<(), StoreError> {
        self.read_only()?.backup(to)
    }

    /// See [`ReadOnly::check`]. Runs on this thread and may take long.
    ///
    /// # Errors
    /// As there.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        self.read_only()?.check()
    }
}
