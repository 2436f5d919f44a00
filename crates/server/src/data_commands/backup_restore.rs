//! `workgraph restore` from a backup file: the counterpart of `workgraph backup`.
use crate::adapters::backup::{attachments_of, keys_of};
use crate::adapters::blob_folder::BlobFolder;
use crate::adapters::data_dir;
use crate::adapters::key_files;
use crate::adapters::stores::open_read_only;
use crate::data_commands::data_files::ATTACHMENTS;
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Parts of a backup that were restored in addition to the database.
pub(super) struct RestoredParts {
    /// Number of attachment files.
    pub(super) files: u64,
    /// Names of the key files.
    pub(super) keys: Vec<&'static str>,
}

/// Restores a backup to a data folder: the database, the attachment files and the keys.
///
/// # Errors
/// Fails if the backup is damaged, or the folder has a database or other keys; then no database is created.
pub(super) fn restore(from: &Path, to: &Path, keys: Option<&Path>) -> Result<RestoredParts> {
    data_dir::create_data_dir(to)?;
    remove_empty_database(to)?;
    for name in ["workgraph.db", "workgraph.db-wal", "workgraph.db-journal"] {
        if to.join(name).exists() {
            bail!(
                "{} exists already; restore into a folder without a database, or move it away first",
                to.join(name).display()
            );
        }
    }
    let store = open_read_only(from)?;
    let problems = store.check();
    let problems =
        problems.with_context(|| format!("{}: the backup can't be read", from.display()))?;
    if !problems.is_empty() {
        bail!(
            "{}: the backup is damaged: {}",
            from.display(),
            problems.join("; ")
        );
    }
    let own_keys = keys_of(from);
    let copied = match keys {
        Some(keys) => key_files::copy(keys, to)?,
        None => key_files::copy(&own_keys, to)?,
    };
    let files = BlobFolder::at(&attachments_of(from));
    let count = files.copy_to(&to.join(ATTACHMENTS));
    let count = count.with_context(|| format!("{}: the files can't be copied", to.display()))?;
    let database = to.join("workgraph.db");
    // The database comes last: a folder without one is not served.
    store
        .backup(&database)
        .with_context(|| format!("{}: the database can't be copied", database.display()))?;
    Ok(RestoredParts {
        files: count,
        keys: copied,
    })
}

/// Removes an empty database file.
pub(super) fn remove_empty_database(folder: &Path) -> Result<()> {
    let path = folder.join("workgraph.db");
    match std::fs::metadata(&path) {
        Ok(file) if file.len() == 0 => {
            std::fs::remove_file(&path).with_context(|| path.display().to_string())
        }
        _ => Ok(()),
    }
}
