//! The attachment files in the data folder: written under a temporary name, renamed when they are complete.
use async_trait::async_trait;
use bytes::Bytes;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use workgraph_api::ports::blob_store::{
    BlobReader, BlobStore, BlobStoreError, BlobWriter, shard_of,
};
use workgraph_core::Gid;

/// Name of the folder in the data folder.
const FOLDER: &str = "attachments";
/// Extension of the temporary names of incomplete files.
const PART: &str = "part";
/// Maximum number of chunks of a file that wait to be written.
const QUEUE: usize = 1;
/// Bytes collected before they go to the writing thread: waking it for each piece costs more than writing.
const GATHERED: usize = 512 << 10;
/// Bytes read at once.
const PIECE: usize = 128 << 10;

/// Folder of the files, with a folder in it for each shard.
#[derive(Clone, Debug)]
pub(crate) struct BlobFolder {
    path: PathBuf,
}

impl BlobFolder {
    /// Returns the folder in the data folder; it is created when it is first needed.
    pub(crate) fn new(data: &Path) -> Self {
        Self {
            path: data.join(FOLDER),
        }
    }

    /// Returns the folder at a path, which is the folder of a backup.
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Returns true if the folder exists.
    pub(crate) fn exists(&self) -> bool {
        self.path.is_dir()
    }

    fn shard(&self, shard: u8) -> PathBuf {
        self.path.join(format!("{shard:02x}"))
    }

    fn whole(&self, file: Gid) -> PathBuf {
        self.shard(shard_of(file)).join(file.to_string())
    }

    fn part(&self, file: Gid) -> PathBuf {
        self.whole(file).with_extension(PART)
    }
}

impl BlobFolder {
    /// Copies the complete files that another folder does not have yet. If there is nothing to copy, creates nothing. Returns
    /// the number of copied files.
    ///
    /// # Errors
    /// Fails if a file can't be read or written.
    pub(crate) fn copy_to(&self, other: &Path) -> io::Result<u64> {
        let mut count = 0;
        for shard in 0..=u8::MAX {
            let (from, to) = (self.shard(shard), other.join(format!("{shard:02x}")));
            let mut copied = false;
            for file in files_of(&from)? {
                let (from, to) = (from.join(file.to_string()), to.join(file.to_string()));
                if to.exists() || !from.exists() {
                    continue;
                }
                create_shard(to.parent().unwrap_or(other))?;
                match std::fs::copy(&from, &to) {
                    Ok(_) => File::open(&to)?.sync_all()?,
                    // Nothing owned the file any more.
                    Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                    Err(e) => return Err(e),
                }
                copied = true;
                count += 1;
            }
            if copied {
                File::open(&to)?.sync_all()?;
            }
        }
        Ok(count)
    }
}

/// Returns the names in a folder; none if it does not exist.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

/// Returns the shards that have folders, in their order.
fn shards_of(folder: &Path) -> io::Result<Vec<u8>> {
    let mut shards = Vec::new();
    for name in names_in(folder)? {
        // Foreign files are left alone.
        let name = Some(&*name).filter(|name| name.len() == 2);
        shards.extend(name.and_then(|name| u8::from_str_radix(name, 16).ok()));
    }
    shards.sort_unstable();
    Ok(shards)
}

/// Returns the files in the folder of a shard, including unfinished ones.
fn files_of(folder: &Path) -> io::Result<Vec<Gid>> {
    let mut files = Vec::new();
    for name in names_in(folder)? {
        // Foreign files are left alone.
        let stem = name.strip_suffix(PART).and_then(|n| n.strip_suffix('.'));
        files.extend(Gid::parse(stem.unwrap_or(&name)));
    }
    files.sort_unstable();
    files.dedup();
    Ok(files)
}

/// Runs file operations on a thread that may block.
async fn blocking<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, BlobStoreError> {
    let outcome = spawn_blocking(work).await.map_err(io::Error::other);
    outcome
        .and_then(|done| done)
        .map_err(|error| BlobStoreError(format!("{what}: {error}")))
}

