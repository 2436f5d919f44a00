//! Attachment files in a bucket that uses the S3 protocol.
//!
//! A file is an object whose key is the path that it would have in the attachment folder, below a prefix. Unsent bytes are
//! on disk, one part at a time; so memory use stays small, and a part can be sent again.
mod archive_bucket;
mod bucket_error;
mod bucket_owner;
mod client;
mod connection;
mod part_file;
mod upload;
mod xml_reply;

pub(crate) use self::archive_bucket::ArchiveBucket;
use self::bucket_error::failed;
use self::bucket_owner::BucketOwner;
pub(crate) use self::bucket_owner::{OwnedByAnother, owner_id};
use self::client::{BucketClient, ListPage};
use self::connection::Reply;
use self::upload::BucketWriter;
use crate::config::BucketConfig;
use anyhow::{Context, Result};
use async_trait::async_trait;
use bytes::Bytes;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workgraph_api::Clock;
use workgraph_api::ports::blob_store::{
    BlobReader, BlobStore, BlobStoreError, BlobWriter, shard_of,
};
use workgraph_core::Gid;

/// Name of the folder of unsent parts in the data folder.
const FOLDER: &str = "attachments-unsent";
/// Size of a part in bytes: each upload has a few of them on disk at most. Buckets require at least 5 MiB.
const PART_SIZE: u64 = 8 << 20;
/// Maximum number of parts per file.
const PARTS_MAX: u64 = 10_000;

/// Blob store in a bucket.
pub(crate) struct BlobBucket {
    client: Arc<BucketClient>,
    owner: BucketOwner,
    folder: PathBuf,
    part_size: u64,
}

impl BlobBucket {
    /// Returns the bucket in the settings for an owner, for files of up to a number of bytes.
    ///
    /// # Errors
    /// Fails if a setting is wrong, or the data folder can't be written.
    pub(crate) fn new(
        config: &BucketConfig,
        data: &Path,
        owner_id: String,
        clock: Arc<dyn Clock>,
        file_max: u64,
    ) -> Result<Self> {
        let folder = data.join(FOLDER);
        if folder.exists() {
            // A process that was killed may have left the name of a part.
            std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
        }
        Ok(Self {
            client: Arc::new(BucketClient::new(config, clock)?),
            owner: BucketOwner::new(owner_id),
            folder,
            part_size: PART_SIZE.max(file_max.div_ceil(PARTS_MAX)),
        })
    }

    /// Claims the bucket for its owner, and requests one of its lists.
    ///
    /// # Errors
    /// Fails with [`OwnedByAnother`] if another server's files are in it; also if it can't be reached, or does not know the
    /// key.
    pub(crate) async fn check(&self) -> Result<()> {
        self.owner.claim(&self.client).await?;
        let prefix = self.client.shard_prefix(0);
        self.client.list_objects(&prefix, &[]).await.map(drop)
    }

    /// Returns the unfinished uploads whose keys start with a prefix: key and id of each.
    async fn unfinished(&self, prefix: &str) -> Result<Vec<(String, Option<String>)>> {
        let (mut found, mut next) = (Vec::new(), Some(Vec::new()));
        while let Some(from) = next {
            let page: ListPage = self.client.list_uploads(prefix, &from).await?;
            found.extend(page.found);
            next = page.next;
        }
        Ok(found)
    }

    async fn remove_all(&self, file: Gid) -> Result<()> {
        self.owner.claim(&self.client).await?;
        let key = self.client.key(file);
        for (found, upload) in self.unfinished(&key).await? {
            if let Some(upload) = upload.filter(|_| found == key) {
                self.client.abort_upload(&key, &upload).await?;
            }
        }
        self.client.delete(&key).await
    }

    async fn files(&self, shard: u8) -> Result<Vec<Gid>> {
        self.owner.claim(&self.client).await?;
        // Listed files may be removed.
        self.owner.check(&self.client).await?;
        let prefix = self.client.shard_prefix(shard);
        let mut keys = self.unfinished(&prefix).await?;
        let mut next = Some(Vec::new());
        while let Some(from) = next {
            let page = self.client.list_objects(&prefix, &from).await?;
            keys.extend(page.found);
            next = page.next;
        }
        // Foreign objects are left alone.
        let gid = |key: &str| Gid::parse(key.rsplit('/').next()?);
        let files = keys.iter().filter_map(|(key, _)| gid(key));
        let mut files: Vec<Gid> = files.filter(|file| shard_of(*file) == shard).collect();
        files.sort_unstable();
        files.dedup();
        Ok(files)
    }
}

#[async_trait]
impl BlobStore for BlobBucket {
    async fn create(&self, file: Gid) -> Result<Box<dyn BlobWriter>, BlobStoreError> {
        let claimed = self.owner.claim(&self.client).await;
        claimed.map_err(failed("a file can't be kept"))?;
        let (client, folder) = (Arc::clone(&self.client), self.folder.clone());
        Ok(Box::new(BucketWriter::new(
            client,
            file,
            folder,
            self.part_size,
        )))
    }

    async fn open(
        &self,
        file: Gid,
        offset: u64,
    ) -> Result<Option<(Box<dyn BlobReader>, u64)>, BlobStoreError> {
        let key = self.client.key(file);
        let size = self.client.size(&key).await;
        let Some(size) = size.map_err(failed("a file can't be opened"))? else {
            return Ok(None);
        };
        let reader = BucketReader {
            client: Arc::clone(&self.client),
            key,
            left: size.saturating_sub(offset),
            offset,
            reply: None,
        };
        Ok(Some((Box::new(reader), size)))
    }

    async fn remove(&self, file: Gid) -> Result<(), BlobStoreError> {
        let removed = self.remove_all(file).await;
        removed.map_err(failed("a file can't be removed"))
    }

    async fn list(&self, shard: u8) -> Result<Vec<Gid>, BlobStoreError> {
        let listed = self.files(shard).await;
        listed.map_err(failed("the bucket can't be listed"))
    }
}

/// Reader of a file, which is requested at the first read.
struct BucketReader {
    client: Arc<BucketClient>,
    key: String,
    offset: u64,
    left: u64,
    reply: Option<Reply>,
}

impl fmt::Debug for BucketReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BucketReader")
            .field("key", &self.key)
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl BucketReader {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.left == 0 {
            return Ok(None);
        }
        let reply = match &mut self.reply {
            Some(reply) => reply,
            None => {
                let reply = self.client.get(&self.key, self.offset).await?;
                self.reply.insert(reply)
            }
        };
        let piece = reply.next().await?.context("the file ended too early")?;
        self.left = self.left.saturating_sub(piece.len() as u64);
        if self.left == 0 {
            // The end of the reply frees the connection for others.
            reply.next().await?;
        }
        Ok(Some(piece))
    }
}

#[async_trait]
impl BlobReader for BucketReader {
    async fn read(&mut self) -> Result<Option<Bytes>, BlobStoreError> {
        self.next().await.map_err(failed("a file can't be read"))
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
