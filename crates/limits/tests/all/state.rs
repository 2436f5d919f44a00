//! State of a key, shadow mode, and figures of a key's own.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workgraph_limits::laws::{
    LawLimit, LawLimiter, LawOverrides, LawRequest, LawSettings, PerLimit, RateQuota, RequestClass,
};
use workgraph_limits::{CostState, RecentRequest, SlotState, WindowState};

fn at(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000) + Duration::from_millis(milliseconds)
}

const KEY: [u8; 16] = [7; 16];

const READ: LawRequest = LawRequest {
    key: KEY,
    class: RequestClass::Read,
    rate: RateQuota::Standard { quota: 10 },
    weight: 1,
};

fn labelled(label: u16) -> LawOverrides {
    LawOverrides {
        label,
        ..LawOverrides::default()
    }
}

#[test]
fn a_key_that_nothing_is_known_of_has_everything_left() {
    let limiter = LawLimiter::new(LawSettings::default());
    let state = limiter.state(&KEY, 150, at(0));
    let untouched = WindowState {
        window: LawLimit::Standard.limit(),
        length_ms: 60_000,
        limit: 150,
        used: 0,
        refused: 0,
        remaining: 150,
        next_ms: 0,
        full_ms: 0,
        shadow: false,
    };
    assert_eq!(state.windows[0], untouched);
    assert_eq!(
        (state.windows[1].limit, state.windows[1].remaining),
        (60, 60)
    );
    assert_eq!(
        (state.concurrent[0].limit, state.concurrent[1].limit),
        (50, 15)
    );
    assert_eq!(state.cost.unwrap().balance, 600_000);
    assert!(state.recent.is_empty());
    assert_eq!(limiter.tracked_keys(), 0, "asking keeps nothing");
}

#[test]
fn the_state_tells_what_every_limit_has_counted() {
    let limiter = LawLimiter::new(LawSettings {
        cost_per_minute: Some(600),
        ..LawSettings::default()
    });
    let mut first = limiter.admit_with(&READ, &labelled(3), at(0)).unwrap();
    let batch = LawRequest {
        class: RequestClass::Write,
        weight: 8,
        ..READ
    };
    drop(
        limiter
            .admit_with(&batch, &labelled(4), at(10_000))
            .unwrap(),
    );
    let search = LawRequest {
        rate: RateQuota::Search,
        ..READ
    };
    let second = limiter
        .admit_with(&search, &labelled(5), at(20_000))
        .unwrap();
    assert!(limiter.admit(&batch, at(25_000)).is_err());
    first.settle(900, at(25_000));

    let state = limiter.state(&KEY, 10, at(30_000));
    assert_eq!(
        state.windows[0],
        WindowState {
            window: LawLimit::Standard.limit(),
            length_ms: 60_000,
            limit: 10,
            used: 9 + 8,
            refused: 8,
            remaining: 0,
            next_ms: 30_000,
            full_ms: 55_000,
            shadow: false
        }
    );
    assert_eq!(
        (state.windows[1].used, state.windows[1].next_ms),
        (1, 50_000)
    );
    let reads = SlotState {
        class: LawLimit::ConcurrentReads.limit(),
        limit: 50,
        running: 2,
        full_ms: 20_000,
        shadow: false,
    };
    assert_eq!(
        (state.concurrent[0], state.concurrent[1].running),
        (reads, 0)
    );
    assert_eq!(
        state.cost,
        Some(CostState {
            cost: LawLimit::Cost.limit(),
            length_ms: 60_000,
            limit: 600,
            balance: -250,
            next_ms: 25_001,
            full_ms: 85_000,
            shadow: false
        })
    );
    let recent = |age_ms, label, limit: LawLimit, weight| RecentRequest {
        age_ms,
        label,
        window: limit.limit(),
        weight,
    };
    assert_eq!(
        state.recent,
        [
            recent(10_000, 5, LawLimit::Search, 1),
            recent(20_000, 4, LawLimit::Standard, 8),
            recent(30_000, 3, LawLimit::Standard, 1),
        ]
    );
    assert_eq!(
        limiter.state(&KEY, 10, at(30_000)),
        state,
        "asking changes nothing"
    );
    drop((first, second));
    assert_eq!(limiter.state(&KEY, 10, at(90_000)).recent, []);
}

#[test]
fn the_last_sixteen_requests_are_known_however_many_there_were() {
    let limiter = LawLimiter::new(LawSettings::default());
    let request = LawRequest {
        rate: RateQuota::Standard { quota: 1_500 },
        ..READ
    };
    for n in 0..1_000 {
        drop(
            limiter
                .admit_with(&request, &labelled(n), at(u64::from(n) * 10))
                .unwrap(),
        );
        let labels: Vec<u16> = limiter
            .state(&KEY, 1_500, at(u64::from(n) * 10))
            .recent
            .iter()
            .map(|recent| recent.label)
            .collect();
        let known = if n < 6 { n + 1 } else { 16.min(n + 1) };
        let expected: Vec<u16> = (n + 1 - known..=n).rev().collect();
        assert_eq!(labels, expected);
    }
}

