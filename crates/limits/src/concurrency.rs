//! Concurrency: the deadlines of the requests in flight, and the permit that frees a slot when it is dropped.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use crate::account::{Account, lock};
use crate::limiter::millis;
use crate::settings::Class;

/// The requests of one class in flight, each by its deadline in milliseconds, in order.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    deadlines: Vec<u64>,
}

impl Slots {
    /// Whether fewer than `cap` requests are in flight.
    #[must_use]
    pub fn has_room(&self, cap: u32) -> bool {
        self.deadlines.len() < cap as usize
    }

    /// Takes a slot until it is released, at the latest at `deadline`. The caller has asked [`Slots::has_room`].
    pub fn take(&mut self, deadline: u64) {
        let at = match self.deadlines.last() {
            Some(&latest) if latest > deadline => {
                self.deadlines.partition_point(|&other| other <= deadline)
            }
            _ => self.deadlines.len(),
        };
        self.deadlines.insert(at, deadline);
    }

    /// Gives back a slot that was taken until `deadline`.
    pub fn release(&mut self, deadline: u64) {
        if let Ok(at) = self.deadlines.binary_search(&deadline) {
            self.deadlines.remove(at);
        }
    }

    /// How long until every request in flight has ended, in milliseconds; 0 if there is room now.
    ///
    /// A cap of 0 never has room; the wait is then as long as a request may take, `otherwise`.
    #[must_use]
    pub fn wait(&self, cap: u32, now: u64, otherwise: u64) -> u64 {
        if self.has_room(cap) {
            return 0;
        }
        self.deadlines
            .last()
            .map_or(otherwise, |latest| latest.saturating_sub(now))
            .max(1)
    }
}

/// The right of one admitted request to run. Dropping it frees the slot, on whatever thread and for whatever reason.
///
/// It belongs to whoever works longest for the request: a response body that is still being sent, a database job that
/// goes on after the client has left. It stays valid when the limiter is gone.
#[must_use = "the slot is free again as soon as the permit is dropped"]
pub struct Permit {
    account: Arc<Mutex<Account>>,
    class: Class,
    deadline: u64,
    /// The most a settlement takes; `None` if the cost limit was off at admission.
    ceiling: Option<u32>,
}

impl Permit {
    /// A permit for a slot that has been taken.
    pub(crate) fn new(
        account: Arc<Mutex<Account>>,
        class: Class,
        deadline: u64,
        ceiling: Option<u32>,
    ) -> Self {
        Self {
            account,
            class,
            deadline,
            ceiling,
        }
    }

    /// Takes the cost of the answer, in credits, once it is known. Each call takes its cost; without one nothing is taken.
    ///
    /// Nothing happens if the cost limit was off when the request was admitted.
    pub fn settle(&mut self, cost: u32, now: SystemTime) {
        if let Some(ceiling) = self.ceiling {
            lock(&self.account).settle(cost.min(ceiling), millis(now));
        }
    }

    /// The class the permit counts in.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        lock(&self.account).release(self.class, self.deadline);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("class", &self.class)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;

    #[test]
    fn the_wait_is_that_of_the_latest_deadline_in_flight() {
        let mut slots = Slots::default();
        for deadline in [50, 30, 70, 30] {
            slots.take(deadline);
        }
        assert_eq!((slots.wait(5, 10, 9), slots.wait(4, 10, 9)), (0, 60));
        slots.release(70);
        assert_eq!((slots.wait(3, 10, 9), slots.wait(4, 10, 9)), (40, 0));
        // A request that outlives its deadline still has its slot: 0 would mean that there is room.
        assert_eq!(slots.wait(3, 50, 9), 1);
    }

    #[test]
    fn a_cap_of_zero_waits_as_long_as_a_request_may_take() {
        assert_eq!(Slots::default().wait(0, 10, 9), 9);
    }
}
