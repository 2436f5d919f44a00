//! Backups: copies of the database, with the attachment files and the keys next to it.
use crate::adapters::blob_folder::BlobFolder;
use crate::adapters::key_files;
use crate::adapters::stores::open_read_only;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Returns the folder with the attachment files of a backup.
pub(crate) fn attachments_of(file: &Path) -> PathBuf {
    beside(file, ".attachments")
}

/// Returns the folder with the keys of a backup.
pub(crate) fn keys_of(file: &Path) -> PathBuf {
    beside(file, ".keys")
}

/// Copies the store to a new file, the attachment files, if any, to a folder with the same name and `.attachments`
/// appended, and the keys, unless excluded, to one with `.keys`. A server may be running. A backup that fails leaves
/// none of them.
///
/// # Errors
/// Fails if such a file or folder exists, or one can't be read or written.
pub(crate) fn backup(folder: &Path, to: &Path, with_keys: bool) -> Result<()> {
    let (files, partial) = (attachments_of(to), beside(to, ".attachments.partial"));
    let keys = keys_of(to);
    for made in [&files, &keys] {
        if made.exists() {
            bail!("{} exists already", made.display());
        }
    }
    if partial.exists() {
        // An interrupted backup left it behind.
        std::fs::remove_dir_all(&partial).with_context(|| partial.display().to_string())?;
    }
    let store = open_read_only(folder)?;
    let blobs = BlobFolder::new(folder);
    let copy_files = || {
        let copied = blobs.copy_to(&partial).map(drop);
        copied.with_context(|| format!("{}: the files can't be copied", partial.display()))
    };
    let copied = || -> Result<()> {
        // A file is written before its attachment, and removed after it. Files that may be removed during the backup are
        // copied before the database, files that are created during it after the database. So every file of the copied
        // database exists, unless it was created and removed during the backup.
        copy_files()?;
        if with_keys {
            // A checkpoint of the audit log is in the database before it is anchored.
            key_files::copy(folder, &keys)?;
        }
        store
            .backup(to)
            .with_context(|| format!("{}: the copy failed", to.display()))?;
        let finished = copy_files().and_then(|()| {
            if partial.exists() {
                std::fs::rename(&partial, &files).with_context(|| files.display().to_string())?;
            }
            Ok(())
        });
        if finished.is_err() {
            std::fs::remove_file(to).with_context(|| to.display().to_string())?;
        }
        finished
    };
    let outcome = copied();
    if outcome.is_err() {
        for made in [&partial, &keys] {
            if made.exists() {
                std::fs::remove_dir_all(made).with_context(|| made.display().to_string())?;
            }
        }
    }
    outcome
}

/// Returns a path with a suffix appended to its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
