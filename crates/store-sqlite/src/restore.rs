//! Restore of the database as of a time, from a copy and the commits after it.
use crate::archive::archive_folder::ArchiveFolder;
use crate::archive::names::ArchiveFile;
use crate::archive::segment::{self, ArchivedCommit, bytes};
use crate::archive::snapshot_copy::{SnapshotPosition, SummedReader};
use crate::archive_error::ArchiveError;
use crate::connection_setup::{PAGE, StorePaths, sync_folder};
use crate::sqlite_store::SqliteStore;
use flate2::read::GzDecoder;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Restored state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// Generation of the archive.
    pub generation: u64,
    /// Number of the last commit in the generation; 0 for its initial state.
    pub commit: u64,
    /// Time of the state, in milliseconds since 1970.
    pub at: u64,
    /// Sequence number of the last change of the graph.
    pub seq: u64,
    /// Later generation that began before the requested time, but has no copy of the database that is old enough.
    pub skipped: Option<u64>,
}

/// Creates a store in a folder, as of the last commit at or before a time, and checks it. The folder must not have a store.
///
/// # Errors
/// Fails if the archive does not reach back far enough, is damaged, or has a gap, or the folder cannot be written. Then the
/// folder has no store.
pub fn restore(
    archive: &dyn ArchiveFolder,
    at: u64,
    folder: &Path,
) -> Result<Restored, ArchiveError> {
    let store = |e: crate::StoreOpenError| ArchiveError::Store(e.to_string());
    let files = StorePaths::at(folder);
    let lock = files.lock().map_err(store)?;
    if let Some(file) = files.existing() {
        return Err(ArchiveError::Exists(file));
    }
    let partial = files.database.with_extension("db.partial");
    let mut restored = write(archive, at, &partial)?;
    let io = |path: &Path| {
        let path = path.display().to_string();
        move |error| ArchiveError::Io(path, error)
    };
    fs::rename(&partial, &files.database).map_err(io(&files.database))?;
    sync_folder(folder).map_err(io(folder))?;
    let checked = check(folder, &partial);
    if checked.is_err() {
        // A database that failed its checks must not keep a name under which a server would open it.
        fs::rename(&files.database, &partial).map_err(io(&partial))?;
    }
    restored.seq = checked?;
    drop(lock);
    Ok(restored)
}

/// Checks the database of a folder; `partial` is its name if it is damaged. Returns its last commit.
fn check(folder: &Path, partial: &Path) -> Result<u64, ArchiveError> {
    let opened = SqliteStore::open_read_only(folder)
        .map_err(|error| ArchiveError::Store(error.to_string()))?;
    let problems = opened
        .check()
        .map_err(|error| ArchiveError::Store(error.to_string()))?;
    if !problems.is_empty() {
        return Err(ArchiveError::Unsound(partial.to_owned(), problems));
    }
    let last = "SELECT coalesce(max(seq), 0) FROM journal";
    let seq: i64 = opened.conn.query_row(last, [], |row| row.get(0))?;
    Ok(u64::try_from(seq).unwrap_or_default())
}

/// Returns the name of the newest copy of the database that is not newer than a time. Also returns a later generation that
/// began before the time but has no such copy.
fn newest_copy(files: &[ArchiveFile], until: u64) -> Option<(ArchiveFile, Option<u64>)> {
    let copies = files.iter().filter_map(|file| match file {
        ArchiveFile::Snapshot { generation, at, .. } if *at <= until => {
            Some((*generation, *at, *file))
        }
        _ => None,
    });
    let (generation, _, copy) = copies.max()?;
    let later = files.iter().map(|file| file.generation());
    let skipped = later.filter(|id| *id > generation && *id <= until).max();
    Some((copy, skipped))
}

