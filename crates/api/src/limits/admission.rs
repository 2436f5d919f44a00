//! Admission of requests by the limits of their token and their user.
use crate::account_tier::PAID_TIER;
use crate::error::ApiError;
use crate::limits::limit_overrides::{LimitOverride, LimitOverrides};
use crate::limits::request_weight::RequestWeight;
use crate::state::Api;
use crate::token_limits::{COST, RemainingLimits, SEARCH, STANDARD, TokenLimits};
use std::sync::atomic::Ordering::Relaxed;
use std::time::SystemTime;
use workgraph_auth::Grant;
use workgraph_limits::{
    AdmissionRequest, LimitKey, LimiterState, LocalLimits, Permit, SharedLimiter, SharedRequest,
    SlotRequest, TotalShare, WindowCharge,
};

/// The limits of a token: the key that it is counted under, and its quotas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EffectiveLimits {
    key: LimitKey,
    quota: u32,
    own: LimitOverride,
    /// The user whose tokens are counted together.
    user: u64,
}

/// Properties of a token that determine its limits.
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
            is_paid: grant.tier == PAID_TIER,
        }
    }
}

/// The requests of a token as its limiter sees them.
#[derive(Clone, Copy, Debug)]
struct TokenCharges<'t> {
    terms: &'t EffectiveLimits,
    windows: [WindowCharge; 2],
    slots: [SlotRequest; 2],
    label: u16,
}

impl TokenCharges<'_> {
    fn request(&self) -> AdmissionRequest<'_, LimitKey> {
        AdmissionRequest::new(&self.terms.key)
            .windows(&self.windows)
            .slots(&self.slots)
            .credits(self.terms.own.cost)
            .label(self.label)
    }
}

