//! Downloads: a file on its way to a client, a piece at a time.
use crate::http::connections::ClientConnection;
use bytes::Bytes;
use hyper::body::Frame;
use std::fs::File;
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;

/// Bytes that are read at once, and so are in memory for each download.
const PIECE: usize = 64 << 10;

/// File that is being sent.
#[derive(Debug)]
pub(crate) struct Download {
    left: u64,
    reading: Option<JoinHandle<io::Result<(File, Bytes)>>>,
    sent: Arc<AtomicU64>,
    _place: OwnedSemaphorePermit,
}

impl Download {
    /// Sends a file of this length. A connection whose client reads nothing for the time of `patience` is ended.
    pub(crate) fn new(
        file: File,
        length: u64,
        place: OwnedSemaphorePermit,
        line: &Arc<ClientConnection>,
        patience: Duration,
    ) -> Self {
        let sent = Arc::new(AtomicU64::new(0));
        tokio::spawn(watch(Arc::downgrade(&sent), Arc::downgrade(line), patience));
        Self {
            left: length,
            reading: (length > 0).then(|| read(file, length)),
            sent,
            _place: place,
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
        let (file, piece) = match read_so_far.map_err(io::Error::other) {
            Ok(Ok(read)) => read,
            Ok(Err(e)) | Err(e) => return Poll::Ready(Some(Err(e))),
        };
        if piece.is_empty() {
            let short = io::Error::from(io::ErrorKind::UnexpectedEof);
            return Poll::Ready(Some(Err(short)));
        }
        self.left = self.left.saturating_sub(piece.len() as u64);
        self.sent.fetch_add(piece.len() as u64, Relaxed);
        if self.left > 0 {
            self.reading = Some(read(file, self.left));
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

/// Reads the next piece on a thread that may block.
fn read(mut file: File, left: u64) -> JoinHandle<io::Result<(File, Bytes)>> {
    tokio::task::spawn_blocking(move || {
        let size = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        let mut piece = vec![0; size];
        let read = file.read(&mut piece)?;
        piece.truncate(read);
        Ok((file, Bytes::from(piece)))
    })
}

/// Ends the connection if no bytes were sent between two looks.
async fn watch(sent: Weak<AtomicU64>, line: Weak<ClientConnection>, patience: Duration) {
    let mut looks = tokio::time::interval(patience);
    let mut before = None;
    loop {
        looks.tick().await;
        let Some(now) = sent.upgrade().map(|sent| sent.load(Relaxed)) else {
            return;
        };
        if before == Some(now)
            && let Some(line) = line.upgrade()
        {
            line.abort();
            return;
        }
        before = Some(now);
    }
}
