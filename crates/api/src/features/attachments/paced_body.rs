//! The body of an upload, paced for the parser of its parts.
use crate::ports::body_source::BodySource;
use bytes::Bytes;
use futures_util::stream::Stream;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::task::{Context, Poll};
use thiserror::Error;

/// Maximum number of bytes read ahead in search of the next part: those before the first part, or the headers of a part.
/// The bytes that arrive with them count, too.
const READ_AHEAD_MAX: usize = 1 << 20;

/// Error of a body whose next part begins too late, or has headers that are too large.
#[derive(Clone, Copy, Debug, Error)]
#[error("the headers of a part are too large")]
pub(super) struct HeadersTooLarge;

/// Bytes read since the last part began, and the pace.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadAhead(Arc<ReadAheadState>);

#[derive(Debug, Default)]
struct ReadAheadState {
    bytes: AtomicUsize,
    /// True if the stream has returned a piece, and pauses at the next poll.
    is_due: AtomicBool,
    /// True if the stream has paused without waking its task.
    is_paused: AtomicBool,
}

impl ReadAhead {
    /// Resets the count, and returns the result of the parser. If the parser only waits for the end of a pause, it is polled
    /// again.
    pub(super) async fn next<T>(&self, parser: impl Future<Output = T>) -> T {
        self.0.bytes.store(0, Relaxed);
        let mut parser = pin!(parser);
        poll_fn(|cx| {
            let polled = parser.as_mut().poll(cx);
            // Usually there is a result. Waking the task for each piece regardless would cost more than parsing it.
            if self.0.is_paused.swap(false, Relaxed) && polled.is_pending() {
                cx.waker().wake_by_ref();
            }
            polled
        })
        .await
    }
}

/// Stream of a body that returns one piece per poll: the parser reads ahead for as long as a stream is ready, and would
/// hold all of a body that arrives faster than it is stored. A pause does not wake the task, so the parser must be
/// polled through [`ReadAhead::next`].
pub(super) struct PacedBody<'b> {
    body: &'b mut dyn BodySource,
    read_ahead: ReadAhead,
}

impl<'b> PacedBody<'b> {
    /// Returns the stream of a body, with its count of bytes.
    pub(super) fn new(body: &'b mut dyn BodySource) -> (Self, ReadAhead) {
        let read_ahead = ReadAhead::default();
        let paced = Self {
            body,
            read_ahead: read_ahead.clone(),
        };
        (paced, read_ahead)
    }
}

impl Stream for PacedBody<'_> {
    type Item = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let state = Arc::clone(&self.read_ahead.0);
        if state.is_due.swap(false, Relaxed) {
            state.is_paused.store(true, Relaxed);
            return Poll::Pending;
        }
        let polled = self.body.poll_bytes(cx);
        if let Poll::Ready(Some(Ok(bytes))) = &polled {
            state.is_due.store(true, Relaxed);
            let before = state.bytes.fetch_add(bytes.len(), Relaxed);
            if before > READ_AHEAD_MAX {
                return Poll::Ready(Some(Err(HeadersTooLarge.into())));
            }
        }
        polled.map_err(Into::into)
    }
}
