//! The limits a request can run into, what is said when it does, and how often that was.

use std::fmt;

use crate::concurrency::of;
use crate::request::Class;
use crate::settings::Each;

/// The limits a request can run into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The standard quota per minute.
    Standard,
    /// The search quota per minute.
    Search,
    /// The number of concurrent reads.
    ConcurrentReads,
    /// The number of concurrent writes.
    ConcurrentWrites,
    /// The cost quota.
    Cost,
}

impl Limit {
    /// Every limit, in order.
    pub const ALL: [Self; 5] = [
        Self::Standard,
        Self::Search,
        Self::ConcurrentReads,
        Self::ConcurrentWrites,
        Self::Cost,
    ];

    /// Its name in settings, headers and metrics.
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

    /// The limit of concurrent requests of a class.
    #[must_use]
    pub fn concurrent(class: Class) -> Self {
        of(class, Self::ConcurrentReads, Self::ConcurrentWrites)
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

/// Why and for how long a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The limit that refused; the first of the order of [`Limit`] where several did.
    pub limit: Limit,
    /// Whole seconds after which the same request is admitted if nothing else happens; at least 1. It covers every
    /// limit, not just the refusing one, and counts this very attempt.
    pub retry_after: u64,
    /// The same wait in milliseconds, before it was rounded up.
    pub wait_ms: u64,
}

impl Refusal {
    /// A refusal with the given wait; the wait is at least a millisecond.
    pub(crate) fn new(limit: Limit, wait_ms: u64) -> Self {
        let wait_ms = wait_ms.max(1);
        Self {
            limit,
            retry_after: wait_ms.div_ceil(1_000),
            wait_ms,
        }
    }

    /// The same refusal with a wait of at least so many milliseconds, for what other limits say.
    #[must_use]
    pub fn or_longer(self, wait_ms: u64) -> Self {
        Self::new(self.limit, self.wait_ms.max(wait_ms))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the {} is used up, retry after {} s",
            self.limit, self.retry_after
        )
    }
}

impl std::error::Error for Refusal {}

/// How often a limiter admitted and refused since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests admitted; a batch is one.
    pub admitted: u64,
    /// Those of them that each limit let pass: a search has nothing to do with the standard quota, a read nothing with the
    /// limit of concurrent writes.
    pub passed: Each<u64>,
    /// Requests refused, under the first limit that did.
    pub refused: Each<u64>,
    /// Requests that each limit in shadow mode would have refused; another limit may have.
    pub shadowed: Each<u64>,
}