/// Creates the folder of a shard, and makes it durable.
fn create_shard(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    for path in folder.ancestors().skip(1).take(2) {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

/// Removes a file. Returns true if it existed.
fn remove(path: &Path) -> io::Result<bool> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

#[async_trait]
impl BlobStore for BlobFolder {
    async fn create(&self, file: Gid) -> Result<Box<dyn BlobWriter>, BlobStoreError> {
        let (part, whole) = (self.part(file), self.whole(file));
        let folder = self.shard(shard_of(file));
        let (pieces, received) = mpsc::channel(QUEUE);
        let task = spawn_blocking(move || {
            create_shard(&folder)?;
            let written = write_whole(&part, &whole, &folder, received);
            if !matches!(written, Ok(true)) {
                remove(&part)?;
            }
            written
        });
        Ok(Box::new(FolderWriter {
            pieces,
            gathered: Vec::new(),
            gathered_length: 0,
            task: Some(task),
        }))
    }

    async fn open(
        &self,
        file: Gid,
        offset: u64,
    ) -> Result<Option<(Box<dyn BlobReader>, u64)>, BlobStoreError> {
        let path = self.whole(file);
        let opened = blocking("a file can't be opened", move || {
            let mut file = match File::open(path) {
                Ok(file) => file,
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(e) => return Err(e),
            };
            let size = file.metadata()?.len();
            file.seek(SeekFrom::Start(offset))?;
            Ok(Some((file, size)))
        });
        let opened = opened.await?;
        Ok(opened.map(|(file, size)| (FileReader::boxed(file), size)))
    }

    async fn remove(&self, file: Gid) -> Result<(), BlobStoreError> {
        let paths = [self.part(file), self.whole(file)];
        blocking("a file can't be removed", move || {
            for path in &paths {
                remove(path)?;
            }
            Ok(())
        })
        .await
    }

    async fn used_shards(&self) -> Result<Vec<u8>, BlobStoreError> {
        let folder = self.path.clone();
        blocking("the folder of files can't be read", move || {
            shards_of(&folder)
        })
        .await
    }

    async fn list(&self, shard: u8) -> Result<Vec<Gid>, BlobStoreError> {
        let folder = self.shard(shard);
        blocking("a folder can't be read", move || files_of(&folder)).await
    }

    async fn free_bytes(&self) -> Result<Option<u64>, BlobStoreError> {
        let folder = self.path.clone();
        blocking("the disk of the files can't be asked", move || {
            // The folder is created when it is first needed.
            let mut existing = folder.ancestors().filter(|path| path.is_dir());
            let path = existing.next().unwrap_or(&folder);
            let disk = rustix::fs::statvfs(path)?;
            Ok(Some(disk.f_bavail.saturating_mul(disk.f_frsize)))
        })
        .await
    }
}

/// Chunk of a file, or its end.
enum Piece {
    Bytes(Vec<Bytes>),
    End,
}

/// Writes the chunks of a file, and renames it once it is complete and durable. Returns false if the chunks ended before the
/// file did.
fn write_whole(
    part: &Path,
    whole: &Path,
    folder: &Path,
    mut pieces: mpsc::Receiver<Piece>,
) -> io::Result<bool> {
    let mut file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(part)?;
    loop {
        match pieces.blocking_recv() {
            Some(Piece::Bytes(run)) => run.iter().try_for_each(|bytes| file.write_all(bytes))?,
            Some(Piece::End) => break,
            None => return Ok(false),
        }
    }
    file.sync_all()?;
    std::fs::rename(part, whole)?;
    File::open(folder)?.sync_all()?;
    Ok(true)
}

/// Writer of a file: its chunks go to a thread that may block.
struct FolderWriter {
    pieces: mpsc::Sender<Piece>,
    gathered: Vec<Bytes>,
    gathered_length: usize,
    /// Thread that writes, until its result is taken.
    task: Option<JoinHandle<io::Result<bool>>>,
}

impl FolderWriter {
    /// Passes on the collected bytes.
    async fn send_gathered(&mut self) -> Result<(), BlobStoreError> {
        self.gathered_length = 0;
        let run = std::mem::take(&mut self.gathered);
        match self.pieces.send(Piece::Bytes(run)).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.failure().await),
        }
    }

    /// Returns the error that ended the thread.
    async fn failure(&mut self) -> BlobStoreError {
        let ended = match self.task.take() {
            Some(task) => task.await.map_err(io::Error::other).and_then(|done| done),
            None => Ok(false),
        };
        let reason = match ended {
            Ok(_) => "the thread that writes it has ended".to_owned(),
            Err(error) => error.to_string(),
        };
        BlobStoreError(format!("a file can't be written: {reason}"))
    }
}

#[async_trait]
impl BlobWriter for FolderWriter {
    async fn write(&mut self, bytes: Bytes) -> Result<(), BlobStoreError> {
        self.gathered_length += bytes.len();
        self.gathered.push(bytes);
        if self.gathered_length < GATHERED {
            return Ok(());
        }
        self.send_gathered().await
    }

    async fn finish(mut self: Box<Self>) -> Result<(), BlobStoreError> {
        self.send_gathered().await?;
        if self.pieces.send(Piece::End).await.is_err() {
            return Err(self.failure().await);
        }
        let Some(task) = self.task.take() else {
            return Err(self.failure().await);
        };
        match task.await.map_err(io::Error::other).and_then(|done| done) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.failure().await),
            Err(error) => Err(BlobStoreError(format!("a file can't be kept: {error}"))),
        }
    }
}

#[derive(Debug)]
pub(crate) struct FileReader {
    /// The file, unless a thread is reading from it.
    file: Option<File>,
}

impl FileReader {
    /// Returns a reader of a file from its current position.
    pub(crate) fn boxed(file: File) -> Box<dyn BlobReader> {
        Box::new(Self { file: Some(file) })
    }
}

#[async_trait]
impl BlobReader for FileReader {
    async fn read(&mut self) -> Result<Option<Bytes>, BlobStoreError> {
        let Some(mut file) = self.file.take() else {
            return Err(BlobStoreError("an earlier read has failed".to_owned()));
        };
        let read = blocking("a file can't be read", move || {
            let mut piece = vec![0; PIECE];
            let length = file.read(&mut piece)?;
            piece.truncate(length);
            Ok((file, piece))
        });
        let (file, piece) = read.await?;
        self.file = Some(file);
        Ok((!piece.is_empty()).then(|| piece.into()))
    }
}

#[cfg(test)]
mod tests;
