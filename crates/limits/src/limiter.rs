//! Limiter of all keys: one call per request.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::SystemTime;

use crate::account_table::AccountTable;
use crate::admission_request::{AdmissionRequest, LimitKey};
use crate::concurrency::Permit;
use crate::limit_exceeded::{AdmissionCounts, LimitCounts, LimitExceeded};
use crate::limiter_account::LimiterAccount;
use crate::limiter_settings::LimiterSettings;
use crate::limiter_state::{LimiterState, RemainingLimits};
use crate::rules::Rules;
use crate::shared_decision::{AdmissionFigures, SharedDecision, SlotFigures, WindowFigures};
use crate::time_units::millis;
use crate::uniform_hash::UniformState;

/// Limits of all kinds for all keys. It is shared by reference between threads; it never reads a clock and only ever waits
/// for a short lock.
///
/// Time is read to the millisecond. It should never go back: an account that has seen a later time stays there until
/// the clock has caught up, so that going back has no advantage. [`SteadyClock`](crate::SteadyClock) never goes back.
#[derive(Debug)]
pub struct Limiter<K, S = RandomState> {
    accounts: AccountTable<K>,
    rules: Arc<Rules>,
    hasher: S,
}

/// Limiter whose keys are halves of digests: the kind that takes part in a [`SharedLimiter`](crate::SharedLimiter).
pub type DigestLimiter = Limiter<LimitKey, UniformState>;

impl<K: Hash + Eq + Clone, S: BuildHasher + Default> Limiter<K, S> {
    /// Makes a limiter that has seen no requests.
    #[must_use]
    pub fn new(settings: LimiterSettings) -> Self {
        Self::with_hasher(settings, S::default())
    }
}

