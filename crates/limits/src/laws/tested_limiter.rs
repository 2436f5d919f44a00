//! Interface that laws need from a limiter, and its implementation for this crate's limiter.

use super::law_limit::LawRefusal;
use super::law_limiter::LawLimiter;
use super::law_request::LawRequest;
use super::law_settings::LawSettings;
use crate::Permit;
use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Number of an admitted request that has not been finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdmissionTicket(pub u64);

/// Limiter under test. Times are milliseconds since 1970.
pub trait TestedLimiter {
    /// Counts a request and decides about it. Tickets are numbered in the order of admission, from 0.
    ///
    /// # Errors
    /// Fails with the refusal.
    fn admit(&mut self, request: &LawRequest, now: u64) -> Result<AdmissionTicket, LawRefusal>;
    /// Takes the cost of a request in flight.
    fn settle(&mut self, ticket: AdmissionTicket, cost: u32, now: u64);
    /// Ends a request in flight.
    fn finish(&mut self, ticket: AdmissionTicket);
    /// Replaces the settings.
    fn set(&mut self, settings: LawSettings);
    /// Evicts idle keys.
    fn sweep(&mut self, now: u64);
}

/// Function that makes the limiters tested by a law.
pub type MakeLimiter<'a> = &'a dyn Fn(LawSettings) -> Box<dyn TestedLimiter>;

/// This crate's limiter, as an input for the laws.
#[derive(Debug)]
pub struct RealLimiter {
    limiter: LawLimiter,
    permits: HashMap<AdmissionTicket, Permit>,
    admitted: u64,
}

impl RealLimiter {
    /// Makes a new limiter.
    #[must_use]
    pub fn boxed(settings: LawSettings) -> Box<dyn TestedLimiter> {
        Box::new(Self {
            limiter: LawLimiter::new(settings),
            permits: HashMap::new(),
            admitted: 0,
        })
    }
}

impl TestedLimiter for RealLimiter {
    fn admit(&mut self, request: &LawRequest, now: u64) -> Result<AdmissionTicket, LawRefusal> {
        let permit = self.limiter.admit(request, time(now))?;
        let ticket = AdmissionTicket(self.admitted);
        self.admitted += 1;
        self.permits.insert(ticket, permit);
        Ok(ticket)
    }

    fn settle(&mut self, ticket: AdmissionTicket, cost: u32, now: u64) {
        if let Some(permit) = self.permits.get_mut(&ticket) {
            permit.settle(cost, time(now));
        }
    }

    fn finish(&mut self, ticket: AdmissionTicket) {
        self.permits.remove(&ticket);
    }

    fn set(&mut self, settings: LawSettings) {
        self.limiter.set_settings(settings);
    }

    fn sweep(&mut self, now: u64) {
        self.limiter.evict_idle(time(now));
    }
}

fn time(now: u64) -> SystemTime {
    UNIX_EPOCH
        .checked_add(Duration::from_millis(now))
        .unwrap_or(UNIX_EPOCH)
}
