//! Ports to the outside world: time, randomness, attachment files, and bodies as they arrive.
pub mod blob_store;
pub mod body_source;

use std::time::SystemTime;
use thiserror::Error;

/// Source of the time. Tests set it by hand. Implemented for functions that return the time.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> SystemTime;
}

impl<F: Fn() -> SystemTime + Send + Sync> Clock for F {
    fn now(&self) -> SystemTime {
        self()
    }
}

/// Source of random bytes. Implemented for functions that fill a buffer.
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

/// Error of a system that provided no random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the system gave no random bytes")]
pub struct EntropyUnavailable;
