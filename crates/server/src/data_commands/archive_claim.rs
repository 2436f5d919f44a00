//! Claim on an archive folder by the data folder whose commits it contains.
use crate::adapters::data_dir::require_unwritable_by_others;
use anyhow::{Context, Result, bail};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// File that identifies the owner.
const CLAIM: &str = "workgraph-owner";

/// Claims an archive for the data folder with this id: the first one to do so owns it.
///
/// # Errors
/// Fails if another one owns it, or it can't be read or written.
pub(super) fn claim(archive: &Path, own: &str) -> Result<()> {
    let path = archive.join(CLAIM);
    let named = || format!("archive.folder: {}", path.display());
    if !archive.is_dir() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(archive)
            .with_context(named)?;
    }
    require_unwritable_by_others(archive, "the archive (archive.folder)", "o-w")?;
    // The claim is written to a separate file and then linked, so that nobody reads a partial file, and only one of two
    // claims succeeds.
    let draft = archive.join(format!("{CLAIM}.{own}"));
    let written = OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut file| {
            file.write_all(own.as_bytes())
                .and_then(|()| file.sync_all())
        });
    written.with_context(named)?;
    let linked = std::fs::hard_link(&draft, &path);
    std::fs::remove_file(&draft).with_context(named)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(error).with_context(named);
        }
        _ => {}
    }
    let found = std::fs::read_to_string(&path).with_context(named)?;
    if found.trim() == own {
        return Ok(());
    }
    // Foreign content may have any length.
    let found: String = found.trim().chars().take(64).collect();
    bail!(
        "archive.folder: the archive of another server is in {}: {CLAIM} there names the owner {found}, and this one is {own} (the file bucket-owner of the data folder). Set another folder; if this server replaces that one, remove {}",
        archive.display(),
        path.display()
    )
}

/// Refuses an archive inside the data folder, which would be lost with it, and a data folder inside the archive.
///
/// # Errors
/// Fails if one is inside the other.
pub(super) fn check_apart(data: &Path, archive: &Path) -> Result<()> {
    let (data, archive) = (absolute(data), absolute(archive));
    if archive.starts_with(&data) || data.starts_with(&archive) {
        bail!(
            "archive.folder {}: it and the data folder {} must not be in one another: what destroys one would destroy both. Put it on another disk",
            archive.display(),
            data.display()
        );
    }
    Ok(())
}

/// Returns a path with its links resolved, as far as it exists.
fn absolute(path: &Path) -> PathBuf {
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for existing in full.ancestors() {
        if let (Ok(found), Ok(rest)) = (existing.canonicalize(), full.strip_prefix(existing)) {
            return found.join(rest);
        }
    }
    full
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_one_owner_and_is_apart_from_the_data() {
        let root = std::env::temp_dir().join(format!("workgraph-claim-{}", std::process::id()));
        let (data, archive) = (root.join("data"), root.join("archive"));
        std::fs::create_dir_all(&data).unwrap();
        claim(&archive, "one").unwrap();
        claim(&archive, "one").unwrap();
        let says = claim(&archive, "two").unwrap_err().to_string();
        assert!(
            says.contains("another server") && says.contains("one"),
            "{says}"
        );
        assert_eq!(std::fs::read_dir(&archive).unwrap().count(), 1);
        std::os::unix::fs::symlink(&data, root.join("link")).unwrap();
        check_apart(&data, &archive).unwrap();
        check_apart(&data, &root.join("data-archive")).unwrap();
        for inside in ["data", "data/archive", "data/a/b", "link/archive", "."] {
            assert!(check_apart(&data, &root.join(inside)).is_err(), "{inside}");
        }
        std::fs::remove_dir_all(&root).unwrap();
    }
}
