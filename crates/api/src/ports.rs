//! Ports to the outside world: time and randomness; files of attachments, and bodies as they arrive.
pub mod blob_store;
pub mod body_source;

use std::time::SystemTime;
use thiserror::Error;

/// Source of the time. Tests set it by hand. A function that returns it is one.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> SystemTime;
}

impl<F: Fn() -> SystemTime + Send + Sync> Clock for F {
    fn now(&self) -> SystemTime {
        self()
    }
}

/// Source of random bytes. A function that fills a buffer is one.
pub trait Entropy: Send + Sync {
    /// Fills the buffer with unpredictable bytes.
    ///
    /// # Errors
    /// Fails when the system has no random bytes; nothing may be issued then.
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyUnavailable>;
}

impl<F> Entropy for F
where
    F: Fn(&mut [u8]) -> Result<(), EntropyUnavailable> + Send + Sync,
{
    fn fill(&self, buffer: &mut [u8]) -> Result<(), EntropyUnavailable> {
        self(buffer)
    }
}

/// Error of a system that gave no random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the system gave no random bytes")]
pub struct EntropyUnavailable;
