//! The cost quota: credits that come back with time and are taken after the answer is built.

/// A credit in the units of the balance: a quota of one credit per minute regains one unit per millisecond.
pub(crate) const CREDIT: u64 = 60_000;

/// What a key has spent and not yet regained. The owner tells how much time has passed.
///
/// The spending is kept rather than the rest, so that a new balance is 0 whatever the quota is, and a change of the
/// quota leaves what was spent. Time is regained at the quota that was in force when it began to pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Balance {
    spent: u64,
    rate: u32,
}

impl Balance {
    /// Regains what a time in milliseconds brings.
    pub(crate) fn regain(&mut self, elapsed: u64) {
        if self.spent > 0 {
            let regained = elapsed.saturating_mul(self.rate.into());
            self.spent = self.spent.saturating_sub(regained);
        }
    }

    /// Whether a quota of `per_minute` credits, which is in force from now on, has anything left.
    pub(crate) fn admits(&mut self, per_minute: u32) -> bool {
        self.rate = per_minute.max(1);
        self.spent < u64::from(self.rate) * CREDIT
    }

    /// How long until something is left, in milliseconds, if nothing else is taken; 0 if it is so now.
    pub(crate) fn wait(&self, per_minute: u32) -> u64 {
        let rate = u64::from(per_minute.max(1));
        match self.spent.checked_sub(rate * CREDIT) {
            None => 0,
            Some(debt) => debt / rate + 1,
        }
    }

    /// Takes `cost` credits, below zero if need be.
    pub(crate) fn take(&mut self, cost: u32) {
        self.spent = self.spent.saturating_add(u64::from(cost) * CREDIT);
    }

    /// What is spent and not regained, in 60,000ths of a credit.
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }
}

/// How many bytes of an answer one credit stands for at most.
pub const BYTES_PER_CREDIT: u32 = 4_096;

/// The least that an answer of so many bytes costs, in credits, whatever work is behind it.
#[must_use]
pub fn least_cost(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BYTES_PER_CREDIT as usize)).unwrap_or(u32::MAX)
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
    use super::{BYTES_PER_CREDIT, Work, least_cost};

    #[test]
    fn no_answer_has_more_bytes_than_its_credits_stand_for() {
        for bytes in [0, 1, 4_095, 4_096, 4_097, 8 << 20] {
            let credits = least_cost(bytes);
            assert!(credits as usize * BYTES_PER_CREDIT as usize >= bytes);
            assert!(credits == 0 || (credits as usize - 1) * (BYTES_PER_CREDIT as usize) < bytes);
        }
        assert_eq!(least_cost(usize::MAX), u32::MAX);
    }

    /// S86.
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