impl EffectiveLimits {
    /// Returns requests of a weight as the limiter sees them.
    #[inline]
    fn charges(&self, load: RequestWeight, label: u16) -> TokenCharges<'_> {
        let window = |weight, quota| WindowCharge { weight, quota };
        let slot = |slots, most| SlotRequest { slots, most };
        TokenCharges {
            terms: self,
            windows: [
                window(load.standard, Some(self.quota)),
                window(load.searches, self.own.search),
            ],
            slots: [
                slot(load.reads, self.own.concurrent_reads),
                slot(load.writes, self.own.concurrent_writes),
            ],
            label,
        }
    }

    /// Returns a query for the counts of the token.
    fn question(&self) -> TokenCharges<'_> {
        self.charges(RequestWeight::default(), 0)
    }

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

    pub(crate) fn limits_of(&self, key: LimitKey, token: &LimitedToken) -> EffectiveLimits {
        let own = self.limit_overrides.of(token.app, token.token);
        let plan = self.token_limits.standard(token.is_paid);
        EffectiveLimits {
            key,
            user: token.user,
            quota: own.standard.unwrap_or(plan),
            own,
        }
    }

    /// Charges requests to the limits of this process: either all of them are admitted, or none. `label` is the number of the
    /// operation, for later reports on the use of a quota.
    ///
    /// # Errors Fails with the refusal by the token's limits, or else by the combined limits of its user's tokens. The wait
    /// is the longer one of both.
    #[inline]
    pub(crate) fn admit(
        &self,
        terms: &EffectiveLimits,
        load: RequestWeight,
        label: u16,
        now: SystemTime,
    ) -> Result<Permit, ApiError> {
        let shares = self.shares(terms, [load.standard, load.searches, 0]);
        let charges = terms.charges(load, label);
        let request = SharedRequest {
            request: charges.request(),
            owner: shares.as_ref().map(|shares| (&terms.user, &shares[..])),
        };
        let admitted = self.local_limits().admit(&request, now);
        admitted.map_err(ApiError::Limited)
    }

    /// Charges requests in the same way to the limits that several processes share.
    ///
    /// # Errors
    /// Fails as [`admit`](Self::admit) does. If a limiter does not answer, that alone refuses nothing.
    pub(crate) async fn admit_shared(
        &self,
        shared: &dyn SharedLimiter,
        terms: &EffectiveLimits,
        load: RequestWeight,
        label: u16,
        now: SystemTime,
    ) -> Result<Permit, ApiError> {
        let shares = self.shares(terms, [load.standard, load.searches, 0]);
        let charges = terms.charges(load, label);
        let request = SharedRequest {
            request: charges.request(),
            owner: shares.as_ref().map(|shares| (&terms.user, &shares[..])),
        };
        let admitted = shared.admit(&request, self.local_limits(), now).await;
        admitted.map_err(ApiError::Limited)
    }

    fn local_limits(&self) -> LocalLimits<'_> {
        LocalLimits {
            limiter: &self.limiter,
            totals: &self.user_totals,
        }
    }

    /// Charges the cost of a reply to the combined total of its user's tokens.
    pub(crate) fn charge_user_total(&self, terms: &EffectiveLimits, cost: u32) {
        if let Some(shares) = self.shares(terms, [0, 0, cost]) {
            self.user_totals
                .charge(&terms.user, &shares, self.clock.now());
        }
    }

    /// Returns the share of a request in its user's totals, in the order of the windows and with the cost last;
    /// `None` if users have no such limit.
    fn shares(&self, terms: &EffectiveLimits, weights: [u32; 3]) -> Option<[TotalShare; 3]> {
        let multiple = self.user_multiple.load(Relaxed);
        if multiple == 0 {
            return None;
        }
        let (limits, own) = (self.token_limits.all(), &terms.own);
        let [standard, search, cost] = weights;
        let share = |limit, weight, quota: Option<u32>| {
            let quota = quota.filter(|_| !limits.shadow.has(limit));
            TotalShare {
                weight,
                quota: quota.map(|quota| quota.saturating_mul(multiple)),
            }
        };
        let credits = own.cost.or(limits.cost_per_minute);
        Some([
            share(STANDARD, standard, Some(terms.quota)),
            share(
                SEARCH,
                search,
                Some(own.search.unwrap_or(limits.search_per_minute)),
            ),
            // A quota of zero counts as one, as it does for a token.
            share(
                COST,
                cost.min(limits.cost_ceiling),
                credits.map(|quota| quota.max(1)),
            ),
        ])
    }

    /// Returns the limits of each token.
    #[must_use]
    pub fn token_limits(&self) -> TokenLimits {
        self.token_limits.all()
    }

    /// Replaces the limits of each token, from the next request on. Counts are kept.
    pub fn set_token_limits(&self, limits: TokenLimits) {
        self.token_limits.set(limits);
        self.limiter.set_settings(&(&limits).into());
    }

    /// Sets the combined limit of a user's tokens, as a multiple of one token's limit; `None` for no such limit.
    pub fn set_user_multiple(&self, multiple: Option<u32>) {
        self.user_multiple.store(multiple.unwrap_or(0), Relaxed);
    }

    /// Drops the state of tokens and users if it equals the state of new ones.
    pub fn sweep_limits(&self) {
        let now = self.clock.now();
        self.limiter.evict_idle(now);
        self.user_totals.sweep(now);
    }

    /// Returns the counts of a token's limits over all processes that share them, without changing them.
    pub(crate) async fn shared_limiter_state(&self, terms: &EffectiveLimits) -> LimiterState {
        let Some(shared) = self.shared_limiter.get() else {
            return self.limiter_state(terms);
        };
        let (question, now) = (terms.question(), self.clock.now());
        shared.state(question.request(), &self.limiter, now).await
    }

    /// Returns the counts of a token's limits in this process, without changing them.
    pub(crate) fn limiter_state(&self, terms: &EffectiveLimits) -> LimiterState {
        let question = terms.question();
        self.limiter.state(&question.request(), self.clock.now())
    }

    /// Returns the remaining quotas of a token in this process, as of its last counted request.
    pub(crate) fn remaining_limits(&self, terms: &EffectiveLimits) -> RemainingLimits {
        let question = terms.question();
        (&self.limiter.remaining(&question.request())).into()
    }

    /// Replaces the overrides of apps and tokens, from the next request on. Counts are kept.
    pub fn set_limit_overrides(&self, quotas: LimitOverrides) {
        self.limit_overrides.set(quotas);
    }

    /// Replaces the maximum number of jobs per user, for jobs started from now on.
    pub fn set_jobs_per_user_max(&self, most: u32) {
        self.jobs_per_user_max.store(most, Relaxed);
    }
}
