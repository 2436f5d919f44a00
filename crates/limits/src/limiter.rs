//! Limiter of all keys: one call per request.

use std::sync::Arc;
use std::time::SystemTime;

use crate::account_table::{AccountTable, Accounts};
use crate::admission_request::{AdmissionBatch, AdmissionRequest, LimitKey, RequestClass};
use crate::atomic_settings::{AtomicSettings, LimitSet};
use crate::concurrency::Permit;
use crate::limit::Limit;
use crate::limit_exceeded::{AdmissionCounts, LimitExceeded};
use crate::limiter_account::LimiterAccount;
use crate::limiter_settings::{LimiterSettings, RequestOverrides};
use crate::limiter_state::{LimiterState, RemainingLimits};
use crate::shared_decision::{AdmissionFigures, SharedDecision};
use crate::sync::lock;
use crate::time_units::millis;

/// Limiters of all kinds for all keys. Shared by reference between threads; it never reads a clock and never waits for
/// anything but a short lock.
///
/// Time is read to the millisecond. It should never step back: an account that has seen a later time stays there until
/// the clock has caught up, so that stepping back gains nothing. A server takes its start time once and adds the time
/// of a monotonic clock.
#[derive(Debug)]
pub struct Limiter {
    account_table: AccountTable,
    settings: AtomicSettings,
}

impl Limiter {
    /// Makes a limiter that has seen no request.
    #[must_use]
    pub fn new(settings: LimiterSettings) -> Self {
        Self {
            account_table: AccountTable::new(),
            settings: AtomicSettings::new(&settings),
        }
    }

    /// Admits a request, for as long as the permit is kept, or refuses it.
    ///
    /// The attempt is counted against its quota whatever the other limits say. Permits are taken only on admission.
    ///
    /// # Errors
    /// A [`LimitExceeded`] when any limit is used up, with the wait after which all of them have room.
    pub fn admit(
        &self,
        request: &AdmissionRequest,
        now: SystemTime,
    ) -> Result<Permit, LimitExceeded> {
        self.admit_with(request, &RequestOverrides::default(), now)
    }

    /// Does the same for a request with a label or with figures of its own.
    ///
    /// # Errors
    /// A [`LimitExceeded`] when any limit is used up, with the wait after which all of them have room.
    pub fn admit_with(
        &self,
        request: &AdmissionRequest,
        custom: &RequestOverrides,
        now: SystemTime,
    ) -> Result<Permit, LimitExceeded> {
        self.decide(&request.as_batch(), custom, now)
    }

    /// Admits all the requests of a batch, for as long as the permit is kept, or none.
    ///
    /// # Errors
    /// A [`LimitExceeded`] when any limit has no room for all of them, with the wait after which it has.
    pub fn admit_batch(
        &self,
        batch: &AdmissionBatch,
        custom: &RequestOverrides,
        now: SystemTime,
    ) -> Result<Permit, LimitExceeded> {
        self.decide(&batch.with_slot(), custom, now)
    }

    /// Returns the milliseconds that a batch would wait, if nothing else happens meanwhile; 0 if there is room now.
    ///
    /// It charges nothing. It is for a batch that was admitted, and is then refused for a reason outside the limiter:
    /// drop its permit first, and the wait is that of its next attempt.
    #[must_use]
    pub fn wait(&self, batch: &AdmissionBatch, custom: &RequestOverrides, now: SystemTime) -> u64 {
        let now = millis(now);
        let figures = self.settings.figures().with(custom);
        let mut accounts = lock(&self.account_table.shard(&batch.key).accounts);
        let position = accounts.open(&batch.key, now);
        let account = accounts.at(position);
        account.wait(&figures, &batch.with_slot(), now)
    }

    /// Counts a batch that a [`SharedLimiter`](crate::SharedLimiter) has decided about, whatever the limits here say,
    /// and returns the permit of an admitted one.
    pub fn record(
        &self,
        batch: &AdmissionBatch,
        custom: &RequestOverrides,
        decision: &SharedDecision,
        now: SystemTime,
    ) -> Option<Permit> {
        let now = millis(now);
        let batch = &batch.with_slot();
        let figures = self.settings.figures().with(custom);
        let shard = self.account_table.shard(&batch.key);
        let mut accounts = lock(&shard.accounts);
        let position = accounts.open(&batch.key, now);
        let admitted = decision.refused.is_none();
        let account = accounts.at(position);
        let (deadline, met) = account.record(&figures, batch, custom.label, admitted, now);
        accounts.count(decision.refused, met);
        count_shadowed(&mut accounts, LimitSet::new(&decision.shadowed));
        drop(accounts);
        let ceiling = figures.cost.map(|_| figures.ceiling);
        deadline.map(|deadline| Permit::new(Arc::clone(shard), position, batch, deadline, ceiling))
    }

