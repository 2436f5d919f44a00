//! Ports to the outside world: time and randomness; files of attachments, and bodies as they arrive.
pub mod blob_store;
pub mod body_source;

use std::time::SystemTime;
use thiserror::Error;

/// Source of the time. Tests set it by hand.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> SystemTime;
}

/// Source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer with unpredictable bytes.
    ///
    /// # Errors
    /// Fails when the system has no random bytes; nothing may be issued then.
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyUnavailable>;
}

/// Error of a system that gave no random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the system gave no random bytes")]
pub struct EntropyUnavailable;
