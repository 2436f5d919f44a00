//! Laws of rate limiters, paginated lists and webhook receivers, for subjects in any language.
#![doc = include_str!("../README.md")]

#[cfg(feature = "command")]
pub mod command;
#[cfg(feature = "http")]
mod http_client;
pub mod limiter;
pub mod pagination;
pub mod receiver;
mod report;

pub use report::{LawReport, Report, RunOptions, Verdict};

use thiserror::Error;

/// Reason why a subject could not be judged: it gave no answer that a law can interpret.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SubjectError(pub String);

impl SubjectError {
    /// Makes an error that describes the expected and the actual result.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}
