//! The export files in the data folder: written in pieces under a temporary name, renamed when they are complete, and
//! removed some time later.
use crate::adapters::gzip;
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::{DirBuilder, DirEntry, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use workgraph_api::features::exports::export_files::{
    EXPORT_RETENTION, ExportFiles, ExportWriteError, RESOURCE_EXPORT_RETENTION, file_name,
};
use workgraph_core::Gid;
use workgraph_core::jobs::FileEnd;
use workgraph_core::jobs::{DEADLINE_MS, FileOutput};

/// Extension of complete files that are kept for a month.
const LONG: &str = ".long";

/// Extension of the files with the fencing tokens, if nodes share the folder.
const FENCE: &str = "fence";

/// Highest fencing token seen for each file that was written to. A writer holds the lock of its file.
type FencingTokens = Mutex<HashMap<Gid, Arc<Mutex<u64>>>>;

/// Folder of the files.
#[derive(Debug)]
pub(crate) struct ExportFolder {
    path: PathBuf,
    fences: FencingTokens,
    /// True if other nodes write to the folder, too: then fencing tokens are also stored as files.
    is_shared: bool,
}

impl ExportFolder {
    /// Returns the folder in the data folder, or in one that other nodes share; it is created when it is first needed.
    pub(crate) fn new(data: &Path, is_shared: bool) -> Self {
        Self {
            path: data.join("exports"),
            fences: FencingTokens::default(),
            is_shared,
        }
    }

    /// Opens a complete file. Returns it with its length in bytes, or `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if it exists but can't be read.
    pub(crate) fn open(&self, file: Gid) -> io::Result<Option<(File, u64)>> {
        for long in [false, true] {
            match File::open(self.whole(file, long)) {
                Ok(file) => {
                    let length = file.metadata()?.len();
                    return Ok(Some((file, length)));
                }
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Ok(None)
    }

    /// Removes files that are no longer needed: complete files without a valid address, and parts whose job can't be
    /// running. Returns the number of removed files.
    ///
    /// # Errors
    /// Fails if the folder can't be read.
    pub(crate) fn sweep(&self, now: SystemTime) -> io::Result<usize> {
        let entries = match std::fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(e) => return Err(e),
        };
        let mut removed = 0;
        for entry in entries {
            let entry = entry?;
            match self.sweep_one(&entry, now) {
                Ok(gone) => removed += usize::from(gone),
                // Another task has removed it since.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => {
                    let file = entry.path().display().to_string();
                    tracing::warn!(file, reason = e.to_string(), "a file could not be removed");
                }
            }
        }
        Ok(removed)
    }

    /// Removes a file if it is an export file and has expired. Returns true if it was removed.
    fn sweep_one(&self, entry: &DirEntry, now: SystemTime) -> io::Result<bool> {
        let name = entry.file_name();
        let Some((gid, rest)) = name.to_str().and_then(|n| n.split_once('.')) else {
            return Ok(false);
        };
        let kept = match rest {
            "part" | FENCE => 2 * Duration::from_millis(DEADLINE_MS.unsigned_abs()),
            rest if rest.ends_with(LONG) => RESOURCE_EXPORT_RETENTION,
            _ => EXPORT_RETENTION,
        };
        let about = entry.metadata()?;
        let age = now.duration_since(about.modified()?);
        if !about.is_file() || !age.is_ok_and(|age| age > kept) {
            return Ok(false);
        }
        std::fs::remove_file(entry.path())?;
        if let Some(gid) = Gid::parse(gid) {
            self.fences.lock().remove(&gid);
        }
        Ok(true)
    }

    /// Returns the path of a complete file; `long` is true if it is kept for a month.
    fn whole(&self, file: Gid, long: bool) -> PathBuf {
        let name = file_name(file);
        self.path.join(if long { name + LONG } else { name })
    }

    fn part(&self, file: Gid) -> PathBuf {
        self.path.join(format!("{file}.part"))
    }

    fn fence(&self, file: Gid) -> Arc<Mutex<u64>> {
        Arc::clone(self.fences.lock().entry(file).or_default())
    }
}

#[async_trait]
impl ExportFiles for ExportFolder {
    async fn append(&self, output: FileOutput<'_>) -> Result<FileEnd, ExportWriteError> {
        let writing = ExportAppend {
            folder: self.path.clone(),
            part: self.part(output.file),
            whole: self.whole(output.file, output.keep_long),
            after: output.after,
            ends: output.is_complete,
        };
        let (seen, fence) = (self.fence(output.file), output.fence);
        let shared_fence = self.is_shared.then(|| {
            let name = format!("{}.{FENCE}", output.file);
            self.path.join(name)
        });
        let bytes = output.bytes.to_vec();
        let task = tokio::task::spawn_blocking(move || {
            let mut seen = seen.lock();
            if *seen > fence {
                return Err(ExportWriteError::StaleFencingToken);
            }
            *seen = fence;
            let failed = |e| ExportWriteError::Failed(format!("The file can't be written: {e}"));
            // The lock of the file lasts until the piece is written.
            let _lock = match shared_fence {
                Some(path) => {
                    writing.create_folder().map_err(failed)?;
                    let lock = raise_shared_fence(&path, fence).map_err(failed)?;
                    Some(lock.ok_or(ExportWriteError::StaleFencingToken)?)
                }
                None => None,
            };
            writing.append(&bytes).map_err(failed)
        });
        let failed = |e: tokio::task::JoinError| ExportWriteError::Failed(e.to_string());
        task.await.map_err(failed)?
    }

    async fn remove(&self, file: Gid) {
        let whole = [false, true].map(|long| self.whole(file, long));
        for path in whole.into_iter().chain([self.part(file)]) {
            match std::fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(
                        file = file.get(),
                        reason = e.to_string(),
                        "a file could not be removed"
                    );
                }
                _ => {}
            }
        }
        // No job writes to it any more.
        self.fences.lock().remove(&file);
    }
}

