//! Interface of a limiter that several processes share, beside the limiter of this process.
//!
//! A limiter in another process decides for all of them together, and takes a while. This crate has no such limiter; it
//! says how one is asked, and lets the [`Limiter`] of this process take part: every decision is recorded there too
//! ([`Limiter::record`]), so that it can go on alone, with a part of each quota, when the other one does not answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::SystemTime;

use crate::admission_request::{AdmissionBatch, LimitKey, RateQuota};
use crate::concurrency::Permit;
use crate::limit_exceeded::LimitExceeded;
use crate::limiter::Limiter;
use crate::limiter_settings::RequestOverrides;
use crate::limiter_state::LimiterState;
use crate::owner_totals::{OwnerTotals, TOTALS, TotalShare};
pub use crate::shared_decision::{AdmissionFigures, SharedDecision, SharedPermit};
use crate::window::WindowTerms;

/// Answer that comes later.
pub type SharedAnswer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Limiter that several processes share.
pub trait SharedLimiter: fmt::Debug + Send + Sync {
    /// Admits the requests of a batch, for as long as the permit is kept, or refuses them, for all processes together.
    ///
    /// # Errors
    /// A [`LimitExceeded`], as the limiter of a single process gives it. A failure of the shared limiter is no error:
    /// then this process decides with its part of each quota.
    fn admit<'a>(
        &'a self,
        request: &'a SharedRequest,
        local: LocalLimits<'a>,
        now: SystemTime,
    ) -> SharedAnswer<'a, Result<Permit, LimitExceeded>>;

    /// Counts an attempt that needs no slot, such as one to sign in, over all processes; `None` if the shared limiter
    /// does not answer. The caller counts it for this process.
    fn attempt(&self, attempt: SharedAttempt) -> SharedAnswer<'_, Option<AttemptOutcome>>;

    /// Takes an attempt back, so that it does not count.
    fn take_back(&self, key: &LimitKey, receipt: AttemptReceipt);

    /// Returns the counts of a key over all processes; those of this one if the shared limiter does not answer.
    fn state<'a>(
        &'a self,
        request: StateRequest<'a>,
        local: &'a Limiter,
        now: SystemTime,
    ) -> SharedAnswer<'a, LimiterState>;

    /// Returns the way in which decisions are made at present.
    fn mode(&self) -> SharedMode;

    /// Returns the number of processes among which quotas are divided when each decides alone.
    fn processes(&self) -> u32;

    /// Returns true if the part of this process has refused nearly all requests of the last seconds.
    fn admits_nearly_nothing(&self) -> bool {
        false
    }

    /// Returns the numbers of decisions and failures so far.
    fn counts(&self) -> SharedCounts;
}

/// Way in which decisions are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedMode {
    /// The shared limiter decides.
    #[default]
    Exact,
    /// The shared limiter has been away in the last minute and may have forgotten something: it decides, and this
    /// process has to agree with its part of each quota.
    Cautious,
    /// This process decides alone, with its part of each quota.
    Local,
}

/// Outcome of an attempt: the receipt, or the wait in milliseconds.
pub type AttemptOutcome = Result<AttemptReceipt, u64>;

/// Question for the counts of a key.
#[derive(Clone, Copy, Debug)]
pub struct StateRequest<'a> {
    /// Key that is asked about.
    pub key: &'a LimitKey,
    /// Standard quota of the key.
    pub quota: u32,
    /// Figures of the key.
    pub custom: &'a RequestOverrides,
}

/// Request as a shared limiter decides about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedRequest {
    /// Requests that are admitted together, or not at all.
    pub batch: AdmissionBatch,
    /// Label and figures of these requests.
    pub custom: RequestOverrides,
    /// Owner of the key, and the shares in its totals; `None` if there are no totals.
    pub owner: Option<(u64, [TotalShare; TOTALS.len()])>,
}

/// Attempt that needs no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedAttempt {
    /// Key under which the attempt is counted.
    pub key: LimitKey,
    /// Terms that it is counted under: the attempts per minute, and the number of refused ones that count.
    pub terms: WindowTerms,
}

/// Proof of an attempt that was counted, with which it can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptReceipt {
    /// Time at which the shared limiter counted the attempt, in milliseconds of its own clock.
    pub counted_at: u64,
}

/// Limiters of this process, which take part in every decision.
#[derive(Clone, Copy, Debug)]
pub struct LocalLimits<'a> {
    /// Limiter of the keys.
    pub limiter: &'a Limiter,
    /// Totals of the owners.
    pub totals: &'a OwnerTotals,
}

/// Numbers of decisions and failures of a shared limiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedCounts {
    /// Decisions that the shared limiter made.
    pub shared: u64,
    /// Decisions that this process made alone.
    pub local: u64,
    /// Calls that failed or took too long.
    pub failures: u64,
}

/// Returns the part of a quota for one of several processes, rounded up.
#[must_use]
pub fn part(quota: u32, processes: u32) -> u32 {
    quota.div_ceil(processes.max(1))
}

