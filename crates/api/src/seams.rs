//! The seams to the outside world: time and randomness.
use std::time::SystemTime;

/// Tells the time. Tests turn it by hand.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> SystemTime;
}

/// Makes random bytes.
pub trait Entropy: Send + Sync {
    /// Fills the buffer with bytes nobody can guess.
    ///
    /// # Errors
    /// When the system has none; nothing may be issued then.
    fn fill(&self, buffer: &mut [u8]) -> Result<(), NoEntropy>;
}

/// The system gave no random bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoEntropy;

impl std::fmt::Display for NoEntropy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the system gave no random bytes")
    }
}
impl std::error::Error for NoEntropy {}