impl<K: Hash + Eq + Clone, S: BuildHasher> Limiter<K, S> {
    /// Makes a limiter that has seen no requests, with a hasher for its keys.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "whoever has made the settings is done with them"
    )]
    pub fn with_hasher(settings: LimiterSettings, hasher: S) -> Self {
        let rules = Arc::new(Rules::new(&settings));
        Self {
            accounts: AccountTable::new(&rules),
            rules,
            hasher,
        }
    }

    /// Admits a plain request of a key, for as long as the permit is held, or refuses it: it counts once in every window
    /// and takes a slot of every class.
    ///
    /// The attempt counts in its windows regardless of the other limits. Slots are only taken on admission.
    ///
    /// # Errors
    /// Fails with a [`LimitExceeded`] when any limit is used up, with the wait after which all of them have room.
    pub fn admit(&self, key: &K, now: SystemTime) -> Result<Permit<K>, LimitExceeded> {
        self.admit_request(&AdmissionRequest::new(key), now)
    }

    /// Admits or refuses a request that specifies the amounts that it counts for.
    ///
    /// # Errors
    /// Fails with a [`LimitExceeded`] when any limit has no room for all of it, with the wait after which all limits have.
    #[inline]
    pub fn admit_request(
        &self,
        request: &AdmissionRequest<'_, K>,
        now: SystemTime,
    ) -> Result<Permit<K>, LimitExceeded> {
        let now = millis(now);
        let rules = &*self.rules;
        let hash = self.hasher.hash_one(request.key);
        let shard = self.accounts.shard(hash);
        let mut state = shard.lock();
        let table = &mut state.table;
        let position = table.open(request.key, hash, rules, &self.hasher, now);
        let state = &mut *state;
        let account = state.table.at(position);
        let admitted = account.decide(rules, request, &mut state.counts, now)?;
        state.admitted += 1;
        Ok(Permit::new(Arc::clone(shard), position, request, admitted))
    }

    /// Returns the milliseconds that a request would have to wait if no other came before it; 0 if there is room now.
    ///
    /// It charges nothing. Use it for a request that was admitted and is then refused for a reason outside the limiter:
    /// drop its permit first, and the wait is that of its next attempt.
    #[must_use]
    pub fn wait(&self, request: &AdmissionRequest<'_, K>, now: SystemTime) -> u64 {
        let now = millis(now);
        let hash = self.hasher.hash_one(request.key);
        let mut state = self.accounts.shard(hash).lock();
        let (rules, table) = (&*self.rules, &mut state.table);
        let position = table.open(request.key, hash, rules, &self.hasher, now);
        table.at(position).wait(rules, request, now)
    }

    /// Counts a request that a [`SharedLimiter`](crate::SharedLimiter) has decided about, regardless of the limits here,
    /// and returns the permit of an admitted one.
    pub fn record(
        &self,
        request: &AdmissionRequest<'_, K>,
        decision: &SharedDecision<'_>,
        now: SystemTime,
    ) -> Option<Permit<K>> {
        let now = millis(now);
        let rules = &*self.rules;
        let hash = self.hasher.hash_one(request.key);
        let shard = self.accounts.shard(hash);
        let mut state = shard.lock();
        let table = &mut state.table;
        let position = table.open(request.key, hash, rules, &self.hasher, now);
        let state = &mut *state;
        let is_admitted = decision.refused.is_none();
        let account = state.table.at(position);
        let admitted = account.record(rules, request, is_admitted, &mut state.counts, now);
        state.admitted += u64::from(is_admitted);
        if let Some(limit) = decision.refused
            && let Some(counts) = state.counts.get_mut(self.rules.place(limit))
        {
            counts.refused += 1;
        }
        for limit in decision.shadowed {
            if let Some(counts) = state.counts.get_mut(self.rules.place(*limit)) {
                counts.shadowed += 1;
            }
        }
        admitted.map(|admitted| Permit::new(Arc::clone(shard), position, request, admitted))
    }

    /// Returns the figures used to decide about a request.
    #[must_use]
    pub fn figures(&self, request: &AdmissionRequest<'_, K>) -> AdmissionFigures {
        let windows = self.rules.windows.iter().enumerate();
        let slots = self.rules.visible_slots().enumerate();
        let implied = self.rules.implied_slot(request);
        let cost = &self.rules.cost;
        AdmissionFigures {
            windows: windows
                .map(|(at, rule)| WindowFigures {
                    window: rule.limit,
                    terms: rule.terms(request.charge(at).quota),
                    weight: request.charge(at).weight,
                    shadow: rule.is_shadow(),
                })
                .collect(),
            slots: slots
                .map(|(at, rule)| SlotFigures {
                    class: rule.limit,
                    most: rule.most(request.slot(at).most),
                    slots: request.slot(at).slots + if at == 0 { implied } else { 0 },
                    shadow: rule.is_shadow(),
                })
                .collect(),
            cost: cost.limit,
            credits: cost.quota(request.own_credits()),
            cost_length_ms: cost.length_ms,
            cost_ceiling: cost.ceiling(),
            cost_shadow: cost.is_shadow(),
            deadline_ms: self.rules.deadline_ms(),
        }
    }

    /// Returns the counts of every limit for the key of a request, with the figures of the request.
    ///
    /// Use it to explain decisions: it charges and stores nothing.
    #[must_use]
    pub fn state(&self, request: &AdmissionRequest<'_, K>, now: SystemTime) -> LimiterState {
        self.read(request, |account| {
            account.state(&self.rules, request, millis(now))
        })
    }

    /// Returns the remaining quotas of a key as of its last counted request. It changes nothing, and
    /// its cost does not depend on the use of the key.
    #[must_use]
    pub fn remaining(&self, request: &AdmissionRequest<'_, K>) -> RemainingLimits {
        self.read(request, |account| account.remaining(&self.rules, request))
    }

    fn read<T>(
        &self,
        request: &AdmissionRequest<'_, K>,
        then: impl FnOnce(&LimiterAccount<K>) -> T,
    ) -> T {
        let hash = self.hasher.hash_one(request.key);
        let state = self.accounts.shard(hash).lock();
        match state.table.get(request.key, hash) {
            Some(account) => then(account),
            None => {
                let key = request.key.clone();
                then(&LimiterAccount::new(key, state.table.floor()))
            }
        }
    }

    /// Replaces the figures, from the next request on. Limits are matched by their order; their number, names and
    /// lengths stay. Earlier counts stay, too: nothing is forgotten early, and requests in flight keep their permits and
    /// deadlines.
    pub fn set_settings(&self, settings: &LimiterSettings) {
        self.rules.store(settings);
    }

    /// Returns a copy of the current settings.
    #[must_use]
    pub fn settings(&self) -> LimiterSettings {
        self.rules.load()
    }

    /// Drops the accounts of keys that would be treated as new anyway. Call it about every minute; without calls,
    /// memory use still stays within twice the size needed for active keys.
    pub fn evict_idle(&self, now: SystemTime) {
        self.accounts.sweep(&self.hasher, millis(now));
    }

    /// Returns the number of keys that have an account.
    #[must_use]
    pub fn tracked_keys(&self) -> usize {
        self.accounts
            .fold(0, |sum, shard| *sum += shard.table.len())
    }

    /// Returns the number of admissions and refusals so far.
    #[must_use]
    pub fn counts(&self) -> AdmissionCounts {
        let settings = self.settings();
        let limits = settings.limits();
        let mut limits: Vec<_> = limits
            .map(|limit| (limit, LimitCounts::default()))
            .collect();
        let admitted = self.accounts.fold(0, |admitted, shard| {
            *admitted += shard.admitted;
            for (limit, sum) in &mut limits {
                if let Some(counts) = shard.counts.get(self.rules.place(*limit)) {
                    sum.passed += counts.passed;
                    sum.refused += counts.refused;
                    sum.shadowed += counts.shadowed;
                }
            }
        });
        AdmissionCounts { admitted, limits }
    }
}
