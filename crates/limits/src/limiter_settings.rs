//! Settings of the limiters.

use std::time::Duration;

use crate::limit::PerLimit;
use crate::window::WindowTerms;

/// Figures of the standard quota, in requests per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Quota of a token whose user has no paid workspace.
    pub free: u32,
    /// Quota of a token whose user has a paid workspace.
    pub paid: u32,
    /// Share of its quota that a client still gets if it never stops hammering, in percent (100 and above are the
    /// same).
    ///
    /// It decides how many refused attempts count: the newest `quota - quota * floor_percent / 100` of a minute. 0
    /// counts every attempt, so that constant hammering gets nothing until it pauses; 100 counts none.
    pub floor_percent: u8,
}

impl Quota {
    /// Returns the quota of a token; `paid` is true if any workspace of its user is paid.
    #[must_use]
    pub fn of(&self, paid: bool) -> u32 {
        if paid { self.paid } else { self.free }
    }

    /// Returns the terms of a window that allows `quota` a minute.
    #[cfg(any(test, feature = "laws"))]
    pub(crate) fn terms(&self, quota: u32) -> WindowTerms {
        terms(quota, self.floor_percent.into())
    }
}

pub(crate) fn terms(quota: u32, floor_percent: u32) -> WindowTerms {
    let kept = u64::from(quota) * u64::from(floor_percent) / 100;
    WindowTerms {
        quota,
        remembered: quota.saturating_sub(u32::try_from(kept).unwrap_or(u32::MAX)),
    }
}

/// Settings of the limiter; all of them may change while it runs (see
/// [`Limiter::set_settings`](crate::Limiter::set_settings)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimiterSettings {
    /// Standard quota. A request brings the quota that it has
    /// ([`RateQuota::Standard`](crate::admission_request::RateQuota::Standard)); `free` and `paid` are kept here so
    /// that one value holds all the figures, `floor_percent` is read by the limiter.
    pub standard: Quota,
    /// Searches per minute and key, counted apart from the standard quota. Refused searches do not count.
    pub search_per_minute: u32,
    /// Reads of one key that may run at the same time. 0 refuses every read.
    pub concurrent_reads: u32,
    /// Writes of one key that may run at the same time. 0 refuses every write.
    pub concurrent_writes: u32,
    /// Credits a key regains per minute, which is also the most it can have; `None` switches the cost limit off. 0 is
    /// taken as 1.
    pub cost_per_minute: Option<u32>,
    /// Most credits that one settlement takes, so that a single huge answer cannot shut a client out for long.
    pub cost_ceiling: u32,
    /// Time by which every admitted request has ended, since the server stops it then.
    pub deadline: Duration,
    /// Limits in shadow mode: they refuse nothing and add nothing to a wait, and the requests that they would have
    /// refused are counted in [`AdmissionCounts::shadowed`](crate::limit_exceeded::AdmissionCounts::shadowed). They go
    /// on counting as if they refused, so that leaving the mode starts from true counts.
    pub shadow: PerLimit<bool>,
}

impl Default for LimiterSettings {
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
            shadow: PerLimit::default(),
        }
    }
}

/// Overrides for one request: a label, and figures of its own instead of those of the [`LimiterSettings`].
///
/// An app or a token that has figures of its own gives them with every request; earlier counts stay. The standard quota
/// is no part of this, because every request brings it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestOverrides {
    /// Label of the request, for [`LimiterState::recent`](crate::LimiterState::recent); the limiter does not read it.
    pub label: u16,
    /// Figure instead of [`LimiterSettings::search_per_minute`].
    pub search_per_minute: Option<u32>,
    /// Figure instead of [`LimiterSettings::concurrent_reads`].
    pub concurrent_reads: Option<u32>,
    /// Figure instead of [`LimiterSettings::concurrent_writes`].
    pub concurrent_writes: Option<u32>,
    /// Figure instead of [`LimiterSettings::cost_per_minute`], also if that is off.
    pub cost_per_minute: Option<u32>,
}
