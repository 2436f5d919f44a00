//! The deadlines of the requests in flight.

use crate::admission_request::{RequestClass, select_by_class};

/// Requests of a key in flight: the number of each class, and the latest deadline of each, in milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    latest: [u64; 2],
    running: [u32; 2],
}

/// Deadlines of the other requests in flight, in order; most keys have no others.
pub(crate) type OtherDeadlines = [Vec<u64>; 2];

impl InFlight {
    /// Returns the number of requests of a class in flight.
    pub(crate) fn running(&self, class: RequestClass) -> u32 {
        let [reads, writes] = self.running;
        select_by_class(class, reads, writes)
    }

    /// Returns the latest deadline of the requests of a class in flight, if there are any.
    pub(crate) fn latest(&self, class: RequestClass) -> Option<u64> {
        let [read, write] = self.latest;
        (self.running(class) > 0).then_some(select_by_class(class, read, write))
    }

    /// Takes a slot until it is released, at the latest at `deadline`.
    pub(crate) fn take<'a>(
        &mut self,
        class: RequestClass,
        deadline: u64,
        others: impl FnOnce() -> &'a mut OtherDeadlines,
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
    pub(crate) fn release(
        &mut self,
        class: RequestClass,
        deadline: u64,
        others: Option<&mut OtherDeadlines>,
    ) {
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

    /// Returns true if there is room for `more` requests of a class.
    pub(crate) fn has_room(&self, class: RequestClass, more: u32, cap: u32) -> bool {
        more == 0 || self.running(class).saturating_add(more) <= cap
    }

    /// Returns the milliseconds until every request of a class in flight has ended; 0 if there is room now.
    ///
    /// More requests than the cap never have room; the wait is then as long as a request may take, `otherwise`.
    pub(crate) fn wait(
        &self,
        class: RequestClass,
        more: u32,
        cap: u32,
        now: u64,
        otherwise: u64,
    ) -> u64 {
        if self.has_room(class, more, cap) {
            return 0;
        }
        self.latest(class)
            .map_or(otherwise, |latest| latest.saturating_sub(now))
            .max(1)
    }

    fn class(&mut self, class: RequestClass) -> (&mut u64, &mut u32) {
        let ([read, write], [reads, writes]) = (&mut self.latest, &mut self.running);
        (
            select_by_class(class, read, write),
            select_by_class(class, reads, writes),
        )
    }
}

fn list(others: &mut OtherDeadlines, class: RequestClass) -> &mut Vec<u64> {
    let [reads, writes] = others;
    select_by_class(class, reads, writes)
}

#[cfg(test)]
mod tests {
    use super::RequestClass::Read;
    use super::{InFlight, OtherDeadlines};

    #[test]
    fn the_wait_is_that_of_the_latest_deadline_in_flight() {
        let (mut flights, mut others) = (InFlight::default(), OtherDeadlines::default());
        for deadline in [50, 30, 70, 30] {
            flights.take(Read, deadline, || &mut others);
        }
        let wait = |flights: &InFlight, cap, now| flights.wait(Read, 1, cap, now, 9);
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
        assert_eq!(InFlight::default().wait(Read, 1, 0, 10, 9), 9);
    }

    #[test]
    fn several_need_room_for_all_of_them() {
        let (mut flights, mut others) = (InFlight::default(), OtherDeadlines::default());
        flights.take(Read, 50, || &mut others);
        let wait = |more, cap| flights.wait(Read, more, cap, 10, 9);
        assert_eq!((wait(4, 5), wait(5, 5), wait(0, 0)), (0, 40, 0));
    }
}
