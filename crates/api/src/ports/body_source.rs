//! The port to the body of an upload, as its transport delivers it.
use bytes::Bytes;
use std::task::{Context, Poll};
use thiserror::Error;

/// Reason for which no more of a body arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum BodyReadError {
    /// The client sends too slowly.
    #[error("The request body did not arrive in time")]
    TimedOut,
    /// The client has gone away, or breaks the protocol.
    #[error("The request body is broken")]
    Broken,
}

/// Body of an upload.
pub trait BodySource: Send {
    /// Returns the next bytes; `None` at the end.
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyReadError>>>;
}
