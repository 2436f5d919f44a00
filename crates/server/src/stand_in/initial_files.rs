//! Files of a world besides its database: attachments and exports, and anchors of its audit log.
use crate::adapters::data_dir::create_data_dir;
use crate::adapters::folder_use::KEYS;
use crate::adapters::private_values::{NAMES, file_name};
use crate::admin::bootstrap_file;
use crate::stand_in::stand_in_folder::MARK;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs::{copy, read_dir};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Prefix of the names of the database and its files.
const DATABASE: &str = "workgraph.db";
/// Name of the lock of a folder.
const LOCK: &str = "lock";
/// Folder of the worlds of a stand-in, in the folder of the world at the root.
const WORLDS: &str = "worlds";

/// Files that a world begins with, besides its database. What else belongs to a world is in memory.
pub(crate) struct InitialFiles {
    folder: PathBuf,
    /// Paths in the folder; a folder comes before the files in it.
    entries: Vec<(PathBuf, Kind)>,
}

#[derive(Clone, Copy)]
enum Kind {
    Folder,
    File,
}

impl InitialFiles {
    /// Lists the files in the folder of a world, which need not exist. Sockets, locks, and the other worlds of a stand-in are
    /// left out.
    ///
    /// # Errors
    /// Fails if a folder can't be read.
    pub(crate) fn list(folder: &Path) -> Result<Self> {
        let mut entries = Vec::new();
        list(folder, Path::new(""), &mut entries)?;
        Ok(Self {
            folder: folder.to_owned(),
            entries,
        })
    }

    /// Copies the files into a new folder; it is created only if there is a file.
    ///
    /// # Errors
    /// Fails if a file can't be read or written.
    pub(crate) fn copy_to(&self, to: &Path) -> Result<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        create_data_dir(to)?;
        for (path, kind) in &self.entries {
            let (from, target) = (self.folder.join(path), to.join(path));
            let named = || target.display().to_string();
            match kind {
                Kind::Folder => create_data_dir(&target)?,
                Kind::File => copy(&from, &target).map(drop).with_context(named)?,
            }
        }
        Ok(())
    }
}

/// Adds the entries of a folder, given its path in the folder of the world.
fn list(folder: &Path, inside: &Path, entries: &mut Vec<(PathBuf, Kind)>) -> Result<()> {
    let path = folder.join(inside);
    let is_top = inside.as_os_str().is_empty();
    let named = || path.display().to_string();
    let found = match read_dir(&path) {
        Err(error) if is_top && error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found.with_context(named)?,
    };
    for entry in found {
        let entry = entry.with_context(named)?;
        let (kind, name) = (entry.file_type()?, entry.file_name());
        if is_top && is_left_out(&name) {
            continue;
        }
        let inside = inside.join(&name);
        if kind.is_dir() {
            entries.push((inside.clone(), Kind::Folder));
            list(folder, &inside, entries)?;
        } else if kind.is_file() {
            entries.push((inside, Kind::File));
        }
    }
    Ok(())
}

fn is_left_out(name: &OsStr) -> bool {
    let is_of_database = name.to_string_lossy().starts_with(DATABASE);
    let mut others = [WORLDS, MARK, KEYS, LOCK, bootstrap_file::NAME].into_iter();
    let mut values = NAMES.into_iter().map(file_name);
    is_of_database || others.any(|other| name == other) || values.any(|value| name == &*value)
}
