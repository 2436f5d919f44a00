//! Writers of files in a bucket: small files in one piece, others as parts, each of which is sent while the next arrives.
use super::bucket_error::failed;
use super::client::{BucketClient, SentPart};
use super::connection::Content;
use super::part_file::{FinishedPart, PartFile};
use anyhow::{Context, Result};
use async_trait::async_trait;
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::JoinHandle;
use workgraph_api::ports::blob_store::{BlobStoreError, BlobWriter};
use workgraph_core::Gid;

/// Writer of a file, which sends its parts as they fill up.
pub(super) struct BucketWriter {
    client: Arc<BucketClient>,
    file: Gid,
    folder: PathBuf,
    part_size: u64,
    /// Part that is being collected.
    part: Option<PartFile>,
    /// Id of the upload, if the file has more than one part.
    upload: Option<String>,
    /// Part that is being sent.
    sending: Option<JoinHandle<Result<SentPart>>>,
    sent: Vec<SentPart>,
    /// Bytes of the finished parts.
    size: u64,
    /// True if the bucket may contain an incomplete file.
    is_begun: bool,
}

impl BucketWriter {
    /// Returns a writer that collects parts of `part_size` bytes in a folder until they are sent.
    pub(super) fn new(
        client: Arc<BucketClient>,
        file: Gid,
        folder: PathBuf,
        part_size: u64,
    ) -> Self {
        Self {
            client,
            file,
            folder,
            part_size,
            part: None,
            upload: None,
            sending: None,
            sent: Vec::new(),
            size: 0,
            is_begun: false,
        }
    }

    async fn append(&mut self, mut bytes: Bytes) -> Result<()> {
        while !bytes.is_empty() {
            let mut part = self.take_part().await?;
            let room = self.part_size.saturating_sub(part.length());
            if room == 0 {
                // More data follows, so this part is not the last.
                self.send(part.finish().await?).await?;
                continue;
            }
            let length = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
            part.append(bytes.split_to(length)).await?;
            self.part = Some(part);
        }
        Ok(())
    }

    async fn take_part(&mut self) -> Result<PartFile> {
        if let Some(part) = self.part.take() {
            return Ok(part);
        }
        let name = format!("{}-{}", self.file, self.sent.len());
        let made = PartFile::create(&self.folder, &name).await;
        made.with_context(|| format!("{}: a part can't be kept", self.folder.display()))
    }

    /// Starts to send a part, once the previous one was sent.
    async fn send(&mut self, part: FinishedPart) -> Result<()> {
        self.is_begun = true;
        let key = self.client.key(self.file);
        let upload = match &self.upload {
            Some(upload) => upload.clone(),
            None => {
                let begun = self.client.begin_upload(&key).await?;
                self.upload.insert(begun).clone()
            }
        };
        self.await_part().await?;
        let number = u16::try_from(self.sent.len() + 1).context("the file has too many parts")?;
        self.size += part.length();
        let client = Arc::clone(&self.client);
        self.sending = Some(tokio::spawn(async move {
            client
                .send_part(&key, &upload, number, Content::Part(part))
                .await
        }));
        Ok(())
    }

    async fn await_part(&mut self) -> Result<()> {
        if let Some(sending) = &mut self.sending {
            let sent = sending.await;
            self.sending = None;
            self.sent.push(sent??);
        }
        Ok(())
    }

    async fn end(&mut self) -> Result<()> {
        let last = self.take_part().await?.finish().await?;
        let key = self.client.key(self.file);
        if self.upload.is_none() {
            self.is_begun = true;
            return self.client.put(&key, Content::Part(last)).await;
        }
        self.send(last).await?;
        self.await_part().await?;
        let upload = self.upload.as_deref().unwrap_or_default();
        let (parts, size) = (&self.sent, self.size);
        self.client.end_upload(&key, upload, parts, size).await
    }
}

#[async_trait]
impl BlobWriter for BucketWriter {
    async fn write(&mut self, bytes: Bytes) -> Result<(), BlobStoreError> {
        let appended = self.append(bytes).await;
        appended.map_err(failed("a file can't be written"))
    }

    async fn finish(mut self: Box<Self>) -> Result<(), BlobStoreError> {
        self.end().await.map_err(failed("a file can't be kept"))?;
        self.is_begun = false;
        Ok(())
    }
}

impl Drop for BucketWriter {
    fn drop(&mut self) {
        if let Some(sending) = self.sending.take() {
            sending.abort();
        }
        if !std::mem::take(&mut self.is_begun) {
            return;
        }
        let (client, file) = (Arc::clone(&self.client), self.file);
        let upload = self.upload.take();
        // If this fails, or the process ends, a sweep removes the rest.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        runtime.spawn(async move {
            let key = client.key(file);
            let aborted = match &upload {
                Some(upload) => client.abort_upload(&key, upload).await,
                None => Ok(()),
            };
            if let Err(error) = aborted.and(client.delete(&key).await) {
                let (file, reason) = (file.get(), format!("{error:#}"));
                tracing::warn!(
                    file,
                    reason,
                    "the parts of a failed upload could not be removed from the bucket"
                );
            }
        });
    }
}
