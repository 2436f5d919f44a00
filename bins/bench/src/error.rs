//! The error of this program.

/// Errors of this program. They are shown to the person at the terminal, so text is enough.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;
/// Result with the error type of this program.
pub(crate) type Result<T> = std::result::Result<T, Error>;
