//! Copies of the folder of a world.
use crate::adapters::data_dir::create_data_dir;
use crate::adapters::folder_use::KEYS;
use crate::adapters::stores::{CopyMethod, Storage, copy_closed};
use crate::stand_in::stand_in_folder::MARK;
use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Prefix of the names of the database and its files.
const DATABASE: &str = "workgraph.db";

/// World that is copied.
pub(crate) struct CopySource {
    folder: PathBuf,
    /// Store of the world, if it is open.
    storage: Option<Arc<Storage>>,
}

impl CopySource {
    /// Returns a world that nobody uses, given its folder.
    pub(crate) fn closed(folder: PathBuf) -> Self {
        Self {
            folder,
            storage: None,
        }
    }

    /// Returns a world that may be in use.
    pub(crate) fn open(folder: PathBuf, storage: Arc<Storage>) -> Self {
        Self {
            folder,
            storage: Some(storage),
        }
    }

    /// Copies the current content of the world into a new folder. If `with_keys` is false, leaves out the keys that seal
    /// page tokens, so that the copy gets its own.
    ///
    /// # Errors
    /// Fails if a file can't be read or written.
    pub(crate) async fn copy_to(self, to: PathBuf, with_keys: bool) -> Result<CopyMethod> {
        let copied = spawn_blocking(move || copy_world(&self, &to, with_keys)).await;
        copied.context("the copy broke off")?
    }
}

fn copy_world(source: &CopySource, to: &Path, with_keys: bool) -> Result<CopyMethod> {
    let from = &*source.folder;
    create_data_dir(to)?;
    let method = match &source.storage {
        Some(storage) => storage.copy_to(to)?,
        None => copy_closed(from, to)?,
    };
    copy_files(from, to, &|name| {
        let is_of_database = name.to_string_lossy().starts_with(DATABASE);
        // If the world is the root of a stand-in, the other worlds in its folder are not part of it.
        let is_left_out = name == "worlds" || name == MARK || (name == KEYS && !with_keys);
        !is_of_database && !is_left_out
    })?;
    Ok(method)
}

/// Copies the files and folders of a folder whose names `is_wanted` accepts; folders with everything in them. Sockets and
/// locks are not files.
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
