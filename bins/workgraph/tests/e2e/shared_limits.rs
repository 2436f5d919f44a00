//! Limits that nodes share in Redis: two servers with the same tokens, and a Redis that goes away and comes back.
use crate::common::{
    Folder, Reply, Server, binary, clock, command, is_about_one_node, metric, pause, request,
};
use std::process::Stdio;
use std::time::Duration;
use workgraph_limits_redis::test_server::TestServer;

/// Two servers whose users and tokens are the same.
struct Nodes {
    servers: [Server; 2],
    token: String,
    _folders: [Folder; 2],
}

impl Nodes {
    fn start(redis: &TestServer) -> Self {
        let folders = [Folder::new("node1"), Folder::new("node2")];
        Server::start(&folders[0], &[]).stop();
        let copied = std::process::Command::new("cp")
            .arg("-r")
            .args([folders[0].data(), folders[1].data()])
            .status();
        assert!(copied.unwrap().success());
        let url = redis.url();
        let settings = [
            ("shared_limits.url", url.as_str()),
            ("shared_limits.nodes", "2"),
            // On a busy machine an answer that is late would be one decision that a node makes alone.
            ("shared_limits.timeout_ms", "5000"),
        ];
        let servers = [0, 1].map(|n| Server::start(&folders[n], &settings));
        Self {
            token: servers[0].demo("/free_token"),
            servers,
            _folders: folders,
        }
    }

    fn get(&self, node: usize) -> Reply {
        let bytes = request("GET", "/users/me", &self.token, None);
        self.servers[node].raw_connection().ask(&bytes).unwrap()
    }

    fn page(&self, node: usize, path: &str) -> Reply {
        let bytes = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        let mut connection = self.servers[node].raw_connection();
        connection.ask(bytes.as_bytes()).unwrap()
    }

    fn metric(&self, node: usize, name: &str) -> u64 {
        metric(&self.page(node, "/-/metrics").text(), name)
    }

    fn until(&self, node: usize, mode: u64) {
        let begun = clock();
        while self.metric(node, "workgraph_shared_limits_mode") != mode {
            assert!(begun.elapsed() < Duration::from_secs(30), "mode {mode}");
            pause(20);
        }
    }
}

/// S910. S911. S72. S82. S945.
#[test]
fn two_nodes_admit_together_what_one_would_and_no_more_than_their_parts_without_redis() {
    if is_about_one_node(
        "each has a copy of a data folder; cluster_limits:: has nodes of a database",
    ) {
        return;
    }
    let Some(mut redis) = TestServer::start(&[]) else {
        return;
    };
    let nodes = Nodes::start(&redis);
    let begun = clock();
    let replies: Vec<Reply> = (0..170).map(|n| nodes.get(n % 2)).collect();
    let admitted = replies.iter().filter(|reply| reply.status == 200).count();
    if begun.elapsed() < Duration::from_secs(50) {
        assert_eq!(admitted, 150, "one quota for both");
    }
    let refused = replies.last().unwrap();
    assert_eq!(refused.status, 429, "{}", refused.text());
    let wait: u64 = refused.header("Retry-After").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_eq!(nodes.page(0, "/-/readyz").text(), "ok\n");
    let decisions = "workgraph_shared_limits_decisions_total{by=\"all_nodes\"}";
    assert_eq!(nodes.metric(0, decisions), 85);

    // Each node has admitted 75, which is its part: there is nothing left of it.
    redis.kill();
    for node in [0, 1] {
        assert_eq!(nodes.get(node).status, 429);
        nodes.until(node, 2);
        let ready = nodes.page(node, "/-/readyz");
        assert_eq!(ready.status, 200);
        assert!(ready.text().contains("limits: local"), "{}", ready.text());
    }
    redis.restart();
    for node in [0, 1] {
        nodes.until(node, 1);
        // Redis has forgotten, this node has not.
        assert_eq!(nodes.get(node).status, 429);
    }
}

/// S914.
#[test]
fn a_redis_that_is_not_there_stops_the_start_and_no_password_is_shown() {
    let folder = Folder::new("noredis");
    for (url, says) in [
        ("redis://user:secret@127.0.0.1:1/0", "does not answer"),
        ("http://user:secret@127.0.0.1", "redis://HOST:PORT"),
    ] {
        let output = command(&binary())
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--limits",
                url,
                "--data",
            ])
            .arg(folder.data())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{said}");
        assert!(
            said.contains(says) && said.contains("shared_limits.url"),
            "{said}"
        );
        assert!(!said.contains("secret"), "{said}");
        assert!(!folder.data().exists(), "nothing was made");
    }
}
