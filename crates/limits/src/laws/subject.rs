//! What a law needs of a limiter, and this crate's limiter behind it.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{Limiter, Permit, Refusal, Request, Settings};

/// The name of an admitted request that has not been finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// A limiter under test. Times are milliseconds since 1970.
pub trait Subject {
    /// Counts a request and decides about it. Tickets are numbered in the order of admission, from 0.
    ///
    /// # Errors
    /// The refusal.
    fn admit(&mut self, request: &Request, now: u64) -> Result<Ticket, Refusal>;
    /// Takes the cost of a request in flight.
    fn settle(&mut self, ticket: Ticket, cost: u32, now: u64);
    /// Ends a request in flight.
    fn finish(&mut self, ticket: Ticket);
    /// Replaces the settings.
    fn set(&mut self, settings: Settings);
    /// Evicts what can be.
    fn sweep(&mut self, now: u64);
}

/// How a law makes the limiters it tests.
pub type Make<'a> = &'a dyn Fn(Settings) -> Box<dyn Subject>;

/// This crate's limiter.
#[derive(Debug)]
pub struct Real {
    limiter: Limiter,
    permits: HashMap<Ticket, Permit>,
    admitted: u64,
}

impl Real {
    /// A new limiter.
    #[must_use]
    pub fn boxed(settings: Settings) -> Box<dyn Subject> {
        Box::new(Self {
            limiter: Limiter::new(settings),
            permits: HashMap::new(),
            admitted: 0,
        })
    }
}

impl Subject for Real {
    fn admit(&mut self, request: &Request, now: u64) -> Result<Ticket, Refusal> {
        let permit = self.limiter.admit(request, time(now))?;
        let ticket = Ticket(self.admitted);
        self.admitted += 1;
        self.permits.insert(ticket, permit);
        Ok(ticket)
    }

    fn settle(&mut self, ticket: Ticket, cost: u32, now: u64) {
        if let Some(permit) = self.permits.get_mut(&ticket) {
            permit.settle(cost, time(now));
        }
    }

    fn finish(&mut self, ticket: Ticket) {
        self.permits.remove(&ticket);
    }

    fn set(&mut self, settings: Settings) {
        self.limiter.set(settings);
    }

    fn sweep(&mut self, now: u64) {
        self.limiter.sweep(time(now));
    }
}

fn time(now: u64) -> SystemTime {
    UNIX_EPOCH
        .checked_add(Duration::from_millis(now))
        .unwrap_or(UNIX_EPOCH)
}
