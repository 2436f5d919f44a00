//! The facade: one call per request.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::account::Account;
use crate::concurrency::Permit;
use crate::ledger::Ledger;
use crate::refusal::{Counts, Limit, Refusal};
use crate::request::{Batch, Request};
use crate::settings::{Custom, Key, Settings};
use crate::shared::Shared;
use crate::state::State;
use crate::sync::lock;

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
}

impl Limiter {
    /// A limiter that has seen no request.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            ledger: Ledger::new(),
            settings: Shared::new(&settings),
        }
    }

    /// Admits a request, for as long as the permit is kept, or refuses it.
    ///
    /// The attempt is counted against its quota whatever the other limits say. Permits are taken only on admission.
    ///
    /// # Errors
    /// A [`Refusal`] when any limit is used up, with the wait after which all of them have room.
    pub fn admit(&self, request: &Request, now: SystemTime) -> Result<Permit, Refusal> {
        self.admit_with(request, &Custom::default(), now)
    }

    /// The same for a request with a label or with figures of its own.
    ///
    /// # Errors
    /// A [`Refusal`] when any limit is used up, with the wait after which all of them have room.
    pub fn admit_with(
        &self,
        request: &Request,
        custom: &Custom,
        now: SystemTime,
    ) -> Result<Permit, Refusal> {
        self.decide(&request.alone(), custom, now)
    }

    /// Admits all the requests of a batch, for as long as the permit is kept, or none.
    ///
    /// # Errors
    /// A [`Refusal`] when any limit has no room for all of them, with the wait after which it has.
    pub fn admit_batch(
        &self,
        batch: &Batch,
        custom: &Custom,
        now: SystemTime,
    ) -> Result<Permit, Refusal> {
        self.decide(&batch.with_slot(), custom, now)
    }

    /// How long a batch would wait, in milliseconds, if nothing else happens meanwhile; 0 if there is room now.
    ///
    /// It charges nothing. It is for a batch that was admitted and is refused all the same, by what the limiter knows
    /// nothing of: drop its permit first, and the wait is that of its next attempt.
    #[must_use]
    pub fn wait(&self, batch: &Batch, custom: &Custom, now: SystemTime) -> u64 {
        let now = millis(now);
        let figures = self.settings.figures().with(custom);
        let mut accounts = lock(&self.ledger.shard(&batch.key).accounts);
        let place = accounts.open(&batch.key, now);
        let account = accounts.at(place);
        account.wait(&figures, &batch.with_slot(), now)
    }

    #[inline]
    fn decide(&self, batch: &Batch, custom: &Custom, now: SystemTime) -> Result<Permit, Refusal> {
        let now = millis(now);
        let figures = self.settings.figures().with(custom);
        let shard = self.ledger.shard(&batch.key);
        let mut accounts = lock(&shard.accounts);
        let place = accounts.open(&batch.key, now);
        let account = accounts.at(place);
        let decision = account.decide(&figures, batch, custom.label, now);
        let refused = decision.answer.as_ref().err().map(|refusal| refusal.limit);
        accounts.count(refused, decision.met);
        if let Some(first) = decision.shadowed.first() {
            for limit in Limit::ALL.into_iter().skip_while(|limit| *limit != first) {
                *accounts.shadowed.of_mut(limit) += u64::from(decision.shadowed.has(limit));
            }
        }
        drop(accounts);
        let ceiling = figures.cost.map(|_| figures.ceiling);
        let permit = |deadline| Permit::new(Arc::clone(shard), place, batch, deadline, ceiling);
        decision.answer.map(permit)
    }

    /// What every limiter has counted for a key that is counted against the standard quota `quota`.
    ///
    /// It explains answers and changes nothing: nothing is charged and nothing is kept.
    #[must_use]
    pub fn state(&self, key: &Key, quota: u32, now: SystemTime) -> State {
        self.state_with(key, quota, &Custom::default(), now)
    }

    /// The same for a key with figures of its own.
    #[must_use]
    pub fn state_with(&self, key: &Key, quota: u32, custom: &Custom, now: SystemTime) -> State {
        let now = millis(now);
        let figures = self.settings.figures().with(custom);
        let accounts = lock(&self.ledger.shard(key).accounts);
        match accounts.get(key) {
            Some(account) => account.state(&figures, quota, now),
            None => Account::new(*key, accounts.floor()).state(&figures, quota, now),
        }
    }

    /// The standard quota of a token whose user has a paid workspace, or none.
    #[must_use]
    pub fn quota(&self, paid: bool) -> u32 {
        self.settings.quota(paid)
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
        self.ledger.fold(0, |sum, shard| *sum += shard.len())
    }

    /// The number of admissions and refusals so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.ledger.fold(Counts::default(), |counts, shard| {
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

/// A time in milliseconds since 1970; times before are 1970.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since
        .as_secs()
        .saturating_mul(1_000)
        .saturating_add(since.subsec_millis().into())
}
