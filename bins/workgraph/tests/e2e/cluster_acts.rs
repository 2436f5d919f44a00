//! Ordinary acts of operators on three servers with one set of limits: a client within its limit does not notice them.
use crate::cluster::Cluster;
use crate::common::{Folder, RawConnection, admin, binary, clock, command, metric, pause, request};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longest time for which the client may be refused.
const REFUSED_MAX: Duration = Duration::from_secs(2);
/// Requests a minute that the client has, of which it uses about a quarter.
const QUOTA: &str = "1500";
const PACE_MS: u64 = 160;
/// Time after each act in which the client goes on.
const CALM_MS: u64 = 4_000;

/// State that the client has seen.
#[derive(Debug, Default)]
struct Seen {
    admitted: AtomicU64,
    refused: AtomicU64,
    longest_ms: AtomicU64,
    is_over: AtomicBool,
}

/// Client that asks one node after the other, six times a second.
struct Client {
    seen: Arc<Seen>,
    ports: Arc<Mutex<Vec<u16>>>,
    running: Option<JoinHandle<()>>,
}

impl Client {
    fn start(token: String) -> Self {
        let (seen, ports) = (Arc::new(Seen::default()), Arc::new(Mutex::new(Vec::new())));
        let running = {
            let (seen, ports) = (Arc::clone(&seen), Arc::clone(&ports));
            thread::spawn(move || ask_on(&seen, &ports, &token))
        };
        Self {
            seen,
            ports,
            running: Some(running),
        }
    }

    /// Lets the client ask the nodes of some numbers, and no others.
    fn ask_nodes(&self, cluster: &Cluster, numbers: &[usize]) {
        let ports = numbers.iter().map(|number| cluster.nodes[*number].port);
        *self.ports.lock().unwrap() = ports.collect();
        // A request that is under way ends.
        pause(2 * PACE_MS);
    }

    /// Waits, and fails if the client was refused for too long.
    fn goes_on(&self, act: &str) {
        let before = self.seen.admitted.load(SeqCst);
        pause(CALM_MS);
        let longest = Duration::from_millis(self.seen.longest_ms.load(SeqCst));
        assert!(longest <= REFUSED_MAX, "{act}: refused for {longest:?}");
        let admitted = self.seen.admitted.load(SeqCst) - before;
        assert!(admitted > 0, "{act}: nothing was answered: {:?}", self.seen);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.seen.is_over.store(true, SeqCst);
        if let Some(running) = self.running.take() {
            // A failure of the client shows in what it has seen.
            let _ = running.join();
        }
    }
}

fn ask_on(seen: &Seen, ports: &Mutex<Vec<u16>>, token: &str) {
    let bytes = request("GET", "/users/me", token, None);
    let mut refused_since: Option<Instant> = None;
    for turn in 0.. {
        if seen.is_over.load(SeqCst) {
            return;
        }
        pause(PACE_MS);
        let port = {
            let ports = ports.lock().unwrap();
            if ports.is_empty() {
                continue;
            }
            ports[turn % ports.len()]
        };
        // A node that ends at this moment is no refusal.
        let Some(reply) = RawConnection::open(port)
            .ok()
            .and_then(|mut open| open.ask(&bytes).ok())
        else {
            continue;
        };
        match reply.status {
            200 => {
                seen.admitted.fetch_add(1, SeqCst);
                refused_since = None;
            }
            429 => {
                seen.refused.fetch_add(1, SeqCst);
                let since = refused_since.get_or_insert_with(clock).elapsed();
                let since = u64::try_from(since.as_millis()).unwrap();
                seen.longest_ms.fetch_max(since, SeqCst);
            }
            // The database or the node is busy with something else.
            _ => {}
        }
    }
}

/// Runs a command in a process of its own, as at a machine on which no node runs.
fn run_command(cluster: &Cluster) {
    let folder = Folder::new("cluster-acts-command");
    std::fs::create_dir_all(folder.data()).unwrap();
    let keys = cluster.folders[0].data().join("keys.json");
    std::fs::copy(keys, folder.data().join("keys.json")).unwrap();
    let output = command(&binary())
        .args(["admin", "workspace", "list", "--data"])
        .arg(folder.data())
        .env("WORKGRAPH_STORE_URL", cluster.database.url())
        .env("WORKGRAPH_STORE_ALLOW_UNSAFE", "true")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

fn parts(cluster: &Cluster, node: usize) -> u64 {
    let mut connection = cluster.nodes[node].raw_connection();
    let asked = b"GET /-/metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer metrics\r\n\r\n";
    metric(
        &connection.ask(asked).unwrap().text(),
        "workgraph_shared_limits_parts",
    )
}

/// S977. A fresh cluster, a command, Redis emptied and replaced, a node killed, a rolling restart and then Redis, an orderly
/// restart of everything.
#[test]
fn no_ordinary_act_refuses_a_client_within_its_limit_for_more_than_two_seconds() {
    let settings = [
        ("limits.standard_paid", QUOTA),
        ("shared_limits.nodes", "1"),
    ];
    let Some(mut cluster) = Cluster::start_with("cluster-acts", &settings) else {
        return;
    };
    let user = cluster.nodes[0].demo("/users/0/email");
    let made = admin(&cluster.folders[0], &["token", "create", "--user", &user]);
    let client = Client::start(made["token"].as_str().unwrap().to_owned());
    client.ask_nodes(&cluster, &[0, 1, 2]);
    client.goes_on("a fresh cluster");

    run_command(&cluster);
    client.goes_on("a command");
    cluster.limits.command(&[b"FLUSHALL"]).unwrap();
    client.goes_on("Redis is emptied");
    cluster.limits.restart();
    client.goes_on("Redis is replaced");

    client.ask_nodes(&cluster, &[1, 2]);
    cluster.nodes[0].kill();
    client.goes_on("a node is killed");
    cluster.start_node(0);
    client.ask_nodes(&cluster, &[0, 1, 2]);
    client.goes_on("it is back");

    for node in 0..3 {
        let others: Vec<usize> = (0..3).filter(|other| *other != node).collect();
        client.ask_nodes(&cluster, &others);
        assert_eq!(cluster.nodes[node].stop(), Some(0));
        cluster.start_node(node);
        client.ask_nodes(&cluster, &[0, 1, 2]);
    }
    cluster.limits.restart();
    client.goes_on("a rolling restart, and then Redis");

    client.ask_nodes(&cluster, &[]);
    for node in &mut cluster.nodes {
        assert_eq!(node.stop(), Some(0));
    }
    cluster.limits.restart();
    for node in 0..3 {
        cluster.start_node(node);
    }
    client.ask_nodes(&cluster, &[0, 1, 2]);
    client.goes_on("everything is started again");

    // Nodes that left are none: only the killed one may still count.
    let counted = parts(&cluster, 2);
    assert!((3..=4).contains(&counted), "{counted}");
    println!("{:?}", client.seen);
}
