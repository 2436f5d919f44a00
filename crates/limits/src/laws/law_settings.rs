//! Settings of the limiter used by the laws.

use std::time::Duration;

use super::law_limit::PerLimit;
use crate::limiter_settings::{ConcurrentSettings, CostSettings, LimiterSettings, WindowSettings};
use crate::rate::{PerTime, WindowLength};
use crate::window::WindowTerms;

/// Figures of the standard quota, in requests per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Quota of most keys in a scenario. The limiter does not read it, since each request carries its own quota.
    pub quota: u32,
    /// Quota of the other keys.
    pub other_quota: u32,
    /// Percentage of its quota that a client still gets if it never stops hammering (values above 100 mean
    /// 100), as [`WindowSettings::floor_percent`].
    pub floor_percent: u8,
}

impl Quota {
    /// Returns the terms of a window with `quota` per minute.
    #[must_use]
    pub fn terms(&self, quota: u32) -> WindowTerms {
        WindowTerms::with_floor(quota, self.floor_percent.into(), WindowLength::MINUTE)
    }
}

/// Settings of a limiter with five limits, which let every law be checked: two windows of a minute,
/// of which the second does not remember refused requests, concurrent reads and writes, and a cost quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LawSettings {
    /// Standard quota.
    pub standard: Quota,
    /// Searches per minute and key, counted separately from the standard quota. Refused searches do not count.
    pub search_per_minute: u32,
    /// Concurrent reads of one key. 0 refuses every read.
    pub concurrent_reads: u32,
    /// Concurrent writes of one key. 0 refuses every write.
    pub concurrent_writes: u32,
    /// Credits that a key regains per minute, which is also their maximum; `None` disables the cost limit. 0 is
    /// treated as 1.
    pub cost_per_minute: Option<u32>,
    /// Maximum credits that one settlement takes, so that a single huge reply cannot lock a client out for long.
    pub cost_ceiling: u32,
    /// Time by which every admitted request has ended, since the server stops it by then.
    pub deadline: Duration,
    /// Limits in shadow mode, as in [`WindowSettings::shadow`].
    pub shadow: PerLimit<bool>,
}

impl Default for LawSettings {
    fn default() -> Self {
        Self {
            standard: Quota {
                quota: 150,
                other_quota: 1_500,
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

impl From<&LawSettings> for LimiterSettings {
    fn from(of: &LawSettings) -> Self {
        let window = |name, quota: u32, floor_percent, shadow| WindowSettings {
            floor_percent,
            shadow,
            ..WindowSettings::new(name, quota.per_minute())
        };
        let class = |name, most, shadow| ConcurrentSettings {
            shadow,
            ..ConcurrentSettings::new(name, most)
        };
        let (standard, shadow) = (&of.standard, &of.shadow);
        Self {
            windows: vec![
                window(
                    "standard",
                    standard.quota,
                    standard.floor_percent,
                    shadow.standard,
                ),
                window("search", of.search_per_minute, 100, shadow.search),
            ],
            concurrent: vec![
                class(
                    "concurrent_reads",
                    of.concurrent_reads,
                    shadow.concurrent_reads,
                ),
                class(
                    "concurrent_writes",
                    of.concurrent_writes,
                    shadow.concurrent_writes,
                ),
            ],
            cost: CostSettings {
                quota: of.cost_per_minute,
                ceiling: of.cost_ceiling,
                shadow: shadow.cost,
                ..CostSettings::new("cost", 0.per_minute())
            },
            deadline: of.deadline,
        }
    }
}

/// Overrides for one request: a label, and figures that replace figures of the [`LawSettings`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LawOverrides {
    /// Label of the request.
    pub label: u16,
    /// Replacement for [`LawSettings::search_per_minute`].
    pub search_per_minute: Option<u32>,
    /// Replacement for [`LawSettings::concurrent_reads`].
    pub concurrent_reads: Option<u32>,
    /// Replacement for [`LawSettings::concurrent_writes`].
    pub concurrent_writes: Option<u32>,
    /// Replacement for [`LawSettings::cost_per_minute`], even if that is off.
    pub cost_per_minute: Option<u32>,
}
