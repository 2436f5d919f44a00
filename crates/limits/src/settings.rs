//! The figures of the limiters.

use std::time::Duration;

use crate::refusal::Limit;
use crate::window::Terms;

/// The name limits are counted under: the first half of a token's digest, so that it is uniform and says nothing.
pub type Key = [u8; 16];

/// The figures of the standard quota, in requests per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// The quota of a token whose user has no paid workspace.
    pub free: u32,
    /// The quota of a token whose user has a paid workspace.
    pub paid: u32,
    /// What a client that never stops hammering still gets, in percent of its quota (100 and above are the same).
    ///
    /// It decides how many refused attempts count: the newest `quota - quota * floor_percent / 100` of a minute.
    /// 0 counts every attempt, so that constant hammering gets nothing until it pauses; 100 counts none.
    pub floor_percent: u8,
}

impl Quota {
    /// The quota of a token, from whether any workspace of its user is paid.
    #[must_use]
    pub fn of(&self, paid: bool) -> u32 {
        if paid { self.paid } else { self.free }
    }

    /// The terms of a window that allows `quota` a minute.
    #[cfg(any(test, feature = "laws"))]
    pub(crate) fn terms(&self, quota: u32) -> Terms {
        terms(quota, self.floor_percent.into())
    }
}

pub(crate) fn terms(quota: u32, floor_percent: u32) -> Terms {
    let kept = u64::from(quota) * u64::from(floor_percent) / 100;
    Terms {
        quota,
        remembered: quota.saturating_sub(u32::try_from(kept).unwrap_or(u32::MAX)),
    }
}

/// One value for each limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Each<T> {
    /// For the standard quota.
    pub standard: T,
    /// For the search quota.
    pub search: T,
    /// For the number of concurrent reads.
    pub concurrent_reads: T,
    /// For the number of concurrent writes.
    pub concurrent_writes: T,
    /// For the cost quota.
    pub cost: T,
}

impl<T> Each<T> {
    /// The value of a limit.
    pub fn of(&self, limit: Limit) -> &T {
        match limit {
            Limit::Standard => &self.standard,
            Limit::Search => &self.search,
            Limit::ConcurrentReads => &self.concurrent_reads,
            Limit::ConcurrentWrites => &self.concurrent_writes,
            Limit::Cost => &self.cost,
        }
    }

    /// The value of a limit, to be changed.
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

/// Every figure the limiter works with; all of them may change while it runs (see [`Limiter::set`](crate::Limiter::set)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The standard quota. A request says itself which quota it has ([`Rate::Standard`](crate::request::Rate::Standard)); `free` and `paid` are kept
    /// here so that one value holds all the figures, `floor_percent` is read by the limiter.
    pub standard: Quota,
    /// Searches per minute and key, counted apart from the standard quota. Refused searches do not count.
    pub search_per_minute: u32,
    /// Reads of one key that may run at the same time. 0 refuses every read.
    pub concurrent_reads: u32,
    /// Writes of one key that may run at the same time. 0 refuses every write.
    pub concurrent_writes: u32,
    /// Credits a key regains per minute, which is also the most it can have; `None` switches the cost limit off.
    /// 0 is taken as 1.
    pub cost_per_minute: Option<u32>,
    /// The most credits one settlement takes, so that a single huge answer cannot shut a client out for long.
    pub cost_ceiling: u32,
    /// The time by which every admitted request has ended, since the server stops it then.
    pub deadline: Duration,
    /// The limits that only count: they refuse nothing and add nothing to a wait, and what they would have refused is
    /// in [`Counts::shadowed`](crate::refusal::Counts::shadowed). They go on counting as if they refused, so that leaving the mode starts from the truth.
    pub shadow: Each<bool>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            standard: Quota {
                free: 150,
                paid: 1_500,
                floor_percent: 10,
            },
            search_per_minute: 60,
            concurrent_reads: 50,
            concurrent_writes: 15,
            cost_per_minute: Some(600_000),
            cost_ceiling: 60_000,
            deadline: Duration::from_secs(30),
            shadow: Each::default(),
        }
    }
}

/// What is particular to a request: a label, and figures of its own instead of those of the [`Settings`].
///
/// Whoever has figures of its own, an app or a token, gives them with every request; what was counted before them stays.
/// The standard quota is no part of it, because every request says that itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Custom {
    /// What the request is, for [`State::recent`](crate::State::recent); the limiter does not read it.
    pub label: u16,
    /// Instead of [`Settings::search_per_minute`].
    pub search_per_minute: Option<u32>,
    /// Instead of [`Settings::concurrent_reads`].
    pub concurrent_reads: Option<u32>,
    /// Instead of [`Settings::concurrent_writes`].
    pub concurrent_writes: Option<u32>,
    /// Instead of [`Settings::cost_per_minute`], also if that is off.
    pub cost_per_minute: Option<u32>,
}
