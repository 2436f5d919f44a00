//! Builder of a limiter, which adds one limit at a time.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::time::Duration;

use crate::limiter::Limiter;
use crate::limiter_settings::{ConcurrentSettings, CostSettings, LimiterSettings, WindowSettings};
use crate::rate::Rate;

/// Builder of a [`Limiter`], which adds one limit at a time.
///
/// ```
/// use std::time::Duration;
/// use workgraph_limits::{Limiter, PerTime};
///
/// let limits: Limiter<String> = Limiter::builder()
///     .window("burst", 100.per(Duration::from_secs(10)))
///     .window("day", 10_000.per_day())
///     .concurrent(20)
///     .cost(50_000.per_minute())
///     .build();
/// # assert_eq!(limits.settings().windows.len(), 2);
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct LimiterBuilder<K, S = RandomState> {
    settings: LimiterSettings,
    hasher: S,
    key: PhantomData<fn(K)>,
}

impl<K: Hash + Eq + Clone> Limiter<K> {
    /// Returns a builder without limits.
    pub fn builder() -> LimiterBuilder<K> {
        LimiterBuilder::new()
    }
}

impl<K> LimiterBuilder<K> {
    pub(crate) fn new() -> Self {
        Self {
            settings: LimiterSettings::default(),
            hasher: RandomState::new(),
            key: PhantomData,
        }
    }
}

impl<K: Hash + Eq + Clone, S: BuildHasher> LimiterBuilder<K, S> {
    /// Adds a window: no span of its length admits more weight of a key than the quota. Refused attempts also count,
    /// but a client that never pauses still gets a tenth of the quota ([`WindowSettings::floor_percent`]).
    pub fn window(self, name: &'static str, rate: Rate) -> Self {
        self.window_with(WindowSettings::new(name, rate))
    }

    /// Adds a window with the given settings.
    pub fn window_with(mut self, window: WindowSettings) -> Self {
        self.settings.windows.push(window);
        self
    }

    /// Limits the number of concurrent requests of a key; the limit is named `concurrent`.
    pub fn concurrent(self, most: u32) -> Self {
        self.concurrent_class("concurrent", most)
    }

    /// Limits the number of concurrent requests of one class, such as reads. With several classes a
    /// request specifies the slots that it needs ([`AdmissionRequest::slots`](crate::AdmissionRequest::slots)); otherwise it
    /// takes a slot of each.
    pub fn concurrent_class(mut self, name: &'static str, most: u32) -> Self {
        let class = ConcurrentSettings::new(name, most);
        self.settings.concurrent.push(class);
        self
    }

    /// Sets the cost quota, named `cost`: [`Permit::settle`](crate::Permit::settle) takes credits once the cost is known,
    /// and requests are refused as long as no credits are left.
    pub fn cost(self, rate: Rate) -> Self {
        self.cost_with(CostSettings::new("cost", rate))
    }

    /// Sets the cost quota with the given settings.
    pub fn cost_with(mut self, cost: CostSettings) -> Self {
        self.settings.cost = cost;
        self
    }

    /// Sets the time by which every admitted request has ended; 30 seconds by default.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = deadline;
        self
    }

    /// Replaces the hasher of the keys. [`UniformState`](crate::UniformState) is faster for keys that no client chooses.
    pub fn hasher<T: BuildHasher>(self, hasher: T) -> LimiterBuilder<K, T> {
        LimiterBuilder {
            settings: self.settings,
            hasher,
            key: PhantomData,
        }
    }

    /// Builds a limiter that has seen no requests.
    #[must_use]
    pub fn build(self) -> Limiter<K, S> {
        Limiter::with_hasher(self.settings, self.hasher)
    }
}
