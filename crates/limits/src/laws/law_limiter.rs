//! This crate's limiter with the five limits used by the laws.

use std::time::SystemTime;

use super::law_limit::{LawCounts, LawRefusal};
use super::law_request::{LawBatch, LawCharges, LawRequest};
use super::law_settings::{LawOverrides, LawSettings};
use crate::admission_request::LimitKey;
use crate::concurrency::Permit;
use crate::limiter::DigestLimiter;
use crate::limiter_settings::LimiterSettings;
use crate::limiter_state::{LimiterState, RemainingLimits};

/// Limiter of this crate, built from [`LawSettings`].
#[derive(Debug)]
pub struct LawLimiter {
    limiter: DigestLimiter,
}

impl LawLimiter {
    /// Makes a limiter that has seen no requests.
    #[must_use]
    pub fn new(settings: LawSettings) -> Self {
        Self {
            limiter: DigestLimiter::new(LimiterSettings::from(&settings)),
        }
    }

    /// Returns the tested limiter.
    #[must_use]
    pub fn limiter(&self) -> &DigestLimiter {
        &self.limiter
    }

    /// Admits a request.
    ///
    /// # Errors
    /// Fails with the refusal of a limit.
    pub fn admit(&self, request: &LawRequest, now: SystemTime) -> Result<Permit, LawRefusal> {
        self.admit_with(request, &LawOverrides::default(), now)
    }

    /// Admits a request with specific figures.
    ///
    /// # Errors
    /// Fails with the refusal of a limit.
    pub fn admit_with(
        &self,
        request: &LawRequest,
        custom: &LawOverrides,
        now: SystemTime,
    ) -> Result<Permit, LawRefusal> {
        self.admit_batch(&request.as_batch(), custom, now)
    }

    /// Admits all the requests of a batch, or none.
    ///
    /// # Errors
    /// Fails with the refusal of a limit.
    pub fn admit_batch(
        &self,
        batch: &LawBatch,
        custom: &LawOverrides,
        now: SystemTime,
    ) -> Result<Permit, LawRefusal> {
        let charges = batch.charges(custom);
        let admitted = self.limiter.admit_request(&charges.request(), now);
        admitted.map_err(LawRefusal::from)
    }

    /// Returns the milliseconds that a batch would have to wait.
    #[must_use]
    pub fn wait(&self, batch: &LawBatch, custom: &LawOverrides, now: SystemTime) -> u64 {
        self.limiter.wait(&batch.charges(custom).request(), now)
    }

    /// Returns the counts of every limit for a key whose standard quota is `quota`.
    #[must_use]
    pub fn state(&self, key: &LimitKey, quota: u32, now: SystemTime) -> LimiterState {
        self.state_with(key, quota, &LawOverrides::default(), now)
    }

    /// Returns the counts of every limit for a key with specific figures.
    #[must_use]
    pub fn state_with(
        &self,
        key: &LimitKey,
        quota: u32,
        custom: &LawOverrides,
        now: SystemTime,
    ) -> LimiterState {
        let charges = LawCharges::of_key(*key, quota, custom);
        self.limiter.state(&charges.request(), now)
    }

    /// Returns the remaining quotas of a key as of its last counted request.
    #[must_use]
    pub fn remaining(&self, key: &LimitKey, quota: u32, custom: &LawOverrides) -> RemainingLimits {
        let charges = LawCharges::of_key(*key, quota, custom);
        self.limiter.remaining(&charges.request())
    }

    /// Replaces the settings.
    pub fn set_settings(&self, settings: LawSettings) {
        self.limiter.set_settings(&LimiterSettings::from(&settings));
    }

    /// Drops the accounts of keys that would be treated as new anyway.
    pub fn evict_idle(&self, now: SystemTime) {
        self.limiter.evict_idle(now);
    }

    /// Returns the number of keys that have an account.
    #[must_use]
    pub fn tracked_keys(&self) -> usize {
        self.limiter.tracked_keys()
    }

    /// Returns the number of admissions and refusals so far.
    #[must_use]
    pub fn counts(&self) -> LawCounts {
        (&self.limiter.counts()).into()
    }
}
