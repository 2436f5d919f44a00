//! Copies of the folder of a world.
use crate::adapters::data_dir::create_data_dir;
use crate::adapters::folder_use::KEYS;
use crate::adapters::stores::open_read_only;
use crate::stand_in::stand_in_folder::MARK;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::path::Path;

/// Begin of the names of the database and of the files that belong to it.
const DATABASE: &str = "workgraph.db";

/// Copies everything that a world has now into a new folder, without the keys that seal page tokens if the copy is to have its
/// own. The world may be in use.
///
/// # Errors
/// Fails if a file can't be read or written.
pub(crate) fn copy_world(from: &Path, to: &Path, with_keys: bool) -> Result<()> {
    create_data_dir(to)?;
    let database = to.join(DATABASE);
    let copied = open_read_only(from)?.backup(&database);
    copied.with_context(|| format!("{}: the copy failed", database.display()))?;
    copy_files(from, to, &|name| {
        let is_of_database = name.to_string_lossy().starts_with(DATABASE);
        // The worlds of a stand-in whose root this is are no part of it.
        let is_left_out = name == "worlds" || name == MARK || (name == KEYS && !with_keys);
        !is_of_database && !is_left_out
    })
}

/// Copies the files of a folder with the names that `is_wanted`, and its folders with all that they contain. Sockets and locks
/// are no files.
fn copy_files(from: &Path, to: &Path, is_wanted: &dyn Fn(&OsStr) -> bool) -> Result<()> {
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry.with_context(|| from.display().to_string())?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if !is_wanted(&entry.file_name()) {
            continue;
        }
        if kind.is_dir() {
            create_data_dir(&target)?;
            copy_files(&entry.path(), &target, &|_| true)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), &target).with_context(|| target.display().to_string())?;
        }
    }
    Ok(())
}
