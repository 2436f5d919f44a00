//! Exports through the real server: the file that a client fetches, and the answers to addresses that are not valid any
//! more.
use crate::common::{Folder, Reply, Seeded, Server, WIDE, admin, is_about_one_node, pause};
use crate::jobs::{plant, setting, status};
use crate::sdk::{passed, python};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};

/// Starts a graph export, and waits for its end.
pub(crate) fn exported(server: &Server, parent: &str) -> Value {
    let body = json!({"data": {"parent": parent}});
    let job = server.data("POST", "/exports/graph", Some(&body));
    let path = format!("/jobs/{}", job["gid"].as_str().unwrap());
    for _ in 0..2_000 {
        let job = server.data("GET", &path, None);
        match job["status"].as_str().unwrap() {
            "succeeded" => return job["new_graph_export"].clone(),
            "failed" => return Value::Null,
            _ => pause(10),
        }
    }
    panic!("the job goes on and on");
}

pub(crate) fn fetch(server: &Server, method: &str, path: &str) -> Reply {
    let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    server.raw_connection().ask(head.as_bytes()).unwrap()
}

/// Returns the path of an export's address.
pub(crate) fn path(export: &Value) -> String {
    let url = export["download_url"].as_str().unwrap();
    let at = url.find("/-/").unwrap();
    url[at..].to_owned()
}

#[test]
fn the_python_sdk_exports_a_project_and_an_organization() {
    let Some((_, mut script)) = python("clients/python/exports.py") else {
        return;
    };
    let folder = Folder::new("exports-sdk");
    let server = Server::start(&folder, WIDE);
    let workspace = server.workspace("paid");
    let made = admin(
        &folder,
        &[
            "service-account",
            "create",
            "--workspace",
            &workspace,
            "--name",
            "Archivist",
        ],
    );
    script
        .env("BASE_URL", server.demo("/base_url"))
        .env("TOKEN", server.token())
        .env("ROBOT", made["token"].as_str().unwrap())
        .env("WORKSPACE", &workspace)
        .env("TEAM", server.team(&workspace))
        .env("NO_PROXY", "*")
        .env("no_proxy", "*");
    passed(script, &folder);
}

#[test]
fn a_file_is_sent_to_whoever_has_its_address_and_to_nobody_else() {
    let folder = Folder::new("exports");
    let server = Server::start(&folder, WIDE);
    let project = server.project("Attic");
    let export = exported(&server, &project);
    let path = path(&export);
    let gid = export["gid"].as_str().unwrap();
    let reply = fetch(&server, "GET", &path);
    assert_eq!(reply.status, 200);
    for (name, value) in [
        ("content-type", "application/gzip"),
        ("cache-control", "private, no-store"),
        ("x-content-type-options", "nosniff"),
        (
            "content-disposition",
            &*format!("attachment; filename=\"{gid}.json.gz\""),
        ),
        ("content-length", &*reply.body.len().to_string()),
    ] {
        assert_eq!(reply.header(name), Some(value), "{name}");
    }
    assert_eq!(reply.header("content-encoding"), None);
    assert_eq!(reply.body[..2], [0x1f, 0x8b]);

    let other = format!("/-/exports/1.json.gz?{}", path.split_once('?').unwrap().1);
    let bare = path.split_once('?').unwrap().0.to_owned();
    let longer = format!("{path}&more=1");
    let climbing = format!(
        "/-/exports/../workgraph.db?{}",
        path.split_once('?').unwrap().1
    );
    for (wrong, status) in [(other, 403), (bare, 403), (longer, 403), (climbing, 403)] {
        let reply = fetch(&server, "GET", &wrong);
        assert_eq!(reply.status, status, "{wrong}");
        assert_eq!(reply.message(), "The link is not valid");
    }
    assert_eq!(fetch(&server, "POST", &path).status, 404);
    let file = folder.data().join(format!("exports/{gid}.json.gz"));
    std::fs::remove_file(file).unwrap();
    let reply = fetch(&server, "GET", &path);
    assert_eq!(
        (reply.status, reply.message().as_str()),
        (404, "The file is no longer there")
    );
}

/// Files that are sent to one client at once, as `download_slots.rs` sets it.
const AT_ONCE: usize = 8;

