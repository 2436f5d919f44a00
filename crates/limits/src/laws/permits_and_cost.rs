//! Laws of all limits together (L0, L19), of permits (L15, L16) and of cost (L17).

use super::law_class::RequestClass;
use super::law_limit::LawLimit;
use super::law_request::{LawRequest, RateQuota};
use super::law_settings::LawSettings;
use std::collections::BTreeMap;

use super::differential::{LimiterPair, cost as some_cost, pick};
use super::harness::{LimiterHarness, key, plain};
use super::invariance::extremes;
use super::{AdmissionTicket, MakeLimiter, ReferenceLimiter, ScenarioRandom, deadline_ms};

type RoundResult = Result<u64, String>;

pub(super) fn model(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    if random.chance(20) {
        return extremes(make, random);
    }
    let mut settings = random.tight();
    let start = random.start();
    let reference = |settings| Box::new(ReferenceLimiter::new(settings)) as _;
    let mut pair = LimiterPair::new(
        LimiterHarness::new(make, settings, start),
        LimiterHarness::new(&reference, settings, start),
    );
    for _ in 0..random.within(10, 300) {
        pair.pass(random.gap(settings.standard.quota));
        pair.stir(random);
        if random.chance(2) {
            settings = random.tight();
            if random.chance(30) {
                settings.shadow = random.shadow();
            }
            pair.set(settings);
        }
        if random.chance(3) {
            pair.left.sweep();
        }
        pair.ask(
            &random.request(&settings),
            "not the answer of the naive log",
        )?;
    }
    Ok(pair.operations())
}

/// Returns settings with only concurrency limits.
fn only_slots(random: &mut ScenarioRandom) -> LawSettings {
    LawSettings {
        concurrent_reads: random.figure(0, 8),
        concurrent_writes: random.figure(0, 8),
        ..random.quotas()
    }
}

pub(super) fn permits(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let settings = only_slots(random);
    let mut harness = LimiterHarness::new(make, settings, random.start());
    let mut open: Vec<(AdmissionTicket, LawRequest)> = Vec::new();
    let mut running: BTreeMap<(u8, bool), u32> = BTreeMap::new();
    let slot = |request: &LawRequest| (request.key[0], request.class == RequestClass::Read);
    for _ in 0..random.within(10, 200) {
        harness.pass(random.within(0, 2_000));
        if random.chance(45)
            && let Some((ticket, request)) = pick(&mut open, random)
        {
            harness.finish(ticket);
            running
                .entry(slot(&request))
                .and_modify(|count| *count -= 1);
        }
        let class = if random.chance(50) {
            RequestClass::Read
        } else {
            RequestClass::Write
        };
        let key = key(u8::from(random.chance(50)));
        let request = LawRequest {
            key,
            class,
            ..plain(u32::MAX)
        };
        let count = running.entry(slot(&request)).or_default();
        match harness.ask(&request) {
            Ok(_) if *count >= settings.slots(class) => {
                return Err(harness.story("more in flight than the cap"));
            }
            Err(_) if *count < settings.slots(class) => {
                return Err(harness.story("refused although a slot is free"));
            }
            Ok(ticket) => {
                *count += 1;
                open.push((ticket, request));
            }
            Err(_) => {}
        }
    }
    for (ticket, _) in open {
        harness.finish(ticket);
    }
    full(&mut harness, RequestClass::Read, settings.concurrent_reads)?;
    full(
        &mut harness,
        RequestClass::Write,
        settings.concurrent_writes,
    )?;
    Ok(harness.operations())
}

/// Checks that exactly `cap` requests of a class fit.
fn full(harness: &mut LimiterHarness, class: RequestClass, cap: u32) -> Result<(), String> {
    let request = LawRequest {
        class,
        ..plain(u32::MAX)
    };
    for _ in 0..cap {
        if harness.ask(&request).is_err() {
            return Err(harness.story("refused although a slot is free"));
        }
    }
    match (harness.ask(&request), class) {
        (Err(refusal), RequestClass::Read) if refusal.limit == LawLimit::ConcurrentReads => Ok(()),
        (Err(refusal), RequestClass::Write) if refusal.limit == LawLimit::ConcurrentWrites => {
            Ok(())
        }
        _ => Err(harness.story(format!("not refused by its own limit beyond {cap}"))),
    }
}

