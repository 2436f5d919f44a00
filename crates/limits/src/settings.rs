//! The figures of the limiters, and the words for a request and a refusal.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::concurrency::of;

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

fn terms(quota: u32, floor_percent: u32) -> Terms {
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
    /// The standard quota. A request says itself which quota it has ([`Rate::Standard`]); `free` and `paid` are kept
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
    /// in [`Counts::shadowed`]. They go on counting as if they refused, so that leaving the mode starts from the truth.
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

/// The settings as an account reads them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    floor_percent: u32,
    pub(crate) search: Terms,
    reads: u32,
    writes: u32,
    pub(crate) cost: Option<u32>,
    pub(crate) ceiling: u32,
    pub(crate) deadline_ms: u64,
    pub(crate) shadow: Bits,
}

impl Figures {
    /// The terms of a standard window that allows `quota` a minute.
    pub(crate) fn standard(&self, quota: u32) -> Terms {
        terms(quota, self.floor_percent)
    }

    /// The number of requests of a class that may run at once.
    pub(crate) fn slots(&self, class: Class) -> u32 {
        of(class, self.reads, self.writes)
    }

    /// The figures for a request that has some of its own.
    pub(crate) fn with(mut self, custom: &Custom) -> Self {
        self.search.quota = custom.search_per_minute.unwrap_or(self.search.quota);
        self.reads = custom.concurrent_reads.unwrap_or(self.reads);
        self.writes = custom.concurrent_writes.unwrap_or(self.writes);
        self.cost = custom.cost_per_minute.or(self.cost);
        self
    }
}

/// A set of limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits(u8);

impl Bits {
    /// Those for which `each` is true.
    fn new(each: &Each<bool>) -> Self {
        let mut bits = Self::default();
        for limit in Limit::ALL {
            if *each.of(limit) {
                bits.add(limit);
            }
        }
        bits
    }

    /// How many sets there are.
    pub(crate) const SETS: usize = 1 << Limit::ALL.len();

    pub(crate) const fn of(limits: &[Limit]) -> Self {
        let (mut bits, mut rest) = (0, limits);
        while let [limit, others @ ..] = rest {
            bits |= 1 << *limit as u8;
            rest = others;
        }
        Self(bits)
    }

    /// The number of the set, below [`Bits::SETS`].
    pub(crate) fn number(self) -> usize {
        self.0.into()
    }

    /// The set with a number.
    pub(crate) fn numbered(number: u8) -> Self {
        Self(number)
    }

    fn each(self) -> Each<bool> {
        let mut each = Each::default();
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

    /// The first in the order of [`Limit`].
    pub(crate) fn first(self) -> Option<Limit> {
        if self.0 == 0 {
            return None;
        }
        Limit::ALL.into_iter().find(|limit| self.has(*limit))
    }
}

/// Whether a request reads or writes; each class has its own number of concurrent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// GET and HEAD.
    Read,
    /// Everything else.
    Write,
}

/// The quota a request is counted against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// The standard quota.
    Standard {
        /// Requests per minute, after the plan of the token's user.
        quota: u32,
    },
    /// The search quota, and only that.
    Search,
    /// A batch with searches among its actions: both quotas must have room, or nothing runs.
    Mixed {
        /// Requests per minute of the standard quota, which the request's `weight` is counted against.
        quota: u32,
        /// How many searches there are, counted against the search quota and not part of `weight`.
        searches: u32,
    },
}

/// A request as the limiter sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whose limits it is counted under.
    pub key: Key,
    /// Which concurrency limit it needs a permit of.
    pub class: Class,
    /// Which quota it is counted against.
    pub rate: Rate,
    /// How much it counts: 1, if it is not several in one. A weight above the quota or above
    /// [`MAX_WEIGHT`](crate::window::MAX_WEIGHT) is never admitted, however long the client waits.
    pub weight: u32,
}

impl Request {
    /// The request as a batch of one.
    pub(crate) fn alone(&self) -> Batch {
        Batch {
            key: self.key,
            rate: self.rate,
            weight: self.weight,
            reads: of(self.class, 1, 0),
            writes: of(self.class, 0, 1),
        }
    }
}

