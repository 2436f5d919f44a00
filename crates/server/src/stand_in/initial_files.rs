//! Files of a world besides its database.
use crate::adapters::data_dir::create_data_dir;
use crate::adapters::folder_use::KEYS;
use crate::stand_in::stand_in_folder::MARK;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::fs::{copy, hard_link, read_dir};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Prefix of the names of the database and its files.
const DATABASE: &str = "workgraph.db";
/// Lock of a folder.
const LOCK: &str = "lock";
/// Folder of the worlds of a stand-in, in the folder of the world at the root.
const WORLDS: &str = "worlds";

/// Files that a world begins with, besides its database and its keys.
pub(crate) struct InitialFiles {
    folder: PathBuf,
    /// Paths in the folder; a folder comes before the files in it.
    entries: Vec<(PathBuf, Kind)>,
}

#[derive(Clone, Copy)]
enum Kind {
    Folder,
    /// File that is only ever replaced by another, so a hard link serves as a copy.
    Replaced,
    Other,
}

impl InitialFiles {
    /// Lists the files in the folder of a world. Sockets, locks, and the other worlds of a stand-in are left out.
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

    /// Copies the files into a new folder.
    ///
    /// # Errors
    /// Fails if a file can't be read or written.
    pub(crate) fn copy_to(&self, to: &Path) -> Result<()> {
        create_data_dir(to)?;
        for (path, kind) in &self.entries {
            let (from, target) = (self.folder.join(path), to.join(path));
            let named = || target.display().to_string();
            match kind {
                Kind::Folder => create_data_dir(&target)?,
                Kind::Replaced => match hard_link(&from, &target) {
                    // Any other error meets the copy, too.
                    Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                        copy(&from, &target).map(drop).with_context(named)?;
                    }
                    linked => linked.with_context(named)?,
                },
                Kind::Other => copy(&from, &target).map(drop).with_context(named)?,
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
    for entry in read_dir(&path).with_context(named)? {
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
            let is_replaced = is_top && inside.extension().is_some_and(|end| end == "json");
            let kind = if is_replaced {
                Kind::Replaced
            } else {
                Kind::Other
            };
            entries.push((inside, kind));
        }
    }
    Ok(())
}

fn is_left_out(name: &OsStr) -> bool {
    let is_of_database = name.to_string_lossy().starts_with(DATABASE);
    is_of_database || [WORLDS, MARK, KEYS, LOCK].iter().any(|left| name == *left)
}
