//! Request bodies, passed on as they arrive, within bounds of time and memory.
use crate::http::byte_budgets::{ByteHolder, ByteLease};
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::{Body, Incoming};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};
use workgraph_api::ports::body_source::{BodyReadError, BodySource};

/// Bytes of a too large body that are still read, so that the client gets to read the answer.
const DRAIN_MAX: usize = 8 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(2);
/// Factor by which a body counts if it is kept as a whole: the parsed value is larger than its text.
const KEPT_FACTOR: usize = 4;

/// Body of a request: a stream that is still arriving, or bytes that have already been read.
pub(crate) type ClientBody = Either<Incoming, Full<Bytes>>;

/// Error of a body that breaks off while it arrives.
type BrokenBody = <ClientBody as Body>::Error;

/// Returns the next bytes of a body; `None` at its end.
async fn next(body: &mut ClientBody) -> Option<Result<Bytes, BrokenBody>> {
    loop {
        match std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await? {
            Err(broken) => return Some(Err(broken)),
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
        }
    }
}

/// Reads the rest of a body, within bounds. The answer does not depend on how much arrives. Returns true if all of it
/// arrived.
async fn drain(body: &mut ClientBody) -> bool {
    let mut spilt = 0;
    let spill = async {
        loop {
            match next(body).await {
                None => return true,
                Some(Err(_)) => return false,
                Some(Ok(data)) => {
                    spilt += data.len();
                    if spilt > DRAIN_MAX {
                        return false;
                    }
                }
            }
        }
    };
    tokio::time::timeout(DRAIN_TIME, spill)
        .await
        .unwrap_or(false)
}

/// Time limits of an arriving body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyPace {
    /// Maximum time between two pieces.
    pub(crate) pause_max: Duration,
    /// Maximum time for the whole body.
    pub(crate) time_max: Duration,
}

/// Body of a request, passed on as it arrives.
pub(crate) struct StreamedBody {
    body: ClientBody,
    pace: BodyPace,
    /// End of the current pause, if the client pauses.
    pause: Option<Pin<Box<Sleep>>>,
    /// Start of the body, and its time limit once it had to wait for the client.
    started_at: Instant,
    deadline: Option<Pin<Box<Sleep>>>,
    has_ended: Arc<AtomicBool>,
    /// Room in the byte budgets for a body that is kept as a whole; a file's body is passed on.
    lease: Option<ByteLease>,
    /// True if the client waits to be asked for the body, and was not asked yet.
    awaits_request: bool,
}

impl StreamedBody {
    /// Returns a body that must arrive at the given pace. With a lease, it is kept as a whole. `awaits_request` is true for
    /// a client that waits for `100 Continue`.
    pub(crate) fn new(
        body: ClientBody,
        pace: BodyPace,
        lease: Option<ByteLease>,
        awaits_request: bool,
    ) -> Self {
        Self {
            body,
            pace,
            pause: None,
            started_at: Instant::now(),
            deadline: None,
            has_ended: Arc::default(),
            lease,
            awaits_request,
        }
    }

    /// Returns a flag that becomes true when all of the body was read.
    pub(crate) fn has_ended(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.has_ended)
    }

    /// Receives the whole body of at most this many bytes.
    pub(crate) async fn collect(&mut self, most: usize) -> Result<Vec<u8>, CollectError> {
        let mut whole = Vec::new();
        if self.announced() > most as u64 {
            return Err(CollectError::TooLarge);
        }
        while let Some(piece) = std::future::poll_fn(|cx| self.poll_bytes(cx)).await {
            let piece = piece.map_err(CollectError::Unreadable)?;
            if whole.len() + piece.len() > most {
                return Err(CollectError::TooLarge);
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }

    /// Reads the rest, so that a client that sends before it reads gets to read the answer. Does not wait for a client that
    /// waits until it is asked for the body, or that announced a very large one.
    pub(crate) async fn drain(&mut self) {
        let is_large = self.announced() > DRAIN_MAX as u64;
        if !self.has_ended.load(Relaxed) && !self.awaits_request && !is_large {
            let ended = drain(&mut self.body).await;
            self.has_ended.store(ended, Relaxed);
        }
    }

    /// Returns true if the client is too slow; otherwise the task is woken when it becomes so.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let BodyPace {
            pause_max,
            time_max,
        } = self.pace;
        let at = self.started_at + time_max;
        let alarm = |until| Box::pin(sleep_until(until));
        let pause = self
            .pause
            .get_or_insert_with(|| alarm(Instant::now() + pause_max));
        let deadline = self.deadline.get_or_insert_with(|| alarm(at));
        pause.as_mut().poll(cx).is_ready() || deadline.as_mut().poll(cx).is_ready()
    }
}

/// Reason why a body was not received.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CollectError {
    TooLarge,
    Unreadable(BodyReadError),
}

impl BodySource for StreamedBody {
    fn announced(&self) -> u64 {
        self.body.size_hint().lower()
    }
    fn keep_for(&mut self, user: u64) -> Result<(), BodyReadError> {
        let lease = self.lease.as_mut();
        match lease.is_none_or(|lease| lease.move_to(ByteHolder::User(user))) {
            true => Ok(()),
            false => Err(BodyReadError::NoRoom),
        }
    }
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyReadError>>> {
        self.awaits_request = false;
        loop {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(None) => {
                    self.has_ended.store(true, Relaxed);
                    return Poll::Ready(None);
                }
                Poll::Ready(Some(Err(_))) => {
                    return Poll::Ready(Some(Err(BodyReadError::Broken)));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    self.pause = None;
                    if let Ok(data) = frame.into_data() {
                        let bytes = data.len().saturating_mul(KEPT_FACTOR);
                        if self.lease.as_mut().is_some_and(|lease| !lease.grow(bytes)) {
                            return Poll::Ready(Some(Err(BodyReadError::NoRoom)));
                        }
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
                Poll::Pending if self.is_late(cx) => {
                    return Poll::Ready(Some(Err(BodyReadError::TimedOut)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
