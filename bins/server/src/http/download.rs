//! Downloads: a file on its way to a client, a piece at a time.
use crate::http::connections::ClientConnection;
use bytes::Bytes;
use hyper::body::Frame;
use std::io;
use std::pin::Pin;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use workgraph_api::ports::blob_store::{BlobReader, BlobStoreError};

/// Next piece of a file, with its reader.
type ReadPiece = Result<(Box<dyn BlobReader>, Option<Bytes>), BlobStoreError>;

/// File that is being sent.
#[derive(Debug)]
pub(crate) struct Download {
    left: u64,
    reading: Option<JoinHandle<ReadPiece>>,
    sent: Arc<AtomicU64>,
    _permit: OwnedSemaphorePermit,
}

impl Download {
    /// Sends this many bytes from the reader of a file. A connection whose client reads nothing for the time of `patience` is ended.
    pub(crate) fn new(
        file: Box<dyn BlobReader>,
        length: u64,
        permit: OwnedSemaphorePermit,
        connection: &Arc<ClientConnection>,
        patience: Duration,
    ) -> Self {
        let sent = Arc::new(AtomicU64::new(0));
        tokio::spawn(watch(
            Arc::downgrade(&sent),
            Arc::downgrade(connection),
            patience,
        ));
        Self {
            left: length,
            reading: (length > 0).then(|| read(file)),
            sent,
            _permit: permit,
        }
    }

    /// Returns the number of bytes that are still to be sent.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    pub(crate) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let Some(reading) = self.reading.as_mut() else {
            return Poll::Ready(None);
        };
        let read_so_far = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        let (file, mut piece) = match read_so_far.map_err(io::Error::other) {
            Ok(Ok((file, Some(piece)))) => (file, piece),
            Ok(Ok((_, None))) => {
                let short = io::Error::from(io::ErrorKind::UnexpectedEof);
                return Poll::Ready(Some(Err(short)));
            }
            Ok(Err(e)) => return Poll::Ready(Some(Err(io::Error::other(e)))),
            Err(e) => return Poll::Ready(Some(Err(e))),
        };
        piece.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left = self.left.saturating_sub(piece.len() as u64);
        self.sent.fetch_add(piece.len() as u64, Relaxed);
        if self.left > 0 {
            self.reading = Some(read(file));
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

/// Reads the next piece in a task of its own.
fn read(mut file: Box<dyn BlobReader>) -> JoinHandle<ReadPiece> {
    tokio::spawn(async move {
        let piece = file.read().await?;
        Ok((file, piece))
    })
}

/// Ends the connection if no bytes were sent between two looks.
async fn watch(sent: Weak<AtomicU64>, connection: Weak<ClientConnection>, patience: Duration) {
    let mut looks = tokio::time::interval(patience);
    let mut before = None;
    loop {
        looks.tick().await;
        let Some(now) = sent.upgrade().map(|sent| sent.load(Relaxed)) else {
            return;
        };
        if before == Some(now)
            && let Some(connection) = connection.upgrade()
        {
            connection.abort();
            return;
        }
        before = Some(now);
    }
}
