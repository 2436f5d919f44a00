//! Moves from a data folder into PostgreSQL and back.
use crate::attachments::{task, upload};
use crate::cluster::receiver;
use crate::common::{
    Folder, PATIENCE, Reply, Seeded, Server, WIDE, admin, binary, clock, command,
    is_about_one_node, pause, run,
};
use crate::exports::{exported, fetch, path};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;
use workgraph_testkit::PostgresCluster;

/// Returns a move; `node` is a data folder with the keys.
fn moving(from: &str, to: &str, node: &Path) -> std::process::Command {
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
    moving.arg("--data").arg(node);
    moving
}

fn moved(from: &str, to: &str, node: &Path) -> Output {
    moving(from, to, node).output().unwrap()
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

/// Copies files of a data folder.
fn copy_to(from: &Folder, to: &Folder, files: &[&str]) {
    std::fs::create_dir_all(to.data()).unwrap();
    for file in files {
        std::fs::copy(from.data().join(file), to.data().join(file)).unwrap();
    }
}

/// S932. S934.
#[test]
fn a_demo_moves_to_the_database_and_back_and_tokens_of_pages_and_events_stay_good() {
    if is_about_one_node("it begins with a data folder") {
        return;
    }
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
    let refused = moved(from, &database.url(), &folder.data());
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && text.contains("stop the server first"),
        "{text}"
    );
    server.stop();
    let before = digest(&folder);
    assert_eq!(
        digest_of_move(&moved(from, &database.url(), &folder.data())),
        before
    );
    let refused = moved(from, &database.url(), &folder.data());
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && text.contains("is not empty"),
        "{text}"
    );
    assert_eq!(
        digest_of_move(&moved(&database.url(), to, &folder.data())),
        before
    );
    assert_eq!(digest(&back), before);
    let refused = moved(&database.url(), to, &folder.data());
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        !refused.status.success() && text.contains("workgraph.db"),
        "{text}"
    );

    copy_to(&folder, &back, &["bootstrap.json"]);
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
        let refused = moved(from, to, &folder.data());
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            !refused.status.success() && text.contains(expected),
            "{text}"
        );
        assert!(!text.contains("hunter2secret"), "{text}");
    }
}

/// Answers that must be the same wherever the data is.
fn answers(server: &Server, paths: &[String], downloads: &[String]) -> Vec<(u16, Value)> {
    let of_api = paths.iter().map(|path| server.ask("GET", path, None));
    let of_files = downloads.iter().map(|path| fetch(server, "GET", path));
    let plain = |reply: Reply| {
        let mut body = serde_json::from_slice(&reply.body).unwrap_or_else(|_| json!(reply.body));
        if body.is_object() {
            // A token of its own each time.
            body["next_page"] = Value::Null;
            body["sync"] = Value::Null;
        }
        (reply.status, body)
    };
    of_api.chain(of_files).map(plain).collect()
}

/// Runs a move whose database is that of the environment, and returns its answer.
fn moved_by_environment(url: &str, shared: &Path, node: &Folder, arguments: &[&str]) -> Value {
    let mut moving = command(&binary());
    moving.env("WORKGRAPH_STORE_URL", url);
    moving.env("WORKGRAPH_STORE_SHARED_FILES", shared);
    moving.args(["move", "--unsafe-database", "--json"]);
    let done = moving
        .args(arguments)
        .arg("--data")
        .arg(node.data())
        .output();
    let done = done.unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    serde_json::from_slice(&done.stdout).unwrap()
}

