//! Cost of a reply, in credits, computed from the work behind it.

/// Maximum number of bytes of a reply that one credit covers.
pub const BYTES_PER_CREDIT: u32 = 4_096;

/// Returns the minimum cost of a reply of this many bytes, in credits, regardless of the work behind it.
#[must_use]
pub fn least_cost(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(BYTES_PER_CREDIT as usize)).unwrap_or(u32::MAX)
}

/// Work behind a reply, which determines its cost. Every part only adds to the cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostInputs {
    /// Number of objects in the reply.
    pub objects: u32,
    /// Number of links followed between objects to build the reply.
    pub edges: u32,
    /// Number of requested fields beyond the default ones of an object.
    pub extra_fields: u32,
    /// Number of steps taken to find and read the objects, of about a hundred nanoseconds each, even for objects that the
    /// reply does not show.
    pub steps: u64,
}

/// Steps that one credit covers.
pub const STEPS_PER_CREDIT: u64 = 128;

impl CostInputs {
    /// Returns the cost in credits: 1, plus 1 for each object and each link, plus 1 for each extra field of each object; but
    /// at least 1 for each [`STEPS_PER_CREDIT`] steps.
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

    #[test]
    fn the_costs_worked_out_are_those_of_the_formula() {
        let mut rows = 0;
        for line in include_str!("../../../docs/LIMITS.md").lines() {
            let figures: Vec<u32> = line
                .split('|')
                .filter_map(|cell| cell.trim().replace(',', "").parse().ok())
                .collect();
            let [objects, edges, extra_fields, cost] = figures[..] else {
                continue;
            };
            let work = CostInputs {
                objects,
                edges,
                extra_fields,
                steps: 0,
            };
            assert_eq!(work.cost(), cost, "{line}");
            rows += 1;
        }
        assert!(rows >= 5, "{rows} examples");
    }
}
