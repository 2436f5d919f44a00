//! Laws of invariance: answers do not depend on other keys (L10), the other quota (L11), the clock (L13), eviction
//! (L14) or changes (L20).

use super::WINDOW_MS;
use super::law_class::RequestClass;
use super::law_limit::PerLimit;
use super::law_request::{LawRequest, RateQuota};
use super::law_settings::{LawSettings, Quota};
use crate::window::MAX_WEIGHT;
use std::time::Duration;

use super::differential::{LimiterPair, cost, pick};
use super::harness::{LimiterHarness, plain};
use super::{MakeLimiter, ReferenceLimiter, ScenarioRandom};

type RoundResult = Result<u64, String>;

fn twice(make: MakeLimiter<'_>, settings: LawSettings, random: &mut ScenarioRandom) -> LimiterPair {
    let start = random.start();
    LimiterPair::new(
        LimiterHarness::new(make, settings, start),
        LimiterHarness::new(make, settings, start),
    )
}

pub(super) fn isolation(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let settings = random.tight();
    let mut pair = twice(make, settings, random);
    let own = random.request(&settings).key;
    let mut others = Vec::new();
    for _ in 0..random.within(10, 200) {
        pair.pass(random.gap(settings.standard.quota));
        let request = random.request(&settings);
        if request.key == own {
            pair.stir(random);
            pair.ask(&request, "another key's traffic changed the answer")?;
        } else {
            others.extend(pair.right.ask(&request));
            if random.chance(40)
                && let Some(ticket) = pick(&mut others, random)
            {
                pair.right.settle(ticket, cost(random));
                pair.right.finish(ticket);
            }
        }
    }
    Ok(pair.operations())
}

pub(super) fn separation(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let settings = random.quotas();
    let mut pair = twice(make, settings, random);
    let quota = settings.standard.quota;
    let searches = LawRequest {
        rate: RateQuota::Search,
        ..plain(0)
    };
    let (own, other) = if random.chance(50) {
        (plain(quota), searches)
    } else {
        (searches, plain(quota))
    };
    for _ in 0..random.within(10, 200) {
        pair.pass(random.gap(quota));
        if random.chance(50) {
            let _ = pair.right.once(&other);
        }
        pair.ask(&own, "the other quota's traffic changed the answer")?;
    }
    Ok(pair.operations())
}

pub(super) fn time(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let settings = random.tight();
    let mut pair = twice(make, settings, random);
    let key = random.request(&settings).key;
    let mut now = pair.left.now;
    pair.right.now = 0;
    for _ in 0..random.within(10, 200) {
        now += random.gap(settings.standard.quota);
        // The left clock sometimes goes back, while the right one then stands still.
        let back = if random.chance(30) {
            random.within(0, 2 * WINDOW_MS)
        } else {
            0
        };
        pair.left.now = now.saturating_sub(back);
        pair.right.now = pair.right.now.max(pair.left.now);
        pair.stir(random);
        pair.ask(
            &LawRequest {
                key,
                ..random.request(&settings)
            },
            "a clock that steps back changed the answer",
        )?;
    }
    Ok(pair.operations())
}

pub(super) fn eviction(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let settings = random.tight();
    let mut pair = twice(make, settings, random);
    for _ in 0..random.within(10, 200) {
        pair.pass(random.gap(settings.standard.quota));
        if random.chance(30) {
            pair.left.sweep();
        }
        pair.stir(random);
        pair.ask(&random.request(&settings), "eviction changed the answer")?;
    }
    Ok(pair.operations())
}

