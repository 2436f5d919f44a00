//! Several nodes with one server, and their combined admissions.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use workgraph_limits::laws::{
    LawBatch, LawLimiter, LawOverrides, LawSettings, RateQuota, ScenarioRandom,
};
use workgraph_limits::shared_limiter::SharedMode;
use workgraph_limits::{
    LimitExceeded, LimiterSettings, LocalLimits, OwnerTotals, Permit, SharedLimiter, UniformState,
};

use crate::breaker::CAUTION_MS;
use crate::redis_limiter::RedisLimiter;
use crate::settings::RedisLimiterSettings;
use crate::test_server::TestAddress;

use super::test_request::TestRequest;

/// Node: its connection, and its own limiters.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) shared: RedisLimiter,
    pub(super) limiter: LawLimiter,
    totals: OwnerTotals<u64, UniformState>,
}

impl Node {
    pub(super) async fn connect(settings: &RedisLimiterSettings, caution_ms: u64) -> Self {
        let (shared, _) = RedisLimiter::connect_with(settings, caution_ms)
            .await
            .unwrap();
        Self {
            shared,
            limiter: LawLimiter::new(LawSettings::default()),
            totals: OwnerTotals::new(&LimiterSettings::from(&LawSettings::default())),
        }
    }

    pub(super) async fn admit(
        &self,
        request: &TestRequest,
        now: u64,
    ) -> Result<Permit, LimitExceeded> {
        let local = LocalLimits {
            limiter: self.limiter.limiter(),
            totals: &self.totals,
        };
        let charges = request.charges();
        let request = request.shared(&charges);
        self.shared.admit(&request, local, time(now)).await
    }
}

pub(super) fn time(now: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(now)
}

/// Returns settings for `nodes` nodes with their own clock, under keys that no other test uses.
pub(super) fn settings(url: &str, test: &str, nodes: u32) -> RedisLimiterSettings {
    RedisLimiterSettings {
        prefix: format!("{test}-{}", std::process::id()),
        timeout: Duration::from_secs(10),
        probe_interval: Duration::from_millis(20),
        processes: nodes,
        local_time: true,
        ..RedisLimiterSettings::new(url)
    }
}

pub(super) fn request(quota: u32) -> TestRequest {
    TestRequest {
        batch: LawBatch {
            key: [7; 16],
            rate: RateQuota::Standard { quota },
            weight: 1,
            reads: 1,
            writes: 0,
        },
        custom: LawOverrides::default(),
        owner: None,
    }
}

/// Retries until an attempt succeeds, for asynchronous effects of a real server about which tests get no notification.
pub(super) async fn eventually<T>(mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(done) = attempt().await {
            return done;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "it never is so");
        tokio::task::yield_now().await;
    }
}

/// Times of the admissions of all nodes in the last minute, and their maximum number.
#[derive(Debug, Default)]
pub(super) struct Union {
    admitted: VecDeque<u64>,
    pub(super) most: usize,
}

impl Union {
    pub(super) fn add(&mut self, now: u64) {
        self.admitted.push_back(now);
        while self.admitted.front().is_some_and(|at| now - at >= 60_000) {
            self.admitted.pop_front();
        }
        self.most = self.most.max(self.admitted.len());
    }
}

async fn three(settings: &RedisLimiterSettings) -> [Node; 3] {
    [
        Node::connect(settings, CAUTION_MS).await,
        Node::connect(settings, CAUTION_MS).await,
        Node::connect(settings, CAUTION_MS).await,
    ]
}

/// S910. L1 and L2, over all nodes: no minute admits more than the quota, and no client that waits is refused twice.
#[tokio::test]
async fn three_nodes_admit_together_what_one_would() {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let nodes = three(&settings(&server.url(), "three", 3)).await;
    let mut random = ScenarioRandom::new(super::number("WORKGRAPH_LAW_SEED", 1));
    for (n, quota) in [1, 7, 60].into_iter().enumerate() {
        let mut request = request(quota);
        request.batch.key = [u8::try_from(n).unwrap(); 16];
        let (mut union, mut now) = (Union::default(), 1_800_000_000_000);
        let mut refused = 0;
        for _ in 0..400 {
            now += random.within(0, 60_000 / u64::from(quota));
            let node = &nodes[usize::try_from(random.within(0, 2)).unwrap()];
            let Err(refusal) = node.admit(&request, now).await else {
                union.add(now);
                continue;
            };
            refused += 1;
            now += if random.chance(50) {
                refusal.wait_ms
            } else {
                refusal.retry_after * 1_000
            };
            let other = &nodes[usize::try_from(random.within(0, 2)).unwrap()];
            let again = other.admit(&request, now).await;
            assert!(again.is_ok(), "refused after {refusal:?}: {again:?}");
            union.add(now);
        }
        assert_eq!(union.most, quota as usize, "the quota is used, and no more");
        assert!(refused > 0);
    }
    let decided: u64 = nodes.iter().map(|node| node.shared.counts().shared).sum();
    let alone: u64 = nodes.iter().map(|node| node.shared.counts().local).sum();
    assert!(decided >= 1_200 && alone == 0, "{decided} {alone}");
}

