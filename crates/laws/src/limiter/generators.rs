//! Generated traffic: small figures, so that limits are reached soon and counterexamples are short.

use fastrand::Rng;

use super::scenario::{Scenario, Step};
use super::subject::{LimiterAbility, LimiterProfile, LimiterSetup};

/// Parameters of a scenario.
pub(super) struct Generator<'a> {
    pub(super) random: &'a mut Rng,
    pub(super) profile: &'a LimiterProfile,
}

impl Generator<'_> {
    fn has(&self, ability: LimiterAbility) -> bool {
        self.profile.abilities.contains(&ability)
    }

    fn setup(&mut self) -> LimiterSetup {
        let (window_ms, quota) = self.profile.fixed.unwrap_or_else(|| {
            let window_ms = self
                .random
                .choice([1_000, 10_000, 60_000, 3_600_000])
                .unwrap_or(60_000);
            (window_ms, self.random.u32(1..=6))
        });
        LimiterSetup {
            window_ms,
            quota,
            permits: None,
            cost: None,
        }
    }

    fn weight(&mut self, quota: u32) -> u32 {
        if self.has(LimiterAbility::Weights) && self.random.u8(0..10) < 3 {
            self.random.u32(1..=quota.clamp(1, 4))
        } else {
            1
        }
    }

    fn pause(&mut self, setup: &LimiterSetup) -> Step {
        let window = setup.window_ms;
        let fair = window / u64::from(setup.quota.max(1));
        Step::Pass(match self.random.u8(0..10) {
            0..4 => self.random.u64(0..=fair),
            4..7 => self.random.u64(0..=2 * fair),
            7 => window - 1,
            8 => window,
            _ => self.random.u64(0..=window),
        })
    }

    fn admit(&mut self, setup: &LimiterSetup, keys: u8) -> Step {
        let key = self.random.u8(0..keys);
        Step::Admit {
            key,
            weight: self.weight(setup.quota),
            hold: false,
        }
    }

    /// Requests of one or two keys with pauses.
    pub(super) fn traffic(&mut self, keys: u8) -> Scenario {
        let setup = self.setup();
        let length = self.random.usize(4..40);
        let steps = (0..length)
            .map(|_| {
                if self.random.u8(0..10) < 7 {
                    self.admit(&setup, keys)
                } else {
                    self.pause(&setup)
                }
            })
            .collect();
        Scenario { setup, steps }
    }

    /// Traffic that repeats a refused request after its stated wait.
    pub(super) fn retries(&mut self, one_less: bool) -> Scenario {
        let mut scenario = self.traffic(1);
        let burst = Step::Admit {
            key: 0,
            weight: self.weight(scenario.setup.quota),
            hold: false,
        };
        for _ in 0..=scenario.setup.quota {
            scenario.steps.push(burst);
        }
        scenario
            .steps
            .extend([Step::PassStatedWait { one_less }, burst]);
        scenario
    }

    /// As many requests at one instant as the quota allows, after traffic and a window of silence unless the key is new.
    pub(super) fn burst(&mut self, fresh: bool) -> Scenario {
        let mut scenario = if fresh {
            Scenario {
                setup: self.setup(),
                steps: Vec::new(),
            }
        } else {
            self.traffic(1)
        };
        if !fresh {
            scenario.steps.push(Step::Pass(
                scenario.setup.window_ms + self.profile.tolerance_ms,
            ));
        }
        for _ in 0..scenario.setup.quota {
            scenario.steps.push(Step::Admit {
                key: 0,
                weight: 1,
                hold: false,
            });
        }
        scenario
    }

    /// Requests at the pace of the quota, some later.
    pub(super) fn even_pace(&mut self) -> Scenario {
        let setup = self.setup();
        let fair =
            setup.window_ms.div_ceil(u64::from(setup.quota.max(1))) + self.profile.tolerance_ms;
        let mut steps = Vec::new();
        for _ in 0..setup.quota * 2 + 2 {
            steps.push(Step::Admit {
                key: 0,
                weight: 1,
                hold: false,
            });
            let later = if self.random.u8(0..10) < 2 {
                self.random.u64(0..=fair)
            } else {
                0
            };
            steps.push(Step::Pass(fair + later));
        }
        Scenario { setup, steps }
    }

    /// Traffic into which another step is inserted now and then.
    pub(super) fn traffic_with(
        &mut self,
        keys: u8,
        extra: impl Fn(&mut Rng, &LimiterSetup) -> Step,
    ) -> Scenario {
        let mut scenario = self.traffic(keys);
        for _ in 0..self.random.usize(1..4) {
            let position = self.random.usize(0..=scenario.steps.len());
            scenario
                .steps
                .insert(position, extra(self.random, &scenario.setup));
        }
        scenario
    }

    /// Requests that stay in flight, and ends of them.
    pub(super) fn in_flight(&mut self) -> Scenario {
        let setup = LimiterSetup {
            window_ms: 60_000,
            quota: 1_000_000,
            permits: Some(self.random.u32(1..=4)),
            cost: None,
        };
        let length = self.random.usize(4..40);
        let steps = (0..length)
            .map(|_| match self.random.u8(0..10) {
                0..6 => Step::Admit {
                    key: 0,
                    weight: 1,
                    hold: true,
                },
                6..9 => Step::Finish,
                _ => Step::Pass(self.random.u64(0..1_000)),
            })
            .collect();
        Scenario { setup, steps }
    }

    /// Requests whose cost uses up the quota of a window, followed by a wait.
    pub(super) fn costs(&mut self) -> Scenario {
        let cost = self.random.u32(1..=200);
        let setup = LimiterSetup {
            window_ms: 60_000,
            quota: 1_000_000,
            permits: None,
            cost: Some(cost),
        };
        let request = Step::Admit {
            key: 0,
            weight: 1,
            hold: true,
        };
        let mut steps = Vec::new();
        for _ in 0..self.random.usize(1..4) {
            steps.extend([
                request,
                Step::Settle(self.random.u32(0..=cost)),
                Step::Pass(self.random.u64(0..30_000)),
            ]);
        }
        steps.extend([
            request,
            Step::Settle(cost + self.random.u32(0..=cost)),
            request,
        ]);
        steps.extend([Step::PassStatedWait { one_less: false }, request]);
        Scenario { setup, steps }
    }
}