/// After a change of the quota, earlier requests still count for exactly their minute.
pub(super) fn change(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let mut settings = random.quotas();
    let search = random.chance(30);
    let (mut request, old, new) = (
        plain(settings.standard.quota),
        random.quota(),
        random.quota(),
    );
    let mut remembered = settings.standard.terms(old).remembered;
    if search {
        settings.search_per_minute = old;
        request.rate = RateQuota::Search;
        remembered = 0;
    } else {
        request.rate = RateQuota::Standard { quota: old };
    }
    let mut harness = LimiterHarness::new(make, settings, random.start());
    let retries = random.figure(0, remembered);
    let attempts = if random.chance(50) {
        random.figure(0, old)
    } else {
        old + retries
    };
    let mut stamps = Vec::new();
    for _ in 0..attempts {
        harness.pass(random.within(0, WINDOW_MS / 2 / u64::from(old + retries)));
        let _ = harness.once(&request);
        stamps.push(harness.now);
    }

    if search {
        settings.search_per_minute = new;
        harness.set(settings);
    } else {
        request.rate = RateQuota::Standard { quota: new };
    }
    let hammered = random.chance(50);
    if hammered {
        for _ in 0..random.within(1, 50) {
            let _ = harness.once(&request);
        }
    }
    harness.pass(random.within(0, WINDOW_MS - 1));
    let live = stamps
        .iter()
        .filter(|&&stamp| harness.now - stamp < WINDOW_MS)
        .count();
    let room = new.saturating_sub(u32::try_from(live).unwrap_or(u32::MAX));
    let admitted = harness.burst(&request, new.saturating_add(1));
    if admitted > room || admitted < room && !hammered {
        let wrong = format!(
            "{live} attempts under {old} a minute leave {admitted} of {new} instead of {room}"
        );
        return Err(harness.story(wrong));
    }
    Ok(harness.operations())
}

/// Figures at the ends of their ranges: no overflow, and the same answers as the reference limiter.
pub(super) fn extremes(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let settings = |random: &mut ScenarioRandom| LawSettings {
        standard: Quota {
            quota: edge(random),
            other_quota: edge(random),
            floor_percent: pick_of(random, &[0, 1, 100, 255]),
        },
        search_per_minute: edge(random),
        concurrent_reads: edge(random),
        concurrent_writes: edge(random),
        cost_per_minute: if random.chance(70) {
            Some(edge(random))
        } else {
            None
        },
        cost_ceiling: edge(random),
        deadline: pick_of(
            random,
            &[Duration::ZERO, Duration::from_secs(30), Duration::MAX],
        ),
        shadow: PerLimit::default(),
    };
    let first = settings(random);
    let reference = |settings| Box::new(ReferenceLimiter::new(settings)) as _;
    let mut pair = LimiterPair::new(
        LimiterHarness::new(make, first, 0),
        LimiterHarness::new(&reference, first, 0),
    );
    for _ in 0..random.within(5, 40) {
        if random.chance(20) {
            pair.set(settings(random));
        }
        if random.chance(30) {
            let far = pick_of(
                random,
                &[
                    0,
                    WINDOW_MS,
                    u64::from(u32::MAX),
                    1 << 62,
                    u64::MAX - 1,
                    u64::MAX,
                ],
            );
            pair.left.now = far;
            pair.right.now = far;
        }
        pair.pass(random.within(0, 3));
        pair.stir(random);
        let weights = [0, 1, 10, MAX_WEIGHT, MAX_WEIGHT + 1, u32::MAX];
        let rate = match random.within(0, 3) {
            0 => RateQuota::Search,
            1 => RateQuota::Mixed {
                quota: edge(random),
                searches: pick_of(random, &weights),
            },
            _ => RateQuota::Standard {
                quota: edge(random),
            },
        };
        let class = if random.chance(50) {
            RequestClass::Read
        } else {
            RequestClass::Write
        };
        let request = LawRequest {
            class,
            rate,
            weight: pick_of(random, &weights),
            ..plain(0)
        };
        pair.ask(&request, "not the answer of the naive log")?;
    }
    Ok(pair.operations())
}

fn edge(random: &mut ScenarioRandom) -> u32 {
    pick_of(
        random,
        &[0, 1, 2, MAX_WEIGHT, u32::MAX - 1, u32::MAX, u32::MAX],
    )
}

fn pick_of<T: Copy>(random: &mut ScenarioRandom, choices: &[T]) -> T {
    let mut choices: Vec<T> = choices.to_vec();
    match pick(&mut choices, random) {
        Some(choice) => choice,
        None => unreachable!("there is always a choice"),
    }
}