pub(super) fn classes(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let settings = only_slots(random);
    let mut harness = LimiterHarness::new(make, settings, random.start());
    let mut order = [
        (RequestClass::Read, settings.concurrent_reads),
        (RequestClass::Write, settings.concurrent_writes),
    ];
    if random.chance(50) {
        order.reverse();
    }
    for (class, cap) in order {
        full(&mut harness, class, cap)?;
    }
    Ok(harness.operations())
}

pub(super) fn cost(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let per_minute = random.figure(1, 500);
    let settings = LawSettings {
        cost_per_minute: Some(per_minute),
        cost_ceiling: 1_000,
        ..random.quotas()
    };
    let mut harness = LimiterHarness::new(make, settings, random.start());
    let mut open = Vec::new();
    let full = i128::from(per_minute) * 60_000;
    let mut balance = full;
    for _ in 0..random.within(10, 200) {
        let mut gap = random.gap(40);
        if random.chance(60)
            && let Some(ticket) = pick(&mut open, random)
        {
            let cost = some_cost(random);
            harness.settle(ticket, cost);
            balance -= i128::from(cost.min(1_000)) * 60_000;
            harness.finish(ticket);
        }
        match harness.ask(&plain(u32::MAX)) {
            Ok(_) if balance <= 0 => {
                return Err(harness.story(format!("admitted with {balance} units left")));
            }
            Err(_) if balance > 0 => {
                return Err(harness.story(format!("refused with {balance} units left")));
            }
            Ok(ticket) => open.push(ticket),
            Err(refusal) => {
                let wait = i128::from(refusal.wait_ms);
                let rate = i128::from(per_minute);
                if balance + rate * wait <= 0 || balance + rate * (wait - 1) > 0 {
                    return Err(harness.story(format!(
                        "the wait for {balance} units at {rate}/ms is not {wait} ms"
                    )));
                }
                if random.chance(50) {
                    gap = refusal.wait_ms;
                }
            }
        }
        harness.pass(gap);
        balance = full.min(balance + i128::from(per_minute) * i128::from(gap));
    }
    Ok(harness.operations())
}

pub(super) fn combined(make: MakeLimiter<'_>, random: &mut ScenarioRandom) -> RoundResult {
    let settings = random.tight();
    let deadline = deadline_ms(&settings);
    let mut harness = LimiterHarness::new(make, settings, random.start());
    let mut open: Vec<(AdmissionTicket, u64)> = Vec::new();
    for _ in 0..random.within(10, 200) {
        harness.pass(random.gap(settings.standard.quota));
        if random.chance(40)
            && let Some((ticket, _)) = pick(&mut open, random)
        {
            harness.settle(ticket, some_cost(random));
            harness.finish(ticket);
        }
        end_at_deadline(&mut harness, &mut open);
        let mut request = random.request(&settings);
        let quota = settings.standard.quota.min(settings.search_per_minute);
        request.weight = request.weight.min(quota);
        if let RateQuota::Mixed { searches, .. } = &mut request.rate {
            *searches = (*searches).min(quota);
        }
        let quotas_fit = request.weight <= settings.standard.other_quota;
        match harness.ask(&request) {
            Ok(ticket) => open.push((ticket, harness.now.saturating_add(deadline))),
            Err(refusal) if quotas_fit => {
                harness.pass(if random.chance(50) {
                    refusal.wait_ms
                } else {
                    refusal.retry_after.saturating_mul(1_000)
                });
                end_at_deadline(&mut harness, &mut open);
                match harness.ask(&request) {
                    Ok(ticket) => open.push((ticket, harness.now.saturating_add(deadline))),
                    Err(_) => return Err(harness.story("refused after exactly the stated wait")),
                }
            }
            Err(_) => {}
        }
    }
    Ok(harness.operations())
}

/// Ends the requests that have reached their deadline, as a server does.
fn end_at_deadline(harness: &mut LimiterHarness, open: &mut Vec<(AdmissionTicket, u64)>) {
    open.retain(|&(ticket, deadline)| {
        let running = deadline > harness.now;
        if !running {
            harness.finish(ticket);
        }
        running
    });
}
