//! The laws of all limits together (L0, L19), of permits (L15, L16) and of cost (L17).

use std::collections::BTreeMap;

use super::desk::{Desk, key, plain};
use super::pair::{Pair, cost as some_cost, pick};
use super::side::extremes;
use super::{Make, Random, Reference, Ticket, deadline_ms, slots};
use crate::refusal::Limit;
use crate::request::Class;
use crate::{Request, Settings};

type Round = Result<u64, String>;

pub(super) fn model(make: Make<'_>, random: &mut Random) -> Round {
    if random.chance(20) {
        return extremes(make, random);
    }
    let mut settings = random.tight();
    let start = random.start();
    let reference = |settings| Box::new(Reference::new(settings)) as _;
    let mut pair = Pair::new(
        Desk::new(make, settings, start),
        Desk::new(&reference, settings, start),
    );
    for _ in 0..random.within(10, 300) {
        pair.pass(random.gap(settings.standard.free));
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

/// Settings with nothing but concurrency limits.
fn only_slots(random: &mut Random) -> Settings {
    Settings {
        concurrent_reads: random.figure(0, 8),
        concurrent_writes: random.figure(0, 8),
        ..random.quotas()
    }
}

pub(super) fn permits(make: Make<'_>, random: &mut Random) -> Round {
    let settings = only_slots(random);
    let mut desk = Desk::new(make, settings, random.start());
    let mut open: Vec<(Ticket, Request)> = Vec::new();
    let mut running: BTreeMap<(u8, bool), u32> = BTreeMap::new();
    let slot = |request: &Request| (request.key[0], request.class == Class::Read);
    for _ in 0..random.within(10, 200) {
        desk.pass(random.within(0, 2_000));
        if random.chance(45)
            && let Some((ticket, request)) = pick(&mut open, random)
        {
            desk.finish(ticket);
            running
                .entry(slot(&request))
                .and_modify(|count| *count -= 1);
        }
        let class = if random.chance(50) {
            Class::Read
        } else {
            Class::Write
        };
        let key = key(u8::from(random.chance(50)));
        let request = Request {
            key,
            class,
            ..plain(u32::MAX)
        };
        let count = running.entry(slot(&request)).or_default();
        match desk.ask(&request) {
            Ok(_) if *count >= slots(&settings, class) => {
                return Err(desk.story("more in flight than the cap"));
            }
            Err(_) if *count < slots(&settings, class) => {
                return Err(desk.story("refused although a slot is free"));
            }
            Ok(ticket) => {
                *count += 1;
                open.push((ticket, request));
            }
            Err(_) => {}
        }
    }
    for (ticket, _) in open {
        desk.finish(ticket);
    }
    full(&mut desk, Class::Read, settings.concurrent_reads)?;
    full(&mut desk, Class::Write, settings.concurrent_writes)?;
    Ok(desk.operations())
}

/// Exactly `cap` requests of a class fit.
fn full(desk: &mut Desk, class: Class, cap: u32) -> Result<(), String> {
    let request = Request {
        class,
        ..plain(u32::MAX)
    };
    for _ in 0..cap {
        if desk.ask(&request).is_err() {
            return Err(desk.story("refused although a slot is free"));
        }
    }
    match (desk.ask(&request), class) {
        (Err(refusal), Class::Read) if refusal.limit == Limit::ConcurrentReads => Ok(()),
        (Err(refusal), Class::Write) if refusal.limit == Limit::ConcurrentWrites => Ok(()),
        _ => Err(desk.story(format!("not refused by its own limit beyond {cap}"))),
    }
}

pub(super) fn classes(make: Make<'_>, random: &mut Random) -> Round {
    let settings = only_slots(random);
    let mut desk = Desk::new(make, settings, random.start());
    let mut order = [
        (Class::Read, settings.concurrent_reads),
        (Class::Write, settings.concurrent_writes),
    ];
    if random.chance(50) {
        order.reverse();
    }
    for (class, cap) in order {
        full(&mut desk, class, cap)?;
    }
    Ok(desk.operations())
}

pub(super) fn cost(make: Make<'_>, random: &mut Random) -> Round {
    let per_minute = random.figure(1, 500);
    let settings = Settings {
        cost_per_minute: Some(per_minute),
        cost_ceiling: 1_000,
        ..random.quotas()
    };
    let mut desk = Desk::new(make, settings, random.start());
    let mut open = Vec::new();
    let full = i128::from(per_minute) * 60_000;
    let mut balance = full;
    for _ in 0..random.within(10, 200) {
        let mut gap = random.gap(40);
        if random.chance(60)
            && let Some(ticket) = pick(&mut open, random)
        {
            let cost = some_cost(random);
            desk.settle(ticket, cost);
            balance -= i128::from(cost.min(1_000)) * 60_000;
            desk.finish(ticket);
        }
        match desk.ask(&plain(u32::MAX)) {
            Ok(_) if balance <= 0 => {
                return Err(desk.story(format!("admitted with {balance} units left")));
            }
            Err(_) if balance > 0 => {
                return Err(desk.story(format!("refused with {balance} units left")));
            }
            Ok(ticket) => open.push(ticket),
            Err(refusal) => {
                let wait = i128::from(refusal.wait_ms);
                let rate = i128::from(per_minute);
                if balance + rate * wait <= 0 || balance + rate * (wait - 1) > 0 {
                    return Err(desk.story(format!(
                        "the wait for {balance} units at {rate}/ms is not {wait} ms"
                    )));
                }
                if random.chance(50) {
                    gap = refusal.wait_ms;
                }
            }
        }
        desk.pass(gap);
        balance = full.min(balance + i128::from(per_minute) * i128::from(gap));
    }
    Ok(desk.operations())
}

pub(super) fn combined(make: Make<'_>, random: &mut Random) -> Round {
    let settings = random.tight();
    let deadline = deadline_ms(&settings);
    let mut desk = Desk::new(make, settings, random.start());
    let mut open: Vec<(Ticket, u64)> = Vec::new();
    for _ in 0..random.within(10, 200) {
        desk.pass(random.gap(settings.standard.free));
        if random.chance(40)
            && let Some((ticket, _)) = pick(&mut open, random)
        {
            desk.settle(ticket, some_cost(random));
            desk.finish(ticket);
        }
        end_at_deadline(&mut desk, &mut open);
        let mut request = random.request(&settings);
        let quota = settings.standard.free.min(settings.search_per_minute);
        request.weight = request.weight.min(quota);
        if let crate::Rate::Mixed { searches, .. } = &mut request.rate {
            *searches = (*searches).min(quota);
        }
        let quotas_fit = request.weight <= settings.standard.paid;
        match desk.ask(&request) {
            Ok(ticket) => open.push((ticket, desk.now + deadline)),
            Err(refusal) if quotas_fit => {
                desk.pass(if random.chance(50) {
                    refusal.wait_ms
                } else {
                    refusal.retry_after * 1_000
                });
                end_at_deadline(&mut desk, &mut open);
                match desk.ask(&request) {
                    Ok(ticket) => open.push((ticket, desk.now + deadline)),
                    Err(_) => return Err(desk.story("refused after exactly the stated wait")),
                }
            }
            Err(_) => {}
        }
    }
    Ok(desk.operations())
}

/// Ends what has reached its deadline, as a server does.
fn end_at_deadline(desk: &mut Desk, open: &mut Vec<(Ticket, u64)>) {
    open.retain(|&(ticket, deadline)| {
        let running = deadline > desk.now;
        if !running {
            desk.finish(ticket);
        }
        running
    });
}
