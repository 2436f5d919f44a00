//! Requests of an ordinary key, for a tool that counts instructions: `just limits-instructions`.
//!
//! Arguments: a subject, and the number of requests. The cost of a request is the difference between the counts of two runs,
//! divided by the difference between their numbers of requests.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use governor::clock::FakeRelativeClock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};
use workgraph_limits::laws::LawSettings;
use workgraph_limits::{
    AdmissionRequest, DigestLimiter, LimitKey, LimiterSettings, SlotRequest, WindowCharge,
};

const KEYS: u64 = 4_096;
/// Number of requests of a key in a minute.
const PACE: u64 = 4;
const QUOTA: u32 = 1_500;

fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

fn key(n: u64) -> LimitKey {
    let n = n % KEYS + 1;
    (u128::from(mix(n)) << 64 | u128::from(mix(n + KEYS))).to_le_bytes()
}

fn milliseconds(n: u64) -> u64 {
    n * 60_000 / (KEYS * PACE)
}

fn at(n: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000) + Duration::from_millis(milliseconds(n))
}

/// Admits requests over five limits, settles the cost of each if it has one, and ends them.
fn ours(keys: &[LimitKey], cost: Option<u32>) {
    let limiter = DigestLimiter::new(LimiterSettings::from(&LawSettings::default()));
    let windows = [WindowCharge::of(1).with_quota(QUOTA), WindowCharge::of(0)];
    let slots = [SlotRequest::of(1), SlotRequest::of(0)];
    for (n, key) in (0..).zip(keys) {
        let request = AdmissionRequest::new(key).windows(&windows).slots(&slots);
        let mut admitted = black_box(limiter.admit_request(&request, at(n)));
        if let (Ok(permit), Some(cost)) = (&mut admitted, cost) {
            permit.settle(cost, at(n));
        }
    }
}

/// Asks `governor`, which has one limit.
fn governor(keys: &[LimitKey]) {
    let clock = FakeRelativeClock::default();
    let quota = Quota::per_minute(NonZeroU32::new(QUOTA).unwrap_or(NonZeroU32::MIN));
    let store = DefaultKeyedStateStore::<LimitKey>::default();
    let limiter =
        RateLimiter::<LimitKey, _, _, NoOpMiddleware<Nanos>>::new(quota, store, clock.clone());
    for (n, key) in (0..).zip(keys) {
        clock.advance(Duration::from_millis(milliseconds(n + 1) - milliseconds(n)));
        let _ = black_box(limiter.check_key(key));
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let subject = arguments.next().unwrap_or_else(|| "admitted".to_owned());
    let requests = arguments.next().map_or(Ok(KEYS), |count| count.parse())?;
    let keys: Vec<_> = (0..requests).map(key).collect();
    match subject.as_str() {
        "admitted" => ours(&keys, None),
        "settled" => ours(&keys, Some(12)),
        "governor" => governor(&keys),
        // Making the keys is in every count.
        "keys" => drop(black_box(keys)),
        _ => return Err("the subject is admitted, settled, governor or keys".into()),
    }
    Ok(())
}
