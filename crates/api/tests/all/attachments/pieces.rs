//! Body of a request that comes in pieces.
use bytes::Bytes;
use std::task::{Context, Poll};
use workgraph_api::ports::body_source::{BodyReadError, BodySource};

/// Body of a request, in pieces.
pub(crate) struct Pieces {
    pub(super) left: Bytes,
    pub(super) size: usize,
    /// Error at the end.
    pub(super) end: Option<BodyReadError>,
}

impl Pieces {
    pub(crate) fn of(body: &Bytes) -> Self {
        Self {
            left: body.clone(),
            size: 16 << 10,
            end: None,
        }
    }
}

impl BodySource for Pieces {
    fn poll_bytes(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyReadError>>> {
        if self.left.is_empty() {
            return Poll::Ready(self.end.map(Err));
        }
        let size = self.size.min(self.left.len());
        Poll::Ready(Some(Ok(self.left.split_to(size))))
    }
}
