//! Attempts, and the time of the server.

use std::time::{Duration, Instant};

use redis::cmd;
use workgraph_limits::SharedLimiter;
use workgraph_limits::laws::{LawCharges, LawOverrides};
use workgraph_limits::rate::WindowLength;
use workgraph_limits::shared_limiter::SharedAttempt;
use workgraph_limits::window::WindowTerms;

use super::function_limiter::connect;
use super::nodes::{Node, eventually, request, settings, time};
use crate::breaker::CAUTION_MS;
use crate::functions;
use crate::settings::RedisLimiterSettings;
use crate::test_server::TestAddress;

fn attempt(key: u8, refusals_count: bool) -> SharedAttempt {
    SharedAttempt {
        key: [key; 16],
        terms: WindowTerms {
            quota: 3,
            remembered: if refusals_count { 3 } else { 0 },
            length: WindowLength::MINUTE,
        },
    }
}

/// S912.
#[tokio::test]
async fn attempts_are_counted_over_all_nodes_and_can_be_taken_back() {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let settings = RedisLimiterSettings {
        local_time: false,
        ..settings(&server.url(), "attempts", 2)
    };
    let one = Node::connect(&settings, CAUTION_MS).await;
    let two = Node::connect(&settings, CAUTION_MS).await;
    let (own, other) = (attempt(1, false), attempt(2, true));
    let first = one.shared.attempt(own).await.unwrap().unwrap();
    for node in [&one, &two] {
        assert!(node.shared.attempt(own).await.unwrap().is_ok());
    }
    for node in [&one, &two, &one] {
        let wait = node.shared.attempt(own).await.unwrap().unwrap_err();
        assert!((1..=60_000).contains(&wait), "{wait}");
    }
    // Refused attempts did not count: after one is reverted, one more fits.
    one.shared.take_back(&own.key, first);
    let mut fits = 0;
    let begun = Instant::now();
    while fits == 0 && begun.elapsed() < Duration::from_secs(10) {
        fits += usize::from(two.shared.attempt(own).await.unwrap().is_ok());
    }
    assert_eq!(fits, 1);
    assert!(two.shared.attempt(own).await.unwrap().is_err());
    // If refused attempts count, they keep the limit used up.
    let admitted = async |n| {
        let mut admitted = 0;
        for _ in 0..n {
            admitted += usize::from(two.shared.attempt(other).await.unwrap().is_ok());
        }
        admitted
    };
    assert_eq!(admitted(10).await, 3);
    let state = one.account(&other.key, 3).await;
    assert_eq!((state.windows[0].used, state.windows[0].refused), (6, 3));
}

impl Node {
    /// Returns the counts of a key.
    async fn account(&self, key: &[u8; 16], quota: u32) -> workgraph_limits::LimiterState {
        let charges = LawCharges::of_key(*key, quota, &LawOverrides::default());
        let (asked, now) = (charges.request(), std::time::UNIX_EPOCH);
        self.shared.state(asked, self.limiter.limiter(), now).await
    }
}

/// L14: the server keeps an account as long as it differs from a new one, by its own clock, and at least for a minute.
#[tokio::test]
async fn accounts_end_when_they_are_like_new_ones() {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let settings = RedisLimiterSettings {
        local_time: false,
        ..settings(&server.url(), "expiry", 1)
    };
    let node = Node::connect(&settings, CAUTION_MS).await;
    let mut asked = request(100);
    asked.batch.weight = 0;
    let permit = node.admit(&asked, 0).await.unwrap();
    let mut connection = connect(&server.url(), functions::current());
    let names = |connection: &mut redis::Connection| -> Vec<String> {
        let pattern = format!("{}:limit:*", settings.prefix);
        cmd("KEYS").arg(pattern).query(connection).unwrap()
    };
    let [name] = &names(&mut connection)[..] else {
        panic!("one account")
    };
    assert!(
        name.ends_with(":limit:{07070707070707070707070707070707}"),
        "{name}"
    );
    let left = |connection: &mut redis::Connection| -> i64 {
        cmd("PTTL").arg(name).query(connection).unwrap()
    };
    let minute = 50_000..=60_000;
    assert!(
        minute.contains(&left(&mut connection)),
        "its time is kept for a minute"
    );
    drop(permit);
    asked.batch.weight = 1;
    let mut permit = node.admit(&asked, 0).await.unwrap();
    assert!(minute.contains(&left(&mut connection)));
    // What 19 of the most expensive answers cost comes back in 114 seconds.
    for _ in 0..19 {
        permit.settle(u32::MAX, time(0));
    }
    drop(permit);
    // A debt is kept.
    eventually(async || (left(&mut connection) >= 100_000).then_some(())).await;
    assert!(left(&mut connection) <= 114_000);
    let size: usize = cmd("STRLEN").arg(name).query(&mut connection).unwrap();
    assert!(size < 100, "{size} bytes for an account with little in it");
    // The time of the server, not that of the node.
    let state = node.account(&asked.batch.key, 100).await;
    assert!(
        (50_000..=60_000).contains(&state.windows[0].full_ms),
        "{state:?}"
    );
}
