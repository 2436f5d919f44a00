//! The limits of the real server over sockets: the requests that are refused, their waits, and that nothing is lost or
//! leaked.
//!
//! Time is driven: the debug build of the server lets a test run its clock ahead, and hold its store, so that requests
//! are in flight for as long as the test wants.
use crate::common::{
    Folder, RawConnection, Reply, Server, admin, binary, command, is_about_one_node, pause, post,
    request, run,
};
use crate::sdk::{passed, python};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

const ME: &str = "/users/me";

/// Server whose time and store the test controls, with the limits of the contract.
struct World {
    server: Server,
    clock: BufReader<UnixStream>,
    /// File that holds the store while it exists.
    hold: PathBuf,
    /// Token of a user without a paid workspace.
    free: String,
    folder: Folder,
}

impl World {
    fn new(name: &str, settings: &[(&str, &str)]) -> Self {
        let folder = Folder::new(name);
        let (socket, hold) = (folder.path().join("clock"), folder.path().join("hold"));
        let mut program = command(&binary());
        program
            .env("WORKGRAPH_TEST_CLOCK", &socket)
            .env("WORKGRAPH_TEST_HOLD", &hold);
        let server = Server::start_by(program, &folder, settings);
        Self {
            clock: BufReader::new(UnixStream::connect(&socket).unwrap()),
            free: server.demo("/free_token"),
            server,
            hold,
            folder,
        }
    }

    /// Lets the server's clock run ahead.
    fn advance(&mut self, seconds: u64) {
        let millis = format!("{}\n", seconds * 1_000);
        self.clock.get_mut().write_all(millis.as_bytes()).unwrap();
        let mut said = String::new();
        self.clock.read_line(&mut said).unwrap();
        assert_eq!(said, millis);
    }

    fn get(&self, path: &str) -> Reply {
        let bytes = request("GET", path, &self.free, None);
        self.server.raw_connection().ask(&bytes).unwrap()
    }

    fn hold(&self) {
        std::fs::write(&self.hold, "").unwrap();
    }

    fn let_go(&self) {
        std::fs::remove_file(&self.hold).unwrap();
    }

    /// Returns the state of the free token's limits, as the server reports it.
    fn state(&self) -> Value {
        self.state_of(&self.free)
    }

    fn state_of(&self, token: &str) -> Value {
        let bytes =
            format!("GET /-/limits HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n");
        // While the server still ends the connections of clients that went away, their address may have no more of them.
        let mut tries = (0..100).map(|_| self.server.raw_connection().ask(bytes.as_bytes()));
        let reply = tries.find_map(Result::ok).unwrap();
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()["data"]["limits"].clone()
    }

    fn running(&self, limit: &str) -> u64 {
        self.state()[limit]["running"].as_u64().unwrap()
    }

    /// Waits until the given number of requests run.
    fn until_running(&self, limit: &str, wanted: u64) {
        for _ in 0..5_000 {
            if self.running(limit) == wanted {
                return;
            }
            pause(1);
        }
        panic!("{} run, not {wanted}", self.running(limit));
    }

    fn metric(&self, name: &str) -> u64 {
        let bytes = b"GET /-/metrics HTTP/1.1\r\nHost: x\r\n\r\n";
        let text = self.server.raw_connection().ask(bytes).unwrap().text();
        crate::common::metric(&text, name)
    }
}

/// Returns the seconds of a refusal's wait.
fn wait(reply: &Reply) -> u64 {
    assert_eq!(reply.status, 429, "{}", reply.text());
    let message = reply.message();
    assert!(message.contains("retry after"), "{message}");
    reply.header("Retry-After").unwrap().parse().unwrap()
}

/// S72.
#[test]
fn the_151st_request_of_a_minute_is_refused_and_admitted_after_the_wait_it_was_told() {
    if is_about_one_node("its clock is driven, and that of Redis is not") {
        return;
    }
    let mut world = World::new("f51", &[]);
    for n in 0..150 {
        assert_eq!(world.get(ME).status, 200, "request {n}");
    }
    let wait_seconds = wait(&world.get(ME));
    assert!((1..=60).contains(&wait_seconds), "{wait_seconds}");
    world.advance(wait_seconds);
    assert_eq!(world.get(ME).status, 200);
    // A refused request counts: of the next window one place is taken.
    world.advance(60);
    assert_eq!(world.state()["standard"]["used"], 0);
}