impl SharedRequest {
    /// Returns the request with the part of every figure that one of several processes may use alone.
    #[must_use]
    pub fn part(&self, figures: &AdmissionFigures, processes: u32) -> Self {
        let part = |quota| part(quota, processes);
        let mut own = *self;
        match &mut own.batch.rate {
            RateQuota::Standard { quota } | RateQuota::Mixed { quota, .. } => *quota = part(*quota),
            RateQuota::Search => {}
        }
        own.custom.search_per_minute = Some(part(figures.search_per_minute));
        own.custom.concurrent_reads = Some(part(figures.concurrent_reads));
        own.custom.concurrent_writes = Some(part(figures.concurrent_writes));
        own.custom.cost_per_minute = figures.cost_per_minute.map(part);
        for share in own.owner.iter_mut().flat_map(|(_, shares)| shares) {
            share.quota = share.quota.map(part);
        }
        own
    }
}

impl LocalLimits<'_> {
    /// Admits the requests of a batch by the limits of their key and the totals of its owner, or refuses them.
    ///
    /// # Errors
    /// The [`LimitExceeded`] of the limits of the key, or else that of the totals. The wait is the longer one of both.
    #[inline]
    pub fn admit(&self, request: &SharedRequest, now: SystemTime) -> Result<Permit, LimitExceeded> {
        let (batch, custom) = (&request.batch, &request.custom);
        let admitted = self.limiter.admit_batch(batch, custom, now);
        let Some((owner, shares)) = &request.owner else {
            return admitted;
        };
        match admitted {
            Ok(permit) => match self.totals.admit(*owner, shares, now) {
                Ok(()) => Ok(permit),
                Err(refusal) => {
                    // The next attempt gets its slots again, but not its charge.
                    drop(permit);
                    Err(refusal.with_min_wait(self.limiter.wait(batch, custom, now)))
                }
            },
            Err(refusal) => Err(refusal.with_min_wait(self.totals.wait(*owner, shares, now))),
        }
    }

    /// Returns the milliseconds that a batch would wait, if nothing else happens meanwhile; 0 if there is room now. It
    /// charges nothing.
    #[must_use]
    pub fn wait(&self, request: &SharedRequest, now: SystemTime) -> u64 {
        let owner = request.owner.as_ref();
        let totals = owner.map_or(0, |(owner, shares)| self.totals.wait(*owner, shares, now));
        totals.max(self.limiter.wait(&request.batch, &request.custom, now))
    }
}

#[cfg(test)]
mod tests {
    use super::{SharedDecision, SharedPermit};
    use crate::limit::{Limit, PerLimit};
    use crate::{
        AdmissionBatch, Limiter, LimiterSettings, RateQuota, RequestClass, RequestOverrides,
    };
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::time::{Duration, UNIX_EPOCH};

    fn batch(weight: u32) -> AdmissionBatch {
        AdmissionBatch {
            key: [1; 16],
            rate: RateQuota::Mixed {
                quota: 10,
                searches: 1,
            },
            weight,
            reads: 1,
            writes: 0,
        }
    }

    #[test]
    fn decisions_of_another_limiter_are_counted_whatever_the_own_limits_say() {
        let limiter = Limiter::new(LimiterSettings {
            concurrent_reads: 1,
            search_per_minute: 1,
            ..LimiterSettings::default()
        });
        let (custom, now) = (
            RequestOverrides::default(),
            UNIX_EPOCH + Duration::from_secs(1_000),
        );
        let admitted = SharedDecision::default();
        let permits: Vec<_> = (0..30)
            .map(|_| limiter.record(&batch(1), &custom, &admitted, now).unwrap())
            .collect();
        let shadowed = PerLimit {
            cost: true,
            ..PerLimit::default()
        };
        let refused = SharedDecision {
            refused: Some(Limit::Standard),
            shadowed,
        };
        assert!(limiter.record(&batch(2), &custom, &refused, now).is_none());
        let state = limiter.state(&[1; 16], 10, now);
        assert_eq!((state.standard.used, state.standard.refused), (32, 2));
        assert_eq!((state.search.used, state.reads.running), (30, 30));
        drop(permits);
        assert_eq!(limiter.state(&[1; 16], 10, now).reads.running, 0);
        let counts = limiter.counts();
        assert_eq!((counts.admitted, counts.refused.standard), (30, 1));
        assert_eq!(counts.shadowed.cost, 1);
        // What was recorded counts in its own decisions, for a minute.
        assert!(limiter.admit_batch(&batch(1), &custom, now).is_err());
        let later = now + Duration::from_secs(60);
        assert!(limiter.admit_batch(&batch(1), &custom, later).is_ok());
    }

    #[test]
    fn the_shared_part_of_a_permit_ends_with_it_and_takes_what_it_takes() {
        #[derive(Default)]
        struct Part(Arc<AtomicU32>, Arc<AtomicU32>);
        impl SharedPermit for Part {
            fn settle(&mut self, cost: u32) {
                self.0.fetch_add(cost, Relaxed);
            }
        }
        impl Drop for Part {
            fn drop(&mut self) {
                self.1.fetch_add(1, Relaxed);
            }
        }
        let limiter = Limiter::new(LimiterSettings::default());
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let custom = RequestOverrides::default();
        let part = Part::default();
        let (cost, ends) = (part.0.clone(), part.1.clone());
        let permit = limiter.record(&batch(1), &custom, &SharedDecision::default(), now);
        let mut permit = permit.unwrap().with_shared(Box::new(part));
        permit.settle(7, now);
        permit.settle(u32::MAX, now);
        assert_eq!((cost.load(Relaxed), ends.load(Relaxed)), (60_007, 0));
        assert_eq!(permit.slots(RequestClass::Read), 1);
        drop(permit);
        assert_eq!(ends.load(Relaxed), 1);
    }
}
