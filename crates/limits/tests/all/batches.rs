//! Batches: all of their requests are admitted, or none, and each has a slot of its own.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workgraph_limits::Permit;
use workgraph_limits::laws::{
    LawBatch, LawLimit, LawLimiter, LawOverrides, LawRefusal, LawRequest, LawSettings, RateQuota,
    RequestClass,
};

fn at(milliseconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000) + Duration::from_millis(milliseconds)
}

fn batch(weight: u32, searches: u32, reads: u32, writes: u32) -> LawBatch {
    LawBatch {
        key: [1; 16],
        rate: RateQuota::Mixed {
            quota: 150,
            searches,
        },
        weight,
        reads,
        writes,
    }
}

fn ask(limiter: &LawLimiter, batch: &LawBatch, now: u64) -> Result<Permit, LawRefusal> {
    limiter.admit_batch(batch, &LawOverrides::default(), at(now))
}

fn running(limiter: &LawLimiter, now: u64) -> (u32, u32) {
    let state = limiter.state(&[1; 16], 150, at(now));
    let mut running = state.concurrent.iter().map(|class| class.running);
    (running.next().unwrap_or(0), running.next().unwrap_or(0))
}

#[test]
fn every_action_has_a_slot_until_the_permit_is_dropped() {
    let limiter = LawLimiter::new(LawSettings::default());
    let first = ask(&limiter, &batch(10, 0, 4, 6), 0).unwrap();
    assert_eq!((first.slots(0), first.slots(1)), (4, 6));
    let second = ask(&limiter, &batch(10, 0, 1, 9), 5_000).unwrap();
    assert_eq!(running(&limiter, 5_000), (5, 15));
    // 15 of 15 writes: a batch with one more is refused, until the last of them must have ended.
    let refusal = ask(&limiter, &batch(2, 0, 1, 1), 6_000).unwrap_err();
    assert_eq!(
        (refusal.limit, refusal.retry_after),
        (LawLimit::ConcurrentWrites, 29)
    );
    assert_eq!(running(&limiter, 6_000), (5, 15), "nothing was taken");
    drop(first);
    assert_eq!(running(&limiter, 6_000), (1, 9));
    drop(second);
    assert_eq!(running(&limiter, 6_000), (0, 0));
}

#[test]
fn a_batch_that_one_quota_cannot_hold_is_refused_whole_and_told_a_wait_that_is_enough() {
    let limiter = LawLimiter::new(LawSettings::default());
    for _ in 0..6 {
        ask(&limiter, &batch(0, 10, 10, 0), 0).map(drop).unwrap();
    }
    // 60 searches are used up; the nine other actions would have room.
    let refusal = ask(&limiter, &batch(9, 1, 10, 0), 1_000).unwrap_err();
    assert_eq!((refusal.limit, refusal.retry_after), (LawLimit::Search, 59));
    let then = 1_000 + refusal.retry_after * 1_000;
    assert!(ask(&limiter, &batch(9, 1, 10, 0), then).is_ok());
    let state = limiter.state(&[1; 16], 150, at(then));
    // The refused attempt counted in the standard quota, where there was room, and not as a search.
    assert_eq!((state.windows[0].used, state.windows[1].used), (18, 1));
}

#[test]
fn more_slots_than_there_are_is_told_as_long_as_a_request_may_take() {
    let limiter = LawLimiter::new(LawSettings {
        concurrent_writes: 5,
        ..LawSettings::default()
    });
    let refusal = ask(&limiter, &batch(6, 0, 0, 6), 0).unwrap_err();
    assert_eq!(
        (refusal.limit, refusal.retry_after),
        (LawLimit::ConcurrentWrites, 30)
    );
}

#[test]
fn a_batch_without_a_slot_is_taken_to_read() {
    let limiter = LawLimiter::new(LawSettings::default());
    let permit = ask(&limiter, &batch(1, 0, 0, 0), 0).unwrap();
    assert_eq!(running(&limiter, 0), (1, 0));
    // The account stays as long as the permit, although nothing else is remembered of it.
    limiter.evict_idle(at(120_000));
    assert_eq!(limiter.tracked_keys(), 1);
    drop(permit);
    limiter.evict_idle(at(120_000));
    assert_eq!(limiter.tracked_keys(), 0);
}

#[test]
fn a_batch_of_one_is_the_request() {
    let (together, alone) = (
        LawLimiter::new(LawSettings::default()),
        LawLimiter::new(LawSettings::default()),
    );
    let request = LawRequest {
        key: [1; 16],
        class: RequestClass::Write,
        rate: RateQuota::Standard { quota: 150 },
        weight: 1,
    };
    let (mut open, mut also) = (Vec::new(), Vec::new());
    for n in 0..1_000 {
        let one = ask(&together, &batch(1, 0, 0, 1), n * 97);
        let other = alone.admit(&request, at(n * 97));
        assert_eq!(one.as_ref().err(), other.as_ref().err());
        open.extend(one);
        also.extend(other);
        if n % 5 == 0 {
            open.clear();
            also.clear();
        }
    }
    assert_eq!(
        together.state(&[1; 16], 150, at(97_000)),
        alone.state(&[1; 16], 150, at(97_000))
    );
}
