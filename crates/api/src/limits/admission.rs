//! Admission of requests by the limits of their token and their user.
use crate::error::ApiError;
use crate::limits::limit_overrides::LimitOverrides;
use crate::limits::request_weight::RequestWeight;
use crate::state::Api;
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;
use workgraph_auth::{Grant, Tier};
use workgraph_limits::owner_totals::TOTALS;
use workgraph_limits::shared_limiter::StateRequest;
use workgraph_limits::{
    AdmissionBatch, Limit, LimitKey, LimiterState, LocalLimits, Permit, RateQuota, RemainingLimits,
    RequestOverrides, SharedLimiter, SharedRequest, TotalShare,
};

/// The limits of a token: the key under which it is counted, and its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EffectiveLimits {
    key: LimitKey,
    quota: u32,
    custom: RequestOverrides,
    /// The user whose tokens are counted together.
    user: u64,
}

/// Properties of a token that decide about its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitedToken {
    user: u64,
    app: Option<u64>,
    token: u64,
    is_paid: bool,
}

impl LimitedToken {
    pub(crate) fn of(grant: &Grant) -> Self {
        Self {
            user: grant.user,
            app: grant.app,
            token: grant.token,
            is_paid: grant.tier == Tier::Paid,
        }
    }
}

impl EffectiveLimits {
    /// Returns the user whose tokens are counted together.
    pub(crate) const fn user(&self) -> u64 {
        self.user
    }
}

impl Api {
    /// Returns the limits of a token, from memory.
    pub(crate) fn effective_limits(&self, grant: &Grant) -> EffectiveLimits {
        self.limits_of(grant.limit_key, &LimitedToken::of(grant))
    }

    /// Returns the limits of the token with a key.
    pub(crate) fn limits_of(&self, key: LimitKey, token: &LimitedToken) -> EffectiveLimits {
        let own = self.limit_overrides.of(token.app, token.token);
        let plan = self.limiter.quota(token.is_paid);
        EffectiveLimits {
            key,
            user: token.user,
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

    /// Charges the limits of this process with requests: all of them are admitted, or none. `label` is the number of the
    /// operation, for later reports of the use of a quota.
    ///
    /// # Errors
    /// Fails with the refusal of the token's limits, or else with that of the limits of all tokens of its user
    /// together. The wait is the longer one of both.
    #[inline]
    pub(crate) fn admit(
        &self,
        terms: &EffectiveLimits,
        load: RequestWeight,
        label: u16,
        now: SystemTime,
    ) -> Result<Permit, ApiError> {
        let request = self.limited_request(terms, load, label);
        let admitted = self.local_limits().admit(&request, now);
        admitted.map_err(ApiError::Limited)
    }

    /// Does the same with the limits that several processes share.
    ///
    /// # Errors
    /// Fails as [`admit`](Self::admit) does. A limiter that does not answer refuses nothing by that.
    pub(crate) async fn admit_shared(
        &self,
        shared: &dyn SharedLimiter,
        terms: &EffectiveLimits,
        load: RequestWeight,
        label: u16,
        now: SystemTime,
    ) -> Result<Permit, ApiError> {
        let request = self.limited_request(terms, load, label);
        let admitted = shared.admit(&request, self.local_limits(), now).await;
        admitted.map_err(ApiError::Limited)
    }

    fn local_limits(&self) -> LocalLimits<'_> {
        LocalLimits {
            limiter: &self.limiter,
            totals: &self.user_totals,
        }
    }

    /// Returns requests as the limiters see them.
    #[inline]
    fn limited_request(
        &self,
        terms: &EffectiveLimits,
        load: RequestWeight,
        label: u16,
    ) -> SharedRequest {
        let shares = self.shares(terms, [load.standard, load.searches, 0]);
        SharedRequest {
            batch: AdmissionBatch {
                key: terms.key,
                rate: RateQuota::Mixed {
                    quota: terms.quota,
                    searches: load.searches,
                },
                weight: load.standard,
                reads: load.reads,
                writes: load.writes,
            },
            custom: RequestOverrides {
                label,
                ..terms.custom
            },
            owner: shares.map(|shares| (terms.user, shares)),
        }
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

    /// Returns the counts of a token's limits over all processes that share them. It changes nothing.
    pub(crate) async fn shared_limiter_state(&self, terms: &EffectiveLimits) -> LimiterState {
        let Some(shared) = self.shared_limiter.get() else {
            return self.limiter_state(terms);
        };
        let request = StateRequest {
            key: &terms.key,
            quota: terms.quota,
            custom: &terms.custom,
        };
        shared.state(request, &self.limiter, self.clock.now()).await
    }

    /// Returns the counts of a token's limits in this process. It changes nothing.
    pub(crate) fn limiter_state(&self, terms: &EffectiveLimits) -> LimiterState {
        self.limiter
            .state_with(&terms.key, terms.quota, &terms.custom, self.clock.now())
    }

    /// Returns the rest of a token's quotas in this process, as the last request that was counted left it.
    pub(crate) fn remaining_limits(&self, terms: &EffectiveLimits) -> RemainingLimits {
        self.limiter
            .remaining(&terms.key, terms.quota, &terms.custom)
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
