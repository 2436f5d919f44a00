//! Admission of requests by the limits of their token and their user.
use crate::error::ApiError;
use crate::limits::limit_overrides::LimitOverrides;
use crate::limits::request_weight::RequestWeight;
use crate::state::Api;
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;
use workgraph_auth::{Grant, Tier};
use workgraph_limits::owner_totals::TOTALS;
use workgraph_limits::{
    AdmissionBatch, Limit, LimitKey, LimiterState, Permit, RateQuota, RequestOverrides, TotalShare,
};

/// The limits of a token: the key under which it is counted, and its figures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EffectiveLimits {
    key: LimitKey,
    quota: u32,
    custom: RequestOverrides,
    /// The user whose tokens are counted together.
    user: u64,
}

impl Api {
    /// Returns the limits of a token, from memory.
    pub(crate) fn effective_limits(&self, grant: &Grant) -> EffectiveLimits {
        let own = self.limit_overrides.of(grant.app, grant.token);
        let plan = self.limiter.quota(grant.tier == Tier::Paid);
        EffectiveLimits {
            key: grant.limit_key,
            user: grant.user,
            quota: own.standard.unwrap_or(plan),
            custom: RequestOverrides {
                label: 0,
                search_per_minute: own.search,
                concurrent_reads: own.concurrent_reads,
                concurrent_writes: own.concurrent_writes,
                cost_per_minute: own.cost,
            },
        }
    }

    /// Charges the limits with requests: all of them are admitted, or none. `label` is the number of the operation, for
    /// later reports of the use of a quota.
    ///
    /// # Errors
    /// Fails with the refusal of the token's limits, or else with that of the limits of all tokens of its user
    /// together. The wait is the longer one of both.
    pub(crate) fn admit(
        &self,
        terms: &EffectiveLimits,
        load: RequestWeight,
        label: u16,
        now: SystemTime,
    ) -> Result<Permit, ApiError> {
        let batch = AdmissionBatch {
            key: terms.key,
            rate: RateQuota::Mixed {
                quota: terms.quota,
                searches: load.searches,
            },
            weight: load.standard,
            reads: load.reads,
            writes: load.writes,
        };
        let custom = RequestOverrides {
            label,
            ..terms.custom
        };
        let admitted = self.limiter.admit_batch(&batch, &custom, now);
        let Some(shares) = self.shares(terms, [load.standard, load.searches, 0]) else {
            return admitted.map_err(ApiError::Limited);
        };
        let refusal = match admitted {
            Ok(permit) => match self.user_totals.admit(terms.user, &shares, now) {
                Ok(()) => return Ok(permit),
                Err(refusal) => {
                    // The next attempt gets its slots again, but not its charge.
                    drop(permit);
                    refusal.with_min_wait(self.limiter.wait(&batch, &custom, now))
                }
            },
            Err(refusal) => refusal.with_min_wait(self.user_totals.wait(terms.user, &shares, now)),
        };
        Err(ApiError::Limited(refusal))
    }

    /// Charges the cost of a reply to the total of all tokens of its user.
    pub(crate) fn charge_user_total(&self, terms: &EffectiveLimits, cost: u32) {
        if let Some(shares) = self.shares(terms, [0, 0, cost]) {
            self.user_totals
                .charge(terms.user, &shares, self.clock.now());
        }
    }

    /// Returns the share of a request in the totals of its user, in the order of
    /// [`TOTALS`](workgraph_limits::owner_totals::TOTALS); `None` if users have no such limit.
    fn shares(&self, terms: &EffectiveLimits, weights: [u32; 3]) -> Option<[TotalShare; 3]> {
        let multiple = self.user_multiple.load(Relaxed);
        if multiple == 0 {
            return None;
        }
        let (settings, own) = (self.limiter.settings(), &terms.custom);
        let search = own.search_per_minute.unwrap_or(settings.search_per_minute);
        let cost = own.cost_per_minute.or(settings.cost_per_minute);
        // A quota of zero counts as one, as for a token.
        let cost = cost.map(|cost| cost.max(1));
        let quotas = [Some(terms.quota), Some(search), cost];
        let mut shares = [TotalShare::default(); TOTALS.len()];
        let each = shares.iter_mut().zip(weights).zip(quotas).zip(TOTALS);
        for (((share, weight), quota), limit) in each {
            let quota = quota.filter(|_| !settings.shadow.of(limit));
            share.weight = weight;
            if limit == Limit::Cost {
                share.weight = weight.min(settings.cost_ceiling);
            }
            share.quota = quota.map(|quota| quota.saturating_mul(multiple));
        }
        Some(shares)
    }

    /// Replaces the multiple of a token's limit that all tokens of its user may use together; `None` for no such limit.
    pub fn set_user_multiple(&self, multiple: Option<u32>) {
        self.user_multiple.store(multiple.unwrap_or(0), Relaxed);
    }

    /// Drops the state of tokens and users that would be treated as new anyway.
    pub fn sweep_limits(&self) {
        let now = self.clock.now();
        self.limiter.evict_idle(now);
        self.user_totals.sweep(now);
    }

    /// Returns the counts of a token's limits. It changes nothing.
    pub(crate) fn limiter_state(&self, terms: &EffectiveLimits) -> LimiterState {
        self.limiter
            .state_with(&terms.key, terms.quota, &terms.custom, self.clock.now())
    }

    /// Replaces the figures of apps and tokens, from the next request on. The counts stay.
    pub fn set_limit_overrides(&self, quotas: LimitOverrides) {
        self.limit_overrides.set(quotas);
    }

    /// Replaces the most jobs of one user, for jobs that are started from now on.
    pub fn set_jobs_per_user_max(&self, most: u32) {
        self.jobs_per_user_max.store(most, Relaxed);
    }
}
