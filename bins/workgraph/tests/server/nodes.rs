//! Nodes that share a PostgreSQL database, as processes.
use crate::common::{Folder, Server, json, run};
use crate::shared_database::{address, copy_keys, node, refused};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use workgraph_testkit::PostgresCluster;

/// S927.
#[test]
fn nodes_of_one_database_serve_the_same_data() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    let url = address(&database);
    let [a, b, c, shared] = ["nodes-a", "nodes-b", "nodes-c", "nodes-files"].map(Folder::new);
    let first = node(&a, &shared, &url, true);
    let files = shared.0.to_str().unwrap();
    let as_node = [
        "--allow-unsafe-store",
        "--shared-files",
        files,
        "--store",
        &url,
    ];
    let says = refused(&b, &as_node);
    assert!(says.contains("copy keys.json"), "{says}");
    copy_keys(&a, &b);
    let second = node(&b, &shared, &url, true);

    let boot = a.bootstrap();
    let token = boot["personal_access_token"].as_str().unwrap();
    let workspace = boot["workspaces"][0]["gid"].as_str().unwrap();
    let create = |at: &Server, name: &str| {
        let body = format!("{{\"data\":{{\"workspace\":\"{workspace}\",\"name\":\"{name}\"}}}}");
        let (status, reply) = at.request("POST /api/1.0/tasks", token, &body);
        assert_eq!(status, 201, "{reply}");
        json(&reply)["data"]["gid"].as_str().unwrap().to_owned()
    };
    // What one node answered is true on the other at once, and gids never meet.
    for n in 0..5 {
        for (at, other) in [(&first, &second), (&second, &first)] {
            let gid = create(at, &format!("task {n}"));
            let line = format!("GET /api/1.0/tasks/{gid}");
            assert_eq!(other.request(&line, token, "").0, 200);
            let line = format!("DELETE /api/1.0/tasks/{gid}");
            assert_eq!(other.request(&line, token, "").0, 200);
            let line = format!("GET /api/1.0/tasks/{gid}");
            assert_eq!(at.request(&line, token, "").0, 404);
        }
    }
    for n in 0..3 {
        create(&first, &format!("page {n}"));
    }
    let list = "GET /api/1.0/users?limit=1";
    let (status, reply) = first.request(list, token, "");
    assert_eq!(status, 200, "{reply}");
    if let Some(offset) = json(&reply)["next_page"]["offset"].as_str() {
        let next = format!("{list}&offset={offset}");
        assert_eq!(
            second.request(&next, token, "").0,
            200,
            "page tokens are all nodes'"
        );
    }
    assert_eq!(first.request("GET /-/readyz", "", "").0, 200);
    // A command goes to the node of its data folder, and counts on all.
    let revoke = |folder: &Folder| {
        let listed = run(&[
            "admin",
            "workspace",
            "list",
            "--json",
            "--data",
            &folder.data(),
        ]);
        assert!(listed.0 && listed.1.contains(workspace), "{}", listed.1);
    };
    revoke(&a);
    revoke(&b);
    assert!(!Path::new(&b.data()).join("workgraph.db").exists());
    assert!(
        !Path::new(&b.data()).join("bootstrap.json").exists(),
        "one node makes the first users"
    );

    let logs = [first.stop(), second.stop()];
    assert!(!logs.concat().contains("geheim"), "{logs:?}");
    // Keys that are not those of the others are refused, not replaced.
    std::fs::create_dir_all(c.data()).unwrap();
    copy_keys(&a, &c);
    let keys = Path::new(&c.data()).join("keys.json");
    let text = std::fs::read_to_string(&keys).unwrap();
    // Each digit of the key is another one; of other characters there are too few to be sure.
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let key = file["keys"]["1"].as_str().unwrap();
    let digits = key.chars().map(|digit| digit.to_digit(16).unwrap() ^ 1);
    let changed: String = digits
        .map(|digit| char::from_digit(digit, 16).unwrap())
        .collect();
    let other = text.replace(key, &changed);
    std::fs::write(&keys, other).unwrap();
    let says = refused(&c, &as_node);
    assert!(says.contains("not the keys of the other nodes"), "{says}");
    // All is there after a restart, and a command works without a server.
    let (done, says) = run(&[
        &["admin", "workspace", "list", "--json", "--data", &a.data()],
        &as_node[..],
    ]
    .concat());
    assert!(done && says.contains(workspace), "{says}");
    let again = node(&b, &shared, &url, false);
    assert_eq!(again.request("GET /api/1.0/users/me", token, "").0, 200);
    again.stop();
}

