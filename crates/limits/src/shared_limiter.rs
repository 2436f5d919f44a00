//! Interface of a limiter shared by several processes, which is used in addition to the limiter of this process.
//!
//! A limiter in another process decides for all processes together, which takes a while. This crate contains no such
//! limiter; it defines how to ask one, and includes the [`Limiter`] of this process: every decision is also recorded there
//! ([`Limiter::record`]), so that it can continue alone, with a part of each quota, when the shared one does not answer.

use std::fmt;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::pin::Pin;
use std::time::SystemTime;

use crate::admission_request::{AdmissionRequest, LimitKey, SlotRequest, WindowCharge};
use crate::concurrency::Permit;
use crate::limit_exceeded::LimitExceeded;
use crate::limiter::{DigestLimiter, Limiter};
use crate::limiter_state::LimiterState;
use crate::owner_totals::{OwnerTotals, TotalShare};
pub use crate::shared_decision::{
    AdmissionFigures, SharedDecision, SharedPermit, SlotFigures, WindowFigures,
};
use crate::uniform_hash::UniformState;
use crate::window::WindowTerms;

/// Future answer of a shared limiter.
pub type SharedAnswer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Limiter shared by several processes.
pub trait SharedLimiter: fmt::Debug + Send + Sync {
    /// Admits or refuses a request for all processes together. It is admitted for as long as the permit is held.
    ///
    /// # Errors
    /// Fails with a [`LimitExceeded`], as the limiter of a single process does. A failure of the shared limiter is no error:
    /// then this process decides with its part of each quota.
    fn admit<'a>(
        &'a self,
        request: &'a SharedRequest<'a>,
        local: LocalLimits<'a>,
        now: SystemTime,
    ) -> SharedAnswer<'a, Result<Permit, LimitExceeded>>;

    /// Counts an attempt without a slot, such as a sign-in, over all processes; `None` if the shared limiter
    /// does not answer. The caller counts it for this process.
    fn attempt(&self, attempt: SharedAttempt) -> SharedAnswer<'_, Option<AttemptOutcome>>;

    /// Reverts an attempt, so that it does not count.
    fn take_back(&self, key: &LimitKey, receipt: AttemptReceipt);

    /// Returns the counts of a request's key over all processes, or the counts of this process if the shared limiter does
    /// not answer.
    fn state<'a>(
        &'a self,
        request: AdmissionRequest<'a, LimitKey>,
        local: &'a DigestLimiter,
        now: SystemTime,
    ) -> SharedAnswer<'a, LimiterState>;

    /// Returns the current mode of decisions.
    fn mode(&self) -> SharedMode;

    /// Returns the number of processes that quotas are divided by when each process decides alone.
    fn processes(&self) -> u32;

    /// Returns true if the part of this process has refused nearly all requests in the last seconds.
    fn admits_nearly_nothing(&self) -> bool {
        false
    }

    /// Returns the numbers of decisions and failures so far.
    fn counts(&self) -> SharedCounts;
}

/// Mode in which a shared limiter makes decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedMode {
    /// The shared limiter decides.
    #[default]
    Exact,
    /// The shared limiter was unavailable in the last minute and may have lost counts: it decides, and this
    /// process must also agree with its part of each quota.
    Cautious,
    /// This process decides alone, with its part of each quota.
    Local,
}

/// Outcome of an attempt: the receipt, or the wait in milliseconds.
pub type AttemptOutcome = Result<AttemptReceipt, u64>;

/// Request for a decision of a shared limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedRequest<'a, K = LimitKey, O = u64> {
    /// Key and amounts of the request.
    pub request: AdmissionRequest<'a, K>,
    /// Owner of the key, and the shares in its totals; `None` if there are no totals.
    pub owner: Option<(&'a O, &'a [TotalShare])>,
}

/// Attempt without a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedAttempt {
    /// Key under which the attempt is counted.
    pub key: LimitKey,
    /// Terms of counting: the attempts per minute, and the number of refused ones that count.
    pub terms: WindowTerms,
}

