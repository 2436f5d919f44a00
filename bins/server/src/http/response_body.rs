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
    Bytes(Option<Bytes>),
    /// A file.
    File(Box<Download>),
}

/// Bytes of a body with the guard of its response and permit. hyper keeps them until they are written, or the
/// connection is gone.
pub(crate) struct BodyBytes {
    bytes: Vec<u8>,
    _slot: ResponseGuard,
}

impl BodyBytes {
    /// Returns the bytes with their guard.
    pub(crate) fn new(bytes: Vec<u8>, slot: ResponseGuard) -> Self {
        Self { bytes, _slot: slot }
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
            BodyContent::Bytes(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
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
            BodyContent::Bytes(bytes) => bytes.as_ref().map_or(0, |b| b.len() as u64),
            BodyContent::File(file) => file.left(),
        })
    }
}
