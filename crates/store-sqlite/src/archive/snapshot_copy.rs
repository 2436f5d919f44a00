//! Copies of the database in the archive.
use super::ArchiveError;
use super::archive_folder::ArchiveFolder;
use super::names::ArchiveFile;
use super::segment::{SegmentDigest, bytes};
use flate2::Compression;
use flate2::read::GzEncoder;
use ring::digest::{Context, SHA256};
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Position of a copy of the database in its generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SnapshotPosition {
    pub(crate) generation: u64,
    /// Number of the first segment after it.
    pub(crate) next_segment: u64,
    /// Digest of the segment before `next_segment`.
    pub(crate) previous: SegmentDigest,
    /// Commits of the generation that the copy certainly includes.
    pub(crate) commits: u64,
    /// First commit as of which a state can be restored from the copy, which may include only some of the earlier commits.
    pub(crate) complete_from: u64,
    /// Time of the commit `complete_from`.
    pub(crate) at: u64,
}

impl SnapshotPosition {
    pub(crate) const fn file(&self) -> ArchiveFile {
        let (generation, number, at) = (self.generation, self.next_segment, self.at);
        ArchiveFile::Snapshot {
            generation,
            number,
            at,
        }
    }

    pub(crate) const fn database(&self) -> ArchiveFile {
        let (generation, number, at) = (self.generation, self.next_segment, self.at);
        ArchiveFile::Database {
            generation,
            number,
            at,
        }
    }

    fn json(&self, digest: &[u8]) -> Value {
        json!({
            "generation": self.generation,
            "next_segment": self.next_segment,
            "previous_segment": hex(&self.previous),
            "commits": self.commits,
            "complete_from": self.complete_from,
            "at": self.at,
            "sha256": hex(digest),
        })
    }

    /// Reads the description of a copy. Returns it with the digest of the compressed database.
    pub(crate) fn read(
        name: &str,
        file: &mut dyn Read,
    ) -> Result<(Self, SegmentDigest), ArchiveError> {
        let garbled = |reason: String| ArchiveError::damaged(name, reason);
        let read: Value = serde_json::from_reader(file).map_err(|e| garbled(e.to_string()))?;
        let number = |key: &str| {
            let missing = || garbled(format!("it has no {key}"));
            read.get(key).and_then(Value::as_u64).ok_or_else(missing)
        };
        let digest = |key: &str| {
            let missing = || garbled(format!("it has no {key}"));
            read.get(key)
                .and_then(Value::as_str)
                .and_then(unhex)
                .ok_or_else(missing)
        };
        let place = Self {
            generation: number("generation")?,
            next_segment: number("next_segment")?,
            previous: digest("previous_segment")?,
            commits: number("commits")?,
            complete_from: number("complete_from")?,
            at: number("at")?,
        };
        if place.file().name() != name {
            return Err(garbled("it is the description of another copy".into()));
        }
        Ok((place, digest("sha256")?))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<SegmentDigest> {
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(at * 2..at * 2 + 2)?, 16).ok()?;
    }
    (text.len() == 64).then_some(bytes)
}

/// Reader that computes the digest of the bytes that it reads.
pub(crate) struct SummedReader<R> {
    inner: R,
    pub(crate) sum: Context,
}

impl<R> SummedReader<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            sum: Context::new(&SHA256),
        }
    }
}

impl<R: Read> Read for SummedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.sum.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

/// Copy of the database, made from a snapshot, in a temporary file beside the database.
#[derive(Debug)]
pub(super) struct ScratchCopy {
    path: PathBuf,
    /// Bytes of the database.
    pub(super) length: u64,
}

impl ScratchCopy {
    /// Copies the open snapshot of a connection.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(super) fn of(snapshot: &Connection, path: &Path) -> Result<Self, ArchiveError> {
        remove(path)?;
        let mut copy = Self {
            path: path.to_owned(),
            length: 0,
        };
        copy.length = copied(snapshot, path)?;
        Ok(copy)
    }

    /// Puts the copy into the archive. The description is written last: a copy without one does not count.
    ///
    /// # Errors
    /// Fails if the archive cannot be written.
    pub(super) fn put(
        &self,
        place: &SnapshotPosition,
        folder: &dyn ArchiveFolder,
    ) -> Result<(), ArchiveError> {
        let name = place.database().name();
        let io = |error| ArchiveError::Io(name.clone(), error);
        let file = File::open(&self.path).map_err(io)?;
        let mut packed = SummedReader::new(GzEncoder::new(file, Compression::fast()));
        folder.put(&name, &mut packed).map_err(io)?;
        let description = place.json(&bytes(packed.sum.finish())).to_string();
        let name = place.file().name();
        let put = folder.put(&name, &mut description.as_bytes());
        put.map_err(|error| ArchiveError::Io(name, error))
    }
}

impl Drop for ScratchCopy {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::warn!(%error, "the temporary copy of the database could not be removed; the next copy replaces it");
        }
    }
}

fn remove(path: &Path) -> Result<(), ArchiveError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => {
            Err(ArchiveError::Io(path.display().to_string(), e))
        }
        _ => Ok(()),
    }
}

fn copied(snapshot: &Connection, scratch: &Path) -> Result<u64, ArchiveError> {
    let io = |error| ArchiveError::Io(scratch.display().to_string(), error);
    let mut made = OpenOptions::new();
    made.create_new(true).write(true).mode(0o600);
    made.open(scratch).map_err(io)?;
    let mut target = Connection::open(scratch)?;
    // In one step, so that the snapshot is read as a whole.
    let done = Backup::new(snapshot, &mut target)?.step(-1)?;
    if done != StepResult::Done {
        return Err(ArchiveError::Store(format!(
            "the copy did not finish: {done:?}"
        )));
    }
    target.close().map_err(|(_, error)| error)?;
    Ok(fs::metadata(scratch).map_err(io)?.len())
}
