//! Continuous archive in a bucket. The archive's own thread waits for each request, so requests run on a separate
//! runtime.
use super::bucket_owner::{BucketOwner, OwnedByAnother};
use super::client::{BucketClient, Refused};
use super::connection::{Content, Reply};
use crate::config::BucketConfig;
use anyhow::{Context, Error, Result};
use bytes::{Buf, Bytes};
use std::fmt;
use std::future::Future;
use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use tokio::runtime::{Builder, Runtime};
use workgraph_api::Clock;
use workgraph_store_sqlite::ArchiveFolder;

/// Size of a part of a file in bytes. A part is in memory until it is sent.
const PART: usize = 8 << 20;
/// Number of parts of this size; later parts are larger, since a bucket accepts at most 10,000 parts per file.
const SMALL_PARTS: usize = 1_000;
/// Size of the later parts, as a multiple of the normal size.
const LARGER: usize = 8;

/// Archive of the database in a bucket.
#[derive(Clone)]
pub(crate) struct ArchiveBucket(Arc<BucketConnection>);

struct BucketConnection {
    client: Arc<BucketClient>,
    /// Owner of the archive; `None` if it is only read.
    owner: Option<Arc<BucketOwner>>,
    runtime: Option<Runtime>,
}

/// Ends the runtime without waiting: the last user may be a task of another runtime, which must not wait.
impl Drop for BucketConnection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for ArchiveBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveBucket").finish_non_exhaustive()
    }
}

impl ArchiveBucket {
    /// Returns the archive below the prefix in the settings. With an owner it can be written, once it is claimed.
    ///
    /// # Errors
    /// Fails if a setting is wrong, or no thread can be started.
    pub(crate) fn new(
        config: &BucketConfig,
        owner_id: Option<String>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("archive-bucket")
            .enable_all()
            .build()
            .context("the runtime of the archive can't start")?;
        Ok(Self(Arc::new(BucketConnection {
            client: Arc::new(BucketClient::new(config, clock)?),
            owner: owner_id.map(|id| Arc::new(BucketOwner::new(id))),
            runtime: Some(runtime),
        })))
    }

    fn key(&self, name: &str) -> String {
        self.0.client.own_key(name)
    }

    /// Runs requests, and waits until they are done.
    fn wait<T, F>(&self, work: F) -> io::Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let (answer, answered) = sync_channel(1);
        let ended = || io::Error::other("the runtime of the archive has ended");
        let runtime = self.0.runtime.as_ref().ok_or_else(ended)?;
        runtime.spawn(async move {
            // The receiver may be gone.
            let _ = answer.send(work.await);
        });
        answered.recv().map_err(|_| ended())?.map_err(as_io_error)
    }

    /// Runs requests that only the owner may send.
    fn wait_as_owner<T, F>(&self, work: F) -> io::Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let (client, owner) = (Arc::clone(&self.0.client), self.0.owner.clone());
        self.wait(async move {
            if let Some(owner) = owner {
                owner.claim(&client).await?;
            }
            work.await
        })
    }

    /// Uploads a file in parts, given the first one.
    fn put_parts(&self, key: &str, first: Bytes, content: &mut dyn Read) -> io::Result<()> {
        let own = |key: &str| (Arc::clone(&self.0.client), key.to_owned());
        let (client, of) = own(key);
        let upload = self.wait_as_owner(async move { client.begin_upload(&of).await })?;
        let mut send = || {
            let (mut sent, mut size, mut part) = (Vec::new(), 0, first.clone());
            loop {
                size += part.len() as u64;
                let number = u16::try_from(sent.len() + 1).map_err(io::Error::other)?;
                let ((client, of), id) = (own(key), upload.clone());
                let content_of_part = Content::Bytes(part);
                sent.push(self.wait(async move {
                    client.send_part(&of, &id, number, content_of_part).await
                })?);
                let larger = if sent.len() < SMALL_PARTS { 1 } else { LARGER };
                part = next_part(content, larger * PART)?;
                if part.is_empty() {
                    break;
                }
            }
            let ((client, of), id) = (own(key), upload.clone());
            self.wait(async move { client.end_upload(&of, &id, &sent, size).await })
        };
        let done = send();
        if done.is_err() {
            let ((client, of), id) = (own(key), upload.clone());
            let aborted = self.wait(async move { client.abort_upload(&of, &id).await });
            if let Err(error) = aborted {
                tracing::warn!(%error, file = key, "parts of an archive file could not be removed from the bucket");
            }
        }
        done
    }
}

/// Returns the next bytes; fewer than `size` only at the end.
fn next_part(content: &mut dyn Read, size: usize) -> io::Result<Bytes> {
    let mut part = Vec::with_capacity(size);
    content.take(size as u64).read_to_end(&mut part)?;
    Ok(part.into())
}

/// Returns an error of the archive. A bucket that cannot be reached, or is busy, may be available later: that is
/// [`ErrorKind::NotConnected`].
fn as_io_error(error: Error) -> io::Error {
    let kind = match error.downcast_ref::<Refused>() {
        Some(refused) if refused.status == 404 => ErrorKind::NotFound,
        Some(refused) if refused.status < 500 && refused.status != 429 => ErrorKind::Other,
        _ if error.is::<OwnedByAnother>() => ErrorKind::Other,
        _ => ErrorKind::NotConnected,
    };
    io::Error::new(kind, format!("{error:#}"))
}

impl ArchiveFolder for ArchiveBucket {
    fn put(&self, name: &str, content: &mut dyn Read) -> io::Result<()> {
        let key = self.key(name);
        let first = next_part(content, PART)?;
        if first.len() == PART {
            return self.put_parts(&key, first, content);
        }
        let client = Arc::clone(&self.0.client);
        self.wait_as_owner(async move { client.put(&key, Content::Bytes(first)).await })
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Read>> {
        let (client, key) = (Arc::clone(&self.0.client), self.key(name));
        let reply = self.wait(async move { client.get(&key, 0).await })?;
        Ok(Box::new(ArchiveObject {
            bucket: self.clone(),
            reply: Some(reply),
            piece: Bytes::new(),
        }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let (client, prefix) = (Arc::clone(&self.0.client), self.key(""));
        self.wait_as_owner(async move {
            let (mut names, mut next) = (Vec::new(), Some(Vec::new()));
            while let Some(from) = next {
                let page = client.list_objects(&prefix, &from).await?;
                let keys = page
                    .found
                    .iter()
                    .filter_map(|(key, _)| key.strip_prefix(&prefix));
                names.extend(keys.map(str::to_owned));
                next = page.next;
            }
            Ok(names)
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let (client, key) = (Arc::clone(&self.0.client), self.key(name));
        self.wait_as_owner(async move { client.delete(&key).await })
    }
}

/// File of the archive that is being read.
struct ArchiveObject {
    bucket: ArchiveBucket,
    /// `None` after the end of the file.
    reply: Option<Reply>,
    piece: Bytes,
}

impl Read for ArchiveObject {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let Some(mut reply) = self.reply.take() else {
                return Ok(0);
            };
            let next = self.bucket.wait(async move {
                let piece = reply.next().await?;
                Ok((reply, piece))
            });
            if let (reply, Some(piece)) = next? {
                (self.reply, self.piece) = (Some(reply), piece);
            }
        }
        let length = buffer.len().min(self.piece.len());
        self.piece
            .copy_to_slice(buffer.get_mut(..length).unwrap_or_default());
        Ok(length)
    }
}
