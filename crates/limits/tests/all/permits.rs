//! Permits: never more than the cap, none lost, whatever happens to the request.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workgraph_limits::Permit;
use workgraph_limits::laws::{LawLimiter, LawRequest, LawSettings, RateQuota, RequestClass};

fn at(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000) + Duration::from_millis(milliseconds)
}

const WRITE: LawRequest = LawRequest {
    key: [1; 16],
    class: RequestClass::Write,
    rate: RateQuota::Standard { quota: u32::MAX },
    weight: 1,
};

fn limiter(concurrent_writes: u32) -> LawLimiter {
    LawLimiter::new(LawSettings {
        concurrent_writes,
        ..LawSettings::default()
    })
}

/// Checks that exactly `cap` permits are free.
fn assert_free(limiter: &LawLimiter, cap: usize, now: u64) {
    let permits: Vec<Permit> = (0..cap)
        .filter_map(|_| limiter.admit(&WRITE, at(now)).ok())
        .collect();
    assert_eq!(permits.len(), cap, "a permit was lost");
    assert!(
        limiter.admit(&WRITE, at(now)).is_err(),
        "more than {cap} permits"
    );
    drop(permits);
}

#[test]
fn a_million_requests_opened_and_closed_leave_every_permit_free() {
    const CAP: usize = 15;
    let limiter = limiter(15);
    let mut open = Vec::new();
    let mut admitted = 0_u32;
    for n in 0..1_000_000_u64 {
        // Opens three and closes two, in changing order, so that the cap is reached over and over.
        match limiter.admit(&WRITE, at(n * 20)) {
            Ok(permit) => {
                open.push(permit);
                admitted += 1;
            }
            Err(_) => assert_eq!(open.len(), CAP, "refused below the cap"),
        }
        assert!(open.len() <= CAP, "admitted above the cap");
        if n % 3 != 0 {
            drop(open.swap_remove(usize::try_from(n * 7).unwrap() % open.len()));
        } else if n % 1_000 == 0 {
            open.clear();
        }
    }
    assert!(admitted > 600_000);
    drop(open);
    assert_free(&limiter, CAP, 20_000_000);
}

#[test]
fn a_panic_frees_the_permit() {
    let limiter = limiter(3);
    for n in 0..100 {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let _permit = limiter.admit(&WRITE, at(n)).unwrap();
            std::panic::resume_unwind(Box::new("the handler failed"));
        }));
        assert!(outcome.is_err());
    }
    assert_free(&limiter, 3, 100);
}

#[test]
fn a_permit_may_be_dropped_on_another_thread_and_after_the_limiter() {
    let limiter = limiter(1);
    let permit = limiter.admit(&WRITE, at(0)).unwrap();
    std::thread::spawn(move || drop(permit)).join().unwrap();
    let mut late = limiter.admit(&WRITE, at(1)).unwrap();
    drop(limiter);
    late.settle(1, at(2));
}

#[test]
fn threads_together_never_exceed_the_cap() {
    const CAP: u32 = 4;
    let limiter = limiter(CAP);
    let running = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (limiter, running) = (&limiter, &running);
            scope.spawn(move || {
                for n in 0..10_000 {
                    if let Ok(mut permit) = limiter.admit(&WRITE, at(n)) {
                        assert!(running.fetch_add(1, SeqCst) < CAP, "above the cap");
                        if n % 7 == thread {
                            std::thread::yield_now();
                        }
                        permit.settle(0, at(n));
                        running.fetch_sub(1, SeqCst);
                    }
                    if n % 500 == 0 {
                        limiter.evict_idle(at(n));
                    }
                }
            });
        }
    });
    let counts = limiter.counts();
    assert_eq!(counts.admitted + counts.refused.concurrent_writes, 80_000);
    assert_free(&limiter, 4, 10_000);
}
