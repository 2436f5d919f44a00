//! One set of limits over three servers: what all of them admit together, and what they do while Redis is away.
use crate::cluster::Cluster;
use crate::common::{PATIENCE, Reply, admin, clock, metric, pause, request};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use workgraph_limits_redis::library_name;

const NODES: usize = 3;
const QUOTA: u32 = 30;

impl Cluster {
    fn get(&self, node: usize, token: &str) -> Reply {
        let mut connection = self.nodes[node % NODES].raw_connection();
        connection
            .ask(&request("GET", "/users/me", token, None))
            .unwrap()
    }

    /// Asks each node so often that no quota is left; returns the number of requests that were admitted.
    fn hammer(&self, token: &str) -> u32 {
        let mut admitted = 0;
        for turn in 0..2 * NODES * QUOTA as usize {
            let reply = self.get(turn, token);
            match reply.status {
                200 => admitted += 1,
                status => assert_eq!(status, 429, "{}", reply.text()),
            }
        }
        admitted
    }

    fn metric(&self, node: usize, name: &str) -> u64 {
        let mut connection = self.nodes[node].raw_connection();
        let asked = b"GET /-/metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer metrics\r\n\r\n";
        let page = connection.ask(asked);
        metric(&page.unwrap().text(), name)
    }

    /// Waits until every node decides in a certain way, and returns how long that took.
    fn until(&self, is_right: impl Fn(u64) -> bool) -> Duration {
        let begun = clock();
        for node in 0..NODES {
            while !is_right(self.metric(node, "workgraph_shared_limits_mode")) {
                assert!(begun.elapsed() < PATIENCE, "node {node}");
                pause(20);
            }
        }
        begun.elapsed()
    }

    /// Charges a key as if requests had been made at an earlier time.
    fn charge(&self, key: &str, at: f64, weight: u32) {
        // No flags, no limit in shadow mode, two windows, two classes, no credits.
        let mut form = at.to_be_bytes().to_vec();
        form.extend([0, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0]);
        for figure in [60_000_f64, 0.0] {
            form.extend(figure.to_be_bytes());
        }
        for (quota, weight) in [(QUOTA, weight), (0, 0)] {
            for figure in [quota, weight, 0, 60_000] {
                form.extend(figure.to_be_bytes());
            }
            form.push(0);
        }
        // Neither class needs a slot.
        form.extend([0; 16]);
        let function = format!("{}_admit", library_name());
        let call: [&[u8]; 5] = [b"FCALL", function.as_bytes(), b"1", key.as_bytes(), &form];
        let reply = self.limits.command(&call).unwrap();
        assert!(reply.starts_with("*4\r\n:0\r\n"), "{reply}");
    }
}

/// Returns the time of the machine, which is that of its Redis, in whole milliseconds.
#[expect(
    clippy::disallowed_methods,
    reason = "requests of the past are relative to the clock of a real process"
)]
fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    (since.as_secs_f64() * 1_000.0).floor()
}

/// S976. A client that waits as it is told is admitted by whichever node it meets next, and no minute has more than the
/// quota.
fn an_obeying_client_is_never_refused_twice(cluster: &Cluster, token: &str) {
    assert_eq!(cluster.get(0, token).status, 200);
    // The end of the request has been sent by then, too.
    pause(300);
    let keys = cluster
        .limits
        .command(&[b"KEYS", b"workgraph:limit:*"])
        .unwrap();
    let key = keys
        .lines()
        .find(|line| line.starts_with("workgraph:"))
        .unwrap();
    cluster.limits.command(&[b"DEL", key.as_bytes()]).unwrap();
    // As if most of a minute had passed: a request each one and a half seconds, then many.
    let begun = now();
    let mut admitted = Vec::new();
    for step in 0..7 {
        admitted.push(begun - 58_000.0 + 1_500.0 * f64::from(step));
        cluster.charge(key, *admitted.last().unwrap(), 1);
    }
    let many = QUOTA - 7;
    cluster.charge(key, begun - 20_000.0, many);
    admitted.extend((0..many).map(|_| begun - 20_000.0));

    let (mut turn, mut refusals) = (0, 0);
    while refusals < 3 {
        turn += 1;
        let mut reply = cluster.get(turn, token);
        if reply.status == 429 {
            refusals += 1;
            let wait: u64 = reply.header("Retry-After").unwrap().parse().unwrap();
            assert!((1..=10).contains(&wait), "{wait}");
            pause(wait * 1_000);
            turn += 1;
            reply = cluster.get(turn, token);
        }
        assert_eq!(reply.status, 200, "turn {turn}: {}", reply.text());
        let answered = now();
        admitted.push(answered);
        // The decision was made at most 100 ms before the answer; where the machine is slower, nothing is claimed.
        let in_the_minute = admitted.iter().filter(|at| answered - **at < 59_900.0);
        assert!(in_the_minute.count() <= QUOTA as usize, "turn {turn}");
    }
}