/// S76.
#[test]
fn the_61st_search_of_a_minute_is_refused_and_the_standard_quota_is_untouched() {
    if is_about_one_node("its clock is driven, and that of Redis is not") {
        return;
    }
    let mut world = World::new("f53", &[]);
    let token = world.server.token().to_owned();
    let path = format!(
        "/workspaces/{}/tasks/search?text=plan",
        world.server.workspace("paid")
    );
    let search = request("GET", &path, &token, None);
    let ask = |world: &World| world.server.raw_connection().ask(&search).unwrap();
    let before = world.state_of(&token)["standard"]["used"].clone();
    for n in 0..60 {
        let reply = ask(&world);
        assert_eq!(reply.status, 200, "search {n}: {}", reply.text());
    }
    let wait_seconds = wait(&ask(&world));
    assert!((1..=60).contains(&wait_seconds), "{wait_seconds}");
    let state = world.state_of(&token);
    assert_eq!(
        (&state["standard"]["used"], &state["search"]["used"]),
        (&before, &json!(60))
    );
    world.advance(wait_seconds);
    assert_eq!(ask(&world).status, 200);
}

/// S77. S84.
#[test]
fn of_51_reads_at_once_one_is_refused_and_its_wait_is_long_enough() {
    if is_about_one_node("its clock is driven, and that of Redis is not") {
        return;
    }
    let world = World::new("f54-reads", &[("http.request_timeout", "2s")]);
    world.hold();
    let mut connections: Vec<RawConnection> =
        (0..51).map(|_| world.server.raw_connection()).collect();
    for connection in &mut connections {
        connection
            .send(&request("GET", ME, &world.free, None))
            .unwrap();
    }
    world.until_running("concurrent_reads", 50);
    while world.metric("workgraph_limiter_refused_total{limit=\"concurrent_reads\"}") == 0 {
        pause(1);
    }
    // The 52nd is refused at once, while the others still run. The test waits as long as the refusal said, in real
    // time: the server ends long requests by no clock that a test could drive.
    let wait_seconds = wait(&world.get(ME));
    assert!((1..=2).contains(&wait_seconds), "{wait_seconds}");
    pause(wait_seconds * 1_000);
    let mut again = world.server.raw_connection();
    again.send(&request("GET", ME, &world.free, None)).unwrap();
    // All others have ended before the last one is let go: on a busy machine some began late.
    let replies = connections
        .iter_mut()
        .map(|connection| connection.read().unwrap());
    let mut statuses: Vec<u16> = replies.map(|reply| reply.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![429], vec![504; 50]].concat());
    world.until_running("concurrent_reads", 1);
    world.let_go();
    assert_eq!(again.read().unwrap().status, 200);
}

/// S77.
#[test]
fn of_16_writes_at_once_one_is_refused_and_its_wait_is_long_enough() {
    if is_about_one_node("its clock is driven, and that of Redis is not") {
        return;
    }
    let mut world = World::new("f54-writes", &[]);
    let workspace = world.server.workspace("free");
    let body = |name: &str| json!({"data": {"name": name, "workspace": workspace}}).to_string();
    let send = |name: &str| {
        post(
            "POST",
            "/tasks",
            &world.free,
            "application/json",
            body(name).as_bytes(),
        )
    };
    world.hold();
    let mut connections: Vec<RawConnection> =
        (0..16).map(|_| world.server.raw_connection()).collect();
    for (n, connection) in connections.iter_mut().enumerate() {
        connection.send(&send(&format!("Task {n}"))).unwrap();
    }
    world.until_running("concurrent_writes", 15);
    while world.metric("workgraph_limiter_refused_total{limit=\"concurrent_writes\"}") == 0 {
        pause(1);
    }
    // Reads are counted apart.
    world.let_go();
    let replies: Vec<Reply> = connections
        .iter_mut()
        .map(|connection| connection.read().unwrap())
        .collect();
    let refused: Vec<&Reply> = replies.iter().filter(|r| r.status == 429).collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(replies.iter().filter(|r| r.status == 201).count(), 15);
    let wait_seconds = wait(refused[0]);
    assert!((1..=30).contains(&wait_seconds), "{wait_seconds}");
    let again = send("Again");
    world.advance(wait_seconds);
    assert_eq!(
        world.server.raw_connection().ask(&again).unwrap().status,
        201
    );
}

