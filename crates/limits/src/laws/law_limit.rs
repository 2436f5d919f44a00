//! Limits used by the laws, and refusals by them.

use std::fmt;

use super::law_class::{RequestClass, select_by_class};
use crate::limit::Limit;
use crate::limit_exceeded::{AdmissionCounts, LimitCounts, LimitExceeded};

/// One of the five limits of [`LawSettings`](super::LawSettings).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LawLimit {
    /// The standard quota per minute.
    Standard,
    /// The search quota per minute.
    Search,
    /// Limit of concurrent reads.
    ConcurrentReads,
    /// Limit of concurrent writes.
    ConcurrentWrites,
    /// Quota of the cost.
    Cost,
}

impl LawLimit {
    /// All limits, in order.
    pub const ALL: [Self; 5] = [
        Self::Standard,
        Self::Search,
        Self::ConcurrentReads,
        Self::ConcurrentWrites,
        Self::Cost,
    ];

    /// Returns the limit of a limiter that is built from [`LawSettings`](super::LawSettings).
    #[must_use]
    pub const fn limit(self) -> Limit {
        match self {
            Self::Standard => Limit::window("standard", 0),
            Self::Search => Limit::window("search", 1),
            Self::ConcurrentReads => Limit::concurrent("concurrent_reads", 0),
            Self::ConcurrentWrites => Limit::concurrent("concurrent_writes", 1),
            Self::Cost => Limit::cost("cost"),
        }
    }

    /// Returns the limit of concurrent requests of a class.
    #[must_use]
    pub fn concurrent(class: RequestClass) -> Self {
        select_by_class(class, Self::ConcurrentReads, Self::ConcurrentWrites)
    }
}

/// Maps unknown limits to the cost, so that a law finds the difference.
impl From<Limit> for LawLimit {
    fn from(limit: Limit) -> Self {
        let same = |one: &Self| one.limit() == limit;
        Self::ALL.into_iter().find(same).unwrap_or(Self::Cost)
    }
}

impl fmt::Display for LawLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limit().fmt(f)
    }
}

/// Refusal of a request: the limit, and the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LawRefusal {
    /// Limit that refused; if there are several, the first in the order of [`LawLimit`].
    pub limit: LawLimit,
    /// Whole seconds after which the same request is admitted if nothing else happens; at least 1.
    pub retry_after: u64,
    /// The same wait in milliseconds, before it was rounded up.
    pub wait_ms: u64,
}

impl LawRefusal {
    /// Makes a refusal with the given wait; `retry_after` is the wait in whole seconds, rounded up. The wait is at
    /// least a millisecond.
    #[must_use]
    pub fn new(limit: LawLimit, wait_ms: u64) -> Self {
        LimitExceeded::new(limit.limit(), wait_ms).into()
    }

    /// Returns the same refusal with a wait of at least `wait_ms` milliseconds.
    #[must_use]
    pub fn with_min_wait(self, wait_ms: u64) -> Self {
        Self::new(self.limit, self.wait_ms.max(wait_ms))
    }
}

impl From<LimitExceeded> for LawRefusal {
    fn from(refusal: LimitExceeded) -> Self {
        Self {
            limit: refusal.limit.into(),
            retry_after: refusal.retry_after,
            wait_ms: refusal.wait_ms,
        }
    }
}

impl fmt::Display for LawRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            limit, retry_after, ..
        } = self;
        write!(f, "the {limit} is used up, retry after {retry_after} s")
    }
}

impl std::error::Error for LawRefusal {}

/// Counts of admissions and refusals, by limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LawCounts {
    /// Requests admitted; a batch is one.
    pub admitted: u64,
    /// Admitted requests that each limit was checked for.
    pub passed: PerLimit<u64>,
    /// Requests refused, by the first limit that refused.
    pub refused: PerLimit<u64>,
    /// Requests that each limit in shadow mode would have refused.
    pub shadowed: PerLimit<u64>,
}

impl From<&AdmissionCounts> for LawCounts {
    fn from(counts: &AdmissionCounts) -> Self {
        let each = |of: fn(LimitCounts) -> u64| {
            let mut each = PerLimit::default();
            for limit in LawLimit::ALL {
                *each.of_mut(limit) = of(counts.of(limit.limit()));
            }
            each
        };
        Self {
            admitted: counts.admitted,
            passed: each(|counts| counts.passed),
            refused: each(|counts| counts.refused),
            shadowed: each(|counts| counts.shadowed),
        }
    }
}

/// Value for each limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerLimit<T> {
    /// Value of the standard quota.
    pub standard: T,
    /// Value of the search quota.
    pub search: T,
    /// Value of the limit of concurrent reads.
    pub concurrent_reads: T,
    /// Value of the limit of concurrent writes.
    pub concurrent_writes: T,
    /// Value of the cost quota.
    pub cost: T,
}

impl<T> PerLimit<T> {
    /// Returns the value of a limit.
    pub fn of(&self, limit: LawLimit) -> &T {
        match limit {
            LawLimit::Standard => &self.standard,
            LawLimit::Search => &self.search,
            LawLimit::ConcurrentReads => &self.concurrent_reads,
            LawLimit::ConcurrentWrites => &self.concurrent_writes,
            LawLimit::Cost => &self.cost,
        }
    }

    /// Returns a mutable reference to the value of a limit.
    pub fn of_mut(&mut self, limit: LawLimit) -> &mut T {
        match limit {
            LawLimit::Standard => &mut self.standard,
            LawLimit::Search => &mut self.search,
            LawLimit::ConcurrentReads => &mut self.concurrent_reads,
            LawLimit::ConcurrentWrites => &mut self.concurrent_writes,
            LawLimit::Cost => &mut self.cost,
        }
    }
}
