//! Eviction: memory follows the active keys, and answers stay the same.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workgraph_limits::laws::{
    LawLimiter, LawRequest, LawSettings, LimitKey, RateQuota, RequestClass,
};

fn at(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000) + Duration::from_millis(milliseconds)
}

fn key(n: u32) -> LimitKey {
    u128::from(n).to_be_bytes()
}

fn request(n: u32) -> LawRequest {
    LawRequest {
        key: key(n),
        class: RequestClass::Read,
        rate: RateQuota::Standard { quota: 3 },
        weight: 1,
    }
}

#[test]
fn ten_thousand_keys_are_evicted_and_come_back_the_same() {
    let (swept, kept) = (
        LawLimiter::new(LawSettings::default()),
        LawLimiter::new(LawSettings::default()),
    );
    for round in 0..4 {
        let start = round * 70_000;
        for n in 0..10_000 {
            // Some keys use up their quota, some retry, some settle a cost.
            for attempt in 0..=n % 5 {
                let now = at(start + u64::from(attempt));
                let (ours, theirs) = (swept.admit(&request(n), now), kept.admit(&request(n), now));
                match (ours, theirs) {
                    (Ok(mut ours), Ok(mut theirs)) => {
                        ours.settle(n, now);
                        theirs.settle(n, now);
                    }
                    (ours, theirs) => assert_eq!(ours.err(), theirs.err(), "key {n}"),
                }
            }
        }
        assert_eq!(swept.tracked_keys(), 10_000);
        swept.evict_idle(at(start + 30_000));
        assert_eq!(swept.tracked_keys(), 10_000, "the last minute still counts");
        swept.evict_idle(at(start + 61_000));
        assert_eq!(swept.tracked_keys(), 0, "after a minute nothing does");
    }
}

#[test]
fn keys_in_flight_or_in_debt_stay() {
    let limiter = LawLimiter::new(LawSettings {
        cost_per_minute: Some(10),
        cost_ceiling: 100,
        ..LawSettings::default()
    });
    let permit = limiter.admit(&request(1), at(0)).unwrap();
    limiter.admit(&request(2), at(0)).unwrap().settle(30, at(0));
    drop(limiter.admit(&request(3), at(0)).unwrap());
    limiter.evict_idle(at(60_000));
    assert_eq!(limiter.tracked_keys(), 2);
    drop(permit);
    limiter.evict_idle(at(179_999));
    assert_eq!(limiter.tracked_keys(), 1, "the debt lasts three minutes");
    limiter.evict_idle(at(180_000));
    assert_eq!(limiter.tracked_keys(), 0);
}

#[test]
fn memory_follows_the_active_keys_without_a_sweep() {
    let limiter = LawLimiter::new(LawSettings::default());
    for n in 0..200_000_u32 {
        drop(limiter.admit(&request(n), at(u64::from(n) * 30)).unwrap());
        // 2,000 keys are active in any minute; a shard may hold twice that, and at least 64.
        if n.is_multiple_of(5_000) {
            let tracked = limiter.tracked_keys();
            assert!(tracked <= 64 * 64 + 2 * 2_000, "{tracked} keys after {n}");
        }
    }
}

#[test]
fn a_clock_set_back_finds_no_room_in_an_evicted_account() {
    let limiter = LawLimiter::new(LawSettings::default());
    drop(limiter.admit(&request(1), at(100_000)).unwrap());
    limiter.evict_idle(at(200_000));
    assert_eq!(limiter.tracked_keys(), 0);
    for _ in 0..3 {
        drop(limiter.admit(&request(1), at(0)).unwrap());
    }
    // The account's time is that of the sweep, and the wait is counted from there.
    assert_eq!(
        limiter
            .admit(&request(1), at(100_000))
            .unwrap_err()
            .retry_after,
        60
    );
    assert!(limiter.admit(&request(1), at(199_999)).is_err());
}
