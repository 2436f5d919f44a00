//! Cost quota: credits that come back with time and are taken after the answer is built.

/// Units of the balance in one credit: a quota of one credit per minute regains one unit per millisecond.
pub(crate) const CREDIT: u64 = 60_000;

/// Credits that a key has spent and not yet regained. The owner of the balance supplies the time that has passed.
///
/// The spending is kept rather than the rest, so that a new balance is 0 whatever the quota is, and a change of the
/// quota leaves the spending as it was. Credits are regained at the quota that was in force when the time began to
/// pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct CreditBalance {
    spent: u64,
    rate: u32,
}

impl CreditBalance {
    /// Regains the credits of a time in milliseconds.
    pub(crate) fn regain(&mut self, elapsed: u64) {
        if self.spent > 0 {
            let regained = elapsed.saturating_mul(self.rate.into());
            self.spent = self.spent.saturating_sub(regained);
        }
    }

    /// Returns true if a quota of `per_minute` credits, which is in force from now on, has any credit left.
    pub(crate) fn admits(&mut self, per_minute: u32) -> bool {
        self.rate = per_minute.max(1);
        self.spent < u64::from(self.rate) * CREDIT
    }

    /// Returns the milliseconds until a credit is left, if nothing else is taken; 0 if one is left now.
    pub(crate) fn wait(&self, per_minute: u32) -> u64 {
        let rate = u64::from(per_minute.max(1));
        match self.spent.checked_sub(rate * CREDIT) {
            None => 0,
            Some(debt) => debt / rate + 1,
        }
    }

    /// Returns the credits that are left of a quota of `per_minute`, rounded down; below 0 in debt.
    pub(crate) fn left(&self, per_minute: u32) -> i64 {
        let whole = u64::from(per_minute.max(1)) * CREDIT;
        let left = i128::from(whole) - i128::from(self.spent);
        i64::try_from(left.div_euclid(CREDIT.into())).unwrap_or(i64::MIN)
    }

    /// Takes `cost` credits, below zero if need be.
    pub(crate) fn take(&mut self, cost: u32) {
        self.spent = self.spent.saturating_add(u64::from(cost) * CREDIT);
    }

    /// Returns the credits spent and not regained, in 60,000ths of a credit.
    pub(crate) fn spent(&self) -> u64 {
        self.spent
    }
}

/// Most bytes of an answer that one credit stands for.
pub const BYTES_PER_CREDIT: u32 = 4_096;

/// Returns the least cost of an answer of this many bytes, in credits, whatever work is behind it.
#[must_use]
pub fn least_cost(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BYTES_PER_CREDIT as usize)).unwrap_or(u32::MAX)
}

/// Work behind an answer, from which its cost follows. Every part only ever adds to the cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostInputs {
    /// Number of objects in the answer.
    pub objects: u32,
    /// Number of links followed from one object to another to build it.
    pub edges: u32,
    /// Number of fields requested beyond those an object has by default.
    pub extra_fields: u32,
    /// Number of steps that finding and reading them took, of some hundred nanoseconds each, whatever of it the answer
    /// shows.
    pub steps: u64,
}

/// Steps that one credit stands for.
pub const STEPS_PER_CREDIT: u64 = 128;

impl CostInputs {
    /// Returns the cost in credits: 1, 1 for each object and each link, and 1 for each extra field of each object; but no
    /// less than 1 for each [`STEPS_PER_CREDIT`] steps.
    #[must_use]
    pub fn cost(&self) -> u32 {
        let steps = u32::try_from(self.steps / STEPS_PER_CREDIT).unwrap_or(u32::MAX);
        self.objects
            .saturating_mul(self.extra_fields)
            .saturating_add(self.objects)
            .saturating_add(self.edges)
            .saturating_add(1)
            .max(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES_PER_CREDIT, CostInputs, STEPS_PER_CREDIT, least_cost};

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
        let sizes = [0, 1, 7, u32::MAX];
        for (objects, extra_fields) in sizes.into_iter().flat_map(|o| sizes.map(|f| (o, f))) {
            for (edges, steps) in sizes.into_iter().flat_map(|e| sizes.map(|s| (e, s))) {
                let work = CostInputs {
                    objects,
                    edges,
                    extra_fields,
                    steps: steps.into(),
                };
                let more = |more: CostInputs| more.cost() >= work.cost();
                assert!(more(CostInputs {
                    extra_fields: extra_fields.saturating_add(1),
                    ..work
                }));
                assert!(more(CostInputs {
                    objects: objects.saturating_add(1),
                    ..work
                }));
                assert!(more(CostInputs {
                    edges: edges.saturating_add(1),
                    ..work
                }));
                assert!(more(CostInputs {
                    steps: work.steps * 2 + STEPS_PER_CREDIT,
                    ..work
                }));
                assert!(u64::from(work.cost()) >= work.steps / STEPS_PER_CREDIT);
            }
        }
        let work = CostInputs {
            objects: 10,
            edges: 5,
            extra_fields: 3,
            steps: 46 * STEPS_PER_CREDIT,
        };
        assert_eq!(work.cost(), 46);
        let longer = CostInputs {
            steps: 47 * STEPS_PER_CREDIT,
            ..work
        };
        assert_eq!(longer.cost(), 47);
    }
}
