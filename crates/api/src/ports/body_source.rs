//! The port to the body of a request, as the transport delivers it.
use bytes::Bytes;
use std::task::{Context, Poll};
use thiserror::Error;

/// Reason why the rest of a body does not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum BodyReadError {
    /// The client sends too slowly.
    #[error("The request body did not arrive in time")]
    TimedOut,
    /// The client has disconnected, or violates the protocol.
    #[error("The request body is broken")]
    Broken,
    /// The client, or all clients together, hold more bytes in memory than allowed.
    #[error("Too many bytes of requests and replies are under way; try again later")]
    NoRoom,
}

/// Body of a request that arrives piece by piece.
pub trait BodySource: Send {
    /// Returns the minimum number of bytes of the body, as announced by the client.
    fn announced(&self) -> u64 {
        0
    }
    /// Sets the user whose memory the bytes count against from now on. The transport may refuse to read them.
    ///
    /// # Errors
    /// Fails with [`BodyReadError::NoRoom`] if too many bytes are held for the user already.
    fn keep_for(&mut self, _user: u64) -> Result<(), BodyReadError> {
        Ok(())
    }
    /// Returns the next bytes; `None` at the end.
    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyReadError>>>;
}
