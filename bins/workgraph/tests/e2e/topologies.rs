//! Ways to place PostgreSQL: a primary with a standby, and pgbouncer before it.
use crate::common::{Folder, Server, WIDE, binary, clock, command, pause};
use crate::postgres_server::{PostgresServer, is_installed};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use workgraph_testkit::ScratchFolder;
use workgraph_testkit::postgres_cluster::{is_there, ordinary_user};

/// Longest time until a promoted standby serves writes.
const FAILOVER_MAX: Duration = Duration::from_secs(30);

/// Program of pgbouncer.
const BOUNCER: &str = "/usr/sbin/pgbouncer";

/// Makes a server with an empty database.
fn server(folder: &Path) -> PostgresServer {
    let made = PostgresServer::create(folder);
    made.sql("CREATE DATABASE workgraph");
    made
}

fn settings<'s>(url: &'s str, files: &'s str) -> Vec<(&'s str, &'s str)> {
    let own = [
        ("store.url", url),
        ("store.allow_unsafe", "true"),
        ("store.shared_files", files),
    ];
    [WIDE, &own].concat()
}

/// Starts two nodes over a database.
fn nodes(folders: &[Folder; 2], url: &str) -> [Server; 2] {
    let files = folders[0].path().join("files");
    std::fs::create_dir_all(&files).unwrap();
    let settings = settings(url, files.to_str().unwrap());
    let first = Server::start(&folders[0], &settings);
    std::fs::create_dir_all(folders[1].data()).unwrap();
    for file in ["keys.json", "bootstrap.json"] {
        std::fs::copy(folders[0].data().join(file), folders[1].data().join(file)).unwrap();
    }
    [first, Server::start(&folders[1], &settings)]
}

fn create(node: &Server, project: &str, name: &str) -> Option<String> {
    let body = json!({"data": {"name": name, "projects": [project]}});
    let reply = node.ask("POST", "/tasks", Some(&body));
    if reply.status == 201 {
        return Some(reply.json()["data"]["gid"].as_str().unwrap().to_owned());
    }
    assert_eq!(reply.status, 503, "{}", reply.text());
    None
}

/// Returns the gids of a project's tasks, as a node reads them.
fn tasks(node: &Server, project: &str) -> Vec<String> {
    let page = node.data("GET", &format!("/projects/{project}/tasks?limit=100"), None);
    let gid = |task: &Value| task["gid"].as_str().unwrap().to_owned();
    page.as_array().unwrap().iter().map(gid).collect()
}

/// S986.
#[test]
fn nodes_go_on_at_a_standby_that_was_promoted_with_every_acknowledged_write() {
    if !is_installed() {
        return;
    }
    let scratch = ScratchFolder::in_memory("topologies");
    let (one, other) = (scratch.path().join("one"), scratch.path().join("other"));
    let mut primary = server(&one);
    let standby = PostgresServer::standby_of(&primary, &other);
    let url = format!(
        "postgres:///workgraph?host={},{}&user=postgres",
        other.display(),
        one.display()
    );
    let folders = [Folder::new("failover"), Folder::new("failover-2")];
    // The standby is named first: a node passes over a server that takes no writes.
    let nodes = nodes(&folders, &url);
    let project = nodes[0].project("survives");
    let mut acknowledged = Vec::new();
    for turn in 0..20 {
        acknowledged.push(create(&nodes[turn % 2], &project, "before").unwrap());
    }
    primary.kill();
    let killed = clock();
    assert_eq!(create(&nodes[0], &project, "between"), None);
    standby.promote();
    for node in &nodes {
        let after = loop {
            if let Some(task) = create(node, &project, "after") {
                break task;
            }
            assert!(killed.elapsed() < FAILOVER_MAX, "{}", folders[0].log());
            pause(50);
        };
        acknowledged.push(after);
    }
    eprintln!("writes after {:?}", killed.elapsed());
    for node in &nodes {
        let found = tasks(node, &project);
        for task in &acknowledged {
            assert!(found.contains(task), "{task} is lost");
        }
    }
}

/// Running pgbouncer, on a socket in its folder.
struct Bouncer(Child);

impl Bouncer {
    fn start(folder: &Path, postgres: &Path, mode: &str) -> Self {
        use std::os::unix::process::CommandExt;
        std::fs::create_dir_all(folder).unwrap();
        let place = folder.display();
        let settings = format!(
            "[databases]\nworkgraph = host={} dbname=workgraph user=postgres\n[pgbouncer]\nlisten_addr =\n\
             listen_port = 6432\nunix_socket_dir = {place}\nauth_type = any\npool_mode = {mode}\n\
             max_client_conn = 200\ndefault_pool_size = 80\n",
            postgres.display()
        );
        std::fs::write(folder.join("settings.ini"), settings).unwrap();
        let mut run = Command::new(BOUNCER);
        run.arg("--quiet").arg(folder.join("settings.ini"));
        if let Some((uid, gid)) = ordinary_user() {
            std::os::unix::fs::chown(folder, Some(uid), Some(gid)).unwrap();
            run.uid(uid).gid(gid);
        }
        let quiet = run.stdin(Stdio::null()).stderr(Stdio::null());
        let child = quiet.spawn().unwrap();
        let begun = clock();
        while !folder.join(".s.PGSQL.6432").exists() {
            assert!(begun.elapsed() < FAILOVER_MAX, "pgbouncer does not start");
            pause(10);
        }
        Self(child)
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        // This fails only when it has ended already.
        let _over = self.0.kill();
        let _status = self.0.wait();
    }
}

fn bounced(folder: &Path) -> String {
    let place = folder.display();
    format!("postgres:///workgraph?host={place}&port=6432&user=postgres")
}

/// S987. S988.
#[test]
fn pgbouncer_serves_nodes_by_session_and_is_refused_by_transaction() {
    if !is_installed() || !is_there(Path::new(BOUNCER).exists(), "pgbouncer") {
        return;
    }
    let scratch = ScratchFolder::in_memory("topologies");
    let of = |name: &str| scratch.path().join(name);
    let _primary = server(&of("one"));
    for mode in ["transaction", "statement"] {
        let bouncer = Bouncer::start(&of(mode), &of("one"), mode);
        let folder = Folder::new("bounced");
        let url = bounced(&of(mode));
        let mut serve = command(&binary());
        serve.args(["serve", "--listen", "127.0.0.1:0", "--data"]);
        serve.arg(folder.data());
        for (key, value) in settings(&url, folder.path().to_str().unwrap()) {
            serve.arg("--set").arg(format!("{key}={value}"));
        }
        let refused = serve.output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success(), "{mode}");
        assert!(said.contains("pool_mode = session"), "{mode}: {said}");
        drop(bouncer);
    }
    let _bouncer = Bouncer::start(&of("session"), &of("one"), "session");
    let folders = [Folder::new("session"), Folder::new("session-2")];
    let mut nodes = nodes(&folders, &bounced(&of("session")));
    let project = nodes[0].project("by session");
    let made: Vec<String> = (0..20)
        .map(|turn| create(&nodes[turn % 2], &project, "task").unwrap())
        .collect();
    for node in &nodes {
        let found = tasks(node, &project);
        assert!(made.iter().all(|task| found.contains(task)), "{found:?}");
    }
    for node in &mut nodes {
        assert_eq!(node.stop(), Some(0));
    }
}
