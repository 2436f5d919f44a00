//! Measures the memory of one key: `cargo run --release -p workgraph-limits --example memory`.

use std::hint::black_box;
use std::time::{Duration, UNIX_EPOCH};

use governor::{Quota as Cells, RateLimiter};
use workgraph_limits::laws::{
    LawLimiter, LawRequest, LawSettings, LimitKey, RateQuota, RequestClass,
};

fn key(n: u64) -> LimitKey {
    (u128::from(n) * 0x9e37_79b9_7f4a_7c15_f39c_c060).to_le_bytes()
}

fn request(key: LimitKey) -> LawRequest {
    LawRequest {
        key,
        class: RequestClass::Read,
        rate: RateQuota::Standard { quota: 1_500 },
        weight: 1,
    }
}

/// Returns the memory of the process in bytes, if the system reports it.
fn memory() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split(' ').nth(1)?.parse::<usize>().ok()? * 4_096)
}

fn main() {
    let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let mut kept = Vec::new(); // so that the next one has to ask for memory of its own
    for (name, keys, attempts, searches) in [
        ("after one request", 1_000_000, 1, false),
        ("after six in a minute", 1_000_000, 6, false),
        ("after twenty in a minute", 200_000, 20, false),
        ("that searched once, too", 1_000_000, 1, true),
        ("hammered on a quota of 1,500", 1_000, 4_000, false),
    ] {
        let before = memory();
        let limiter = LawLimiter::new(LawSettings::default());
        for n in 0..keys * attempts {
            let request = request(key(n / attempts));
            drop(black_box(limiter.admit(&request, now)));
            if searches {
                let rate = RateQuota::Search;
                drop(black_box(
                    limiter.admit(&LawRequest { rate, ..request }, now),
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
