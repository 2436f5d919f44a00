//! Moves from a data folder into PostgreSQL and back.
use crate::common::{Folder, Seeded, Server, WIDE, binary, command, pause, run};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Output, Stdio};
use workgraph_testkit::PostgresCluster;

fn moving(from: &str, to: &str) -> std::process::Command {
    let mut moving = command(&binary());
    moving.args([
        "move",
        "--unsafe-database",
        "--json",
        "--from",
        from,
        "--to",
        to,
    ]);
    moving
}

fn moved(from: &str, to: &str) -> Output {
    moving(from, to).output().unwrap()
}

fn digest_of_move(done: &Output) -> Value {
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{text}");
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(
        text.lines().any(|line| line.starts_with("node (")),
        "{text}"
    );
    found["digest"].clone()
}

fn digest(folder: &Folder) -> Value {
    let done = run(folder, &["digest", "--json"]);
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    found["digest"].clone()
}

/// Copies the small files of a data folder, such as its keys.
fn copy_keys(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_file()
            && !name.starts_with("workgraph.db")
            && name != "lock"
        {
            std::fs::copy(entry.path(), to.join(&name)).unwrap();
        }
    }
}

/// S932. S934.
#[test]
fn a_demo_moves_to_the_database_and_back_and_tokens_of_pages_and_events_stay_good() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    let (folder, back) = (Folder::new("move"), Folder::new("move-back"));
    let (from, to) = (folder.data(), back.data());
    let (from, to) = (from.to_str().unwrap(), to.to_str().unwrap());
    let mut server = Server::start(&folder, WIDE);
    let workspace = server.data("GET", "/workspaces", None)[0]["gid"]
        .as_str()
        .unwrap()
        .to_owned();
    let projects = server.data("GET", &format!("/projects?workspace={workspace}"), None);
    let project = projects[0]["gid"].as_str().unwrap().to_owned();
    let events = format!("/events?resource={project}");
    let sync = server.ask("GET", &events, None).json()["sync"]
        .as_str()
        .unwrap()
        .to_owned();
    for number in 0..5 {
        let body = json!({"data": {"name": format!("Task {number}"), "projects": [project]}});
        server.data("POST", "/tasks", Some(&body));
    }
    let list = format!("/projects/{project}/tasks?limit=2");
    let page = server.ask("GET", &list, None).json();
    let next = format!(
        "{list}&offset={}",
        page["next_page"]["offset"].as_str().unwrap()
    );
    let since = format!("{events}&sync={sync}");
    let of = |server: &Server| {
        [&next, &since].map(|path| {
            let mut reply = server.ask("GET", path, None).json();
            // A page token of its own each time.
            reply["next_page"] = Value::Null;
            reply["sync"] = Value::Null;
            reply
        })
    };
    let expected = of(&server);
    assert_eq!(
        expected[1]["data"]
            .as_array()
            .map(|events| events.len() >= 5),
        Some(true),
        "{expected:?}"
    );

    // A server that runs is not moved.
    let refused = moved(from, &database.url());
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && text.contains("stop the server first"),
        "{text}"
    );
    server.stop();
    let before = digest(&folder);
    assert_eq!(digest_of_move(&moved(from, &database.url())), before);
    let refused = moved(from, &database.url());
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && text.contains("is not empty"),
        "{text}"
    );
    assert_eq!(digest_of_move(&moved(&database.url(), to)), before);
    assert_eq!(digest(&back), before);
    let refused = moved(&database.url(), to);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && text.contains("workgraph.db"),
        "{text}"
    );

    copy_keys(&folder.data(), &back.data());
    let server = Server::start(&back, WIDE);
    assert_eq!(of(&server), expected);
    assert_eq!(run(&back, &["check"]).status.code(), Some(0));

    for (from, to, expected) in [
        (from, to, "neither --from nor --to is a database"),
        (
            &*database.url(),
            &*database.url(),
            "both --from and --to are databases",
        ),
        ("/nowhere/at-all", &*database.url(), "/nowhere/at-all"),
        (
            from,
            "postgres://workgraph:hunter2secret@127.0.0.1:1/none",
            "database",
        ),
    ] {
        let refused = moved(from, to);
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            !refused.status.success() && text.contains(expected),
            "{text}"
        );
        assert!(!text.contains("hunter2secret"), "{text}");
    }
}

/// S933. The long form kills it at `WORKGRAPH_KILL_POINTS` points.
#[test]
fn a_move_that_is_killed_is_seen_by_nobody_and_begun_again() {
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let folder = Folder::new("move-killed");
    let mut server = Server::start(&folder, WIDE);
    server.data("GET", "/users/me", None);
    server.stop();
    let from = folder.data();
    let from = from.to_str().unwrap();
    let before = digest(&folder);
    let points = std::env::var("WORKGRAPH_KILL_POINTS")
        .ok()
        .and_then(|n| n.parse().ok());
    let mut random = Seeded(17);
    let (mut killed, mut whole) = (0, 0);
    for point in 0..points.unwrap_or(6) {
        let (database, back) = (
            cluster.database(),
            Folder::new(&format!("move-killed-{point}")),
        );
        let to = back.data();
        let to = to.to_str().unwrap();
        let mut kill = |from: &str, to: &str| {
            let mut child = moving(from, to)
                .stderr(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            pause(5 + random.below(400) as u64);
            let _over = child.kill();
            if child.wait().unwrap().success() {
                whole += 1;
            } else {
                killed += 1;
            }
        };
        // Into the database: after the kill it is either whole or empty.
        kill(from, &database.url());
        let again = moved(from, &database.url());
        let text = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(
            again.status.success() || text.contains("is not empty"),
            "{text}"
        );
        // And back.
        kill(&database.url(), to);
        let again = moved(&database.url(), to);
        let text = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(
            again.status.success() || text.contains("File exists") || text.contains("exists"),
            "{text}"
        );
        assert_eq!(digest(&back), before);
        assert!(!back.data().join("workgraph.db.partial").exists());
    }
    assert!(killed > 0, "{killed} {whole}");
}
