//! The body of an upload, paced for the parser of its parts.
use crate::ports::body_source::BodySource;
use bytes::Bytes;
use futures_util::stream::Stream;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use thiserror::Error;

/// Most bytes that are read ahead in search of the next part: those before the first part, or the headers of one. The
/// bytes that come with them are counted, too.
const READ_AHEAD_MAX: usize = 1 << 20;

/// Error of a body whose next part begins too late, or has too large headers.
#[derive(Clone, Copy, Debug, Error)]
#[error("the headers of a part are too large")]
pub(super) struct HeadersTooLarge;

/// Bytes that were read since the last part began.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadAhead(Arc<AtomicUsize>);

impl ReadAhead {
    /// Begins to count anew.
    pub(super) fn reset(&self) {
        self.0.store(0, Relaxed);
    }
}

/// Stream of a body that gives one piece each time it is polled: the parser reads ahead for as long as a stream is
/// ready, and would hold all of a body that arrives faster than it is stored.
pub(super) struct PacedBody<'b> {
    body: &'b mut dyn BodySource,
    read_ahead: ReadAhead,
    is_paused: bool,
}

impl<'b> PacedBody<'b> {
    /// Returns the stream of a body, with its count of bytes.
    pub(super) fn new(body: &'b mut dyn BodySource) -> (Self, ReadAhead) {
        let read_ahead = ReadAhead::default();
        let paced = Self {
            body,
            read_ahead: read_ahead.clone(),
            is_paused: false,
        };
        (paced, read_ahead)
    }
}

impl Stream for PacedBody<'_> {
    type Item = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.is_paused) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = self.body.poll_bytes(cx);
        if let Poll::Ready(Some(Ok(bytes))) = &polled {
            self.is_paused = true;
            let before = self.read_ahead.0.fetch_add(bytes.len(), Relaxed);
            if before > READ_AHEAD_MAX {
                return Poll::Ready(Some(Err(HeadersTooLarge.into())));
            }
        }
        polled.map_err(Into::into)
    }
}
