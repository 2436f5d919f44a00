//! Keys and small files that belong to the database of a data folder but are not in it.
use crate::adapters::data_dir::{create_data_dir, write_private};
use crate::adapters::folder_use::KEYS;
use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::path::Path;

/// Names of the files. The id that claims a bucket or an archive is not among them: of two copies of the data, only one may
/// continue to write there.
const FILES: [&str; 5] = [
    KEYS,
    "audit-key.json",
    "signing-keys.json",
    "limits.json",
    "audit-anchors",
];
/// Files that must be equal if both folders have them. Of all other files, the existing copy is the newer one.
const SAME: [&str; 2] = [KEYS, "audit-key.json"];
/// Files that a server needs to continue with the data as before.
const NEEDED: [&str; 3] = [KEYS, "audit-key.json", "signing-keys.json"];

/// Copies the files that one folder has and another one lacks. Returns their names.
///
/// # Errors
/// Fails if a file can't be read or written, or the target has another key; then nothing was written.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<Vec<&'static str>> {
    let mut copies = Vec::new();
    for name in FILES {
        let (source, target) = (from.join(name), to.join(name));
        let content = match std::fs::read(&source) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| source.display().to_string()),
        };
        match std::fs::read(&target) {
            Ok(present) if present == content || !SAME.contains(&name) => {}
            Ok(_) => bail!(
                "{}: it differs from {}; move one of the two away first",
                target.display(),
                source.display()
            ),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                copies.push((name, target, content));
            }
            Err(error) => return Err(error).with_context(|| target.display().to_string()),
        }
    }
    if !copies.is_empty() {
        create_data_dir(to)?;
    }
    for (_, target, content) in &copies {
        write_private(target, content)?;
    }
    Ok(copies.into_iter().map(|(name, ..)| name).collect())
}

/// Returns the files that a data folder needs but lacks.
pub(crate) fn missing(folder: &Path) -> Vec<&'static str> {
    let mut needed = NEEDED.to_vec();
    needed.retain(|name| !folder.join(name).exists());
    needed
}
