//! The cost quota: credits that come back with time and are taken after the answer is built.

/// A credit in the units of the balance: a quota of one credit per minute regains one unit per millisecond.
const CREDIT: u64 = 60_000;

/// What a key has spent and not yet regained.
///
/// The spending is kept rather than the rest, so that a new balance is 0 whatever the quota is, and a change of the
/// quota leaves what was spent. Time is regained at the quota that was in force when it began to pass.
#[derive(Clone, Debug, Default)]
pub struct Balance {
    spent: u64,
    last: u64,
    rate: u32,
}

impl Balance {
    /// Regains what `now` (milliseconds) brings. An earlier `now` than the last brings nothing.
    pub fn advance(&mut self, now: u64) {
        let regained = now
            .saturating_sub(self.last)
            .saturating_mul(self.rate.into());
        self.spent = self.spent.saturating_sub(regained);
        self.last = self.last.max(now);
    }

    /// Whether a quota of `per_minute` credits has anything left, now that time is `now`.
    pub fn admits(&mut self, per_minute: u32, now: u64) -> bool {
        self.advance(now);
        self.rate = per_minute.max(1);
        self.wait(per_minute) == 0
    }

    /// How long until something is left, in milliseconds, if nothing else is taken; 0 if it is so now.
    #[must_use]
    pub fn wait(&self, per_minute: u32) -> u64 {
        let rate = u64::from(per_minute.max(1));
        match self.spent.checked_sub(rate * CREDIT) {
            None => 0,
            Some(debt) => debt / rate + 1,
        }
    }

    /// Takes `cost` credits, below zero if need be.
    pub fn take(&mut self, cost: u32, now: u64) {
        self.advance(now);
        self.spent = self.spent.saturating_add(u64::from(cost) * CREDIT);
    }

    /// Whether everything has been regained, as of the last [`Balance::advance`]; such a balance equals a new one.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.spent == 0
    }
}

/// The work behind an answer, from which its cost follows. Every part only ever adds to the cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Objects in the answer.
    pub objects: u32,
    /// Links followed from one object to another to build it.
    pub edges: u32,
    /// Fields asked for beyond those an object has by default.
    pub extra_fields: u32,
}

impl Work {
    /// The cost in credits: 1, 1 for each object and each link, and 1 for each extra field of each object.
    #[must_use]
    pub fn cost(&self) -> u32 {
        self.objects
            .saturating_mul(self.extra_fields)
            .saturating_add(self.objects)
            .saturating_add(self.edges)
            .saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Balance, Work};

    #[test]
    fn time_is_not_regained_twice_when_the_clock_steps_back() {
        let mut balance = Balance::default();
        assert!(balance.admits(60, 100_000));
        balance.take(61, 100_000);
        assert_eq!(balance.wait(60), 1_001);
        balance.advance(50_000);
        balance.advance(100_000);
        assert_eq!(balance.wait(60), 1_001);
    }

    #[test]
    fn every_part_of_the_work_only_adds_to_its_cost() {
        let edges = [0, 1, 7, u32::MAX];
        for objects in edges {
            for extra_fields in edges {
                for edges in edges {
                    let work = Work {
                        objects,
                        edges,
                        extra_fields,
                    };
                    let more = |work: Work| {
                        work.cost()
                            >= Work {
                                objects,
                                edges,
                                extra_fields,
                            }
                            .cost()
                    };
                    assert!(more(Work {
                        extra_fields: extra_fields.saturating_add(1),
                        ..work
                    }));
                    assert!(more(Work {
                        objects: objects.saturating_add(1),
                        ..work
                    }));
                    assert!(more(Work {
                        edges: edges.saturating_add(1),
                        ..work
                    }));
                }
            }
        }
        assert_eq!(
            Work {
                objects: 10,
                edges: 5,
                extra_fields: 3
            }
            .cost(),
            46
        );
    }
}
