//! Behaviour of the standard quota for clients, in figures.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workgraph_limits::laws::{
    LawBatch, LawLimit, LawLimiter, LawOverrides, LawRefusal, LawRequest, LawSettings, PerLimit,
    Quota, RateQuota, RequestClass,
};

fn at(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000) + Duration::from_millis(milliseconds)
}

fn open(floor_percent: u8) -> LawLimiter {
    let standard = Quota {
        quota: 150,
        other_quota: 1_500,
        floor_percent,
    };
    LawLimiter::new(LawSettings {
        standard,
        concurrent_reads: 1_000,
        cost_per_minute: None,
        ..LawSettings::default()
    })
}

const FREE: LawRequest = LawRequest {
    key: [1; 16],
    class: RequestClass::Read,
    rate: RateQuota::Standard { quota: 150 },
    weight: 1,
};

fn once(limiter: &LawLimiter, now: u64) -> Result<(), LawRefusal> {
    limiter.admit(&FREE, at(now)).map(drop)
}

/// Returns the admissions of `workers` clients that wait as long as the refusal says and else never pause.
fn obedient(workers: usize, minutes: u64) -> u32 {
    let limiter = open(10);
    let mut next = vec![0; workers];
    let mut admitted = 0;
    while let Some(next) = next
        .iter_mut()
        .min()
        .filter(|next| **next < minutes * 60_000)
    {
        match once(&limiter, *next) {
            Ok(()) => admitted += 1,
            Err(refusal) => *next += refusal.retry_after * 1_000,
        }
    }
    admitted
}

/// S82.
#[test]
fn an_obedient_client_gets_its_whole_quota() {
    assert_eq!(obedient(1, 5), 750);
}

#[test]
fn the_burst_of_a_minute_is_the_quota_and_no_more() {
    let limiter = open(10);
    let admitted = (0..59_999)
        .step_by(100)
        .filter(|&now| once(&limiter, now).is_ok())
        .count();
    assert_eq!(admitted, 150);
}

/// S83.
#[test]
fn ten_early_retries_cost_ten_of_the_next_window() {
    let limiter = open(10);
    assert_eq!((0..150).filter(|_| once(&limiter, 0).is_ok()).count(), 150);
    assert_eq!(
        (1..=10)
            .filter(|second| once(&limiter, second * 1_000).is_ok())
            .count(),
        0
    );
    assert_eq!(
        (0..200).filter(|_| once(&limiter, 60_000).is_ok()).count(),
        140
    );
}

/// Returns the number of requests that hammering gets in ten minutes, after ten others.
fn hammered(floor_percent: u8, per_minute: u64) -> usize {
    let limiter = open(floor_percent);
    let counted = (0..20 * per_minute)
        .filter(|n| once(&limiter, n * 60_000 / per_minute).is_ok() && *n >= 10 * per_minute);
    counted.count()
}

#[test]
fn hammering_faster_never_pays() {
    for per_minute in [300, 1_000, 6_000] {
        assert_eq!(hammered(10, per_minute), 150, "{per_minute} a minute");
        assert_eq!(hammered(50, per_minute), 750, "{per_minute} a minute");
        assert_eq!(hammered(0, per_minute), 0, "{per_minute} a minute");
    }
}

#[test]
fn the_wait_of_the_next_attempt_is_told_without_charging_one() {
    let limiter = open(10);
    let batch = LawBatch {
        key: [1; 16],
        rate: RateQuota::Mixed {
            quota: 3,
            searches: 40,
        },
        weight: 2,
        reads: 42,
        writes: 0,
    };
    let wait = |now| limiter.wait(&batch, &LawOverrides::default(), at(now));
    assert_eq!(wait(0), 0, "of a key that nothing is known of");
    drop(
        limiter
            .admit_batch(&batch, &LawOverrides::default(), at(0))
            .unwrap(),
    );
    for now in [0, 1, 59_999] {
        for _ in 0..100 {
            assert_eq!(wait(now), 60_000 - now);
        }
    }
    assert_eq!(wait(60_000), 0);
    let again = limiter.admit_batch(&batch, &LawOverrides::default(), at(60_000));
    assert!(again.is_ok());
}

