//! The facade: one call per request.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::account::lock;
use crate::concurrency::Permit;
use crate::ledger::Ledger;
use crate::settings::{Counts, Limit, Refusal, Request, Settings, Shared};

/// All limiters for all keys. Shared by reference between threads; it never reads a clock and never waits for anything
/// but a short lock.
///
/// Time is read to the millisecond. It should never step back: an account that has seen a later time stays there until
/// the clock has caught up, so that stepping back gains nothing. A server takes its start time once and adds what a
/// monotonic clock says.
#[derive(Debug)]
pub struct Limiter {
    ledger: Ledger,
    settings: Shared,
    counts: [AtomicU64; 6],
}

impl Limiter {
    /// A limiter that has seen no request.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            ledger: Ledger::new(),
            settings: Shared::new(&settings),
            counts: Default::default(),
        }
    }

    /// Admits a request, for as long as the permit is kept, or refuses it.
    ///
    /// The attempt is counted against its quota whatever the other limits say. Permits are taken only on admission.
    ///
    /// # Errors
    /// A [`Refusal`] when any limit is used up, with the wait after which all of them have room.
    pub fn admit(&self, request: &Request, now: SystemTime) -> Result<Permit, Refusal> {
        let now = millis(now);
        let settings = self.settings.load();
        let account = self.ledger.account(&request.key, now);
        let decision = lock(&account).decide(&settings, request, now);
        let count = decision
            .as_ref()
            .map_or_else(|refusal| 1 + place(refusal.limit), |_| 0);
        if let Some(count) = self.counts.get(count) {
            count.fetch_add(1, Relaxed);
        }
        let ceiling = settings.cost_per_minute.map(|_| settings.cost_ceiling);
        decision.map(|deadline| Permit::new(account, request.class, deadline, ceiling))
    }

    /// Replaces the settings, from the next request on. What was counted stays counted: nothing is forgotten early,
    /// and requests in flight keep their permits and deadlines.
    pub fn set(&self, settings: Settings) {
        self.settings.store(&settings);
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.settings.load()
    }

    /// Drops what is remembered of keys that would be treated as new anyway. Worth a call every minute or so; without
    /// any, the memory still stays within twice what the active keys need.
    pub fn sweep(&self, now: SystemTime) {
        self.ledger.sweep(millis(now));
    }

    /// The number of keys something is remembered of.
    #[must_use]
    pub fn tracked(&self) -> usize {
        self.ledger.len()
    }

    /// The number of admissions and refusals so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let [
            admitted,
            standard,
            search,
            concurrent_reads,
            concurrent_writes,
            cost,
        ] = self.counts.each_ref().map(|count| count.load(Relaxed));
        Counts {
            admitted,
            standard,
            search,
            concurrent_reads,
            concurrent_writes,
            cost,
        }
    }
}

/// The place of a limit among the counts of refusals.
fn place(limit: Limit) -> usize {
    match limit {
        Limit::Standard => 0,
        Limit::Search => 1,
        Limit::ConcurrentReads => 2,
        Limit::ConcurrentWrites => 3,
        Limit::Cost => 4,
    }
}

/// A time in milliseconds since 1970; times before are 1970.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