/// S945.
#[test]
fn a_node_without_its_database_says_so_and_goes_on_with_it() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let (database, other) = (cluster.database(), cluster.database());
    let [folder, shared] = ["nodes-alone", "nodes-alone-files"].map(Folder::new);
    let node = node(&folder, &shared, &address(&database), true);
    let token = folder.bootstrap()["personal_access_token"].clone();
    let state = || {
        let (ready, text) = node.request("GET /-/readyz", "", "");
        let (reply, said) = node.request("GET /api/1.0/users/me", token.as_str().unwrap(), "");
        assert!(!(text.clone() + &said).contains("geheim"), "{text} {said}");
        (
            ready,
            text.contains("PostgreSQL database does not answer"),
            reply,
        )
    };
    assert_eq!(state(), (200, false, 200));
    let name = database.name();
    other.sql(&format!(
        "ALTER DATABASE {name} ALLOW_CONNECTIONS false; \
         SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    ));
    // A connection that has just been cut may be noticed by the first that uses it.
    state();
    assert_eq!(state(), (503, true, 503));
    assert_eq!(node.request("GET /-/livez", "", "").0, 200);
    other.sql(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
    assert_eq!(state(), (200, false, 200));
    node.stop();
}

/// Target of webhooks that answers handshakes and keeps the bodies of deliveries.
struct Target {
    port: u16,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Target {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(&mut stream.unwrap(), &kept);
            }
        });
        Self { port, bodies }
    }

    /// Waits until a body has a text. Fails after this many seconds.
    fn wait_for(&self, text: &str, seconds: u64) {
        for _ in 0..seconds * 50 {
            let bodies = self.bodies.lock().unwrap();
            if bodies.iter().any(|body| body.contains(text)) {
                return;
            }
            drop(bodies);
            std::thread::park_timeout(Duration::from_millis(20));
        }
        panic!("{text} did not come in {seconds} s");
    }
}

fn answer(stream: &mut TcpStream, kept: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut length, mut secret) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "x-hook-secret" => secret = format!("X-Hook-Secret: {}\r\n", value.trim()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_ok() {
        kept.lock().unwrap().push(String::from_utf8(body).unwrap());
    }
    let reply =
        format!("HTTP/1.1 200 OK\r\n{secret}Content-Length: 0\r\nConnection: close\r\n\r\n");
    let _gone = stream.write_all(reply.as_bytes());
}

/// S920. S929.
#[test]
fn webhooks_go_on_when_the_node_that_delivers_is_killed() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    let url = address(&database);
    let [a, b, shared] = ["hooks-a", "hooks-b", "hooks-files"].map(Folder::new);
    let mut first = node(&a, &shared, &url, true);
    copy_keys(&a, &b);
    let second = node(&b, &shared, &url, true);
    let boot = a.bootstrap();
    let token = boot["personal_access_token"].as_str().unwrap();
    let workspace = boot["workspaces"][0]["gid"].as_str().unwrap();
    let post = |at: &Server, path: &str, data: String| {
        let body = format!("{{\"data\":{data}}}");
        let (status, reply) = at.request(&format!("POST /api/1.0{path}"), token, &body);
        assert_eq!(status, 201, "{reply}");
        json(&reply)["data"]["gid"].as_str().unwrap().to_owned()
    };
    let task = |at: &Server| {
        let data = format!("{{\"workspace\":\"{workspace}\",\"name\":\"watched\"}}");
        post(at, "/tasks", data)
    };
    let say = |at: &Server, task: &str| {
        let data = "{\"text\":\"Done\"}".to_owned();
        post(at, &format!("/tasks/{task}/stories"), data)
    };
    let target = Target::start();
    let watch = |at: &Server, task: &str| {
        let address = format!("http://127.0.0.1:{}/", target.port);
        let data = format!("{{\"resource\":\"{task}\",\"target\":\"{address}\"}}");
        post(at, "/webhooks", data)
    };
    // The node that started first delivers, also what the other one was told to.
    let (one, two) = (task(&first), task(&second));
    watch(&first, &one);
    watch(&second, &two);
    for task in [&one, &two] {
        let story = say(&second, task);
        target.wait_for(&story, 15);
    }
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    for task in [&one, &two] {
        let story = say(&second, task);
        target.wait_for(&story, 40);
    }
    second.stop();
}
