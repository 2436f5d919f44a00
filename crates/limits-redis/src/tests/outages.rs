//! Outages: a server that is killed, emptied or suspended, and comes back.

use std::time::{Duration, Instant};

use redis::{Value, cmd};
use workgraph_limits::SharedLimiter;
use workgraph_limits::laws::ScenarioRandom;
use workgraph_limits::shared_limiter::SharedMode;

use super::function_limiter::connect;
use super::nodes::{Node, Union, eventually, request, settings};
use crate::breaker::CAUTION_MS;
use crate::functions;
use crate::settings::RedisLimiterSettings;
use crate::test_server::TestServer;

const NODES: u32 = 3;
const QUOTA: u32 = 30;

/// Waits until a node starts or stops deciding alone.
async fn until(node: &Node, is_local: bool) {
    let is_so = async || ((node.shared.mode() == SharedMode::Local) == is_local).then_some(());
    eventually(is_so).await;
}

async fn connected(settings: &RedisLimiterSettings, caution_ms: u64) -> Vec<Node> {
    let mut nodes = Vec::new();
    for _ in 0..NODES {
        nodes.push(Node::connect(settings, caution_ms).await);
    }
    nodes
}

/// Hammers all nodes for some time.
async fn hammer(
    nodes: &[Node],
    union: &mut Union,
    now: &mut u64,
    spans: u64,
    random: &mut ScenarioRandom,
) {
    for _ in 0..spans {
        *now += random.within(0, 120);
        let last = u64::try_from(nodes.len()).unwrap() - 1;
        let node = &nodes[usize::try_from(random.within(0, last)).unwrap()];
        if node.admit(&request(QUOTA), *now).await.is_ok() {
            union.add(*now);
        }
    }
}

/// Kills the server at a random moment, and starts it again empty; returns the maximum number admitted in a minute.
async fn kill_and_return(seed: u64, processes: u32, caution_ms: u64) -> Option<usize> {
    let mut server = TestServer::start(&[])?;
    let settings = RedisLimiterSettings {
        processes,
        ..settings(&server.url(), "kill", processes)
    };
    let nodes = connected(&settings, caution_ms).await;
    let random = &mut ScenarioRandom::new(seed);
    let (mut union, mut now) = (Union::default(), 1_800_000_000_000);
    // Few enough that none is refused: refused ones would keep the limit used up.
    let spans = random.within(20, u64::from(QUOTA));
    // On one node, so that the others have their whole parts left.
    hammer(&nodes[..1], &mut union, &mut now, spans, random).await;
    server.kill();
    let spans = random.within(100, 300);
    hammer(&nodes, &mut union, &mut now, spans, random).await;
    for node in &nodes {
        until(node, true).await;
    }
    let spans = random.within(0, 200);
    hammer(&nodes, &mut union, &mut now, spans, random).await;
    server.restart();
    for node in &nodes {
        until(node, false).await;
    }
    for _ in 0..6 {
        hammer(&nodes, &mut union, &mut now, 250, random).await;
    }
    let exact = nodes
        .iter()
        .all(|node| node.shared.mode() == SharedMode::Exact);
    assert!(exact, "after a minute the server decides alone again");
    let counts = nodes[0].shared.counts();
    assert!(counts.shared > 0 && counts.local > 0, "{counts:?}");
    Some(union.most)
}

/// S911. The bound: twice the quota, and the number of nodes.
#[tokio::test]
async fn a_server_that_is_killed_and_comes_back_empty_keeps_the_bound() {
    for seed in 1..=super::number("WORKGRAPH_OUTAGES", 4) {
        let Some(most) = kill_and_return(seed, NODES, CAUTION_MS).await else {
            return;
        };
        let bound = (2 * QUOTA + NODES) as usize;
        assert!(most <= bound, "seed {seed}: {most} of {bound} in a minute");
        assert!(most >= 20, "seed {seed}: {most}");
    }
}

