//! Other limiters behind the trait of the laws, and the table of the laws that each keeps.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};
use ratelimit::{Ratelimiter, TryWaitError};
use workgraph_limits::laws::{
    AdmissionTicket, LAWS, LimiterLaw, LimiterViolation, MakeLimiter, RealLimiter, RequiredFeature,
    TestedLimiter,
};
use workgraph_limits::laws::{LawLimit, LawRefusal, LawRequest, LawSettings, LimitKey, RateQuota};

/// Number of operations that each law is tried with.
const OPERATIONS: u64 = 50_000;

/// Limiter to be compared.
pub(crate) struct Compared {
    /// Name in the table.
    pub(crate) name: &'static str,
    make: fn(LawSettings) -> Box<dyn TestedLimiter>,
    has: &'static [RequiredFeature],
}

/// All limiters that are compared.
pub(crate) static SUBJECTS: &[Compared] = &[
    Compared {
        name: "this crate",
        make: RealLimiter::boxed,
        has: &[
            RequiredFeature::Permits,
            RequiredFeature::Cost,
            RequiredFeature::Log,
        ],
    },
    Compared {
        name: "`governor` 0.10",
        make: |settings| Box::new(Rates::<Governor>::new(settings)),
        has: &[],
    },
    Compared {
        name: "`ratelimit` 2.0",
        make: |settings| Box::new(Rates::<Bucket>::new(settings)),
        has: &[],
    },
];

/// Results of all limiters for one law.
pub(crate) struct Finding {
    law: &'static LimiterLaw,
    /// One result for each of the subjects.
    pub(crate) answers: Vec<Answer>,
}

/// Result of one limiter for one law.
pub(crate) enum Answer {
    /// No violation was found.
    Kept,
    /// The shortest violation found.
    Broken(LimiterViolation),
    /// The limiter has no such limit.
    Without,
}

/// Tries every law on every limiter.
pub(crate) fn findings() -> Vec<Finding> {
    let answer = |law: &LimiterLaw, subject: &Compared| {
        if law.needs.iter().any(|need| !subject.has.contains(need)) {
            return Answer::Without;
        }
        let make: MakeLimiter<'_> = &subject.make;
        law.counterexample(make, 1, OPERATIONS)
            .map_or(Answer::Kept, Answer::Broken)
    };
    let finding = |law| Finding {
        law,
        answers: SUBJECTS
            .iter()
            .map(|subject| answer(law, subject))
            .collect(),
    };
    LAWS.iter().map(finding).collect()
}

/// Returns the findings as a table of the README.
pub(crate) fn table(findings: &[Finding]) -> String {
    let names: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
    let mut table = format!("| Law | Rule | {} |\n|---|---|", names.join(" | "));
    table.push_str(&"---|".repeat(names.len()));
    for Finding { law, answers } in findings {
        table.push_str(&format!("\n| {} | {} |", law.name, law.rule));
        for answer in answers {
            table.push_str(match answer {
                Answer::Kept => " yes |",
                Answer::Broken(_) => " **no** |",
                Answer::Without => " – |",
            });
        }
    }
    table
}

/// Limiter of rates alone.
trait Limits: Default {
    /// Counts a request with a weight from 1 to the quota, or returns how long to wait.
    fn check(
        &mut self,
        key: LimitKey,
        quota: NonZeroU32,
        weight: NonZeroU32,
    ) -> Result<(), Duration>;
    /// Sets the time, in milliseconds.
    fn tell(&self, now: u64);
}

/// Two limiters of rates, one for searches and one for the rest, as a service would use them.
struct Rates<L> {
    standard: L,
    search: L,
    settings: LawSettings,
    admitted: u64,
}

impl<L: Limits> Rates<L> {
    fn new(settings: LawSettings) -> Self {
        Self {
            standard: L::default(),
            search: L::default(),
            settings,
            admitted: 0,
        }
    }
}

