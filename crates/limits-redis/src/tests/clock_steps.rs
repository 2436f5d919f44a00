//! Tests in which the clock of the server steps back or ahead.

use std::time::Instant;

use redis::cmd;
use workgraph_limits::SharedLimiter;
use workgraph_limits::TotalShare;

use super::function_limiter::connect;
use super::nodes::{Node, eventually, request, settings};
use super::test_request::TestRequest;
use crate::breaker::CAUTION_MS;
use crate::functions;
use crate::settings::RedisLimiterSettings;
use crate::test_server::TestAddress;

/// Hour by which the clock is ahead before it steps back.
const HOUR: u64 = 3_600_000;

/// Returns two limiters of the same keys: one with a given time, which represents the server before its clock stepped, and one
/// with the server's current time; also that time plus an hour.
async fn before_and_after(test: &str) -> Option<(TestAddress, [Node; 2], u64)> {
    let server = TestAddress::find()?;
    let before = settings(&server.url(), test, 1);
    let after = RedisLimiterSettings {
        local_time: false,
        ..before.clone()
    };
    let mut clock = connect(&server.url(), functions::current());
    let (seconds, _): (u64, u64) = cmd("TIME").query(&mut clock).unwrap();
    let nodes = [
        Node::connect(&before, CAUTION_MS).await,
        Node::connect(&after, 0).await,
    ];
    Some((server, nodes, seconds * 1_000 + HOUR))
}

fn with_total(owner: u64) -> TestRequest {
    let share = TotalShare {
        weight: 1,
        quota: Some(10),
    };
    TestRequest {
        owner: Some((owner, [share, TotalShare::default(), TotalShare::default()])),
        ..request(1_000)
    }
}

/// S974. A used-up quota stays used up, and is free again after the stated wait.
#[tokio::test]
async fn a_clock_that_steps_back_by_an_hour_stops_nobody_for_an_hour() {
    let Some((_server, [before, after], ahead)) = before_and_after("step").await else {
        return;
    };
    let used_at = ahead - 59_000;
    let mut one = request(10);
    one.batch.reads = 0;
    one.batch.writes = 1;
    for _ in 0..10 {
        std::mem::forget(before.admit(&one, used_at).await.unwrap());
    }
    assert_eq!(before.admit(&one, ahead).await.unwrap_err().wait_ms, 1_000);
    let refused = after.admit(&one, 0).await.unwrap_err();
    assert!((900..=1_000).contains(&refused.wait_ms), "{refused:?}");
    let begun = Instant::now();
    let _again = eventually(async || after.admit(&one, 0).await.ok()).await;
    let waited = begun.elapsed().as_millis();
    assert!(waited + 20 >= u128::from(refused.wait_ms), "{waited} ms");
    assert_eq!(after.shared.counts().local, 0);
}

/// S974. The totals of owners continue, too.
#[tokio::test]
async fn totals_go_on_after_a_step_back() {
    let Some((_server, [before, after], ahead)) = before_and_after("totals").await else {
        return;
    };
    let one = with_total(ahead);
    let mut admitted = 0;
    while before.admit(&one, ahead).await.is_ok() {
        admitted += 1;
        assert!(admitted <= 10);
    }
    let mut other = one;
    other.batch.key = [9; 16];
    let refused = after.admit(&other, 0).await.unwrap_err();
    assert!(refused.wait_ms <= 6_000, "{refused:?}");
    let (less, mut attempt) = (refused.wait_ms - 100, 0_u128);
    let is_less = async || {
        // Refused attempts count against the limit of their own key.
        attempt += 1;
        other.batch.key = attempt.to_be_bytes();
        let later = after.admit(&other, 0).await.unwrap_err();
        (later.wait_ms <= less).then_some(())
    };
    eventually(is_less).await;
}

/// S974. A small step causes a wait, and admits nobody.
#[tokio::test]
async fn a_small_step_back_lets_nobody_in() {
    let Some((_server, [before, after], ahead)) = before_and_after("small").await else {
        return;
    };
    let (one, now) = (request(5), ahead - HOUR + 30_000);
    for _ in 0..5 {
        std::mem::forget(before.admit(&one, now).await.unwrap());
    }
    for _ in 0..3 {
        assert!(after.admit(&one, 0).await.is_err());
    }
}