#[test]
fn the_python_sdk_loses_nothing_to_the_limits() {
    if is_about_one_node("its clock is driven, and that of Redis is not") {
        return;
    }
    let Some((clients, mut script)) = python("clients/python/limits.py") else {
        return;
    };
    let world = World::new("python-limits", &[]);
    script
        .env("BASE_URL", world.server.demo("/base_url"))
        .env("TOKEN", &world.free)
        .env("WORKSPACE", world.server.workspace("free"))
        .env("CLOCK", world.folder.path().join("clock"))
        .env("HOLD", &world.hold)
        .env("CLIENTS", &clients)
        .env("NO_PROXY", "*")
        .env("no_proxy", "*");
    passed(script, &world.folder);
}

/// S85.
#[test]
fn without_credits_a_request_waits_until_some_are_back() {
    if is_about_one_node("its clock is driven, and that of Redis is not") {
        return;
    }
    let mut world = World::new("f56", &[("limits.cost", "60")]);
    let mut spent = 0;
    let refused = loop {
        let reply = world.get("/users/me");
        if reply.status == 429 {
            break reply;
        }
        spent += 1;
        assert!(spent < 60, "nothing is refused");
    };
    let wait_seconds = wait(&refused);
    assert!((1..=60).contains(&wait_seconds), "{wait_seconds}");
    assert!(world.state()["cost"]["balance"].as_i64().unwrap() <= 0);
    world.advance(wait_seconds);
    assert_eq!(world.get("/users/me").status, 200);
}

#[test]
fn ten_thousand_clients_that_go_away_exceed_no_cap_and_leak_no_permit() {
    if is_about_one_node("its clock is driven, and that of Redis is not") {
        return;
    }
    let world = World::new(
        "gone",
        &[("limits.standard_free", "1000000"), ("limits.cost", "off")],
    );
    let read = request("GET", ME, &world.free, None);
    let write = post("POST", "/tasks", &world.free, "application/json", b"{}");
    for round in 0..10 {
        // In every other round the store does not answer, so that permits outlive their connections.
        let is_held_up = round % 2 == 1;
        if is_held_up {
            world.hold();
        }
        for n in 0..1_000 {
            let mut connection = world.server.raw_connection();
            connection
                .send(if n % 3 == 0 { &write } else { &read })
                .unwrap();
            drop(connection);
            if n % 100 == 99 {
                let state = world.state();
                for (limit, cap) in [("concurrent_reads", 50), ("concurrent_writes", 15)] {
                    let running = state[limit]["running"].as_u64().unwrap();
                    assert!(running <= cap, "{running} {limit}");
                }
            }
        }
        if is_held_up {
            world.let_go();
        }
    }
    world.until_running("concurrent_reads", 0);
    world.until_running("concurrent_writes", 0);
    assert!(world.metric("workgraph_limiter_refused_total{limit=\"concurrent_reads\"}") > 0);
    assert_eq!(world.get(ME).status, 200);
}

#[test]
fn a_client_that_does_not_read_keeps_its_permit_for_its_time_and_no_longer() {
    if is_about_one_node("its clock is driven, and that of Redis is not") {
        return;
    }
    let world = World::new(
        "slow",
        &[
            ("http.request_timeout", "2s"),
            ("limits.standard_free", "100000"),
        ],
    );
    let workspace = world.server.workspace("free");
    let notes = "n".repeat(60_000);
    for n in 0..100 {
        let task = json!({"data": {"name": n.to_string(), "notes": notes, "workspace": workspace, "assignee": "me"}});
        let bytes = post(
            "POST",
            "/tasks",
            &world.free,
            "application/json",
            task.to_string().as_bytes(),
        );
        assert_eq!(
            world.server.raw_connection().ask(&bytes).unwrap().status,
            201
        );
    }
    // 6 MB do not fit into the buffers of the two sockets.
    let path = format!("/tasks?assignee=me&workspace={workspace}&limit=100&opt_fields=notes");
    let mut connection = world.server.raw_connection();
    connection
        .send(&request("GET", &path, &world.free, None))
        .unwrap();
    world.until_running("concurrent_reads", 1);
    pause(300);
    assert_eq!(
        world.running("concurrent_reads"),
        1,
        "the reply is not written"
    );
    world.until_running("concurrent_reads", 0);
    // Late as it is, the client still gets all of it.
    let reply = connection.read().unwrap();
    assert_eq!((reply.status, reply.body.len() > 6_000_000), (200, true));
}

