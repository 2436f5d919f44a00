//! Laws of a quota per minute over longer times: recovery (L6), hammering (L7), pacing (L8) and more attempts (L9).

use super::WINDOW_MS;
use super::harness::{LimiterHarness, plain};
use super::rate::{QuotaScenario, steps};
use super::{MakeLimiter, ScenarioRandom};

type RoundResult = Result<u64, String>;

pub(super) fn recovery(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let settings = random.quotas();
    let mut used = LimiterHarness::new(make, settings, random.start());
    for _ in 0..steps(random) {
        used.pass(random.gap(settings.standard.quota));
        let _ = used.once(&random.request(&settings));
    }
    used.pass(WINDOW_MS);
    let mut fresh = LimiterHarness::new(make, settings, used.now);
    for _ in 0..steps(random) {
        let request = random.request(&settings);
        if used.once(&request) != fresh.once(&request) {
            return Err(used
                .story("after a minute of silence, an answer differs from that of a new limiter"));
        }
        let gap = random.gap(settings.standard.quota);
        used.pass(gap);
        fresh.pass(gap);
    }
    Ok(used.operations() + fresh.operations())
}

pub(super) fn floor(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    const SETTLE: u64 = 25;
    const COUNTED: u64 = 4;
    let mut settings = random.quotas();
    let quota = random.figure(5, 20);
    settings.standard.quota = quota;
    let floor = quota - settings.standard.terms(quota).remembered;
    let rate = u64::from(random.figure(quota + 1, 6 * quota));
    let mut harness = LimiterHarness::new(make, settings, random.start());
    let start = harness.now;
    let mut admitted = 0;
    for n in 0..(SETTLE + COUNTED) * rate {
        harness.now = start + n * WINDOW_MS / rate;
        if harness.once(&plain(quota)).is_ok() && n >= SETTLE * rate {
            admitted += 1;
        }
    }
    if admitted != COUNTED * u64::from(floor) {
        let wrong = format!(
            "{rate} a minute get {admitted} in {COUNTED} minutes, the floor being {floor} each"
        );
        return Err(harness.story(wrong));
    }
    Ok(harness.operations())
}

pub(super) fn pacing(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let mut settings = random.quotas();
    let quota = if random.chance(50) {
        random.figure(1, 1_500)
    } else {
        random.quota()
    };
    settings.standard.quota = quota;
    let fair = WINDOW_MS.div_ceil(quota.into());
    let mut harness = LimiterHarness::new(make, settings, random.start());
    for _ in 0..u64::from(quota) * 2 + 2 {
        if harness.once(&plain(quota)).is_err() {
            return Err(harness.story(format!(
                "refused at {fair} ms or more between requests, {quota} a minute"
            )));
        }
        harness.pass(
            fair + if random.chance(20) {
                random.within(0, fair)
            } else {
                0
            },
        );
    }
    Ok(harness.operations())
}

pub(super) fn monotone(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let mut settings = random.quotas();
    settings.standard.floor_percent = 0;
    let scene = QuotaScenario {
        settings,
        request: plain(settings.standard.quota),
        quota: settings.standard.quota,
        remembered: 0,
    };
    let mut base = scene.harness(make, random);
    let mut more = LimiterHarness::new(make, settings, base.now);
    let steps = steps(random);
    let extra = random.within(0, steps / 2);
    for step in 0..steps {
        let gap = random.gap(scene.quota);
        base.pass(gap);
        if step == extra {
            let until = base.now;
            more.now = random.within(more.now, until);
            let _ = more.once(&scene.some(random));
            more.now = until;
        } else {
            more.pass(gap);
        }
        let request = scene.some(random);
        let (without, with) = (base.once(&request), more.once(&request));
        if without.is_err() && with.is_ok() {
            return Err(more.story("admitted only because there was one attempt more"));
        }
    }
    Ok(base.operations() + more.operations())
}
