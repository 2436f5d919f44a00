//! Backups: a copy of the database, and beside it those of the files of attachments and of the keys.
use crate::adapters::blob_folder::BlobFolder;
use crate::adapters::key_files;
use crate::adapters::stores::open_read_only;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Returns the folder of a backup with its files of attachments.
pub(crate) fn attachments_of(file: &Path) -> PathBuf {
    beside(file, ".attachments")
}

/// Returns the folder of a backup with its keys.
pub(crate) fn keys_of(file: &Path) -> PathBuf {
    beside(file, ".keys")
}

/// Copies the store to a new file, the files of attachments, if there are any, to a folder of that name with
/// `.attachments` behind it, and the keys, unless they are left out, to one with `.keys`; a server may be running. A backup
/// that fails leaves none of them.
///
/// # Errors
/// Fails if there is such a file or folder, or one can't be read or written.
pub(crate) fn backup(folder: &Path, to: &Path, with_keys: bool) -> Result<()> {
    let (files, partial) = (attachments_of(to), beside(to, ".attachments.partial"));
    let keys = keys_of(to);
    for made in [&files, &keys] {
        if made.exists() {
            bail!("{} exists already", made.display());
        }
    }
    if partial.exists() {
        // A backup that was cut off left it.
        std::fs::remove_dir_all(&partial).with_context(|| partial.display().to_string())?;
    }
    let store = open_read_only(folder)?;
    let blobs = BlobFolder::new(folder);
    let copy_files = || {
        let copied = blobs.copy_to(&partial).map(drop);
        copied.with_context(|| format!("{}: the files can't be copied", partial.display()))
    };
    let copied = || -> Result<()> {
        // Files are written before their attachments, and removed after them. So all files of the copied database are
        // there, unless they were made and removed while this runs: first those that may be removed meanwhile, then the
        // database, then those that were made meanwhile.
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

/// Returns a path with an end behind its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}
