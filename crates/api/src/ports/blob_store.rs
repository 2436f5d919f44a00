//! The port to the attachment files.
use async_trait::async_trait;
use bytes::Bytes;
use thiserror::Error;
use workgraph_core::Gid;

/// Returns the shard in which a file is listed.
#[must_use]
pub fn shard_of(file: Gid) -> u8 {
    let [.., last] = file.get().to_be_bytes();
    last
}

/// Failure of a blob store; the text is for the log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BlobStoreError(pub String);

/// Store of attachment files. A file has a gid as its name, is written once, and never changes.
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Starts a new file.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    async fn create(&self, file: Gid) -> Result<Box<dyn BlobWriter>, BlobStoreError>;

    /// Opens a file at an offset. Returns it with its total size in bytes, or `None` if there is no such file.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    async fn open(
        &self,
        file: Gid,
        offset: u64,
    ) -> Result<Option<(Box<dyn BlobReader>, u64)>, BlobStoreError>;

    /// Removes a file, even if it is incomplete or missing.
    ///
    /// # Errors
    /// Fails if the file could not be removed.
    async fn remove(&self, file: Gid) -> Result<(), BlobStoreError>;

    /// Returns the shards that may have files, in their order; a file whose creation begins later may be in another one.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    async fn used_shards(&self) -> Result<Vec<u8>, BlobStoreError> {
        Ok((0..=u8::MAX).collect())
    }

    /// Returns the files of a shard, including unfinished ones.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    async fn list(&self, shard: u8) -> Result<Vec<Gid>, BlobStoreError>;

    /// Returns the free bytes on the disk that holds the files; `None` if they are on no disk of this machine.
    ///
    /// # Errors
    /// Fails if the disk does not report its free space.
    async fn free_bytes(&self) -> Result<Option<u64>, BlobStoreError> {
        Ok(None)
    }
}

/// Writer of one file. Dropping it before the end removes what was written.
#[async_trait]
pub trait BlobWriter: Send {
    /// Appends bytes.
    ///
    /// # Errors
    /// Fails if they cannot be written.
    async fn write(&mut self, bytes: Bytes) -> Result<(), BlobStoreError>;

    /// Completes the file. It can be opened from now on, even after a crash.
    ///
    /// # Errors
    /// Fails if the file cannot be stored.
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