/// Proof of a counted attempt, needed to revert it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptReceipt {
    /// Time at which the shared limiter counted the attempt, in milliseconds of its own clock.
    pub counted_at: u64,
}

/// Limiter of the keys and totals of their owners, which decide together in this process.
#[derive(Debug)]
pub struct LocalLimits<'a, K = LimitKey, S = UniformState, O = u64, T = S> {
    /// Limiter by the key of a request.
    pub limiter: &'a Limiter<K, S>,
    /// Totals by the owner of the key.
    pub totals: &'a OwnerTotals<O, T>,
}

impl<K, S, O, T> Clone for LocalLimits<'_, K, S, O, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K, S, O, T> Copy for LocalLimits<'_, K, S, O, T> {}

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

/// Request with the part of every figure that one of several processes may use alone.
#[derive(Clone, Debug)]
pub struct RequestPart {
    windows: Vec<WindowCharge>,
    slots: Vec<SlotRequest>,
    credits: Option<u32>,
    shares: Vec<TotalShare>,
}

impl RequestPart {
    /// Divides the figures of a request by the number of processes.
    #[must_use]
    pub fn of(request: &SharedRequest<'_>, figures: &AdmissionFigures, processes: u32) -> Self {
        let part = |quota| part(quota, processes);
        let windows = figures.windows.iter();
        let slots = figures.slots.iter();
        let shares = request.owner.map_or(&[][..], |(_, shares)| shares);
        Self {
            windows: windows
                .map(|of| WindowCharge::of(of.weight).with_quota(part(of.terms.quota)))
                .collect(),
            slots: slots
                .map(|of| SlotRequest::of(of.slots).with_most(part(of.most)))
                .collect(),
            credits: figures.credits.map(part),
            shares: shares
                .iter()
                .map(|share| TotalShare {
                    quota: share.quota.map(part),
                    ..*share
                })
                .collect(),
        }
    }

    /// Returns the request with these figures.
    #[must_use]
    pub fn request<'a>(&'a self, whole: &SharedRequest<'a>) -> SharedRequest<'a> {
        let request = whole.request.windows(&self.windows).slots(&self.slots);
        SharedRequest {
            request: request.credits(self.credits),
            owner: whole.owner.map(|(owner, _)| (owner, &*self.shares)),
        }
    }
}

impl<K, S, O, T> LocalLimits<'_, K, S, O, T>
where
    K: Hash + Eq + Clone,
    O: Hash + Eq + Clone,
    S: BuildHasher,
    T: BuildHasher,
{
    /// Admits or refuses a request by the limits of its key and the totals of its owner.
    ///
    /// # Errors
    /// Fails with the [`LimitExceeded`] of the limits of the key, or else that of the totals. The wait is the longer of the
    /// two.
    #[inline]
    pub fn admit(
        &self,
        request: &SharedRequest<'_, K, O>,
        now: SystemTime,
    ) -> Result<Permit<K>, LimitExceeded> {
        let admitted = self.limiter.admit_request(&request.request, now);
        let Some((owner, shares)) = request.owner else {
            return admitted;
        };
        match admitted {
            Ok(permit) => match self.totals.admit(owner, shares, now) {
                Ok(()) => Ok(permit),
                Err(refusal) => {
                    // The next attempt can use the slots again, but the charge remains.
                    drop(permit);
                    let wait = self.limiter.wait(&request.request, now);
                    Err(refusal.with_min_wait(wait))
                }
            },
            Err(refusal) => Err(refusal.with_min_wait(self.totals.wait(owner, shares, now))),
        }
    }

    /// Returns the milliseconds that a request would have to wait if no other came before it; 0 if there is room now. It
    /// charges nothing.
    #[must_use]
    pub fn wait(&self, request: &SharedRequest<'_, K, O>, now: SystemTime) -> u64 {
        let totals = request
            .owner
            .map_or(0, |(owner, shares)| self.totals.wait(owner, shares, now));
        totals.max(self.limiter.wait(&request.request, now))
    }
}

