//! Conversion of stored secrets of webhooks to another form: sealed, or sealed with another key.

/// Error of a function that converts secrets.
pub type ResealError = Box<dyn std::error::Error + Send + Sync>;

/// Function that gets the id and the stored secret of a webhook, and returns the new form of the secret to store; `None` if
/// it stays unchanged.
pub type Reseal<'r> = dyn FnMut(u64, &str) -> Result<Option<String>, ResealError> + Send + 'r;
