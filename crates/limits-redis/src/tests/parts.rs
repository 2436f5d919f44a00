//! Every limit while each node decides alone, including requests that began before that.

use workgraph_limits::TotalShare;
use workgraph_limits::laws::RateQuota;
use workgraph_limits::shared_limiter::SharedMode;
use workgraph_limits::{Permit, SharedLimiter};

use super::nodes::{Node, eventually, request, settings, time};
use super::test_request::TestRequest;
use crate::breaker::CAUTION_MS;
use crate::test_server::TestServer;

const NODES: usize = 3;
const LIMIT: u32 = 10;
const PART: usize = 4;
const NOW: u64 = 1_800_000_000_000;

/// Repeats a request at a node until it is refused; returns the permits.
async fn admit_all(node: &Node, request: &TestRequest, cost: u32) -> Vec<Permit> {
    let mut permits = Vec::new();
    while let Ok(mut permit) = node.admit(request, NOW).await {
        permit.settle(cost, time(NOW));
        permits.push(permit);
        assert!(permits.len() < 1_000, "{request:?} has no limit");
    }
    permits
}

/// Makes requests until every node is in the right mode.
async fn wait_until(nodes: &[Node], is_right: impl Fn(SharedMode) -> bool) {
    for node in nodes {
        let decides = async || {
            let mut other = request(1_000_000);
            other.batch.key = [99; 16];
            let _ended = node.admit(&other, NOW).await;
            is_right(node.shared.mode()).then_some(())
        };
        eventually(decides).await;
    }
}

/// Requests that are each refused by one limit, with the cost of each, and the number admitted by a part of the limit.
fn limited() -> [(&'static str, TestRequest, u32, usize); 6] {
    let wide = |key| {
        let mut wide = request(1_000);
        wide.batch.key = [key; 16];
        wide.custom.concurrent_reads = Some(1_000);
        wide.custom.concurrent_writes = Some(1_000);
        wide
    };
    let [
        mut standard,
        mut search,
        mut reads,
        mut writes,
        mut cost,
        mut total,
    ] = [1, 2, 3, 4, 5, 6].map(wide);
    standard.batch.rate = RateQuota::Standard { quota: LIMIT };
    search.batch.rate = RateQuota::Search;
    search.custom.search_per_minute = Some(LIMIT);
    reads.custom.concurrent_reads = Some(LIMIT);
    (writes.batch.reads, writes.batch.writes) = (0, 1);
    writes.custom.concurrent_writes = Some(LIMIT);
    cost.custom.cost_per_minute = Some(LIMIT);
    let share = TotalShare {
        weight: 1,
        quota: Some(LIMIT),
    };
    total.owner = Some((7, [share, TotalShare::default(), TotalShare::default()]));
    [
        ("standard", standard, 0, PART),
        ("search", search, 0, PART),
        ("concurrent_reads", reads, 0, PART),
        ("concurrent_writes", writes, 0, PART),
        // A request that starts with credits left may use up more than that.
        ("cost", cost, 3, 2),
        ("total", total, 0, PART),
    ]
}

/// S911. L1, L15 and L17, without Redis: all nodes together admit a limit, plus at most one more for each node.
#[tokio::test]
async fn each_node_has_its_part_of_every_limit() {
    let Some(mut server) = TestServer::start(&[]) else {
        return;
    };
    let settings = settings(&server.url(), "parts", NODES as u32);
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        nodes.push(Node::connect(&settings, CAUTION_MS).await);
    }
    // All slots of one key are taken on the first node, while the server counts.
    let mut slots = request(1_000);
    slots.custom.concurrent_reads = Some(LIMIT);
    let before = admit_all(&nodes[0], &slots, 0).await;
    assert_eq!(before.len(), LIMIT as usize);
    assert!(nodes[1].admit(&slots, NOW).await.is_err());

    server.kill();
    wait_until(&nodes, |mode| mode == SharedMode::Local).await;
    for (limit, request, cost, part) in limited() {
        for node in &nodes {
            let permits = admit_all(node, &request, cost).await;
            assert_eq!(permits.len(), part, "{limit}");
            let refusal = node.admit(&request, NOW).await.unwrap_err();
            let is_total = limit == "total" || refusal.limit.name() == limit;
            assert!(is_total, "{limit}: {refusal:?}");
        }
    }

    // Requests in flight from before and after: the limit, plus the parts of the other nodes.
    let mut since = Vec::new();
    for node in &nodes {
        since.extend(admit_all(node, &slots, 0).await);
    }
    assert_eq!(since.len(), (NODES - 1) * PART);
    server.restart();
    wait_until(&nodes, |mode| mode != SharedMode::Local).await;
    for node in &nodes {
        assert_eq!(node.shared.mode(), SharedMode::Cautious);
        let more = admit_all(node, &slots, 0).await;
        assert_eq!(more.len(), 0, "the server has forgotten, the node has not");
    }
    drop((before, since));
    assert!(nodes[1].admit(&slots, NOW).await.is_ok());
}
