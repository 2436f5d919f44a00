//! Long reads over sockets: they hold up nothing else.
use crate::common::{Folder, RawConnection, Server, WIDE, request};
use serde_json::{Value, json};

/// Number of tasks that are counted.
const TASKS: usize = 1_500;

/// Returns a request that takes long: it counts the tasks of a large project, ten times.
fn long(server: &Server) -> Vec<u8> {
    let project = server.project("Long");
    let batch = |action: Value| json!({"data": {"actions": vec![action; 10]}});
    let create = json!({"method": "post", "relative_path": "/tasks",
        "data": {"name": "one of many", "projects": [project]}});
    let create = batch(create);
    for _ in 0..TASKS / 10 {
        server.data("POST", "/batch", Some(&create));
    }
    let count = json!({"method": "get", "relative_path": format!("/projects/{project}/task_counts"),
        "options": {"fields": ["num_tasks"]}});
    request("POST", "/batch", server.token(), Some(&batch(count)))
}

/// S101. S102.
#[test]
fn the_server_answers_at_once_while_long_reads_wait_for_each_other() {
    let folder = Folder::new("long-reads");
    let server = Server::start(&folder, WIDE);
    let bytes = long(&server);
    let whole = server.raw_connection().ask(&bytes).unwrap();
    assert_eq!(whole.status, 200, "{}", whole.text());
    for outcome in whole.json()["data"].as_array().unwrap() {
        assert_eq!(outcome["body"]["data"]["num_tasks"], TASKS, "{outcome}");
    }
    let mut connections: Vec<RawConnection> = (0..16).map(|_| server.raw_connection()).collect();
    for connection in &mut connections {
        connection.send(&bytes).unwrap();
    }
    // The replies come one after the other; these do not wait for them.
    let live = b"GET /-/livez HTTP/1.1\r\nHost: x\r\n\r\n";
    let me = request("GET", "/users/me", server.token(), None);
    for quick in [&live[..], &me] {
        assert_eq!(server.raw_connection().ask(quick).unwrap().status, 200);
    }
    let waiting = connections
        .iter()
        .filter(|connection| !connection.has_reply())
        .count();
    assert!(waiting >= 8, "only {waiting} of 16 were still waiting");
    for connection in &mut connections {
        let reply = connection.read().unwrap();
        assert_eq!(reply.body, whole.body);
    }
}