#[test]
fn quotas_change_while_the_server_runs_and_what_was_counted_stays_counted() {
    if is_about_one_node("its clock is driven, and that of Redis is not") {
        return;
    }
    let folder = Folder::new("quotas");
    let file = folder.path().join("workgraph.toml");
    std::fs::write(&file, "[limits]\nstandard_free = 20\n").unwrap();
    let mut program = command(&binary());
    program.env("WORKGRAPH_CONFIG", &file);
    let server = Server::start_by(program, &folder, &[]);
    let free = server.demo("/free_token");
    let ask = |token: &str| {
        let bytes = request("GET", ME, token, None);
        server.raw_connection().ask(&bytes).unwrap().status
    };
    for _ in 0..20 {
        assert_eq!(ask(&free), 200);
    }
    assert_eq!(ask(&free), 429);

    // By command: 21 attempts still count, so 25 leave four.
    let shown = admin(&folder, &["limits", "set", "standard_free=25"]);
    assert_eq!(shown["settings"]["standard_free"], "25");
    assert_eq!(
        [ask(&free), ask(&free), ask(&free), ask(&free), ask(&free)],
        [200, 200, 200, 200, 429]
    );

    // By reload, which leaves the changes made by command.
    std::fs::write(
        &file,
        "[limits]\nstandard_free = 1000\nshadow = \"standard\"\n",
    )
    .unwrap();
    let hup = std::process::Command::new("kill")
        .args(["-HUP", &server.id().to_string()])
        .status();
    assert!(hup.unwrap().success());
    for _ in 0..5_000 {
        if ask(&free) == 200 {
            break;
        }
        pause(1);
    }
    let shown = admin(&folder, &["limits", "show"]);
    assert_eq!(
        (
            &shown["settings"]["standard_free"],
            &shown["settings"]["shadow"]
        ),
        (&json!("25"), &json!("standard"))
    );
    // A file that cannot be read changes nothing.
    std::fs::write(&file, "[limits]\nstandard_free = \"many\"\n").unwrap();
    let hup = std::process::Command::new("kill")
        .args(["-HUP", &server.id().to_string()])
        .status();
    assert!(hup.unwrap().success());
    for _ in 0..5_000 {
        if folder.log().contains("was not reloaded") {
            break;
        }
        pause(1);
    }
    assert!(
        folder.log().contains("must be a number"),
        "{}",
        folder.log()
    );
    assert_eq!(ask(&free), 200, "the standard quota only counts");
    admin(
        &folder,
        &["limits", "set", "shadow=", "standard_free=default"],
    );

    // A token of its own.
    let made = admin(
        &folder,
        &["token", "create", "--user", &server.demo("/users/0/email")],
    );
    let (id, text) = (
        made["id"].to_string(),
        made["token"].as_str().unwrap().to_owned(),
    );
    let shown = admin(&folder, &["limits", "token", &id, "standard=3"]);
    assert_eq!(
        shown,
        json!({"token": made["id"], "own": {"standard": "3"}})
    );
    assert_eq!(
        [ask(&text), ask(&text), ask(&text), ask(&text)],
        [200, 200, 200, 429]
    );
    let states = admin(
        &folder,
        &["limits", "state", "--user", &server.demo("/users/0/email")],
    );
    let state = states
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["token"] == made["id"])
        .unwrap();
    assert_eq!(state["state"]["limits"]["standard"]["used"], 4);
    let wrong = run(&folder, &["admin", "limits", "token", &id, "standrd=3"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("standrd: must be standard"));
    admin(&folder, &["limits", "token", &id, "standard=default"]);
    assert_eq!(ask(&text), 200);
    assert_eq!(admin(&folder, &["limits", "show"])["tokens"], json!({}));
}
