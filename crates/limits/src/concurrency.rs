//! Concurrency: the deadlines of the requests in flight, and the permit that frees a slot when it is dropped.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::ledger::Shard;
use crate::limiter::millis;
use crate::request::{Batch, Class};
use crate::sync::lock;

/// The requests of a key in flight: how many of each class, and the latest deadline of each, in milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flights {
    latest: [u64; 2],
    running: [u32; 2],
}

/// The deadlines of the other requests in flight, in order; most keys have no others.
pub(crate) type Others = [Vec<u64>; 2];

impl Flights {
    /// How many requests of a class are in flight.
    pub(crate) fn running(&self, class: Class) -> u32 {
        let [reads, writes] = self.running;
        of(class, reads, writes)
    }

    /// The latest deadline of the requests of a class in flight, if there are any.
    pub(crate) fn latest(&self, class: Class) -> Option<u64> {
        let [read, write] = self.latest;
        (self.running(class) > 0).then_some(of(class, read, write))
    }

    /// Takes a slot until it is released, at the latest at `deadline`.
    pub(crate) fn take<'a>(
        &mut self,
        class: Class,
        deadline: u64,
        others: impl FnOnce() -> &'a mut Others,
    ) {
        let (latest, running) = self.class(class);
        if *running > 0 {
            let earlier = deadline.min(*latest);
            let others = list(others(), class);
            others.insert(others.partition_point(|other| *other <= earlier), earlier);
        }
        *latest = deadline.max(if *running > 0 { *latest } else { 0 });
        *running += 1;
    }

    /// Gives back a slot that was taken until `deadline`.
    pub(crate) fn release(&mut self, class: Class, deadline: u64, others: Option<&mut Others>) {
        let (latest, running) = self.class(class);
        *running = running.saturating_sub(1);
        let Some(others) = others.map(|others| list(others, class)) else {
            return;
        };
        if deadline == *latest {
            *latest = others.pop().unwrap_or(0);
        } else if let Ok(at) = others.binary_search(&deadline) {
            others.remove(at);
        }
    }

    /// Whether there is room for so many more of a class.
    pub(crate) fn has_room(&self, class: Class, more: u32, cap: u32) -> bool {
        more == 0 || self.running(class).saturating_add(more) <= cap
    }

    /// How long until every request of a class in flight has ended, in milliseconds; 0 if there is room now.
    ///
    /// More than the cap never have room; the wait is then as long as a request may take, `otherwise`.
    pub(crate) fn wait(&self, class: Class, more: u32, cap: u32, now: u64, otherwise: u64) -> u64 {
        if self.has_room(class, more, cap) {
            return 0;
        }
        self.latest(class)
            .map_or(otherwise, |latest| latest.saturating_sub(now))
            .max(1)
    }

    fn class(&mut self, class: Class) -> (&mut u64, &mut u32) {
        let ([read, write], [reads, writes]) = (&mut self.latest, &mut self.running);
        (of(class, read, write), of(class, reads, writes))
    }
}

fn list(others: &mut Others, class: Class) -> &mut Vec<u64> {
    let [reads, writes] = others;
    of(class, reads, writes)
}

/// What belongs to a class.
pub(crate) fn of<T>(class: Class, read: T, write: T) -> T {
    match class {
        Class::Read => read,
        Class::Write => write,
    }
}

/// The right of an admitted request, or of a batch, to run. Dropping it frees its slots, on whatever thread and for
/// whatever reason.
///
/// It belongs to whoever works longest for the request: a response body that is still being sent, a database job that
/// goes on after the client has left. It stays valid when the limiter is gone.
#[must_use = "the slot is free again as soon as the permit is dropped"]
pub struct Permit {
    shard: Arc<Shard>,
    /// The place of the account in its shard, which keeps it as long as there is a permit.
    place: u32,
    reads: u32,
    writes: u32,
    deadline: u64,
    /// The most a settlement takes; `None` if the cost limit was off at admission.
    ceiling: Option<u32>,
}

impl Permit {
    /// A permit for the slots that a batch has taken.
    pub(crate) fn new(
        shard: Arc<Shard>,
        place: u32,
        batch: &Batch,
        deadline: u64,
        ceiling: Option<u32>,
    ) -> Self {
        Self {
            shard,
            place,
            reads: batch.reads,
            writes: batch.writes,
            deadline,
            ceiling,
        }
    }

    /// Takes the cost of the answer, in credits, once it is known. Each call takes its cost; without one nothing is taken.
    ///
    /// Nothing happens if the cost limit was off when the request was admitted.
    pub fn settle(&mut self, cost: u32, now: SystemTime) {
        if let Some(ceiling) = self.ceiling {
            lock(&self.shard.accounts)
                .at(self.place)
                .settle(cost.min(ceiling), millis(now));
        }
    }

    /// Whether a settlement takes anything: whether the cost limit was on when the request was admitted.
    #[must_use]
    pub fn is_charged(&self) -> bool {
        self.ceiling.is_some()
    }

    /// The slots of a class that it holds.
    #[must_use]
    pub fn slots(&self, class: Class) -> u32 {
        of(class, self.reads, self.writes)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut accounts = lock(&self.shard.accounts);
        let account = accounts.at(self.place);
        for class in [Class::Read, Class::Write] {
            for _ in 0..self.slots(class) {
                account.release(class, self.deadline);
            }
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("reads", &self.reads)
            .field("writes", &self.writes)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Class::Read, Flights, Others};

    #[test]
    fn the_wait_is_that_of_the_latest_deadline_in_flight() {
        let (mut flights, mut others) = (Flights::default(), Others::default());
        for deadline in [50, 30, 70, 30] {
            flights.take(Read, deadline, || &mut others);
        }
        let wait = |flights: &Flights, cap, now| flights.wait(Read, 1, cap, now, 9);
        assert_eq!((wait(&flights, 5, 10), wait(&flights, 4, 10)), (0, 60));
        flights.release(Read, 70, Some(&mut others));
        assert_eq!((wait(&flights, 3, 10), wait(&flights, 4, 10)), (40, 0));
        // A request that outlives its deadline still has its slot: 0 would mean that there is room.
        assert_eq!(wait(&flights, 3, 50), 1);
        flights.release(Read, 30, Some(&mut others));
        flights.release(Read, 50, Some(&mut others));
        assert_eq!((flights.running(Read), flights.latest(Read)), (1, Some(30)));
    }

    #[test]
    fn a_cap_of_zero_waits_as_long_as_a_request_may_take() {
        assert_eq!(Flights::default().wait(Read, 1, 0, 10, 9), 9);
    }

    #[test]
    fn several_need_room_for_all_of_them() {
        let (mut flights, mut others) = (Flights::default(), Others::default());
        flights.take(Read, 50, || &mut others);
        let wait = |more, cap| flights.wait(Read, more, cap, 10, 9);
        assert_eq!((wait(4, 5), wait(5, 5), wait(0, 0)), (0, 40, 0));
    }
}