#[cfg(test)]
mod tests {
    use super::{LocalLimits, SharedDecision, SharedPermit, SharedRequest, TotalShare};
    use crate::laws::{LawBatch, LawLimit, LawLimiter, LawOverrides, LawSettings, RateQuota};
    use crate::{AdmissionRequest, Limiter, OwnerTotals, PerTime, SlotRequest};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::time::{Duration, UNIX_EPOCH};

    fn batch(weight: u32) -> LawBatch {
        LawBatch {
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
        let limiter = LawLimiter::new(LawSettings {
            concurrent_reads: 1,
            search_per_minute: 1,
            ..LawSettings::default()
        });
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let custom = LawOverrides::default();
        let (one, two) = (batch(1).charges(&custom), batch(2).charges(&custom));
        let record = |request: &AdmissionRequest<'_, _>, decision: &SharedDecision<'_>| {
            limiter.limiter().record(request, decision, now)
        };
        let admitted = SharedDecision::default();
        let permits: Vec<_> = (0..30)
            .map(|_| record(&one.request(), &admitted).unwrap())
            .collect();
        let refused = SharedDecision {
            refused: Some(LawLimit::Standard.limit()),
            shadowed: &[LawLimit::Cost.limit()],
        };
        assert!(record(&two.request(), &refused).is_none());
        let state = limiter.state(&[1; 16], 10, now);
        assert_eq!((state.windows[0].used, state.windows[0].refused), (32, 2));
        assert_eq!(
            (state.windows[1].used, state.concurrent[0].running),
            (30, 30)
        );
        drop(permits);
        let state = limiter.state(&[1; 16], 10, now);
        assert_eq!(state.concurrent[0].running, 0);
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
        let limiter = LawLimiter::new(LawSettings::default());
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let part = Part::default();
        let (cost, ends) = (part.0.clone(), part.1.clone());
        let charges = batch(1).charges(&LawOverrides::default());
        let decision = SharedDecision::default();
        let permit = limiter.limiter().record(&charges.request(), &decision, now);
        let mut permit = permit.unwrap().with_shared(Box::new(part));
        permit.settle(7, now);
        permit.settle(u32::MAX, now);
        assert_eq!((cost.load(Relaxed), ends.load(Relaxed)), (60_007, 0));
        assert_eq!(permit.slots(0), 1);
        drop(permit);
        assert_eq!(ends.load(Relaxed), 1);
    }

    /// Three users of one customer, who together have five requests in ten seconds.
    #[test]
    fn an_owner_of_any_kind_has_a_total_beside_the_limits_of_its_keys() {
        let limiter: Limiter<&str> = Limiter::builder()
            .window("burst", 3.per(Duration::from_secs(10)))
            .concurrent(2)
            .build();
        let totals: OwnerTotals<String> = OwnerTotals::new(&limiter.settings());
        let local = LocalLimits {
            limiter: &limiter,
            totals: &totals,
        };
        let start = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let (customer, slots) = ("acme".to_owned(), [SlotRequest::of(1)]);
        let shares = [TotalShare {
            weight: 1,
            quota: Some(5),
        }];
        let ask = |user: &'static str, ms| {
            let now = start + Duration::from_millis(ms);
            let request = AdmissionRequest::new(&user).slots(&slots);
            let owner = Some((&customer, &shares[..]));
            local.admit(&SharedRequest { request, owner }, now)
        };
        for user in ["a", "a", "a", "b", "b"] {
            assert!(ask(user, 0).is_ok());
        }
        let own = ask("a", 0).unwrap_err();
        assert_eq!((own.limit.name(), own.wait_ms), ("burst", 10_000));
        assert_eq!(own.usage.unwrap().limit, 3);
        let total = ask("c", 0).unwrap_err();
        assert_eq!((total.limit.name(), total.wait_ms), ("burst", 2_000));
        let usage = total.usage.unwrap();
        assert_eq!(
            (usage.limit, usage.remaining, usage.reset_ms),
            (5, 0, 10_000)
        );
        assert!(ask("c", 1_999).is_err());
        assert!(ask("c", 2_000).is_ok());
    }
}
