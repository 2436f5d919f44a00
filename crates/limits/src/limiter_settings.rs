//! Settings of a limiter: its limits and their figures.

use std::time::Duration;

use crate::limit::Limit;
use crate::rate::{PerTime, Rate};

/// Settings of a limiter: as many windows and numbers of concurrent requests as it shall have, and a cost quota.
///
/// All figures may change while it runs (see [`Limiter::set_settings`](crate::Limiter::set_settings)). The number of the
/// limits, their names and their lengths stay as they were when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimiterSettings {
    /// Windows, in the order in which they are checked and named in refusals.
    pub windows: Vec<WindowSettings>,
    /// Numbers of requests that may run at the same time, each for a class of requests.
    pub concurrent: Vec<ConcurrentSettings>,
    /// The cost quota.
    pub cost: CostSettings,
    /// Time by which every admitted request has ended, since the server stops it then. A refusal by a number of
    /// concurrent requests states the wait until the latest of these deadlines.
    pub deadline: Duration,
}

/// Settings of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSettings {
    /// Name of the window in refusals and headers.
    pub name: &'static str,
    /// Weight of the requests of a key that fit into any span of the length.
    pub rate: Rate,
    /// Share of its quota that a client still gets if it never stops hammering, in percent (100 and above are the
    /// same).
    ///
    /// It decides how many refused attempts count: the newest `quota - quota * floor_percent / 100` of the window. 0
    /// counts every attempt, so that constant hammering gets nothing until it pauses; 100 counts none.
    pub floor_percent: u8,
    /// True for shadow mode: the window refuses nothing and adds nothing to a wait, and the requests that it would have
    /// refused are counted in [`LimitCounts::shadowed`](crate::LimitCounts::shadowed). It goes on counting as if it
    /// refused, so that leaving the mode starts from true counts.
    pub shadow: bool,
}

/// Settings of a number of requests that may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrentSettings {
    /// Name of the limit in refusals and headers.
    pub name: &'static str,
    /// Most requests of a key at the same time. 0 refuses every request that needs a slot.
    pub most: u32,
    /// True for shadow mode, as in [`WindowSettings::shadow`].
    pub shadow: bool,
}

/// Settings of the cost quota, which is taken after the answer is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CostSettings {
    /// Name of the quota in refusals and headers.
    pub name: &'static str,
    /// Credits a key regains in each length of time, which is also the most it can have; `None` switches the quota off.
    /// 0 is taken as 1.
    pub quota: Option<u32>,
    /// Time in which a quota is regained.
    pub length: Duration,
    /// Most credits that one settlement takes, so that a single huge answer cannot shut a client out for long.
    pub ceiling: u32,
    /// True for shadow mode, as in [`WindowSettings::shadow`].
    pub shadow: bool,
}

/// Percentage of a quota that a client gets that never pauses, unless set otherwise.
pub const FLOOR_PERCENT: u8 = 10;

impl WindowSettings {
    /// Returns the settings of a window that refuses, with the usual floor.
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
    /// Returns the settings of a number of concurrent requests that refuses.
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

/// No limits at all, and a deadline of 30 seconds.
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
