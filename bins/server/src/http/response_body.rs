//! Response bodies, and the guards that they hold until they are sent.
use crate::http::connections::{RequestGuard, ResponseGuard};
use crate::http::download::Download;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Body of a response, with the guard of its request.
#[derive(Debug)]
pub(crate) struct ResponseBody {
    content: BodyContent,
    _busy: Option<RequestGuard>,
}

impl ResponseBody {
    /// Returns a body, with the guard that is held until it is sent.
    pub(crate) fn new(content: BodyContent, busy: Option<RequestGuard>) -> Self {
        Self {
            content,
            _busy: busy,
        }
    }
}

/// Content of a body.
#[derive(Debug)]
pub(crate) enum BodyContent {
    /// Bytes, until hyper takes them.
    Bytes(Option<BodyBytes>),
    /// A file.
    File(Box<Download>),
}

/// Bytes of a body that surely fit into the buffer of a socket: over HTTP/1 they are sent as soon as hyper has them. A
/// stream of HTTP/2 may have no room for them.
const SENT_AT_ONCE: usize = 64 * 1024;

/// Bytes of a body with the guard of its response and permit. hyper keeps them until they are written, or the
/// connection is gone.
#[derive(Debug)]
pub(crate) struct BodyBytes {
    bytes: Vec<u8>,
    guard: Option<ResponseGuard>,
    is_http1: bool,
}

impl BodyBytes {
    /// Returns the bytes with their guard.
    pub(crate) fn new(bytes: Vec<u8>, guard: Option<ResponseGuard>, is_http1: bool) -> Self {
        Self {
            bytes,
            guard,
            is_http1,
        }
    }

    /// Returns the bytes for hyper. The permit of a response that is sent at once is free before the client can read
    /// it: the client's next request may come before hyper drops the bytes.
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

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match &mut self.content {
            BodyContent::Bytes(bytes) => {
                let bytes = bytes.take().map(BodyBytes::hand_over);
                Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
            BodyContent::File(file) => file.poll_frame(cx),
        }
    }
    fn is_end_stream(&self) -> bool {
        match &self.content {
            BodyContent::Bytes(bytes) => bytes.is_none(),
            BodyContent::File(file) => file.left() == 0,
        }
    }
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match &self.content {
            BodyContent::Bytes(bytes) => bytes.as_ref().map_or(0, |b| b.bytes.len() as u64),
            BodyContent::File(file) => file.left(),
        })
    }
}