/// Writes the database to a file without its final name.
fn write(archive: &dyn ArchiveFolder, until: u64, to: &Path) -> Result<Restored, ArchiveError> {
    let listed = archive
        .list()
        .map_err(|e| ArchiveError::Io("the archive".into(), e))?;
    let files: Vec<ArchiveFile> = listed
        .iter()
        .filter_map(|n| ArchiveFile::parse(n))
        .collect();
    let Some((copy, skipped)) = newest_copy(&files, until) else {
        return Err(nothing_so_old(&files));
    };
    let open = |name: &str| {
        archive
            .open(name)
            .map_err(|e| ArchiveError::Io(name.to_owned(), e))
    };
    let name = copy.name();
    let (position, digest) = SnapshotPosition::read(&name, &mut *open(&name)?)?;
    let database = position.database().name();
    let mut out = unpack(&database, open(&database)?, &digest, to)?;

    let written = |error| ArchiveError::Io(to.display().to_string(), error);
    let mut restored = Restored {
        generation: position.generation,
        commit: position.complete_from,
        at: position.at,
        seq: 0,
        skipped,
    };
    let (mut previous, mut next) = (position.previous, position.next_segment);
    let mut expected = position.commits + 1;
    let segments = files.iter().filter_map(|file| match file {
        ArchiveFile::Segment { generation, number }
            if *generation == position.generation && *number >= next =>
        {
            Some(*number)
        }
        _ => None,
    });
    let last = segments.max().unwrap_or_default();
    'segments: while next <= last {
        let name = ArchiveFile::Segment {
            generation: position.generation,
            number: next,
        }
        .name();
        let mut file = match archive.open(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ArchiveError::Missing(name));
            }
            found => found.map_err(|e| ArchiveError::Io(name.clone(), e))?,
        };
        let segment = segment::read(&name, &mut *file, (position.generation, next), &previous)?;
        for commit in &segment.commits {
            if commit.number != expected {
                return Err(ArchiveError::damaged(
                    &name,
                    "it has not the commits that follow",
                ));
            }
            if commit.at > until && commit.number > position.complete_from {
                break 'segments;
            }
            apply(&mut out, commit).map_err(written)?;
            expected += 1;
            if commit.number > position.complete_from {
                (restored.commit, restored.at) = (commit.number, commit.at);
            }
        }
        (previous, next) = (segment.digest, next + 1);
    }
    if expected <= position.complete_from {
        let name = ArchiveFile::Segment {
            generation: position.generation,
            number: next,
        }
        .name();
        return Err(ArchiveError::Missing(name));
    }
    out.sync_all().map_err(written)?;
    Ok(restored)
}

fn nothing_so_old(files: &[ArchiveFile]) -> ArchiveError {
    let oldest = files.iter().filter_map(|file| match file {
        ArchiveFile::Snapshot { at, .. } => Some(*at),
        _ => None,
    });
    ArchiveError::NothingSoOld(match oldest.min() {
        None => "the archive has no copy of a database".into(),
        Some(at) => match i64::try_from(at) {
            Ok(at) => format!(
                "the archive does not reach so far back: its oldest state is of {}",
                workgraph_core::model::time::Time::from_millis(at)
            ),
            Err(error) => error.to_string(),
        },
    })
}

/// Unpacks a copy of the database, and checks it.
fn unpack(
    name: &str,
    file: Box<dyn Read>,
    digest: &[u8; 32],
    to: &Path,
) -> Result<File, ArchiveError> {
    let io = |error| ArchiveError::Io(to.display().to_string(), error);
    let mut made = OpenOptions::new();
    let mut out = made
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(to)
        .map_err(io)?;
    let mut packed = SummedReader::new(file);
    let unpacked = io::copy(&mut GzDecoder::new(&mut packed), &mut out);
    unpacked.map_err(|error| ArchiveError::damaged(name, error.to_string()))?;
    // Bytes after the end also belong to the digest.
    let rest = io::copy(&mut packed, &mut io::sink());
    rest.map_err(|error| ArchiveError::Io(name.to_owned(), error))?;
    if bytes(packed.sum.finish()) != *digest {
        return Err(ArchiveError::damaged(
            name,
            "its digest is not that of its description",
        ));
    }
    Ok(out)
}

fn apply(out: &mut File, commit: &ArchivedCommit) -> io::Result<()> {
    for (number, page) in &commit.pages {
        let before = u64::from(number.saturating_sub(1));
        out.seek(SeekFrom::Start(before * PAGE))?;
        out.write_all(page)?;
    }
    out.set_len(u64::from(commit.size) * PAGE)
}