#[test]
fn a_limit_in_shadow_mode_counts_and_does_not_refuse() {
    let settings = LawSettings {
        shadow: PerLimit {
            standard: true,
            concurrent_reads: true,
            ..PerLimit::default()
        },
        concurrent_reads: 1,
        concurrent_writes: 0,
        ..LawSettings::default()
    };
    let limiter = LawLimiter::new(settings);
    let permits: Vec<_> = (0..13)
        .map(|_| limiter.admit(&READ, at(0)).unwrap())
        .collect();
    let counts = limiter.counts();
    assert_eq!((counts.admitted, counts.refused.standard), (13, 0));
    assert_eq!(counts.shadowed.standard, 3);
    assert_eq!(counts.shadowed.concurrent_reads, 12);
    let state = limiter.state(&KEY, 10, at(0));
    assert!(state.windows[0].shadow && !state.windows[1].shadow);
    assert_eq!((state.windows[0].used, state.windows[0].refused), (13, 3));

    // Another limit still refuses, and those in shadow mode add nothing to its wait.
    let write = LawRequest {
        class: RequestClass::Write,
        ..READ
    };
    let refusal = limiter.admit(&write, at(0)).unwrap_err();
    assert_eq!(
        (refusal.limit, refusal.retry_after),
        (LawLimit::ConcurrentWrites, 30)
    );

    // Leaving the mode starts from the counts so far.
    limiter.set_settings(LawSettings {
        shadow: PerLimit::default(),
        ..settings
    });
    assert_eq!(
        limiter.admit(&READ, at(1)).unwrap_err().limit,
        LawLimit::Standard
    );
    drop(permits);
}

#[test]
fn a_key_may_have_figures_of_its_own() {
    let limiter = LawLimiter::new(LawSettings {
        cost_per_minute: None,
        ..LawSettings::default()
    });
    let own = LawOverrides {
        concurrent_reads: Some(1),
        search_per_minute: Some(2),
        cost_per_minute: Some(100),
        ..LawOverrides::default()
    };
    let mut permit = limiter.admit_with(&READ, &own, at(0)).unwrap();
    assert_eq!(
        limiter.admit_with(&READ, &own, at(0)).unwrap_err().limit,
        LawLimit::ConcurrentReads
    );
    permit.settle(100, at(0));
    drop(permit);
    let refusal = limiter.admit_with(&READ, &own, at(0)).unwrap_err();
    assert_eq!((refusal.limit, refusal.wait_ms), (LawLimit::Cost, 1));
    let search = LawRequest {
        rate: RateQuota::Search,
        weight: 3,
        ..READ
    };
    assert_eq!(
        limiter.admit_with(&search, &own, at(10)).unwrap_err().limit,
        LawLimit::Search
    );
    let state = limiter.state_with(&KEY, 10, &own, at(10));
    assert_eq!((state.concurrent[0].limit, state.windows[1].limit), (1, 2));
    assert_eq!(state.cost.unwrap().limit, 100);
    assert!(limiter.state(&KEY, 10, at(10)).cost.is_none());
}

/// The rest of the quotas is that of the whole state at the time of the last request that was counted.
#[test]
fn the_rest_is_that_of_the_state_after_the_last_request() {
    let limiter = LawLimiter::new(LawSettings::default());
    let own = LawOverrides {
        cost_per_minute: Some(500),
        ..LawOverrides::default()
    };
    let rest = |quota| limiter.remaining(&KEY, quota, &own);
    let whole = |quota, now| (&limiter.state_with(&KEY, quota, &own, at(now))).into();
    assert_eq!(rest(150), whole(150, 0), "nothing was sent");
    for n in 0..400 {
        let now = n * 331;
        let rate = match n % 7 {
            0 => RateQuota::Search,
            _ => RateQuota::Standard { quota: 150 },
        };
        let request = LawRequest { rate, ..READ };
        if let Ok(mut permit) = limiter.admit_with(&request, &own, at(now)) {
            permit.settle(u32::from(n % 3 == 0) * 9, at(now));
        }
        assert_eq!(rest(150), whole(150, now), "{n}");
        assert_eq!(rest(100), whole(100, now), "{n}, with another quota");
    }
}

#[test]
fn new_figures_never_free_what_still_counts() {
    let limiter = LawLimiter::new(LawSettings::default());
    let with = |quota| LawRequest {
        rate: RateQuota::Standard { quota },
        ..READ
    };
    for n in 0..150 {
        drop(limiter.admit(&with(150), at(n)).unwrap());
    }
    // A better plan gives its quota less what was used; a worse one waits for its share of it to leave.
    assert_eq!(
        limiter.state(&KEY, 1_500, at(200)).windows[0].remaining,
        1_350
    );
    let (used, wait) = (
        limiter.state(&KEY, 10, at(200)).windows[0].used,
        limiter.admit(&with(10), at(200)).unwrap_err().wait_ms,
    );
    // 150 admitted and this one refused: 142 of them must leave before it fits into 10.
    assert_eq!((used, wait), (150, 60_000 + 141 - 200));
    assert!(limiter.admit(&with(10), at(60_000 + 140)).is_err());
}
