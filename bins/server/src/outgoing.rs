//! Bodies on their way out, and what they hold until they are sent.
use crate::door::{Busy, Slot};
use crate::download::Download;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A body, and that its request is being answered.
#[derive(Debug)]
pub(crate) struct Outgoing {
    content: Content,
    _busy: Option<Busy>,
}

impl Outgoing {
    /// A body, with what is held until it is sent.
    pub(crate) fn new(content: Content, busy: Option<Busy>) -> Self {
        Self {
            content,
            _busy: busy,
        }
    }
}

/// What a body is made of.
#[derive(Debug)]
pub(crate) enum Content {
    /// These bytes, until they are taken.
    Bytes(Option<Bytes>),
    /// A file.
    File(Box<Download>),
}

/// The bytes of a body with the slot of its permit. hyper keeps them until they are written, or the connection is gone.
pub(crate) struct Owned {
    bytes: Vec<u8>,
    _slot: Slot,
}

impl Owned {
    /// The bytes, and what they hold.
    pub(crate) fn new(bytes: Vec<u8>, slot: Slot) -> Self {
        Self { bytes, _slot: slot }
    }
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match &mut self.content {
            Content::Bytes(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
            Content::File(file) => file.poll_frame(cx),
        }
    }
    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Bytes(bytes) => bytes.is_none(),
            Content::File(file) => file.left() == 0,
        }
    }
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match &self.content {
            Content::Bytes(bytes) => bytes.as_ref().map_or(0, |b| b.len() as u64),
            Content::File(file) => file.left(),
        })
    }
}
