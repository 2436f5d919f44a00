//! The limits of a request.

use std::fmt;

use crate::admission_request::{RequestClass, select_by_class};

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

/// One value for each limit.
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
    pub fn of(&self, limit: Limit) -> &T {
        match limit {
            Limit::Standard => &self.standard,
            Limit::Search => &self.search,
            Limit::ConcurrentReads => &self.concurrent_reads,
            Limit::ConcurrentWrites => &self.concurrent_writes,
            Limit::Cost => &self.cost,
        }
    }

    /// Returns the value of a limit, to be changed.
    pub fn of_mut(&mut self, limit: Limit) -> &mut T {
        match limit {
            Limit::Standard => &mut self.standard,
            Limit::Search => &mut self.search,
            Limit::ConcurrentReads => &mut self.concurrent_reads,
            Limit::ConcurrentWrites => &mut self.concurrent_writes,
            Limit::Cost => &mut self.cost,
        }
    }
}
