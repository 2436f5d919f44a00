//! Downloads: files sent to clients in pieces.
use crate::http::connections::ClientConnection;
use crate::http::download_slots::DownloadSlot;
use bytes::Bytes;
use hyper::body::Frame;
use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::task::JoinHandle;
use workgraph_api::ports::blob_store::{BlobReader, BlobStoreError};

/// Next piece of a file, with its reader.
type ReadPiece = Result<(Box<dyn BlobReader>, Option<Bytes>), BlobStoreError>;

/// Minimum speed at which a client reads a file, in bytes per second; below it the download ends, so that its slot is free.
const LEAST_SPEED: u64 = 8 << 10;

/// Progress of a download, from which its speed is measured.
#[derive(Debug, Default)]
struct Progress {
    sent: AtomicU64,
    is_too_slow: AtomicBool,
}

/// Speed of a download between two checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pace {
    Enough,
    TooSlow,
    Stalled,
}

impl Pace {
    /// Returns the pace of a download that sent this many bytes in this time.
    fn of(sent: u64, time: Duration) -> Self {
        match sent {
            0 => Self::Stalled,
            _ if sent < LEAST_SPEED * time.as_secs() => Self::TooSlow,
            _ => Self::Enough,
        }
    }
}

/// File that is being sent.
#[derive(Debug)]
pub(crate) struct Download {
    left: u64,
    reading: Option<JoinHandle<ReadPiece>>,
    progress: Arc<Progress>,
    _slot: DownloadSlot,
}

impl Download {
    /// Sends this many bytes from the reader of a file. If a client reads nothing for the time of `patience`, its
    /// connection is ended; if it is slower than [`LEAST_SPEED`] in that time, the download is.
    pub(crate) fn new(
        file: Box<dyn BlobReader>,
        length: u64,
        slot: DownloadSlot,
        connection: &Arc<ClientConnection>,
        patience: Duration,
    ) -> Self {
        let progress = Arc::new(Progress::default());
        tokio::spawn(watch(
            Arc::downgrade(&progress),
            Arc::downgrade(connection),
            patience,
        ));
        Self {
            left: length,
            reading: (length > 0).then(|| read(file)),
            progress,
            _slot: slot,
        }
    }

    /// Returns the number of bytes left to send.
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
        if self.progress.is_too_slow.load(Relaxed) {
            let slow = "the client reads too slowly";
            return Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::TimedOut, slow))));
        }
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
        self.progress.sent.fetch_add(piece.len() as u64, Relaxed);
        if self.left > 0 {
            self.reading = Some(read(file));
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

/// Reads the next piece in its own task.
fn read(mut file: Box<dyn BlobReader>) -> JoinHandle<ReadPiece> {
    tokio::spawn(async move {
        let piece = file.read().await?;
        Ok((file, piece))
    })
}

/// Ends the connection if no bytes were sent between two checks, or the download if there were too few.
async fn watch(progress: Weak<Progress>, connection: Weak<ClientConnection>, patience: Duration) {
    let mut looks = tokio::time::interval(patience);
    let mut before = None;
    loop {
        looks.tick().await;
        let Some(progress) = progress.upgrade() else {
            return;
        };
        let now = progress.sent.load(Relaxed);
        let Some(then) = before.replace(now) else {
            continue;
        };
        match Pace::of(now - then, patience) {
            Pace::Enough => {}
            // The rest of the connection continues.
            Pace::TooSlow => progress.is_too_slow.store(true, Relaxed),
            Pace::Stalled => {
                if let Some(connection) = connection.upgrade() {
                    connection.abort();
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_download_below_the_least_speed_ends() {
        let minute = Duration::from_secs(60);
        assert_eq!(Pace::of(0, minute), Pace::Stalled);
        assert_eq!(Pace::of(60 * LEAST_SPEED - 1, minute), Pace::TooSlow);
        assert_eq!(Pace::of(60 * LEAST_SPEED, minute), Pace::Enough);
    }
}
