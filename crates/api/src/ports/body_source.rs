//! The port to the body of a request, as its transport delivers it.
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
    /// The client, or all clients together, keep more bytes in memory than they may.
    #[error("Too many bytes of requests and replies are under way; try again later")]
    NoRoom,
}

/// Body of a request.
pub trait BodySource: Send {
    /// Returns the number of bytes that the body has at least, as far as the client announced it.
    fn announced(&self) -> u64 {
        0
    }
    /// Notes the user on whose account the bytes are kept from now on. The transport may refuse to read them.
    ///
    /// # Errors
    /// Fails with [`BodyReadError::NoRoom`] if too many bytes are kept for the user already.
    fn keep_for(&mut self, _user: u64) -> Result<(), BodyReadError> {
        Ok(())
    }
    /// Returns the next bytes; `None` at the end.
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyReadError>>>;
}