/// S950. S951. S952.
#[test]
fn keys_settings_and_files_move_too_and_all_that_was_given_out_before_stays_good() {
    if is_about_one_node("it begins with a data folder") {
        return;
    }
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let database = cluster.database();
    let [folder, node, stranger, back] =
        ["", "-node", "-stranger", "-back"].map(|name| Folder::new(&format!("move-all{name}")));
    let shared = node.path().join("files");
    std::fs::create_dir(&shared).unwrap();
    let mut server = Server::start(&folder, WIDE);
    let project = server.project("heard of");
    let (target, received) = receiver();
    let webhook = json!({"data": {"resource": project, "target": target,
        "filters": [{"resource_type": "task", "action": "added"}]}});
    server.data("POST", "/webhooks", Some(&webhook));
    let events = format!("/events?resource={project}");
    let sync = server.ask("GET", &events, None).json()["sync"].clone();
    let add = |server: &Server, name: &str| {
        let task = json!({"data": {"name": name, "projects": [project]}});
        server.data("POST", "/tasks", Some(&task))["gid"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for name in ["one", "two", "three"] {
        let task = add(&server, name);
        assert_eq!(received.recv_timeout(PATIENCE).unwrap(), task);
    }
    let list = format!("/projects/{project}/tasks?limit=2");
    let offset = server.ask("GET", &list, None).json()["next_page"]["offset"].clone();
    let with_file = task(&server);
    let uploaded = upload(&server, &with_file, "notes.txt", &[7; 70_000]).json();
    let file = uploaded["data"]["download_url"].as_str().unwrap();
    let downloads = [
        file[file.find("/-/").unwrap()..].to_owned(),
        path(&exported(&server, &project)),
    ];
    let paths = [
        "/users/me".to_owned(),
        format!("{list}&offset={}", offset.as_str().unwrap()),
        format!("{events}&sync={}", sync.as_str().unwrap()),
        "/openid_connect/jwks".to_owned(),
    ];
    admin(&folder, &["limits", "set", "search=77"]);
    let expected = answers(&server, &paths, &downloads);
    assert!(
        expected.iter().all(|(status, _)| *status == 200),
        "{expected:?}"
    );
    assert_eq!(server.stop(), Some(0));
    let from = folder.data();
    let audit = run(&folder, &["check", "--audit", "--json"]);
    assert!(audit.status.success(), "{audit:?}");

    // Without a database in the settings there is nowhere to move to.
    let nowhere = run(&folder, &["move", "--from", from.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert!(
        !nowhere.status.success() && text.contains("WORKGRAPH_STORE_URL"),
        "{text}"
    );
    let into = ["--from", from.to_str().unwrap()];
    let moved = moved_by_environment(&database.url(), &shared, &folder, &into);
    let expected_values = json!(["audit-key", "limits", "signing-keys"]);
    assert_eq!(moved["values"], expected_values, "{moved}");
    assert_eq!(moved["files"]["copied"], 2, "{moved}");
    assert_eq!(moved["files_left"], json!([]));

    let url = database.url();
    let of_node = [
        WIDE,
        &[
            ("store.url", url.as_str()),
            ("store.allow_unsafe", "true"),
            ("store.shared_files", shared.to_str().unwrap()),
        ],
    ]
    .concat();
    // A node without the keys would make the secrets of webhooks worthless.
    let refused = Server::spawn(command(&binary()), &stranger, &of_node);
    assert!(Server::wait(refused, &stranger).is_err());
    assert!(
        stranger.log().contains("copy keys.json"),
        "{}",
        stranger.log()
    );
    copy_to(&folder, &node, &["keys.json", "bootstrap.json"]);
    let mut server = Server::start(&node, &of_node);
    let as_before = |server: &Server| {
        for (found, expected) in answers(server, &paths, &downloads).iter().zip(&expected) {
            assert_eq!(found, expected);
        }
    };
    let limit_of = |folder: &Folder| admin(folder, &["limits", "show"])["changed"].clone();
    as_before(&server);
    assert_eq!(limit_of(&node), json!({"search": "77"}));
    // Neither lost nor sent twice.
    let task = add(&server, "four");
    assert_eq!(received.recv_timeout(PATIENCE).unwrap(), task);
    let since = json!({"data": {"name": "on the node"}});
    server.data("PUT", &format!("/tasks/{task}"), Some(&since));
    let expected = answers(&server, &paths, &downloads);
    assert_eq!(server.stop(), Some(0));

    // The keys are found in the data folder of the node, and copied.
    let out = ["--to", back.data().to_str().unwrap()].map(str::to_owned);
    let out = [out[0].as_str(), out[1].as_str()];
    let moved = moved_by_environment(&database.url(), &shared, &node, &out);
    assert_eq!(moved["values"], expected_values, "{moved}");
    assert_eq!(moved["files"]["copied"], 2, "{moved}");
    assert_eq!(moved["digest"], digest(&back));
    copy_to(&folder, &back, &["bootstrap.json"]);
    let server = Server::start(&back, WIDE);
    for (found, expected) in answers(&server, &paths, &downloads).iter().zip(&expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(limit_of(&back), json!({"search": "77"}));
    let task = add(&server, "five");
    assert_eq!(received.recv_timeout(PATIENCE).unwrap(), task);
    drop(server);
    for check in [&["check"][..], &["check", "--audit"]] {
        let found = run(&back, check);
        assert!(found.status.success(), "{found:?}");
    }
}

/// S933. The long form kills it at `WORKGRAPH_KILL_POINTS` points of each direction, spread over the time that it takes.
#[test]
fn a_move_that_is_killed_is_seen_by_nobody_and_begun_again() {
    if is_about_one_node("it begins with a data folder") {
        return;
    }
    let Some(cluster) = PostgresCluster::shared() else {
        return;
    };
    let folder = Folder::new("move-killed");
    let mut server = Server::start(&folder, WIDE);
    let attached = upload(&server, &task(&server), "notes.txt", &[7; 300_000]);
    assert_eq!(attached.status, 200, "{}", attached.text());
    server.stop();
    let from = folder.data();
    let from = from.to_str().unwrap();
    let before = digest(&folder);
    let points = std::env::var("WORKGRAPH_KILL_POINTS")
        .ok()
        .and_then(|n| n.parse().ok());
    let mut random = Seeded(17);
    // Moves that were killed and moves that were faster, into the database and back.
    let (mut killed, mut whole) = ([0, 0], [0, 0]);
    // The first move of each direction tells how long it takes.
    let mut lasts = [None::<Duration>; 2];
    for point in 0..=points.unwrap_or(5) {
        let (database, back) = (
            cluster.database(),
            Folder::new(&format!("move-killed-{point}")),
        );
        let (url, to) = (database.url(), back.data());
        let (to, files) = (to.to_str().unwrap(), back.path().join("files"));
        std::fs::create_dir(&files).unwrap();
        for (way, (from, to)) in [(from, url.as_str()), (url.as_str(), to)]
            .into_iter()
            .enumerate()
        {
            let start = || {
                let mut child = moving(from, to, &folder.data());
                child.arg("--shared-files").arg(&files);
                child
            };
            if let Some(lasts) = lasts[way] {
                let child = start().stderr(Stdio::null()).stdout(Stdio::null()).spawn();
                let mut child = child.unwrap();
                let most = usize::try_from(lasts.as_millis()).unwrap() * 11 / 10;
                pause(random.below(most) as u64);
                let _over = child.kill();
                if child.wait().unwrap().success() {
                    whole[way] += 1;
                } else {
                    killed[way] += 1;
                }
            }
            // After the kill the target is either whole or empty.
            let began = clock();
            let again = start().output().unwrap();
            let text = String::from_utf8_lossy(&again.stderr).into_owned();
            assert!(
                again.status.success() || text.contains("not empty") || text.contains("exists"),
                "{text}"
            );
            lasts[way].get_or_insert_with(|| began.elapsed());
        }
        assert_eq!(digest(&back), before);
        assert_eq!(
            crate::attachments::files(&back),
            crate::attachments::files(&folder)
        );
        assert!(back.data().join("keys.json").exists());
        assert!(back.data().join("audit-key.json").exists());
        assert!(!back.data().join("workgraph.db.partial").exists());
    }
    println!("killed into the database and back: {killed:?}, too fast: {whole:?}, {lasts:?}");
    assert!(
        killed.iter().all(|kills| *kills > 0),
        "{killed:?} {whole:?}"
    );
}
