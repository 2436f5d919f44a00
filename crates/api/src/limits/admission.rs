//! Admission of requests by the limits: their weights, and the figures of their token.
use crate::error::ApiError;
use crate::operation::Operation;
use crate::pipeline::Api;
use crate::request::Method;
use std::collections::HashMap;
use std::iter::Sum;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{PoisonError, RwLock};
use std::time::SystemTime;
use workgraph_auth::{Grant, Tier};
use workgraph_limits::owner_totals::TOTALS;
use workgraph_limits::{
    AdmissionBatch, Limit, LimitKey, LimiterState, Permit, RateQuota, RequestOverrides, TotalShare,
};

/// The weight of requests that are admitted together.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct RequestWeight {
    /// Requests that count against the standard quota.
    standard: u32,
    /// Requests that count against the search quota.
    searches: u32,
    /// Requests that take a slot of the reads.
    reads: u32,
    /// Requests that take a slot of the writes.
    writes: u32,
}

impl RequestWeight {
    /// The weight of a plain read.
    pub(crate) const READ: Self = Self {
        standard: 1,
        searches: 0,
        reads: 1,
        writes: 0,
    };
    /// The weight of a request that ends before it does anything.
    pub(crate) const FAILING: Self = Self::READ;

    /// Returns the weight of one request of an operation.
    pub(crate) fn of(operation: &Operation) -> Self {
        let reads = u32::from(operation.method == Method::Get);
        let searches = u32::from(operation.search);
        Self {
            standard: 1 - searches,
            searches,
            reads,
            writes: 1 - reads,
        }
    }
}

impl Sum for RequestWeight {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            standard: sum.standard + one.standard,
            searches: sum.searches + one.searches,
            reads: sum.reads + one.reads,
            writes: sum.writes + one.writes,
        })
    }
}

/// Figures of an app or a token that replace those of the settings. Those of an app hold for each of its tokens,
/// because tokens share nothing.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LimitOverride {
    /// Requests per minute, instead of the quota of the plan.
    pub standard: Option<u32>,
    /// Searches per minute.
    pub search: Option<u32>,
    /// Reads at the same time.
    pub concurrent_reads: Option<u32>,
    /// Writes at the same time.
    pub concurrent_writes: Option<u32>,
    /// Credits per minute.
    pub cost: Option<u32>,
}

impl LimitOverride {
    /// Returns these figures, with those of `other` where these have none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            standard: self.standard.or(other.standard),
            search: self.search.or(other.search),
            concurrent_reads: self.concurrent_reads.or(other.concurrent_reads),
            concurrent_writes: self.concurrent_writes.or(other.concurrent_writes),
            cost: self.cost.or(other.cost),
        }
    }
}

/// The apps and tokens with figures of their own. Those of a token replace those of its app.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct LimitOverrides {
    /// Overrides by the number of the app.
    pub apps: HashMap<u64, LimitOverride>,
    /// Overrides by the number of the token's record.
    pub tokens: HashMap<u64, LimitOverride>,
}

/// The overrides in force. Mostly there are none, which costs a request one atomic load.
#[derive(Debug, Default)]
pub(crate) struct ActiveLimitOverrides {
    any: AtomicBool,
    quotas: RwLock<LimitOverrides>,
}

impl ActiveLimitOverrides {
    fn set(&self, quotas: LimitOverrides) {
        let any = !quotas.apps.is_empty() || !quotas.tokens.is_empty();
        *self.quotas.write().unwrap_or_else(PoisonError::into_inner) = quotas;
        self.any.store(any, Release);
    }

    fn of(&self, app: Option<u64>, token: u64) -> LimitOverride {
        if !self.any.load(Acquire) {
            return LimitOverride::default();
        }
        let quotas = self.quotas.read().unwrap_or_else(PoisonError::into_inner);
        let app = app.and_then(|app| quotas.apps.get(&app)).copied();
        let token = quotas.tokens.get(&token).copied();
        token.unwrap_or_default().or(app.unwrap_or_default())
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_before_its_app_figure_by_figure() {
        let kept = ActiveLimitOverrides::default();
        assert_eq!(kept.of(Some(1), 2), LimitOverride::default());
        let own = |standard, search| LimitOverride {
            standard,
            search,
            ..LimitOverride::default()
        };
        kept.set(LimitOverrides {
            apps: [(1, own(Some(10), Some(20)))].into(),
            tokens: [(2, own(Some(30), None))].into(),
        });
        assert_eq!(kept.of(Some(1), 2), own(Some(30), Some(20)));
        assert_eq!(kept.of(Some(1), 3), own(Some(10), Some(20)));
        assert_eq!(kept.of(None, 2), own(Some(30), None));
        kept.set(LimitOverrides::default());
        assert_eq!(kept.of(Some(1), 2), LimitOverride::default());
    }
}
