//! The port to the files of attachments.
use async_trait::async_trait;
use bytes::Bytes;
use thiserror::Error;
use workgraph_core::Gid;

/// Number of parts that a blob store is listed in.
pub const SHARDS: u16 = 256;

/// Returns the part of a blob store that a file is listed in.
#[must_use]
pub fn shard_of(file: Gid) -> u8 {
    let [.., last] = file.get().to_be_bytes();
    last
}

/// Failure of a blob store; the text is for the log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BlobStoreError(pub String);

/// Store of the files of attachments. A file has a gid as its name, is written once, and never changes.
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Begins a file.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    async fn create(&self, file: Gid) -> Result<Box<dyn BlobWriter>, BlobStoreError>;

    /// Opens a file at an offset. Returns it with its whole size in bytes, or `None` if there is no such file.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    async fn open(
        &self,
        file: Gid,
        offset: u64,
    ) -> Result<Option<(Box<dyn BlobReader>, u64)>, BlobStoreError>;

    /// Removes a file, and what was written of it, if there is any.
    ///
    /// # Errors
    /// Fails if the file stays.
    async fn remove(&self, file: Gid) -> Result<(), BlobStoreError>;

    /// Returns the files of a part of the store, unfinished ones included.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    async fn list(&self, shard: u8) -> Result<Vec<Gid>, BlobStoreError>;

    /// Returns the bytes that are free on the disk of the files; `None` if they are on no disk of this machine.
    ///
    /// # Errors
    /// Fails if the disk does not tell.
    async fn free_bytes(&self) -> Result<Option<u64>, BlobStoreError> {
        Ok(None)
    }
}

/// Writer of one file. A writer that is dropped removes what it wrote.
#[async_trait]
pub trait BlobWriter: Send {
    /// Appends bytes.
    ///
    /// # Errors
    /// Fails if they cannot be written.
    async fn write(&mut self, bytes: Bytes) -> Result<(), BlobStoreError>;

    /// Ends the file. It can be opened from now on, also after a crash.
    ///
    /// # Errors
    /// Fails if the file cannot be kept.
    async fn finish(self: Box<Self>) -> Result<(), BlobStoreError>;
}

/// Reader of one file.
#[async_trait]
pub trait BlobReader: Send + std::fmt::Debug {
    /// Returns the next bytes, or `None` at the end.
    ///
    /// # Errors
    /// Fails if they cannot be read.
    async fn read(&mut self) -> Result<Option<Bytes>, BlobStoreError>;
}
