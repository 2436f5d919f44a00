//! The refusal of a request that exceeds a limit, and the counts of refusals and admissions.

use std::fmt;

use crate::limit::{Limit, PerLimit};

/// Refusal of a request: the limit, and the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Limit that refused; the first of the order of [`Limit`] if several did.
    pub limit: Limit,
    /// Whole seconds after which the same request is admitted if nothing else happens; at least 1. It covers every
    /// limit, not just the refusing one, and counts this very attempt.
    pub retry_after: u64,
    /// The same wait in milliseconds, before it was rounded up.
    pub wait_ms: u64,
}

impl LimitExceeded {
    /// Makes a refusal with the given wait, of which `Retry-After` is the whole seconds, rounded up; the wait is at least a millisecond.
    #[must_use]
    pub fn new(limit: Limit, wait_ms: u64) -> Self {
        let wait_ms = wait_ms.max(1);
        Self {
            limit,
            retry_after: wait_ms.div_ceil(1_000),
            wait_ms,
        }
    }

    /// Returns the same refusal with a wait of at least `wait_ms` milliseconds, for the waits of other limits.
    #[must_use]
    pub fn with_min_wait(self, wait_ms: u64) -> Self {
        Self::new(self.limit, self.wait_ms.max(wait_ms))
    }
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the {} is used up, retry after {} s",
            self.limit, self.retry_after
        )
    }
}

impl std::error::Error for LimitExceeded {}

/// Counts of admissions and refusals since a limiter was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionCounts {
    /// Requests admitted; a batch is one.
    pub admitted: u64,
    /// Admitted requests that each limit was checked for: a search is not checked against the standard quota, a read
    /// not against the limit of concurrent writes.
    pub passed: PerLimit<u64>,
    /// Requests refused, by the first limit that refused.
    pub refused: PerLimit<u64>,
    /// Requests that each limit in shadow mode would have refused; another limit may have refused them.
    pub shadowed: PerLimit<u64>,
}