/// Detects nodes that count only their own requests.
#[tokio::test]
async fn nodes_under_keys_of_their_own_admit_too_much() {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let (a, b) = (
        settings(&server.url(), "own-a", 2),
        settings(&server.url(), "own-b", 2),
    );
    let nodes = [
        Node::connect(&a, CAUTION_MS).await,
        Node::connect(&b, CAUTION_MS).await,
    ];
    let mut union = Union::default();
    for n in 0..40 {
        if nodes[n % 2]
            .admit(&request(10), 1_800_000_000_000)
            .await
            .is_ok()
        {
            union.add(1_800_000_000_000);
        }
    }
    assert_eq!(union.most, 20);
}

/// S912. L15: slots are shared by all nodes, and are freed when a permit ends, or at its deadline if its node is gone.
#[tokio::test]
async fn slots_are_shared_and_those_of_a_dead_node_come_back_at_their_deadline() {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let [one, two, three] = three(&settings(&server.url(), "slots", 3)).await;
    let mut request = request(1_000);
    request.custom.concurrent_reads = Some(4);
    let now = 1_800_000_000_000;
    let first = one.admit(&request, now).await.unwrap();
    let second = two.admit(&request, now + 1_000).await.unwrap();
    request.batch.reads = 2;
    let _both = two.admit(&request, now + 2_000).await.unwrap();
    request.batch.reads = 1;
    let refused = three.admit(&request, now + 3_000).await.unwrap_err();
    assert_eq!(
        (refused.limit.name(), refused.wait_ms),
        ("concurrent_reads", 29_000)
    );
    drop(first);
    // The end is asynchronous, so retry until it has arrived.
    let _third = eventually(async || three.admit(&request, now + 3_000).await.ok()).await;
    // A node that dies ends nothing.
    std::mem::forget(second);
    assert!(three.admit(&request, now + 30_999).await.is_err());
    assert!(three.admit(&request, now + 31_000).await.is_ok());
}

/// S912. L17: the cost of a reply on one node is charged on the others.
#[tokio::test]
async fn costs_are_shared() {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let [one, two, _] = three(&settings(&server.url(), "cost", 3)).await;
    let mut request = request(1_000);
    request.custom.cost_per_minute = Some(100);
    let now = 1_800_000_000_000;
    let mut permit = one.admit(&request, now).await.unwrap();
    permit.settle(130, time(now));
    drop(permit);
    let refused = eventually(async || two.admit(&request, now).await.err()).await;
    assert_eq!((refused.limit.name(), refused.wait_ms), ("cost", 18_001));
    assert!(two.admit(&request, now + 18_000).await.is_err());
    assert!(two.admit(&request, now + 18_001).await.is_ok());
}

/// A client that leaves before the answer arrives does not occupy a slot for long.
#[tokio::test]
async fn an_answer_that_nobody_waits_for_frees_its_slot() {
    let Some(server) = TestAddress::find() else {
        return;
    };
    let [one, two, _] = three(&settings(&server.url(), "left", 3)).await;
    let mut request = request(100_000);
    request.custom.concurrent_reads = Some(1);
    let now = 1_800_000_000_000;
    let mut left = 0;
    for _ in 0..200 {
        tokio::select! {
            biased;
            _ = one.admit(&request, now) => {}
            () = tokio::task::yield_now() => left += 1,
        }
    }
    assert!(left > 0);
    let _permit = eventually(async || two.admit(&request, now).await.ok()).await;
    assert_eq!(two.shared.mode(), SharedMode::Exact);
}
