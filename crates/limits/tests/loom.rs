//! Locks taken by three threads in every possible order, tried by loom. In normal builds this file is empty.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p workgraph-limits --test loom --target-dir target/loom`
#![expect(
    unexpected_cfgs,
    reason = "the model checker loom is asked for by `--cfg loom`"
)]
#![cfg(loom)]

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use loom::thread;
use workgraph_limits::laws::{LawLimiter, LawRequest, LawSettings, RateQuota, RequestClass};

fn at(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000) + Duration::from_millis(milliseconds)
}

fn write(key: u8, quota: u32) -> LawRequest {
    LawRequest {
        key: [key; 16],
        class: RequestClass::Write,
        rate: RateQuota::Standard { quota },
        weight: 1,
    }
}

/// Runs a check on three threads, in every order, and then another when all have ended.
fn three(
    settings: LawSettings,
    each: fn(usize, &LawLimiter, &AtomicU32),
    after: fn(&LawLimiter, u32),
) {
    loom::model(move || {
        let shared = Arc::new((LawLimiter::new(settings), AtomicU32::new(0)));
        let others: Vec<_> = (1..3)
            .map(|thread| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || each(thread, &shared.0, &shared.1))
            })
            .collect();
        each(0, &shared.0, &shared.1);
        for other in others {
            other.join().unwrap();
        }
        after(&shared.0, shared.1.load(SeqCst));
    });
}

#[test]
fn permits_stay_within_the_cap_and_none_is_lost() {
    let settings = LawSettings {
        concurrent_writes: 2,
        ..LawSettings::default()
    };
    three(
        settings,
        |_, limiter, running| {
            if let Ok(permit) = limiter.admit(&write(1, 100), at(0)) {
                assert!(running.fetch_add(1, SeqCst) < 2, "above the cap");
                running.fetch_sub(1, SeqCst);
                drop(permit);
            }
        },
        |limiter, running| {
            assert_eq!(running, 0);
            let free = [1, 2].map(|_| limiter.admit(&write(1, 100), at(1)).unwrap());
            assert!(limiter.admit(&write(1, 100), at(1)).is_err());
            drop(free);
        },
    );
}

#[test]
fn a_quota_is_given_out_once_while_another_thread_evicts() {
    three(
        LawSettings::default(),
        |thread, limiter, admitted| {
            if thread == 2 {
                limiter.evict_idle(at(59_999));
            } else if limiter.admit(&write(1, 1), at(0)).is_ok() {
                admitted.fetch_add(1, SeqCst);
            }
        },
        |limiter, admitted| {
            assert_eq!(admitted, 1);
            let counts = limiter.counts();
            assert_eq!((counts.admitted, counts.refused.standard), (1, 1));
        },
    );
}

#[test]
fn an_account_with_a_permit_outlives_eviction_and_keeps_its_place() {
    three(
        LawSettings::default(),
        |thread, limiter, _| match thread {
            0 => {
                let mut permit = limiter.admit(&write(1, 9), at(0)).unwrap();
                permit.settle(7, at(300_000));
            }
            1 => drop(limiter.admit(&write(2, 9), at(0)).unwrap()),
            _ => limiter.evict_idle(at(300_000)),
        },
        |limiter, _| {
            let state = limiter.state(&[1; 16], 9, at(300_000));
            assert_eq!(state.cost.unwrap().balance, 600_000 - 7);
            assert_eq!(state.concurrent[1].running, 0);
            let other = limiter.state(&[2; 16], 9, at(300_000));
            assert_eq!(
                (other.concurrent[1].running, other.cost.unwrap().balance),
                (0, 600_000)
            );
        },
    );
}
