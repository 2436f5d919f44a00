//! What is remembered of one key, and the decision about one request.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::concurrency::Slots;
use crate::cost::Balance;
use crate::settings::{Class, Limit, Rate, Refusal, Request, Settings};
use crate::window::Window;

/// The state of every limiter for one key.
#[derive(Debug, Default)]
pub(crate) struct Account {
    last: u64,
    standard: Window,
    /// Most keys never search.
    search: Option<Box<Window>>,
    reads: Slots,
    writes: Slots,
    balance: Balance,
}

impl Account {
    /// A new account whose time is not before `floor`.
    pub(crate) fn new(floor: u64) -> Self {
        Self {
            last: floor,
            ..Self::default()
        }
    }

    /// Admits a request until the returned deadline, or refuses it. Either way its attempt is counted once.
    pub(crate) fn decide(
        &mut self,
        settings: &Settings,
        request: &Request,
        now: u64,
    ) -> Result<u64, Refusal> {
        let now = self.clamp(now);
        let (quota, weight, searches) = match request.rate {
            Rate::Standard { quota } => (quota, request.weight, 0),
            Rate::Search => (0, 0, request.weight),
            Rate::Mixed { quota, searches } => (quota, request.weight, searches),
        };
        let terms = settings.standard.terms(quota);
        let cap = settings.slots(request.class);

        let standard = self.standard.charge(terms, weight, now);
        let search = searches == 0
            || self
                .search
                .get_or_insert_default()
                .charge(settings.search(), searches, now);
        let paid = settings
            .cost_per_minute
            .is_none_or(|per_minute| self.balance.admits(per_minute, now));
        let slots = self.slots(request.class);
        let limit = if !standard {
            Limit::Standard
        } else if !search {
            Limit::Search
        } else if !slots.has_room(cap) {
            match request.class {
                Class::Read => Limit::ConcurrentReads,
                Class::Write => Limit::ConcurrentWrites,
            }
        } else if !paid {
            Limit::Cost
        } else {
            let deadline = now.saturating_add(settings.deadline_ms());
            slots.take(deadline);
            return Ok(deadline);
        };

        // The wait of the same request after this one was counted, which every limiter may add to.
        let wait = slots.wait(cap, now, settings.deadline_ms());
        let wait = wait.max(self.standard.wait(terms, weight));
        let wait = wait.max(
            self.search
                .as_ref()
                .map_or(0, |search| search.wait(settings.search(), searches)),
        );
        let wait = wait.max(
            settings
                .cost_per_minute
                .map_or(0, |per_minute| self.balance.wait(per_minute)),
        );
        Err(Refusal::new(limit, wait))
    }

    /// Takes the cost of an answer.
    pub(crate) fn settle(&mut self, cost: u32, now: u64) {
        let now = self.clamp(now);
        self.balance.take(cost, now);
    }

    /// Frees the slot of a request that was admitted until `deadline`.
    pub(crate) fn release(&mut self, class: Class, deadline: u64) {
        self.slots(class).release(deadline);
    }

    /// Moves the account to `now`, gives back memory, and says whether a new account would behave the same from now on.
    /// The caller has made sure that no permit is out.
    pub(crate) fn is_neutral(&mut self, now: u64) -> bool {
        let now = self.clamp(now);
        self.standard.advance(now);
        self.standard.shrink();
        if let Some(search) = &mut self.search {
            search.advance(now);
            if search.is_empty() {
                self.search = None;
            }
        }
        self.balance.advance(now);
        self.standard.is_empty() && self.search.is_none() && self.balance.is_full()
    }

    /// The latest time the account has seen.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The time of an event: never before the last one.
    fn clamp(&mut self, now: u64) -> u64 {
        self.last = self.last.max(now);
        self.last
    }

    fn slots(&mut self, class: Class) -> &mut Slots {
        match class {
            Class::Read => &mut self.reads,
            Class::Write => &mut self.writes,
        }
    }
}

/// Locks, whatever happened to other threads: no state here is ever left half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
