//! Limits of a request, the refusal when one is exceeded, and the counts of both.

use std::fmt;

use crate::admission_request::RequestClass;
use crate::concurrency::select_by_class;
use crate::limiter_settings::PerLimit;

/// Limit that a request can exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The standard quota per minute.
    Standard,
    /// The search quota per minute.
    Search,
    /// The limit of concurrent reads.
    ConcurrentReads,
    /// The limit of concurrent writes.
    ConcurrentWrites,
    /// The cost quota.
    Cost,
}

impl Limit {
    /// All limits, in order.
    pub const ALL: [Self; 5] = [
        Self::Standard,
        Self::Search,
        Self::ConcurrentReads,
        Self::ConcurrentWrites,
        Self::Cost,
    ];

    /// Returns the limit's name in settings, headers and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Search => "search",
            Self::ConcurrentReads => "concurrent_reads",
            Self::ConcurrentWrites => "concurrent_writes",
            Self::Cost => "cost",
        }
    }

    /// Returns the limit of concurrent requests of a class.
    #[must_use]
    pub fn concurrent(class: RequestClass) -> Self {
        select_by_class(class, Self::ConcurrentReads, Self::ConcurrentWrites)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "standard quota",
            Self::Search => "search quota",
            Self::ConcurrentReads => "limit of concurrent reads",
            Self::ConcurrentWrites => "limit of concurrent writes",
            Self::Cost => "cost quota",
        })
    }
}

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
    /// Makes a refusal with the given wait; the wait is at least a millisecond.
    pub(crate) fn new(limit: Limit, wait_ms: u64) -> Self {
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