/// Piece that is written to the disk.
struct ExportAppend {
    folder: PathBuf,
    part: PathBuf,
    whole: PathBuf,
    after: FileEnd,
    ends: bool,
}

/// Locks the file with a fencing token and raises the token. Returns `None` if it already has a higher one.
fn raise_shared_fence(path: &Path, fence: u64) -> io::Result<Option<File>> {
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(path)?;
    file.lock()?;
    let mut seen = String::new();
    file.read_to_string(&mut seen)?;
    // A partly written token belongs to a writer that died before it wrote anything else.
    if seen
        .trim_end_matches('\n')
        .parse()
        .is_ok_and(|seen: u64| seen > fence)
    {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(0))?;
    file.write_all(format!("{fence}\n").as_bytes())?;
    file.sync_data()?;
    Ok(Some(file))
}

impl ExportAppend {
    fn create_folder(&self) -> io::Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        let mut folder = DirBuilder::new();
        folder.recursive(true).mode(0o700).create(&self.folder)
    }

    fn append(&self, bytes: &[u8]) -> io::Result<FileEnd> {
        let fresh = self.after.length == 0;
        if fresh {
            self.create_folder()?;
        }
        if !self.part.exists() && self.whole.exists() {
            // The file was complete, but that was not committed.
            std::fs::rename(&self.whole, &self.part)?;
        }
        let mut file = OpenOptions::new()
            .create(fresh)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&self.part)?;
        if file.metadata()?.len() < self.after.length {
            return Err(io::Error::other("a part of it is gone"));
        }
        file.set_len(self.after.length)?;
        file.seek(SeekFrom::End(0))?;
        let (piece, mark) = gzip::piece(self.after, bytes, self.ends)?;
        file.write_all(&piece)?;
        file.sync_all()?;
        if self.ends {
            std::fs::rename(&self.part, &self.whole)?;
        }
        if fresh || self.ends {
            File::open(&self.folder)?.sync_all()?;
        }
        Ok(mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    struct Data(PathBuf);
    impl Data {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("workgraph-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }
    impl Drop for Data {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const FILE: Gid = match Gid::new(77) {
        Some(gid) => gid,
        None => unreachable!(),
    };

    fn output(after: FileEnd, fence: u64, bytes: &[u8], ends: bool) -> FileOutput<'_> {
        FileOutput {
            file: FILE,
            fence,
            after,
            bytes,
            is_complete: ends,
            keep_long: false,
        }
    }

    fn text(folder: &ExportFolder) -> String {
        let (file, _) = folder.open(FILE).unwrap().unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(file)
            .read_to_string(&mut text)
            .unwrap();
        text
    }

    #[tokio::test]
    async fn what_is_beyond_the_mark_is_cut_off_and_the_end_can_come_again() {
        let data = Data::new("exports-cut");
        let folder = ExportFolder::new(&data.0, false);
        let start = FileEnd::default();
        let one = folder
            .append(output(start, 1, b"one ", false))
            .await
            .unwrap();
        folder
            .append(output(one, 1, b"lost ", false))
            .await
            .unwrap();
        assert!(folder.open(FILE).unwrap().is_none(), "not whole");
        let two = folder.append(output(one, 2, b"two ", false)).await.unwrap();
        folder.append(output(two, 2, b"end", true)).await.unwrap();
        assert_eq!(text(&folder), "one two end");
        folder.append(output(two, 3, b"END", true)).await.unwrap();
        assert_eq!(text(&folder), "one two END");
    }

    /// S926.
    #[tokio::test]
    async fn whoever_lost_the_job_to_another_node_cannot_write_any_more() {
        let data = Data::new("exports-shared-fence");
        let nodes = [true, true].map(|is_shared| ExportFolder::new(&data.0, is_shared));
        let start = FileEnd::default();
        let [first, second] = &nodes;
        let one = first
            .append(output(start, 9, b"one ", false))
            .await
            .unwrap();
        second.append(output(one, 10, b"two", true)).await.unwrap();
        let late = first.append(output(one, 9, b"late", true)).await;
        assert_eq!(late, Err(ExportWriteError::StaleFencingToken));
        assert_eq!(text(first), "one two", "each node sees the file");
    }

    #[tokio::test]
    async fn whoever_lost_the_job_cannot_write_any_more() {
        let data = Data::new("exports-fence");
        let folder = ExportFolder::new(&data.0, false);
        let start = FileEnd::default();
        let one = folder
            .append(output(start, 1, b"one ", false))
            .await
            .unwrap();
        folder.append(output(one, 2, b"two", true)).await.unwrap();
        let late = folder.append(output(one, 1, b"late", true)).await;
        assert_eq!(late, Err(ExportWriteError::StaleFencingToken));
        assert_eq!(text(&folder), "one two");
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_written_and_a_file_that_is_gone_are_told() {
        let data = Data::new("exports-fail");
        std::fs::write(data.0.join("exports"), "in the way").unwrap();
        let folder = ExportFolder::new(&data.0, false);
        let refused = folder
            .append(output(FileEnd::default(), 1, b"x", false))
            .await;
        assert!(
            matches!(refused, Err(ExportWriteError::Failed(reason)) if reason.contains("can't be written"))
        );
        std::fs::remove_file(data.0.join("exports")).unwrap();
        let one = folder
            .append(output(FileEnd::default(), 1, b"x", false))
            .await
            .unwrap();
        folder.remove(FILE).await;
        let refused = folder.append(output(one, 1, b"y", false)).await;
        assert!(matches!(refused, Err(ExportWriteError::Failed(_))));
        folder.remove(FILE).await;
        assert!(folder.fences.lock().is_empty(), "nothing is kept of it");
    }

    #[tokio::test]
    async fn files_go_when_their_time_is_up() {
        let data = Data::new("exports-sweep");
        let folder = ExportFolder::new(&data.0, false);
        assert_eq!(folder.sweep(SystemTime::UNIX_EPOCH).unwrap(), 0);
        folder
            .append(output(FileEnd::default(), 1, b"x", true))
            .await
            .unwrap();
        let part = data.0.join("exports/78.part");
        std::fs::write(&part, "x").unwrap();
        // A foreign file stays, and does not end the sweep.
        std::fs::create_dir(data.0.join("exports/0.part")).unwrap();
        let now = std::fs::metadata(&part).unwrap().modified().unwrap();
        assert_eq!(folder.sweep(now + Duration::from_secs(3600)).unwrap(), 0);
        assert_eq!(
            folder.sweep(now + Duration::from_secs(3 * 3600)).unwrap(),
            1
        );
        assert!(folder.open(FILE).unwrap().is_some());
        assert_eq!(
            folder.sweep(now + Duration::from_secs(27 * 3600)).unwrap(),
            1
        );
        assert!(folder.open(FILE).unwrap().is_none());
    }

    #[tokio::test]
    async fn some_files_stay_for_a_month_and_may_be_empty() {
        let data = Data::new("exports-long");
        let folder = ExportFolder::new(&data.0, false);
        let long = FileOutput {
            keep_long: true,
            ..output(FileEnd::default(), 1, b"", true)
        };
        folder.append(long).await.unwrap();
        assert_eq!(text(&folder), "");
        let (file, _) = folder.open(FILE).unwrap().unwrap();
        let made = file.metadata().unwrap().modified().unwrap();
        let day = Duration::from_secs(24 * 3600);
        assert_eq!(folder.sweep(made + 30 * day).unwrap(), 0);
        assert_eq!(folder.sweep(made + 31 * day).unwrap(), 1);
        folder.append(long).await.unwrap();
        folder.remove(FILE).await;
        assert!(folder.open(FILE).unwrap().is_none());
    }
}