/// Requests that are admitted together, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Whose limits they are counted under.
    pub key: Key,
    /// Which quotas they are counted against.
    pub rate: Rate,
    /// How much they count, as in [`Request::weight`].
    pub weight: u32,
    /// How many of them read, each with a slot of its own. More than the limit are never admitted.
    pub reads: u32,
    /// How many of them write. One that neither reads nor writes is taken to read.
    pub writes: u32,
}

/// The limits a request can run into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The standard quota per minute.
    Standard,
    /// The search quota per minute.
    Search,
    /// The number of concurrent reads.
    ConcurrentReads,
    /// The number of concurrent writes.
    ConcurrentWrites,
    /// The cost quota.
    Cost,
}

impl Limit {
    /// Every limit, in order.
    pub const ALL: [Self; 5] = [
        Self::Standard,
        Self::Search,
        Self::ConcurrentReads,
        Self::ConcurrentWrites,
        Self::Cost,
    ];

    /// Its name in settings, headers and metrics.
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

    /// The limit of concurrent requests of a class.
    #[must_use]
    pub fn concurrent(class: Class) -> Self {
        of(class, Self::ConcurrentReads, Self::ConcurrentWrites)
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

/// Why and for how long a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The limit that refused; the first of the order of [`Limit`] where several did.
    pub limit: Limit,
    /// Whole seconds after which the same request is admitted if nothing else happens; at least 1. It covers every
    /// limit, not just the refusing one, and counts this very attempt.
    pub retry_after: u64,
    /// The same wait in milliseconds, before it was rounded up.
    pub wait_ms: u64,
}

impl Refusal {
    /// A refusal with the given wait; the wait is at least a millisecond.
    pub(crate) fn new(limit: Limit, wait_ms: u64) -> Self {
        let wait_ms = wait_ms.max(1);
        Self {
            limit,
            retry_after: wait_ms.div_ceil(1_000),
            wait_ms,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the {} is used up, retry after {} s",
            self.limit, self.retry_after
        )
    }
}

impl std::error::Error for Refusal {}

/// How often a limiter admitted and refused since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests admitted; a batch is one.
    pub admitted: u64,
    /// Those of them that each limit let pass: a search has nothing to do with the standard quota, a read nothing with the
    /// limit of concurrent writes.
    pub passed: Each<u64>,
    /// Requests refused, under the first limit that did.
    pub refused: Each<u64>,
    /// Requests that each limit in shadow mode would have refused; another limit may have.
    pub shadowed: Each<u64>,
}

/// The settings in a form that many threads read without a lock; a change of several figures may be seen one by one.
#[derive(Debug)]
pub(crate) struct Shared {
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

impl Shared {
    /// Settings to be shared.
    pub(crate) fn new(settings: &Settings) -> Self {
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
    pub(crate) fn store(&self, settings: &Settings) {
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
        self.shadow.store(Bits::new(&settings.shadow).0, Relaxed);
    }

    /// See [`Limiter::quota`](crate::Limiter::quota).
    pub(crate) fn quota(&self, paid: bool) -> u32 {
        let quota = if paid { &self.paid } else { &self.free };
        quota.load(Relaxed)
    }

    /// The figures now in force, as an account reads them.
    pub(crate) fn figures(&self) -> Figures {
        Figures {
            floor_percent: self.floor_percent.load(Relaxed),
            search: Terms {
                quota: self.search.load(Relaxed),
                remembered: 0,
            },
            reads: self.reads.load(Relaxed),
            writes: self.writes.load(Relaxed),
            cost: u32::try_from(self.cost.load(Relaxed)).ok(),
            ceiling: self.ceiling.load(Relaxed),
            deadline_ms: self.deadline_ms.load(Relaxed),
            shadow: Bits(self.shadow.load(Relaxed)),
        }
    }

    /// The figures now in force.
    pub(crate) fn load(&self) -> Settings {
        Settings {
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
            shadow: Bits(self.shadow.load(Relaxed)).each(),
        }
    }
}
