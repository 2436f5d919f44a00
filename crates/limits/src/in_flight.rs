//! The deadlines of the requests in flight.

/// Number of classes whose latest deadline an account stores in place; most keys have at most one request of each in flight.
pub(crate) const IN_PLACE: usize = 2;

/// Requests of a key in flight: for the first classes their number, and the latest deadline in milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    latest: [u64; IN_PLACE],
    running: [u32; IN_PLACE],
}

/// Deadlines of the other requests in flight, in order, by class: for the first classes all but the latest, for the others
/// all. Most keys have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherDeadlines(Vec<Vec<u64>>);

impl OtherDeadlines {
    fn of(&self, class: usize) -> &[u64] {
        self.0.get(class).map_or(&[], Vec::as_slice)
    }

    fn list(&mut self, class: usize) -> Option<&mut Vec<u64>> {
        if self.0.len() <= class {
            self.0.resize_with(class + 1, Vec::new);
        }
        self.0.get_mut(class)
    }

    fn insert(&mut self, class: usize, deadline: u64) {
        if let Some(list) = self.list(class) {
            list.insert(list.partition_point(|other| *other <= deadline), deadline);
        }
    }
}

impl InFlight {
    /// Returns the number of requests of a class in flight.
    #[inline]
    pub(crate) fn running(&self, class: usize, others: Option<&OtherDeadlines>) -> u32 {
        if let Some(running) = self.running.get(class) {
            return *running;
        }
        let others = others.map_or(0, |others| others.of(class).len());
        u32::try_from(others).unwrap_or(u32::MAX)
    }

    /// Returns the latest deadline of the requests of a class in flight, if any.
    pub(crate) fn latest(&self, class: usize, others: Option<&OtherDeadlines>) -> Option<u64> {
        match self.latest.get(class) {
            Some(latest) => (self.running(class, others) > 0).then_some(*latest),
            None => others.and_then(|others| others.of(class).last().copied()),
        }
    }

    /// Returns true if no request is in flight.
    pub(crate) fn is_idle(&self, others: Option<&OtherDeadlines>) -> bool {
        let is_empty = |others: &OtherDeadlines| others.0.iter().all(Vec::is_empty);
        self.running == [0; IN_PLACE] && others.is_none_or(is_empty)
    }

    /// Takes the first slot of a class, if none is taken and it is one of the first classes; returns false otherwise.
    #[inline]
    pub(crate) fn take_only(&mut self, class: usize, deadline: u64) -> bool {
        match (self.latest.get_mut(class), self.running.get_mut(class)) {
            (Some(latest), Some(running)) if *running == 0 => {
                (*latest, *running) = (deadline, 1);
                true
            }
            _ => false,
        }
    }

    /// Takes a slot until it is released, at the latest at `deadline`.
    #[inline]
    pub(crate) fn take<'a>(
        &mut self,
        class: usize,
        deadline: u64,
        others: impl FnOnce() -> &'a mut OtherDeadlines,
    ) {
        let (Some(latest), Some(running)) =
            (self.latest.get_mut(class), self.running.get_mut(class))
        else {
            others().insert(class, deadline);
            return;
        };
        if *running > 0 {
            others().insert(class, deadline.min(*latest));
            *latest = deadline.max(*latest);
        } else {
            *latest = deadline;
        }
        *running += 1;
    }

    /// Frees the only taken slot of a class, if it is one of the first classes; returns false
    /// otherwise.
    #[inline]
    pub(crate) fn release_only(&mut self, class: usize, slots: u32) -> bool {
        match (self.latest.get_mut(class), self.running.get_mut(class)) {
            (Some(latest), Some(running)) if slots == 1 && *running == 1 => {
                (*latest, *running) = (0, 0);
                true
            }
            _ => false,
        }
    }

    /// Frees a slot that was taken until `deadline`.
    #[inline]
    pub(crate) fn release(
        &mut self,
        class: usize,
        deadline: u64,
        others: Option<&mut OtherDeadlines>,
    ) {
        let mut list = others.and_then(|others| others.0.get_mut(class));
        if let (Some(latest), Some(running)) =
            (self.latest.get_mut(class), self.running.get_mut(class))
        {
            *running = running.saturating_sub(1);
            if deadline == *latest {
                *latest = list.and_then(|list| list.pop()).unwrap_or(0);
                return;
            }
        }
        if let Some(list) = &mut list
            && let Ok(at) = list.binary_search(&deadline)
        {
            list.remove(at);
        }
    }
}

/// Returns true if there is room for `more` requests in addition to the running ones.
#[inline]
pub(crate) fn has_room(running: u32, more: u32, most: u32) -> bool {
    more == 0 || running.saturating_add(more) <= most
}

#[cfg(test)]
mod tests {
    use super::{InFlight, OtherDeadlines};

    #[test]
    fn the_latest_deadline_is_that_of_the_requests_still_in_flight() {
        for class in [0, 1, 2, 7] {
            let (mut flights, mut others) = (InFlight::default(), OtherDeadlines::default());
            for deadline in [50, 30, 70, 30] {
                flights.take(class, deadline, || &mut others);
            }
            let seen = |flights: &InFlight, others: &OtherDeadlines| {
                let others = Some(others);
                let latest = flights.latest(class, others);
                (flights.running(class, others), latest)
            };
            assert_eq!(seen(&flights, &others), (4, Some(70)));
            assert_eq!(flights.running(class + 1, Some(&others)), 0);
            flights.release(class, 70, Some(&mut others));
            assert_eq!(seen(&flights, &others), (3, Some(50)));
            flights.release(class, 30, Some(&mut others));
            flights.release(class, 50, Some(&mut others));
            assert_eq!(seen(&flights, &others), (1, Some(30)));
            assert!(!flights.is_idle(Some(&others)));
            flights.release(class, 30, Some(&mut others));
            assert_eq!(seen(&flights, &others), (0, None));
            assert!(flights.is_idle(Some(&others)));
        }
    }
}