/// Detects nodes that each use the whole quota alone, or that trust an empty server immediately.
#[tokio::test]
async fn without_parts_or_caution_the_bound_is_broken() {
    let bound = (2 * QUOTA + NODES) as usize;
    for (processes, caution_ms) in [(1, CAUTION_MS), (NODES, 0)] {
        let mut worst = 0;
        for seed in 1..=8 {
            let Some(most) = kill_and_return(seed, processes, caution_ms).await else {
                return;
            };
            worst = worst.max(most);
            if worst > bound {
                break;
            }
        }
        assert!(
            worst > bound,
            "{processes} {caution_ms}: {worst} of {bound}"
        );
    }
}

/// S911. A server that loses all data while it runs, including functions.
#[tokio::test]
async fn a_server_that_is_emptied_keeps_the_bound_and_gets_its_functions_again() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let nodes = connected(&settings(&server.url(), "flush", NODES), CAUTION_MS).await;
    let random = &mut ScenarioRandom::new(3);
    let (mut union, mut now) = (Union::default(), 1_800_000_000_000);
    hammer(&nodes, &mut union, &mut now, 300, random).await;
    let mut connection = connect(&server.url(), functions::current());
    let _: Value = cmd("FLUSHALL").query(&mut connection).unwrap();
    let _: Value = cmd("FUNCTION").arg("FLUSH").query(&mut connection).unwrap();
    hammer(&nodes, &mut union, &mut now, 600, random).await;
    assert!(union.most <= 2 * QUOTA as usize, "{}", union.most);
    for node in &nodes {
        assert_eq!(
            (node.shared.counts().local, node.shared.mode()),
            (0, SharedMode::Exact)
        );
    }
}

/// S975. A server that answers but accepts no changes is not used until it does, instead of failing every decision.
#[tokio::test]
async fn a_server_without_memory_is_left_alone_until_it_has_some() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let node = Node::connect(&settings(&server.url(), "memory", NODES), CAUTION_MS).await;
    let mut admin = connect(&server.url(), functions::current());
    let mut maxmemory = |bytes: &str| {
        let _: Value = cmd("CONFIG")
            .arg(&["SET", "maxmemory", bytes])
            .query(&mut admin)
            .unwrap();
    };
    let now = 1_800_000_000_000;
    assert!(node.admit(&request(QUOTA), now).await.is_ok());
    maxmemory("1");
    // Each node decides alone, and nothing fails.
    for _ in 0..5 {
        assert!(node.admit(&request(QUOTA), now).await.is_ok());
    }
    until(&node, true).await;
    let failures = node.shared.counts().failures;
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(200) {
        assert_eq!(node.shared.mode(), SharedMode::Local);
        tokio::task::yield_now().await;
    }
    assert_eq!(node.shared.counts().failures, failures);
    maxmemory("0");
    until(&node, false).await;
    assert_eq!(
        node.shared.mode(),
        SharedMode::Exact,
        "it has forgotten nothing"
    );
}

/// S911. A server that hangs: no request waits for it for long, and after it has come back it decides again.
#[tokio::test]
async fn a_server_that_hangs_is_not_waited_for() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let settings = RedisLimiterSettings {
        timeout: Duration::from_millis(100),
        ..settings(&server.url(), "hang", NODES)
    };
    let nodes = connected(&settings, CAUTION_MS).await;
    let random = &mut ScenarioRandom::new(4);
    let (mut union, mut now) = (Union::default(), 1_800_000_000_000);
    hammer(&nodes, &mut union, &mut now, 60, random).await;
    server.set_stopped(true);
    let begun = Instant::now();
    hammer(&nodes, &mut union, &mut now, 400, random).await;
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    for node in &nodes {
        until(node, true).await;
        assert!(node.shared.counts().failures >= 3);
    }
    server.set_stopped(false);
    for node in &nodes {
        // After a long silence the node has a new connection, and is cautious.
        until(node, false).await;
    }
    hammer(&nodes, &mut union, &mut now, 600, random).await;
    assert!(union.most <= (2 * QUOTA + NODES) as usize, "{}", union.most);
    // Slots of answers that arrived too late are free again.
    let mut one = request(1_000_000);
    one.custom.concurrent_reads = Some(1);
    let _free = eventually(async || nodes[0].admit(&one, now).await.ok()).await;
}
