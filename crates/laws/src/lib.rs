//! Laws of rate limiters, paginated lists and webhook receivers, for subjects in any language.
#![doc = include_str!("../README.md")]

#[cfg(feature = "http")]
mod http_client;
pub mod limiter;
pub mod pagination;
pub mod receiver;
mod report;

pub use report::{LawReport, Report, RunOptions, Verdict};

use thiserror::Error;

/// Reason for which a subject could not be judged: it answered nothing that a law can read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SubjectError(pub String);

impl SubjectError {
    /// Makes an error from what was expected and what came instead.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}