    /// Returns the figures that a request with this standard quota is decided with.
    #[must_use]
    pub fn figures(&self, quota: u32, custom: &RequestOverrides) -> AdmissionFigures {
        let figures = self.settings.figures().with(custom);
        AdmissionFigures {
            standard: figures.standard(quota),
            search_per_minute: figures.search.quota,
            concurrent_reads: figures.slots(RequestClass::Read),
            concurrent_writes: figures.slots(RequestClass::Write),
            cost_per_minute: figures.cost.map(|cost| cost.max(1)),
            cost_ceiling: figures.ceiling,
            deadline_ms: figures.deadline_ms,
            shadow: figures.shadow.each(),
        }
    }

    #[inline]
    fn decide(
        &self,
        batch: &AdmissionBatch,
        custom: &RequestOverrides,
        now: SystemTime,
    ) -> Result<Permit, LimitExceeded> {
        let now = millis(now);
        let figures = self.settings.figures().with(custom);
        let shard = self.account_table.shard(&batch.key);
        let mut accounts = lock(&shard.accounts);
        let position = accounts.open(&batch.key, now);
        let account = accounts.at(position);
        let decision = account.decide(&figures, batch, custom.label, now);
        let refused = decision.answer.as_ref().err().map(|refusal| refusal.limit);
        accounts.count(refused, decision.met);
        count_shadowed(&mut accounts, decision.shadowed);
        drop(accounts);
        let ceiling = figures.cost.map(|_| figures.ceiling);
        let permit = |deadline| Permit::new(Arc::clone(shard), position, batch, deadline, ceiling);
        decision.answer.map(permit)
    }

    /// Returns the counts of every limiter for a key whose standard quota is `quota`.
    ///
    /// It explains answers and changes nothing: nothing is charged and nothing is kept.
    #[must_use]
    pub fn state(&self, key: &LimitKey, quota: u32, now: SystemTime) -> LimiterState {
        self.state_with(key, quota, &RequestOverrides::default(), now)
    }

    /// Does the same for a key with figures of its own.
    #[must_use]
    pub fn state_with(
        &self,
        key: &LimitKey,
        quota: u32,
        custom: &RequestOverrides,
        now: SystemTime,
    ) -> LimiterState {
        let now = millis(now);
        let figures = self.settings.figures().with(custom);
        let accounts = lock(&self.account_table.shard(key).accounts);
        match accounts.get(key) {
            Some(account) => account.state(&figures, quota, now),
            None => LimiterAccount::new(*key, accounts.floor()).state(&figures, quota, now),
        }
    }

    /// Returns the rest of the quotas of a key as the last request that was counted left it. It changes nothing, and
    /// costs the same whatever the key has used.
    #[must_use]
    pub fn remaining(
        &self,
        key: &LimitKey,
        quota: u32,
        custom: &RequestOverrides,
    ) -> RemainingLimits {
        let figures = self.settings.figures().with(custom);
        let accounts = lock(&self.account_table.shard(key).accounts);
        match accounts.get(key) {
            Some(account) => account.remaining(&figures, quota),
            None => LimiterAccount::new(*key, accounts.floor()).remaining(&figures, quota),
        }
    }

    /// Returns the standard quota of a token whose user has a paid workspace, or none.
    #[must_use]
    pub fn quota(&self, paid: bool) -> u32 {
        self.settings.quota(paid)
    }

    /// Replaces the settings, from the next request on. Earlier counts stay: nothing is forgotten early, and requests
    /// in flight keep their permits and deadlines.
    pub fn set_settings(&self, settings: LimiterSettings) {
        self.settings.store(&settings);
    }

    /// Returns the settings in force.
    #[must_use]
    pub fn settings(&self) -> LimiterSettings {
        self.settings.load()
    }

    /// Drops the accounts of keys that would be treated as new anyway. Worth a call every minute or so; without any,
    /// the memory still stays within twice what the active keys need.
    pub fn evict_idle(&self, now: SystemTime) {
        self.account_table.sweep(millis(now));
    }

    /// Returns the number of keys that have an account.
    #[must_use]
    pub fn tracked_keys(&self) -> usize {
        self.account_table.fold(0, |sum, shard| *sum += shard.len())
    }

    /// Returns the number of admissions and refusals so far.
    #[must_use]
    pub fn counts(&self) -> AdmissionCounts {
        self.account_table
            .fold(AdmissionCounts::default(), |counts, shard| {
                let passed = shard.passed();
                counts.admitted += shard.admitted;
                for limit in Limit::ALL {
                    *counts.passed.of_mut(limit) += passed.of(limit);
                    *counts.refused.of_mut(limit) += shard.refused.of(limit);
                    *counts.shadowed.of_mut(limit) += shard.shadowed.of(limit);
                }
            })
    }
}

/// Counts the limits in shadow mode that would have refused a request; mostly there are none.
#[inline]
fn count_shadowed(accounts: &mut Accounts, shadowed: LimitSet) {
    if let Some(first) = shadowed.first() {
        for limit in Limit::ALL.into_iter().skip_while(|limit| *limit != first) {
            *accounts.shadowed.of_mut(limit) += u64::from(shadowed.has(limit));
        }
    }
}
