//! Settings of a limiter: its limits and their figures.

use std::time::Duration;

use crate::limit::Limit;
use crate::rate::{PerTime, Rate};

/// Settings of a limiter: any number of windows and of concurrency limits, and a cost quota.
///
/// All figures may change while it runs (see [`Limiter::set_settings`](crate::Limiter::set_settings)). The number of
/// limits, their names and their lengths do not change after it was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterSettings {
    /// Windows, in the order in which they are checked and refuse.
    pub windows: Vec<WindowSettings>,
    /// Maximum numbers of concurrent requests, each for a class of requests.
    pub concurrent: Vec<ConcurrentSettings>,
    /// Settings of the cost quota.
    pub cost: CostSettings,
    /// Time by which every admitted request has ended, since the server stops it by then. A refusal by a concurrency limit
    /// states the wait until the latest of these deadlines.
    pub deadline: Duration,
}

/// Settings of one window: its name, its rate, and the weight of refused attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSettings {
    /// Name of the window in refusals and headers.
    pub name: &'static str,
    /// Weight of the requests of a key that fits into any span of the length.
    pub rate: Rate,
    /// Percentage of its quota that a client still gets if it never stops hammering (values above 100 mean
    /// 100).
    ///
    /// It determines how many refused attempts count: the newest `quota - quota * floor_percent / 100` of the window. With 0
    /// every attempt counts, so that constant hammering gets nothing until it pauses; with 100 none counts.
    pub floor_percent: u8,
    /// True for shadow mode: the window refuses nothing and does not extend waits, and the requests that it would have
    /// refused are counted in [`LimitCounts::shadowed`](crate::LimitCounts::shadowed). It keeps counting as if it
    /// refused, so that leaving the mode starts from correct counts.
    pub shadow: bool,
}

/// Settings of a limit of concurrent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrentSettings {
    /// Name of the limit in refusals and headers.
    pub name: &'static str,
    /// Maximum number of concurrent requests of a key. 0 refuses every request that needs a slot.
    pub most: u32,
    /// True for shadow mode, as in [`WindowSettings::shadow`].
    pub shadow: bool,
}

/// Settings of the cost quota, which is taken after the reply is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostSettings {
    /// Name of the quota in refusals and headers.
    pub name: &'static str,
    /// Credits that a key regains in each length of time, which is also their maximum; `None` disables the quota.
    /// 0 is treated as 1.
    pub quota: Option<u32>,
    /// Time in which a quota is regained.
    pub length: Duration,
    /// Maximum credits that one settlement takes, so that a single huge reply cannot lock a client out for long.
    pub ceiling: u32,
    /// True for shadow mode, as in [`WindowSettings::shadow`].
    pub shadow: bool,
}

/// Default percentage of a quota for a client that never pauses.
pub const FLOOR_PERCENT: u8 = 10;

impl WindowSettings {
    /// Returns the settings of a window that refuses, with the default floor.
    #[must_use]
    pub const fn new(name: &'static str, rate: Rate) -> Self {
        Self {
            name,
            rate,
            floor_percent: FLOOR_PERCENT,
            shadow: false,
        }
    }
}

impl ConcurrentSettings {
    /// Returns the settings of a concurrency limit that refuses.
    #[must_use]
    pub const fn new(name: &'static str, most: u32) -> Self {
        Self {
            name,
            most,
            shadow: false,
        }
    }
}

impl CostSettings {
    /// Returns the settings of a cost quota that refuses. One settlement takes at most a whole quota.
    #[must_use]
    pub const fn new(name: &'static str, rate: Rate) -> Self {
        Self {
            name,
            quota: Some(rate.quota),
            length: rate.length,
            ceiling: rate.quota,
            shadow: false,
        }
    }
}

/// Has no limits, and a deadline of 30 seconds.
impl Default for LimiterSettings {
    fn default() -> Self {
        Self {
            windows: Vec::new(),
            concurrent: Vec::new(),
            cost: CostSettings {
                quota: None,
                ..CostSettings::new("cost", 0.per_minute())
            },
            deadline: Duration::from_secs(30),
        }
    }
}

impl LimiterSettings {
    /// Returns the limits in order: windows, concurrent requests, and the cost.
    pub(crate) fn limits(&self) -> impl Iterator<Item = Limit> {
        let windows = self.windows.iter().enumerate();
        let concurrent = self.concurrent.iter().enumerate();
        windows
            .map(|(at, window)| Limit::window(window.name, at))
            .chain(concurrent.map(|(at, class)| Limit::concurrent(class.name, at)))
            .chain([Limit::cost(self.cost.name)])
    }
}
