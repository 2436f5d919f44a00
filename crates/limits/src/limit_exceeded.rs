//! Refusal of a request that exceeds a limit, and the counts of refusals and admissions.

use std::fmt;

use crate::limit::Limit;

/// Refusal of a request: the limit, and the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitExceeded {
    /// Limit that refused the request; if there are several, the first: windows in order, then concurrent requests, then the
    /// cost.
    pub limit: Limit,
    /// Whole seconds after which the same request is admitted if nothing else happens; at least 1. It covers every
    /// limit, not only the refusing one, and includes the count of this attempt.
    pub retry_after: u64,
    /// The same wait in milliseconds, before it was rounded up.
    pub wait_ms: u64,
    /// Use of the refusing limit; `None` if only the wait is known, for instance from a limiter of several processes.
    pub usage: Option<LimitUsage>,
}

/// Use of a limit at one time, in its own unit: weight, requests, or credits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitUsage {
    /// The quota, or the maximum number of concurrent requests.
    pub limit: u32,
    /// Unused part of the limit.
    pub remaining: u32,
    /// Milliseconds until all of it is free again, if nothing else happens; 0 if nothing is used.
    pub reset_ms: u64,
}

impl LimitExceeded {
    /// Makes a refusal with the given wait; `retry_after` is the wait in whole seconds, rounded up. The wait is at
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

    /// Returns the refusal with the use of the refusing limit.
    #[must_use]
    pub fn with_usage(mut self, usage: LimitUsage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Returns the refusal with a wait of at least `wait_ms` milliseconds, to include the waits of other limits.
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

/// Counts of admissions and refusals since a limiter was created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionCounts {
    /// Requests admitted; a batch is one.
    pub admitted: u64,
    /// Counts of each limit: windows in order, then concurrent requests, then the cost.
    pub limits: Vec<(Limit, LimitCounts)>,
}

/// Counts of decisions by one limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitCounts {
    /// Admitted requests that the limit was checked for.
    pub passed: u64,
    /// Refused requests for which this was the first refusing limit.
    pub refused: u64,
    /// Requests that the limit would have refused if it were not in shadow mode; another limit may have refused them.
    pub shadowed: u64,
}

impl AdmissionCounts {
    /// Returns the counts of a limit; 0 for a limit that the limiter does not have.
    #[must_use]
    pub fn of(&self, limit: Limit) -> LimitCounts {
        let found = self.limits.iter().find(|(of, _)| *of == limit);
        found.map_or_else(LimitCounts::default, |(_, counts)| *counts)
    }
}
