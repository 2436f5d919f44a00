//! The laws of a quota per minute: the cap and the wait (L1 to L4), debt (L5) and weight (L12).

use std::collections::VecDeque;

use super::desk::{Desk, plain};
use super::{Make, Random};
use crate::request::Rate;
use crate::window::WINDOW_MS;
use crate::{Refusal, Request, Settings};

type Round = Result<u64, String>;

/// One quota under test.
pub(super) struct Scene {
    pub(super) settings: Settings,
    pub(super) request: Request,
    pub(super) quota: u32,
    /// How many refused attempts count.
    pub(super) remembered: u32,
}

impl Scene {
    fn new(random: &mut Random) -> Self {
        let settings = random.quotas();
        let quota = settings.standard.free;
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
            request: Request {
                rate: Rate::Search,
                ..plain(0)
            },
            quota,
            remembered: 0,
        }
    }

    pub(super) fn desk(&self, make: Make<'_>, random: &mut Random) -> Desk {
        Desk::new(make, self.settings, random.start())
    }

    /// A request of some weight that the quota can admit.
    pub(super) fn some(&self, random: &mut Random) -> Request {
        let weight = if random.chance(70) {
            1
        } else {
            random.figure(1, self.quota.min(10))
        };
        Request {
            weight,
            ..self.request
        }
    }

    /// Lets some time pass and makes some request.
    fn step(&self, desk: &mut Desk, random: &mut Random) -> (Request, Result<(), Refusal>) {
        desk.pass(random.gap(self.quota));
        let request = self.some(random);
        let answer = desk.once(&request);
        (request, answer)
    }
}

pub(super) fn steps(random: &mut Random) -> u64 {
    random.within(10, 200)
}

pub(super) fn cap(make: Make<'_>, random: &mut Random) -> Round {
    let scene = Scene::new(random);
    let mut desk = scene.desk(make, random);
    let mut admitted: VecDeque<(u64, u32)> = VecDeque::new();
    for _ in 0..steps(random) {
        let (request, answer) = scene.step(&mut desk, random);
        if answer.is_ok() {
            admitted.push_back((desk.now, request.weight));
        }
        while admitted
            .front()
            .is_some_and(|(at, _)| desk.now - at >= WINDOW_MS)
        {
            admitted.pop_front();
        }
        let weight: u32 = admitted.iter().map(|(_, weight)| weight).sum();
        if weight > scene.quota {
            return Err(desk.story(format!(
                "{weight} of {} were admitted within a minute",
                scene.quota
            )));
        }
    }
    Ok(desk.operations())
}

pub(super) fn truth(make: Make<'_>, random: &mut Random) -> Round {
    let scene = Scene::new(random);
    let mut desk = scene.desk(make, random);
    for _ in 0..steps(random) {
        if let (request, Err(refusal)) = scene.step(&mut desk, random) {
            desk.pass(if random.chance(50) {
                refusal.wait_ms
            } else {
                refusal.retry_after * 1_000
            });
            if desk.once(&request).is_err() {
                return Err(desk.story("refused after exactly the stated wait"));
            }
        }
    }
    Ok(desk.operations())
}

pub(super) fn minimal(make: Make<'_>, random: &mut Random) -> Round {
    let scene = Scene::new(random);
    let mut desk = scene.desk(make, random);
    for _ in 0..steps(random) {
        if let (request, Err(refusal)) = scene.step(&mut desk, random) {
            desk.pass(if random.chance(50) {
                refusal.wait_ms - 1
            } else {
                (refusal.retry_after - 1) * 1_000
            });
            if desk.once(&request).is_ok() {
                return Err(desk.story("admitted before the stated wait was over"));
            }
        }
    }
    Ok(desk.operations())
}

pub(super) fn range(make: Make<'_>, random: &mut Random) -> Round {
    let scene = Scene::new(random);
    let mut desk = scene.desk(make, random);
    for _ in 0..steps(random) {
        if random.chance(5) {
            desk.pass(random.gap(scene.quota));
            let heavy = Request {
                weight: scene.quota + random.figure(1, 2_000),
                ..scene.request
            };
            match desk.once(&heavy) {
                Ok(()) => return Err(desk.story("a weight above the quota was admitted")),
                Err(refusal) if refusal.retry_after == 60 => {}
                Err(_) => return Err(desk.story("what never fits waits for a whole minute")),
            }
        }
        if let (_, Err(refusal)) = scene.step(&mut desk, random)
            && (!(1..=60).contains(&refusal.retry_after)
                || refusal.retry_after != refusal.wait_ms.div_ceil(1_000))
        {
            return Err(desk.story("Retry-After is not the wait in whole seconds from 1 to 60"));
        }
    }
    Ok(desk.operations())
}

pub(super) fn debt(make: Make<'_>, random: &mut Random) -> Round {
    let scene = Scene::new(random);
    let mut desk = scene.desk(make, random);
    let first = desk.burst(&scene.request, scene.quota);
    let early = random.figure(0, scene.remembered.min(50));
    let turn = desk.now + WINDOW_MS;
    for _ in 0..early {
        desk.now = random.within(desk.now, turn - 1);
        if desk.now + WINDOW_MS == turn {
            desk.pass(1); // a retry at the very instant of the burst leaves the window with it
        }
        if desk.once(&scene.request).is_ok() {
            return Err(desk.story("a retry was admitted while the quota was used up"));
        }
    }
    desk.now = turn;
    let next = desk.burst(&scene.request, scene.quota + 1);
    if first != scene.quota || next != scene.quota - early {
        let quota = scene.quota;
        return Err(desk.story(format!(
            "of {quota}, {first} were admitted, then {early} early retries, then {next}"
        )));
    }
    Ok(desk.operations())
}

pub(super) fn weight(make: Make<'_>, random: &mut Random) -> Round {
    let scene = Scene::new(random);
    let mut batch = scene.desk(make, random);
    let mut singles = Desk::new(make, scene.settings, batch.now);
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
