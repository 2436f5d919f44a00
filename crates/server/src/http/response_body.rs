//! Response bodies, and the guards that they hold until they are sent.
use crate::http::connections::{RequestGuard, ResponseGuard};
use crate::http::download::Download;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use workgraph_api::request::ResponseRoom;

/// Body of a response, with the guard of its request.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    content: BodyContent,
    busy: Option<RequestGuard>,
}

impl ResponseBody {
    /// Returns a body, with the guard that is held until it is sent.
    pub(crate) fn new(content: BodyContent, busy: Option<RequestGuard>) -> Self {
        Self { content, busy }
    }

    /// Returns the bytes of the body; empty for a file.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.content {
            BodyContent::Bytes(body) => &body.bytes,
            _ => &[],
        }
    }

    /// Returns a body that breaks off after half of its bytes. Files are left whole.
    pub(crate) fn broken_off(mut self) -> Self {
        if let BodyContent::Bytes(body) = &self.content {
            let whole = body.bytes.len();
            let half = body.bytes.slice(..whole / 2);
            self.content = BodyContent::Broken(BrokenBody::Half(half), whole as u64);
        }
        self
    }
}

/// Content of a body, which decides how it is sent.
#[derive(Debug)]
pub(crate) enum BodyContent {
    /// Bytes, until hyper takes them.
    Bytes(BodyBytes),
    /// The rest of such bytes, after hyper took the first ones.
    Rest(Bytes),
    /// A body without bytes.
    Empty,
    /// A file that is read while it is sent.
    File(Box<Download>),
    /// A body that breaks off, as a tester asked, with the number of bytes that the whole body would have.
    Broken(BrokenBody, u64),
}

/// State of a body that breaks off.
#[derive(Debug)]
pub(crate) enum BrokenBody {
    /// The bytes that are sent before the body breaks off.
    Half(Bytes),
    /// hyper has these bytes, and sends them before it asks for the next ones.
    Sending,
    /// Nothing more is sent, and the connection is closed.
    Ended,
}

/// Size of the pieces that hyper gets for an HTTP/2 stream. It takes the next one when the client has room for it, which
/// shows that the reply makes progress.
const PIECE: usize = 32 << 10;

/// Maximum size of a body that certainly fits into a socket buffer: over HTTP/1 it is sent as soon as hyper has it. An
/// HTTP/2 stream may have no room for it.
const SENT_AT_ONCE: usize = 64 * 1024;

/// Bytes of a body with the guard of its response and permit. hyper keeps them until they are written, or the connection
/// is closed.
#[derive(Debug)]
pub(crate) struct BodyBytes {
    bytes: Bytes,
    guard: Option<ResponseGuard>,
    /// The room that the bytes take in the byte budgets.
    _room: Option<ResponseRoom>,
    is_http1: bool,
}

impl BodyBytes {
    /// Returns the bytes with their guard and room.
    pub(crate) fn new(
        bytes: Bytes,
        guard: Option<ResponseGuard>,
        room: Option<ResponseRoom>,
        is_http1: bool,
    ) -> Self {
        Self {
            bytes,
            guard,
            _room: room,
            is_http1,
        }
    }

    /// Returns the bytes for hyper. If a response is sent at once, its permit is freed before the client can read it, because
    /// the client's next request may arrive before hyper drops the bytes.
    fn hand_over(self) -> Bytes {
        if let Some(guard) = &self.guard
            && self.is_http1
            && self.bytes.len() <= SENT_AT_ONCE
        {
            guard.release_permit();
        }
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for BodyBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl BrokenBody {
    /// Returns the bytes, then waits once, then fails. At an error hyper closes the connection and drops the bytes that it has not
    /// sent yet; while it waits, it sends them.
    fn poll_frame(&mut self, cx: &Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match std::mem::replace(self, Self::Ended) {
            Self::Half(half) => {
                *self = Self::Sending;
                Poll::Ready(Some(Ok(Frame::data(half))))
            }
            Self::Sending => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Self::Ended => Poll::Ready(Some(Err(io::ErrorKind::ConnectionAborted.into()))),
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(busy) = &self.busy {
            busy.mark_progress();
        }
        let mut rest = match &mut self.content {
            BodyContent::File(file) => return file.poll_frame(cx),
            BodyContent::Broken(state, _) => return state.poll_frame(cx),
            content => match std::mem::replace(content, BodyContent::Empty) {
                BodyContent::Bytes(bytes) if bytes.is_http1 => {
                    return Poll::Ready(Some(Ok(Frame::data(bytes.hand_over()))));
                }
                BodyContent::Bytes(bytes) => bytes.hand_over(),
                BodyContent::Rest(rest) => rest,
                BodyContent::Empty | BodyContent::File(_) | BodyContent::Broken(..) => {
                    return Poll::Ready(None);
                }
            },
        };
        let piece = rest.split_to(rest.len().min(PIECE));
        if !rest.is_empty() {
            self.content = BodyContent::Rest(rest);
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
    fn is_end_stream(&self) -> bool {
        match &self.content {
            BodyContent::Bytes(_) | BodyContent::Rest(_) | BodyContent::Broken(..) => false,
            BodyContent::Empty => true,
            BodyContent::File(file) => file.left() == 0,
        }
    }
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match &self.content {
            BodyContent::Bytes(body) => body.bytes.len() as u64,
            BodyContent::Rest(rest) => rest.len() as u64,
            BodyContent::Empty => 0,
            BodyContent::File(file) => file.left(),
            BodyContent::Broken(_, whole) => *whole,
        })
    }
}
