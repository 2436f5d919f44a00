//! Part of a file on its way into a bucket, collected in an unlinked file in the data folder.
use bytes::Bytes;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Bytes collected in memory before they are written.
const GATHERED: usize = 256 << 10;

/// Part of a file. Its disk space is freed when it is dropped, or when the process ends.
#[derive(Debug)]
pub(super) struct PartFile {
    file: Arc<File>,
    gathered: Vec<Bytes>,
    gathered_length: usize,
    length: u64,
}

impl PartFile {
    /// Creates an empty part in a folder, which is created if needed, under a name that no other part has.
    ///
    /// # Errors
    /// Fails if it can't be created.
    pub(super) async fn create(folder: &Path, name: &str) -> io::Result<Self> {
        let (folder, path) = (folder.to_owned(), folder.join(name));
        let made = spawn_blocking(move || {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
            let file = OpenOptions::new()
                .create_new(true)
                .read(true)
                .write(true)
                .mode(0o600)
                .open(&path)?;
            std::fs::remove_file(&path)?;
            Ok::<_, io::Error>(file)
        });
        Ok(Self {
            file: Arc::new(made.await.map_err(io::Error::other)??),
            gathered: Vec::new(),
            gathered_length: 0,
            length: 0,
        })
    }

    /// Returns the number of bytes written so far.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Fails if they can't be written.
    pub(super) async fn append(&mut self, bytes: Bytes) -> io::Result<()> {
        self.length += bytes.len() as u64;
        self.gathered_length += bytes.len();
        self.gathered.push(bytes);
        if self.gathered_length < GATHERED {
            return Ok(());
        }
        self.write_gathered().await
    }

    async fn write_gathered(&mut self) -> io::Result<()> {
        self.gathered_length = 0;
        let (pieces, file) = (std::mem::take(&mut self.gathered), Arc::clone(&self.file));
        let written = spawn_blocking(move || {
            let mut pieces = pieces.iter();
            pieces.try_for_each(|piece| (&*file).write_all(piece))
        });
        written.await.map_err(io::Error::other)?
    }

    /// Returns the file, ready to be read from its start, and its length.
    ///
    /// # Errors
    /// Fails if its last bytes can't be written.
    pub(super) async fn finish(mut self) -> io::Result<FinishedPart> {
        self.write_gathered().await?;
        Ok(FinishedPart {
            file: self.file,
            length: self.length,
        })
    }
}

/// Complete part, which can be read any number of times.
#[derive(Clone, Debug)]
pub(super) struct FinishedPart {
    file: Arc<File>,
    length: u64,
}

impl FinishedPart {
    /// Returns the size of the part in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Reads at most a number of bytes from an offset; blocks.
    ///
    /// # Errors
    /// Fails if they can't be read.
    pub(super) fn read_at(&self, offset: u64, most: usize) -> io::Result<Bytes> {
        let mut piece = vec![0; most];
        let length = self.file.read_at(&mut piece, offset)?;
        piece.truncate(length);
        if piece.is_empty() && offset < self.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(piece.into())
    }
}
