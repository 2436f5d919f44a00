//! Measures the time of one admission and the memory of one key.

use std::hint::black_box;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use governor::{Quota as Cells, RateLimiter};
use workgraph_limits::{Class, Key, Limiter, Rate, Request, Settings};

/// Requests per measurement.
const REQUESTS: u64 = 3_000_000;

fn key(n: u64) -> Key {
    (u128::from(n) * 0x9e37_79b9_7f4a_7c15_f39c_c060).to_le_bytes()
}

fn at(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000) + Duration::from_millis(milliseconds)
}

fn request(key: Key, quota: u32) -> Request {
    Request {
        key,
        class: Class::Read,
        rate: Rate::Standard { quota },
        weight: 1,
    }
}

#[expect(clippy::disallowed_methods, reason = "this program measures time")]
fn measure(name: &str, mut step: impl FnMut(u64)) {
    let start = std::time::Instant::now();
    for n in 0..REQUESTS {
        step(n);
    }
    let nanoseconds = start.elapsed().as_nanos() / u128::from(REQUESTS);
    println!("{name:<58} {nanoseconds:>5} ns");
}

/// The memory of the process in bytes, where the system tells.
fn memory() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split(' ').nth(1)?.parse::<usize>().ok()? * 4_096)
}

fn main() {
    let limiter = Limiter::new(Settings {
        cost_per_minute: None,
        ..Settings::default()
    });
    measure("one key, admitted and dropped, no cost limit", |n| {
        drop(black_box(
            limiter.admit(&request(key(1), 1_500), at(n * 40)),
        ));
    });

    let limiter = Limiter::new(Settings::default());
    measure("one key, admitted, settled and dropped", |n| {
        if let Ok(mut permit) = limiter.admit(&request(key(1), 1_500), at(n * 40)) {
            permit.settle(3, at(n * 40));
        }
    });

    measure("one key hammered at 60,000 a minute, refused", |n| {
        drop(black_box(
            limiter.admit(&request(key(2), 1_500), at(REQUESTS * 40 + n)),
        ));
    });

    let limiter = Limiter::new(Settings::default());
    measure("10,000 keys in turn, admitted and dropped", |n| {
        drop(black_box(
            limiter.admit(&request(key(n % 10_000), 1_500), at(n / 100)),
        ));
    });

    let limiter = Limiter::new(Settings::default());
    let one = |first: u64| {
        let limiter = &limiter;
        move |n: u64| {
            drop(black_box(
                limiter.admit(&request(key(first + n % 1_000), 1_500), at(n / 10)),
            ))
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            measure(
                "1,000 keys on one thread, while another has its own 1,000",
                one(0),
            )
        });
        scope.spawn(|| {
            measure(
                "1,000 keys on one thread, while another has its own 1,000",
                one(1_000),
            )
        });
    });

    let mut kept = Vec::new(); // so that the next one has to ask for memory of its own
    for (name, keys, attempts, searches) in [
        ("after one request", 1_000_000, 1, false),
        ("after six in a minute", 1_000_000, 6, false),
        ("after twenty in a minute", 200_000, 20, false),
        ("that searched once, too", 1_000_000, 1, true),
        ("hammered on a quota of 1,500", 1_000, 4_000, false),
    ] {
        let before = memory();
        let limiter = Limiter::new(Settings::default());
        for n in 0..keys * attempts {
            let request = request(key(n / attempts), 1_500);
            drop(black_box(limiter.admit(&request, at(0))));
            if searches {
                let rate = Rate::Search;
                drop(black_box(
                    limiter.admit(&Request { rate, ..request }, at(0)),
                ));
            }
        }
        report(name, keys, before);
        kept.push(limiter);
    }
    let before = memory();
    let governor = RateLimiter::keyed(Cells::per_minute(std::num::NonZeroU32::MAX));
    for n in 0..1_000_000 {
        let _ = black_box(governor.check_key(&key(n)));
    }
    report("of governor's keyed limiter", 1_000_000, before);
    drop(kept);
}

fn report(name: &str, keys: u64, before: Option<usize>) {
    if let (Some(before), Some(after)) = (before, memory()) {
        let each = after.saturating_sub(before) / usize::try_from(keys).unwrap_or(1);
        println!("memory of a key {name:<42} {each:>5} bytes ({keys} keys)");
    }
}