#[test]
fn clients_that_do_not_read_their_files_lose_their_places() {
    if is_about_one_node("the places of one process") {
        return;
    }
    let folder = Folder::new("exports-slow");
    let settings = [WIDE, &[("http.request_timeout", "2s")]].concat();
    let server = Server::start(&folder, &settings);
    let export = exported(&server, &server.project("Attic"));
    // More than sockets hold on their way.
    let gid = export["gid"].as_str().unwrap();
    let file = folder.data().join(format!("exports/{gid}.json.gz"));
    std::fs::File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_len(96 << 20)
        .unwrap();
    let path = path(&export);
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut idle: Vec<_> = (0..AT_ONCE).map(|_| server.raw_connection()).collect();
    for connection in &mut idle {
        connection.send(head.as_bytes()).unwrap();
    }
    // Each has its place once its answer has begun.
    for connection in &mut idle {
        connection.begun().unwrap();
    }
    let refused = fetch(&server, "GET", &path);
    assert_eq!(refused.status, 503);
    assert!(refused.header("retry-after").is_some());
    assert_eq!(
        server.ask("GET", "/users/me", None).status,
        200,
        "others are served"
    );
    let mut whole = fetch(&server, "GET", &path);
    for _ in 0..200 {
        if whole.status == 200 {
            break;
        }
        pause(100);
        whole = fetch(&server, "GET", &path);
    }
    assert_eq!((whole.status, whole.body.len()), (200, 96 << 20));
    // The last ones end with a tick of their own.
    pause(5_000);
    for connection in &mut idle {
        let read = connection.read().map(|reply| reply.status);
        assert!(read.is_err(), "{read:?}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_ends_the_export_and_not_the_server() {
    let folder = Folder::new("exports-full");
    let server = Server::start(&folder, WIDE);
    let project = server.project("Attic");
    let export_folder = folder.data().join("exports");
    std::fs::write(&export_folder, "in the way").unwrap();
    assert_eq!(exported(&server, &project), Value::Null);
    assert!(
        folder.log().contains("can't be written"),
        "{}",
        folder.log()
    );
    std::fs::remove_file(&export_folder).unwrap();
    assert!(exported(&server, &project)["download_url"].is_string());
}

/// Returns the records in the file of an export, without the links in them: a server that is started again has another
/// port.
fn unpacked(server: &Server, export: &Value) -> Vec<Value> {
    let reply = fetch(server, "GET", &path(export));
    assert_eq!(reply.status, 200, "{}", reply.text());
    let mut text = String::new();
    let mut file = flate2::read::GzDecoder::new(reply.body.as_slice());
    file.read_to_string(&mut text).unwrap();
    let records = text.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().remove("permalink_url");
        record
    });
    records.collect()
}

#[test]
fn an_export_survives_sigkill_without_gaps_and_without_doubles() {
    if is_about_one_node("another node waits for the lease of each killed one, as in cluster::") {
        return;
    }
    let seed = setting("WORKGRAPH_KILL_SEED", 1);
    let points = setting("WORKGRAPH_KILL_POINTS", 12);
    let folder = Folder::new("exports-kill");
    let mut server = Server::start(&folder, WIDE);
    let project = plant(&server);
    let whole = unpacked(&server, &exported(&server, &project));
    let (mut random, mut inside) = (Seeded(seed), 0);
    while inside < points {
        let body = json!({"data": {"parent": project}});
        let job = server.data("POST", "/exports/graph", Some(&body));
        let job = job["gid"].as_str().unwrap().to_owned();
        loop {
            pause(random.below(60) as u64);
            server.kill();
            server = Server::start(&folder, WIDE);
            let now = status(&server, &job);
            assert_ne!(now, "failed", "seed {seed}, kill {inside}");
            inside += u64::from(now != "succeeded");
            // Sooner or later it must be let go on.
            if now == "succeeded" || random.below(4) == 0 {
                break;
            }
        }
        for _ in 0..2_000 {
            if status(&server, &job) == "succeeded" {
                break;
            }
            pause(10);
        }
        let job = server.data("GET", &format!("/jobs/{job}"), None);
        let unpacked_text = unpacked(&server, &job["new_graph_export"]);
        assert!(
            unpacked_text == whole,
            "seed {seed}, kill {inside}: another file"
        );
    }
    // Not through a macro, whose output would only be seen of a failed test.
    let lines = whole.len();
    let _shown = writeln!(
        std::io::stderr(),
        "seed {seed}: {inside} kills inside of exports of {lines} objects, 0 gaps, 0 doubles"
    );
}