#[test]
fn the_wait_covers_limits_other_than_the_refusing_one() {
    // The last request of the quota is taken by one that a concurrency limit refuses.
    let limiter = LawLimiter::new(LawSettings {
        concurrent_reads: 1,
        deadline: Duration::from_secs(5),
        ..LawSettings::default()
    });
    let two = LawRequest {
        rate: RateQuota::Standard { quota: 2 },
        ..FREE
    };
    let permit = limiter.admit(&two, at(0)).unwrap();
    let refusal = limiter.admit(&two, at(1_000)).unwrap_err();
    assert_eq!(
        refusal,
        LawRefusal {
            limit: LawLimit::ConcurrentReads,
            retry_after: 59,
            wait_ms: 59_000
        }
    );
    drop(permit);
    assert_eq!(
        limiter.admit(&two, at(59_999)).unwrap_err().limit,
        LawLimit::Standard
    );
}

/// S84.
#[test]
fn a_concurrency_refusal_waits_for_the_latest_deadline_in_flight() {
    let limiter = LawLimiter::new(LawSettings {
        concurrent_reads: 2,
        ..LawSettings::default()
    });
    let first = limiter.admit(&FREE, at(0)).unwrap();
    let second = limiter.admit(&FREE, at(10_000)).unwrap();
    assert_eq!(
        limiter.admit(&FREE, at(10_500)).unwrap_err().retry_after,
        30
    );
    drop(second);
    let third = limiter.admit(&FREE, at(11_000)).unwrap();
    drop(third);
    drop(first);
    assert!(limiter.admit(&FREE, at(11_000)).is_ok());
}

#[test]
fn a_batch_with_searches_needs_room_in_both_quotas() {
    let limiter = LawLimiter::new(LawSettings {
        search_per_minute: 3,
        ..LawSettings::default()
    });
    let batch = |searches| LawRequest {
        rate: RateQuota::Mixed {
            quota: 150,
            searches,
        },
        weight: 2,
        class: RequestClass::Write,
        ..FREE
    };
    assert!(limiter.admit(&batch(2), at(0)).is_ok());
    assert_eq!(
        limiter.admit(&batch(2), at(1)).unwrap_err().limit,
        LawLimit::Search
    );
    assert!(limiter.admit(&batch(1), at(2)).is_ok());
}

/// S85.
#[test]
fn debt_of_cost_is_paid_back_before_the_next_request() {
    let limiter = LawLimiter::new(LawSettings {
        cost_per_minute: Some(600),
        cost_ceiling: 900,
        ..LawSettings::default()
    });
    let mut permit = limiter.admit(&FREE, at(0)).unwrap();
    permit.settle(5_000, at(0));
    drop(permit);
    let refusal = limiter.admit(&FREE, at(0)).unwrap_err();
    assert_eq!(
        (refusal.limit, refusal.wait_ms, refusal.retry_after),
        (LawLimit::Cost, 30_001, 31)
    );
    assert!(limiter.admit(&FREE, at(30_000)).is_err());
    assert!(limiter.admit(&FREE, at(30_001)).is_ok());
}

#[test]
fn settings_take_effect_at_once() {
    let limiter = LawLimiter::new(LawSettings::default());
    let permit = limiter.admit(&FREE, at(0)).unwrap();
    limiter.set_settings(LawSettings {
        concurrent_reads: 1,
        ..LawSettings::default()
    });
    assert_eq!(
        limiter.admit(&FREE, at(1)).unwrap_err().limit,
        LawLimit::ConcurrentReads
    );
    limiter.set_settings(LawSettings {
        concurrent_reads: 2,
        ..LawSettings::default()
    });
    assert!(limiter.admit(&FREE, at(2)).is_ok());
    drop(permit);
}

#[test]
fn counts_add_up_by_limit() {
    let limiter = LawLimiter::new(LawSettings {
        concurrent_writes: 0,
        search_per_minute: 1,
        ..LawSettings::default()
    });
    let search = LawRequest {
        rate: RateQuota::Search,
        ..FREE
    };
    let _ = once(&limiter, 0);
    let _ = limiter.admit(&search, at(0));
    let _ = limiter.admit(&search, at(0));
    let _ = limiter.admit(
        &LawRequest {
            class: RequestClass::Write,
            ..FREE
        },
        at(0),
    );
    let counts = limiter.counts();
    let refused = PerLimit {
        search: 1,
        concurrent_writes: 1,
        ..PerLimit::default()
    };
    assert_eq!((counts.admitted, counts.refused), (2, refused));
    let passed = PerLimit {
        standard: 1,
        search: 1,
        concurrent_reads: 2,
        concurrent_writes: 0,
        cost: 2,
    };
    assert_eq!(counts.passed, passed);
}

#[test]
fn a_refusal_says_what_it_is() {
    let limiter = LawLimiter::new(LawSettings {
        concurrent_reads: 0,
        ..LawSettings::default()
    });
    let refusal = once(&limiter, 0).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the limit of concurrent reads is used up, retry after 30 s"
    );
}
