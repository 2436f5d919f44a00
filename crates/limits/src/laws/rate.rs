//! Laws of a quota per minute: the cap and the wait (L1 to L4), debt (L5) and weight (L12).

use super::WINDOW_MS;
use super::law_limit::LawRefusal;
use super::law_request::{LawRequest, RateQuota};
use super::law_settings::LawSettings;
use std::collections::VecDeque;

use super::harness::{LimiterHarness, plain};
use super::{MakeLimiter, ScenarioRandom};

type RoundResult = Result<u64, String>;

/// One quota under test.
pub(super) struct QuotaScenario {
    pub(super) settings: LawSettings,
    pub(super) request: LawRequest,
    pub(super) quota: u32,
    /// Number of refused attempts that count.
    pub(super) remembered: u32,
}

impl QuotaScenario {
    fn new(random: &mut ScenarioRandom) -> Self {
        let settings = random.quotas();
        let quota = settings.standard.quota;
        if random.chance(75) {
            let remembered = settings.standard.terms(quota).remembered;
            return Self {
                settings,
                request: plain(quota),
                quota,
                remembered,
            };
        }
        let quota = settings.search_per_minute;
        Self {
            settings,
            request: LawRequest {
                rate: RateQuota::Search,
                ..plain(0)
            },
            quota,
            remembered: 0,
        }
    }

    pub(super) fn harness(
        &self,
        make: MakeLimiter<'_>,
        random: &mut ScenarioRandom,
    ) -> LimiterHarness {
        LimiterHarness::new(make, self.settings, random.start())
    }

    /// Returns a request of a random weight that the quota can admit.
    pub(super) fn some(&self, random: &mut ScenarioRandom) -> LawRequest {
        let weight = if random.chance(70) {
            1
        } else {
            random.figure(1, self.quota.min(10))
        };
        LawRequest {
            weight,
            ..self.request
        }
    }

    /// Advances by a random time and makes a random request.
    fn step(
        &self,
        harness: &mut LimiterHarness,
        random: &mut ScenarioRandom,
    ) -> (LawRequest, Result<(), LawRefusal>) {
        harness.pass(random.gap(self.quota));
        let request = self.some(random);
        let answer = harness.once(&request);
        (request, answer)
    }
}

pub(super) fn steps(random: &mut ScenarioRandom) -> u64 {
    random.within(10, 200)
}

pub(super) fn cap(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let scene = QuotaScenario::new(random);
    let mut harness = scene.harness(make, random);
    let mut admitted: VecDeque<(u64, u32)> = VecDeque::new();
    for _ in 0..steps(random) {
        let (request, answer) = scene.step(&mut harness, random);
        if answer.is_ok() {
            admitted.push_back((harness.now, request.weight));
        }
        while admitted
            .front()
            .is_some_and(|(at, _)| harness.now - at >= WINDOW_MS)
        {
            admitted.pop_front();
        }
        let weight: u32 = admitted.iter().map(|(_, weight)| weight).sum();
        if weight > scene.quota {
            return Err(harness.story(format!(
                "{weight} of {} were admitted within a minute",
                scene.quota
            )));
        }
    }
    Ok(harness.operations())
}

pub(super) fn truth(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let scene = QuotaScenario::new(random);
    let mut harness = scene.harness(make, random);
    for _ in 0..steps(random) {
        if let (request, Err(refusal)) = scene.step(&mut harness, random) {
            harness.pass(if random.chance(50) {
                refusal.wait_ms
            } else {
                refusal.retry_after.saturating_mul(1_000)
            });
            if harness.once(&request).is_err() {
                return Err(harness.story("refused after exactly the stated wait"));
            }
        }
    }
    Ok(harness.operations())
}

pub(super) fn minimal(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let scene = QuotaScenario::new(random);
    let mut harness = scene.harness(make, random);
    for _ in 0..steps(random) {
        if let (request, Err(refusal)) = scene.step(&mut harness, random) {
            let shorter = if random.chance(50) {
                refusal.wait_ms.checked_sub(1)
            } else {
                let seconds = refusal.retry_after.checked_sub(1);
                seconds.map(|seconds| seconds.saturating_mul(1_000))
            };
            let Some(shorter) = shorter else {
                return Err(harness.story("a refusal states a wait of zero"));
            };
            harness.pass(shorter);
            if harness.once(&request).is_ok() {
                return Err(harness.story("admitted before the stated wait was over"));
            }
        }
    }
    Ok(harness.operations())
}

pub(super) fn range(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let scene = QuotaScenario::new(random);
    let mut harness = scene.harness(make, random);
    for _ in 0..steps(random) {
        if random.chance(5) {
            harness.pass(random.gap(scene.quota));
            let heavy = LawRequest {
                weight: scene.quota + random.figure(1, 2_000),
                ..scene.request
            };
            match harness.once(&heavy) {
                Ok(()) => return Err(harness.story("a weight above the quota was admitted")),
                Err(refusal) if refusal.retry_after == 60 => {}
                Err(_) => return Err(harness.story("what never fits waits for a whole minute")),
            }
        }
        if let (_, Err(refusal)) = scene.step(&mut harness, random)
            && (!(1..=60).contains(&refusal.retry_after)
                || refusal.retry_after != refusal.wait_ms.div_ceil(1_000))
        {
            return Err(harness.story("Retry-After is not the wait in whole seconds from 1 to 60"));
        }
    }
    Ok(harness.operations())
}

pub(super) fn debt(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let scene = QuotaScenario::new(random);
    let mut harness = scene.harness(make, random);
    let first = harness.burst(&scene.request, scene.quota);
    let early = random.figure(0, scene.remembered.min(50));
    let turn = harness.now + WINDOW_MS;
    for _ in 0..early {
        harness.now = random.within(harness.now, turn - 1);
        if harness.now + WINDOW_MS == turn {
            harness.pass(1); // a retry at the very instant of the burst leaves the window with it
        }
        if harness.once(&scene.request).is_ok() {
            return Err(harness.story("a retry was admitted while the quota was used up"));
        }
    }
    harness.now = turn;
    let next = harness.burst(&scene.request, scene.quota + 1);
    if first != scene.quota || next != scene.quota - early {
        let quota = scene.quota;
        return Err(harness.story(format!(
            "of {quota}, {first} were admitted, then {early} early retries, then {next}"
        )));
    }
    Ok(harness.operations())
}

pub(super) fn weight(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let scene = QuotaScenario::new(random);
    let mut batch = scene.harness(make, random);
    let mut singles = LimiterHarness::new(make, scene.settings, batch.now);
    for _ in 0..steps(random) {
        let gap = random.gap(scene.quota);
        batch.pass(gap);
        singles.pass(gap);
        let request = scene.some(random);
        let answer = batch.once(&request);
        let same = if answer.is_ok() {
            singles.burst(&scene.request, request.weight) == request.weight
        } else {
            singles.once(&request) == answer
        };
        if !same {
            return Err(singles.story(format!(
                "a batch of {} did not count like its actions",
                request.weight
            )));
        }
    }
    Ok(batch.operations() + singles.operations())
}
