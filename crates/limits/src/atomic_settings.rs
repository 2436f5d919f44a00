//! Settings in force, in a form that many threads read without a lock.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use std::time::Duration;

use crate::admission_request::{RequestClass, select_by_class};
use crate::limit::{Limit, PerLimit};
use crate::limiter_settings::{LimiterSettings, Quota, RequestOverrides, terms};
use crate::window::WindowTerms;

/// Settings as an account reads them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EffectiveFigures {
    floor_percent: u32,
    pub(crate) search: WindowTerms,
    reads: u32,
    writes: u32,
    pub(crate) cost: Option<u32>,
    pub(crate) ceiling: u32,
    pub(crate) deadline_ms: u64,
    pub(crate) shadow: LimitSet,
}

impl EffectiveFigures {
    /// Returns the terms of a standard window that allows `quota` a minute.
    pub(crate) fn standard(&self, quota: u32) -> WindowTerms {
        terms(quota, self.floor_percent)
    }

    /// Returns the number of requests of a class that may run at once.
    pub(crate) fn slots(&self, class: RequestClass) -> u32 {
        select_by_class(class, self.reads, self.writes)
    }

    /// Returns the figures for a request that has some of its own.
    pub(crate) fn with(mut self, custom: &RequestOverrides) -> Self {
        self.search.quota = custom.search_per_minute.unwrap_or(self.search.quota);
        self.reads = custom.concurrent_reads.unwrap_or(self.reads);
        self.writes = custom.concurrent_writes.unwrap_or(self.writes);
        self.cost = custom.cost_per_minute.or(self.cost);
        self
    }
}

/// Set of limits, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitSet(u8);

impl LimitSet {
    /// Makes the set of the limits for which `each` is true.
    pub(crate) fn new(each: &PerLimit<bool>) -> Self {
        let mut bits = Self::default();
        for limit in Limit::ALL {
            if *each.of(limit) {
                bits.add(limit);
            }
        }
        bits
    }

    /// Number of possible sets.
    pub(crate) const SETS: usize = 1 << Limit::ALL.len();

    pub(crate) const fn of(limits: &[Limit]) -> Self {
        let (mut bits, mut rest) = (0, limits);
        while let [limit, others @ ..] = rest {
            bits |= 1 << *limit as u8;
            rest = others;
        }
        Self(bits)
    }

    /// Returns the number of the set, below [`LimitSet::SETS`].
    pub(crate) fn number(self) -> usize {
        self.0.into()
    }

    /// Returns the set with a number.
    pub(crate) fn numbered(number: u8) -> Self {
        Self(number)
    }

    pub(crate) fn each(self) -> PerLimit<bool> {
        let mut each = PerLimit::default();
        for limit in Limit::ALL {
            *each.of_mut(limit) = self.has(limit);
        }
        each
    }

    pub(crate) fn add(&mut self, limit: Limit) {
        self.0 |= 1 << limit as u8;
    }

    /// Adds a limit if `on`, without a branch.
    pub(crate) fn set(&mut self, limit: Limit, on: bool) {
        self.0 |= u8::from(on) << limit as u8;
    }

    pub(crate) fn has(self, limit: Limit) -> bool {
        self.0 & (1 << limit as u8) != 0
    }

    pub(crate) fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the first limit of the set, in the order of [`Limit`].
    pub(crate) fn first(self) -> Option<Limit> {
        if self.0 == 0 {
            return None;
        }
        Limit::ALL.into_iter().find(|limit| self.has(*limit))
    }
}

/// Settings that many threads read without a lock; a reader may see some figures of a change before the others.
#[derive(Debug)]
pub(crate) struct AtomicSettings {
    free: AtomicU32,
    paid: AtomicU32,
    floor_percent: AtomicU32,
    search: AtomicU32,
    reads: AtomicU32,
    writes: AtomicU32,
    cost: AtomicU64,
    ceiling: AtomicU32,
    deadline_ms: AtomicU64,
    shadow: AtomicU8,
}

impl AtomicSettings {
    /// Makes the shared form of some settings.
    pub(crate) fn new(settings: &LimiterSettings) -> Self {
        let shared = Self {
            free: AtomicU32::new(0),
            paid: AtomicU32::new(0),
            floor_percent: AtomicU32::new(0),
            search: AtomicU32::new(0),
            reads: AtomicU32::new(0),
            writes: AtomicU32::new(0),
            cost: AtomicU64::new(0),
            ceiling: AtomicU32::new(0),
            deadline_ms: AtomicU64::new(0),
            shadow: AtomicU8::new(0),
        };
        shared.store(settings);
        shared
    }

    /// Replaces every figure.
    pub(crate) fn store(&self, settings: &LimiterSettings) {
        self.free.store(settings.standard.free, Relaxed);
        self.paid.store(settings.standard.paid, Relaxed);
        self.floor_percent
            .store(settings.standard.floor_percent.into(), Relaxed);
        self.search.store(settings.search_per_minute, Relaxed);
        self.reads.store(settings.concurrent_reads, Relaxed);
        self.writes.store(settings.concurrent_writes, Relaxed);
        self.cost.store(
            settings.cost_per_minute.map_or(u64::MAX, u64::from),
            Relaxed,
        );
        self.ceiling.store(settings.cost_ceiling, Relaxed);
        let deadline = u64::try_from(settings.deadline.as_millis()).unwrap_or(u64::MAX);
        self.deadline_ms.store(deadline, Relaxed);
        self.shadow
            .store(LimitSet::new(&settings.shadow).0, Relaxed);
    }

    /// Returns the standard quota as [`Limiter::quota`](crate::Limiter::quota) does.
    pub(crate) fn quota(&self, paid: bool) -> u32 {
        let quota = if paid { &self.paid } else { &self.free };
        quota.load(Relaxed)
    }

    /// Returns the figures now in force, as an account reads them.
    pub(crate) fn figures(&self) -> EffectiveFigures {
        EffectiveFigures {
            floor_percent: self.floor_percent.load(Relaxed),
            search: WindowTerms {
                quota: self.search.load(Relaxed),
                remembered: 0,
            },
            reads: self.reads.load(Relaxed),
            writes: self.writes.load(Relaxed),
            cost: u32::try_from(self.cost.load(Relaxed)).ok(),
            ceiling: self.ceiling.load(Relaxed),
            deadline_ms: self.deadline_ms.load(Relaxed),
            shadow: LimitSet(self.shadow.load(Relaxed)),
        }
    }

    /// Returns the settings now in force.
    pub(crate) fn load(&self) -> LimiterSettings {
        LimiterSettings {
            standard: Quota {
                free: self.free.load(Relaxed),
                paid: self.paid.load(Relaxed),
                floor_percent: u8::try_from(self.floor_percent.load(Relaxed)).unwrap_or(100),
            },
            search_per_minute: self.search.load(Relaxed),
            concurrent_reads: self.reads.load(Relaxed),
            concurrent_writes: self.writes.load(Relaxed),
            cost_per_minute: u32::try_from(self.cost.load(Relaxed)).ok(),
            cost_ceiling: self.ceiling.load(Relaxed),
            deadline: Duration::from_millis(self.deadline_ms.load(Relaxed)),
            shadow: LimitSet(self.shadow.load(Relaxed)).each(),
        }
    }
}
