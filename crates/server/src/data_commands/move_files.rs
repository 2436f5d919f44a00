//! Files in a move: attachment and export files, copied between a data folder and the folder that nodes share.
use crate::data_commands::data_digest::file_digest;
use crate::data_commands::data_files::{COPYING, FOLDERS, UNFINISHED};
use anyhow::{Context, Result, bail};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Number and size of copied files.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct CopiedFiles {
    /// Number of copied files.
    pub(crate) copied: u64,
    /// Number of files that already existed.
    pub(crate) present: u64,
    /// Number of copied bytes.
    pub(crate) bytes: u64,
}

/// Returns the data files in a folder, as relative paths.
///
/// # Errors
/// Fails if a folder can't be read.
pub(crate) fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for name in FOLDERS {
        visit(folder, Path::new(name), &mut files)
            .with_context(|| folder.join(name).display().to_string())?;
    }
    files.sort();
    Ok(files)
}

fn visit(root: &Path, within: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = match std::fs::read_dir(root.join(within)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    for entry in entries {
        let entry = entry?;
        let path = within.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            visit(root, &path, files)?;
        } else if path.extension().is_none_or(|end| end != COPYING) {
            files.push(path);
        }
    }
    Ok(())
}

/// Copies files from one folder to another, each completely or not at all, with their modification times. Existing files
/// are kept. `progress` gets the number of files that are done.
///
/// # Errors
/// Fails if a file can't be copied, its copy differs, or the target has a different file with that name.
pub(crate) fn copy_files(
    files: &[PathBuf],
    from: &Path,
    to: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<CopiedFiles> {
    let mut done = CopiedFiles::default();
    for file in files {
        let (source, target) = (from.join(file), to.join(file));
        let named = || target.display().to_string();
        let is_unfinished = file
            .extension()
            .is_some_and(|end| UNFINISHED.iter().any(|unfinished| end == *unfinished));
        let digest = file_digest(&source).with_context(|| source.display().to_string())?;
        if !is_unfinished && target.exists() {
            if file_digest(&target).with_context(named)? != digest {
                bail!("{}: another file is there", target.display());
            }
            done.present += 1;
        } else {
            done.bytes += copy_file(&source, &target).with_context(named)?;
            if file_digest(&target).with_context(named)? != digest {
                bail!(
                    "{}: the copy differs from {}",
                    target.display(),
                    source.display()
                );
            }
            done.copied += 1;
        }
        progress(done.copied + done.present);
    }
    Ok(done)
}

/// Copies one file. Returns its size in bytes.
fn copy_file(source: &Path, target: &Path) -> io::Result<u64> {
    let folder = target.parent().unwrap_or(Path::new("."));
    if !folder.is_dir() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    let mut name = target.as_os_str().to_owned();
    name.push(".");
    name.push(COPYING);
    let draft = PathBuf::from(name);
    match std::fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut read = File::open(source)?;
    let mut written = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&draft)?;
    let bytes = io::copy(&mut read, &mut written)?;
    // The age of a file determines when it is removed.
    written.set_modified(read.metadata()?.modified()?)?;
    written.sync_all()?;
    std::fs::rename(&draft, target)?;
    File::open(folder)?.sync_all()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, SystemTime};

    /// S951.
    #[test]
    fn files_are_copied_once_with_their_times_and_none_is_written_over() {
        let root =
            std::env::temp_dir().join(format!("workgraph-move-files-{}", std::process::id()));
        let (from, to) = (root.join("from"), root.join("to"));
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for (file, content) in [
            ("attachments/0a/12", "one"),
            ("exports/7.json.gz", "two"),
            ("exports/8.part", "thr"),
            ("exports/9.part.moving", "left over"),
            ("other/1", "no file of the data"),
        ] {
            let path = from.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, content).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(old).unwrap();
        }
        let files = files_in(&from).unwrap();
        assert_eq!(files.len(), 3, "{files:?}");
        let mut seen = Vec::new();
        let copied = copy_files(&files, &from, &to, &mut |done| seen.push(done)).unwrap();
        let expected = |copied, present, bytes| CopiedFiles {
            copied,
            present,
            bytes,
        };
        assert_eq!(copied, expected(3, 0, 9));
        assert_eq!(seen, [1, 2, 3]);
        let copy = to.join("attachments/0a/12");
        assert_eq!(std::fs::metadata(&copy).unwrap().modified().unwrap(), old);

        // An interrupted attempt continues; the unfinished file has grown since.
        std::fs::write(from.join("exports/8.part"), "three").unwrap();
        let again = || copy_files(&files, &from, &to, &mut |_| {});
        assert_eq!(again().unwrap(), expected(1, 2, 5));
        std::fs::write(&copy, "a file of another store").unwrap();
        let refused = format!("{:#}", again().unwrap_err());
        assert!(refused.contains("another file is there"), "{refused}");
        assert_eq!(std::fs::read(&copy).unwrap(), b"a file of another store");
        std::fs::remove_dir_all(&root).unwrap();
    }
}