/// S970. S976. With settings that know of one node only: a Redis that forgets, hangs, dies, and comes back.
#[test]
fn three_nodes_keep_the_quota_together_whatever_redis_does() {
    let quota = QUOTA.to_string();
    let settings = [
        ("limits.standard_paid", quota.as_str()),
        ("shared_limits.nodes", "1"),
    ];
    let Some(mut cluster) = Cluster::start_with("cluster-away", &settings) else {
        return;
    };
    let user = cluster.nodes[0].demo("/users/0/email");
    let token = || {
        let made = admin(&cluster.folders[0], &["token", "create", "--user", &user]);
        made["token"].as_str().unwrap().to_owned()
    };
    let [obeying, flushed, hung, killed] = [(); 4].map(|()| token());
    let bound = 2 * QUOTA + u32::try_from(NODES).unwrap();
    // Each node has counted the others before it decides alone.
    let begun = clock();
    for node in 0..NODES {
        while cluster.metric(node, "workgraph_shared_limits_parts") < 3 {
            assert!(begun.elapsed() < PATIENCE, "node {node}");
            pause(50);
        }
    }
    an_obeying_client_is_never_refused_twice(&cluster, &obeying);

    let before = cluster.hammer(&flushed);
    assert_eq!(before, QUOTA);
    let failures = |cluster: &Cluster| -> u64 {
        let name = "workgraph_shared_limits_failures_total";
        (0..NODES).map(|node| cluster.metric(node, name)).sum()
    };
    let failed = failures(&cluster);
    for call in [&[b"FLUSHALL" as &[u8]][..], &[b"FUNCTION", b"FLUSH"]] {
        cluster.limits.command(call).unwrap();
    }
    let after = cluster.hammer(&flushed);
    // A request whose call to Redis failed is decided by its node alone; all others are admitted as by one limiter.
    let failed = failures(&cluster) - failed;
    assert!(after <= QUOTA, "{after}: Redis has forgotten");
    assert!(
        u64::from(QUOTA - after) <= failed,
        "{after} with {failed} failures: Redis has forgotten, and no node was away"
    );

    assert_eq!(cluster.hammer(&hung), QUOTA);
    cluster.limits.set_stopped(true);
    let alone = cluster.hammer(&hung);
    cluster.limits.set_stopped(false);
    let back = cluster.until(|mode| mode != 2);
    let after = cluster.hammer(&hung);
    assert!(QUOTA + alone + after <= bound, "{alone} {after}");
    assert!(back < Duration::from_secs(10), "{back:?}");
    cluster.until(|mode| mode == 0 || back > Duration::from_secs(4));

    // At one node, so that the others have their whole parts left.
    let mut admitted = 0;
    for _ in 0..QUOTA {
        admitted += u32::from(cluster.get(0, &killed).status == 200);
    }
    let begun = clock();
    cluster.limits.kill();
    admitted += cluster.hammer(&killed);
    cluster.until(|mode| mode == 2);
    admitted += cluster.hammer(&killed);
    cluster.limits.restart();
    let back = cluster.until(|mode| mode == 1);
    admitted += cluster.hammer(&killed);
    if begun.elapsed() < Duration::from_secs(50) {
        assert!(admitted <= bound, "{admitted} of {bound}");
    }
    println!("{admitted} of {bound} in a minute; Redis decides again {back:?} after it is back");
}