impl<L: Limits> TestedLimiter for Rates<L> {
    fn admit(&mut self, request: &LawRequest, now: u64) -> Result<AdmissionTicket, LawRefusal> {
        let (quota, weight, searches) = match request.rate {
            RateQuota::Standard { quota } => (quota, request.weight, 0),
            RateQuota::Search => (0, 0, request.weight),
            RateQuota::Mixed { quota, searches } => (quota, request.weight, searches),
        };
        let search = self.settings.search_per_minute;
        let mut refused = None;
        for (limit, limiter, quota, weight) in [
            (LawLimit::Standard, &mut self.standard, quota, weight),
            (LawLimit::Search, &mut self.search, search, searches),
        ] {
            let Some(weight) = NonZeroU32::new(weight) else {
                continue;
            };
            limiter.tell(now);
            let answer = match NonZeroU32::new(quota) {
                Some(quota) if weight <= quota => limiter.check(request.key, quota, weight),
                _ => Err(Duration::from_secs(60)), // what never fits waits for a minute
            };
            if let Err(wait) = answer {
                // The next whole millisecond is the first at which a caller can know that the wait is over.
                let wait_ms = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(60_000);
                let longest = refused.map_or(0, |refusal: LawRefusal| refusal.wait_ms);
                refused = Some(LawRefusal {
                    limit,
                    wait_ms: wait_ms.max(longest),
                    retry_after: wait_ms.max(longest).div_ceil(1_000),
                });
            }
        }
        if let Some(refusal) = refused {
            return Err(refusal);
        }
        self.admitted += 1;
        Ok(AdmissionTicket(self.admitted - 1))
    }

    fn settle(&mut self, _: AdmissionTicket, _: u32, _: u64) {}

    fn finish(&mut self, _: AdmissionTicket) {}

    fn set(&mut self, settings: LawSettings) {
        self.settings = settings;
    }

    fn sweep(&mut self, _: u64) {}
}

/// Clock that the comparison sets.
#[derive(Clone, Default)]
struct Told(Arc<AtomicU64>);

impl Clock for Told {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::new(self.0.load(Relaxed).saturating_mul(1_000_000))
    }
}

impl ratelimit::Clock for Told {
    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.0.load(Relaxed))
    }
}

type Keyed = RateLimiter<LimitKey, DefaultKeyedStateStore<LimitKey>, Told, NoOpMiddleware<Nanos>>;

/// `governor`: a limiter has one fixed quota, so that a key with another quota starts with another limiter.
#[derive(Default)]
struct Governor {
    clock: Told,
    limiters: HashMap<NonZeroU32, Keyed>,
}

impl Limits for Governor {
    fn check(
        &mut self,
        key: LimitKey,
        quota: NonZeroU32,
        weight: NonZeroU32,
    ) -> Result<(), Duration> {
        let clock = &self.clock;
        let limiter = self.limiters.entry(quota).or_insert_with(|| {
            let store = DefaultKeyedStateStore::<LimitKey>::default();
            RateLimiter::new(Quota::per_minute(quota), store, clock.clone())
        });
        match limiter.check_key_n(&key, weight) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(not_until)) => Err(not_until.wait_time_from(clock.now())),
            Err(_) => Err(Duration::from_secs(60)),
        }
    }

    fn tell(&self, now: u64) {
        self.clock.0.store(now, Relaxed);
    }
}

/// `ratelimit`: a token bucket per key, full at first, as large as the quota and filled by it each minute.
#[derive(Default)]
struct Bucket {
    clock: Told,
    limiters: HashMap<LimitKey, Ratelimiter<Told>>,
}

impl Limits for Bucket {
    fn check(
        &mut self,
        key: LimitKey,
        quota: NonZeroU32,
        weight: NonZeroU32,
    ) -> Result<(), Duration> {
        let quota = u64::from(quota.get());
        let limiter = self.limiters.entry(key).or_insert_with(|| {
            ratelimit::Builder::with_clock(quota, self.clock.clone())
                .period(Duration::from_secs(60))
                .max_tokens(quota)
                .initial_available(quota)
                .build()
                .unwrap_or_else(|_| Ratelimiter::with_clock(quota, self.clock.clone()))
        });
        if limiter.rate() != quota {
            limiter.set_rate(quota);
            limiter.set_max_tokens(quota);
        }
        match limiter.try_wait_n(weight.get().into()) {
            Ok(()) => Ok(()),
            Err(TryWaitError::Insufficient(wait)) => Err(wait),
            Err(_) => Err(Duration::from_secs(60)),
        }
    }

    fn tell(&self, now: u64) {
        self.clock.0.store(now, Relaxed);
    }
}
