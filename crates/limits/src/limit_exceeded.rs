//! Refusal of a request that exceeds a limit, and the counts of refusals and admissions.

use std::fmt;

use crate::limit::Limit;

/// Refusal of a request: the limit, and the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Limit that refused; if several did, the first: windows in their order, then concurrent requests, then the cost.
    pub limit: Limit,
    /// Whole seconds after which the same request is admitted if nothing else happens; at least 1. It covers every
    /// limit, not just the refusing one, and counts this very attempt.
    pub retry_after: u64,
    /// The same wait in milliseconds, before it was rounded up.
    pub wait_ms: u64,
    /// Use of the refusing limit; `None` if only the wait is known, as from a limiter of several processes.
    pub usage: Option<LimitUsage>,
}

/// Use of a limit at one time, in its own unit: weight, requests, or credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitUsage {
    /// The quota, or the most that may run at the same time.
    pub limit: u32,
    /// Rest of it.
    pub remaining: u32,
    /// Milliseconds until all of it is free again, if nothing else happens; 0 if nothing is used.
    pub reset_ms: u64,
}

impl LimitExceeded {
    /// Makes a refusal with the given wait, of which `retry_after` is the whole seconds, rounded up; the wait is at
    /// least a millisecond.
    #[must_use]
    pub fn new(limit: Limit, wait_ms: u64) -> Self {
        let wait_ms = wait_ms.max(1);
        Self {
            limit,
            retry_after: wait_ms.div_ceil(1_000),
            wait_ms,
            usage: None,
        }
    }

    /// Returns the same refusal with the use of the refusing limit.
    #[must_use]
    pub fn with_usage(mut self, usage: LimitUsage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Returns the same refusal with a wait of at least `wait_ms` milliseconds, for the waits of other limits.
    #[must_use]
    pub fn with_min_wait(self, wait_ms: u64) -> Self {
        let usage = self.usage;
        Self {
            usage,
            ..Self::new(self.limit, self.wait_ms.max(wait_ms))
        }
    }
}

impl fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            limit, retry_after, ..
        } = self;
        write!(f, "the {limit} is used up, retry after {retry_after} s")
    }
}

impl std::error::Error for LimitExceeded {}

/// Counts of admissions and refusals since a limiter was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionCounts {
    /// Requests admitted; a batch is one.
    pub admitted: u64,
    /// Counts of each limit: windows in their order, then concurrent requests, then the cost.
    pub limits: Vec<(Limit, LimitCounts)>,
}

/// Counts of one limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitCounts {
    /// Admitted requests that the limit was checked for.
    pub passed: u64,
    /// Requests refused of which this was the first limit that refused.
    pub refused: u64,
    /// Requests that the limit would have refused if it were not in shadow mode; another may have refused them.
    pub shadowed: u64,
}

impl AdmissionCounts {
    /// Returns the counts of a limit; those of a limit that the limiter does not have are 0.
    #[must_use]
    pub fn of(&self, limit: Limit) -> LimitCounts {
        let found = self.limits.iter().find(|(of, _)| *of == limit);
        found.map_or_else(LimitCounts::default, |(_, counts)| *counts)
    }
}
