//! Folder of an archive: files that are written once, as a whole, with names that include a folder.
use crate::connection_setup::sync_folder;
use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Files of an archive. Names are `generation/file`.
pub trait ArchiveFolder: Debug + Send + Sync {
    /// Writes a file durably and completely, or not at all.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    fn put(&self, name: &str, content: &mut dyn Read) -> io::Result<()>;

    /// Opens a file.
    ///
    /// # Errors
    /// Fails if the file does not exist or cannot be read.
    fn open(&self, name: &str) -> io::Result<Box<dyn Read>>;

    /// Returns the names of all files.
    ///
    /// # Errors
    /// Fails if they cannot be listed.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Removes a file.
    ///
    /// # Errors
    /// Fails if it cannot be removed.
    fn remove(&self, name: &str) -> io::Result<()>;
}

/// Archive in a directory. Its files hold hashes of passwords and tokens, so only their owner can read them.
#[derive(Clone, Debug)]
pub struct ArchiveDirectory(PathBuf);

/// Extension of a file that is being written.
const PARTIAL: &str = "partial";

impl ArchiveDirectory {
    /// Returns the archive in a directory, which is created with the first file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// Returns the names of the entries of a folder; none if it does not exist.
fn entries(folder: &Path) -> io::Result<Vec<String>> {
    let found = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        found => found?,
    };
    let name =
        |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    found.map(name).collect()
}

impl ArchiveFolder for ArchiveDirectory {
    fn put(&self, name: &str, content: &mut dyn Read) -> io::Result<()> {
        let path = self.0.join(name);
        let folder = path.parent().unwrap_or(&self.0);
        if !folder.is_dir() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
            sync_folder(&self.0)?;
        }
        let partial = path.with_extension(PARTIAL);
        let mut made = OpenOptions::new();
        let mut file = made
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&partial)?;
        io::copy(content, &mut file)?;
        file.sync_all()?;
        fs::rename(&partial, &path)?;
        sync_folder(folder)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(File::open(self.0.join(name))?))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for folder in entries(&self.0)? {
            let path = self.0.join(&folder);
            if path.is_dir() {
                let files = entries(&path)?
                    .into_iter()
                    .filter(|name| !name.ends_with(PARTIAL));
                names.extend(files.map(|file| format!("{folder}/{file}")));
            }
        }
        Ok(names)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.0.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // The folder is removed with its last file.
        match path.parent().map(fs::remove_dir) {
            Some(Err(error))
                if !matches!(
                    error.kind(),
                    ErrorKind::DirectoryNotEmpty | ErrorKind::NotFound
                ) =>
            {
                Err(error)
            }
            _ => Ok(()),
        }
    }
}
