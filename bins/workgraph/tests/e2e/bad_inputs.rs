//! Bad inputs to API operations: each row is a request as bytes, and the answer it must get.
//!
//! All rows are tried before the test fails, so that one run shows every row that is off.
mod bodies;
mod pages;
mod targets;
mod tokens;

use crate::common::{
    Folder, RawConnection, Reply, Server, WIDE, admin, is_about_one_node, post, request,
};
use serde_json::{Value, json};

/// Request with the answer it must get.
struct Row {
    number: &'static str,
    rule: &'static str,
    send: Vec<u8>,
    status: u16,
    /// Beginning of the message.
    message: &'static str,
}

fn row(
    number: &'static str,
    rule: &'static str,
    send: Vec<u8>,
    status: u16,
    message: &'static str,
) -> Row {
    Row {
        number,
        rule,
        send,
        status,
        message,
    }
}

/// Server with two tenants, and tokens of several kinds.
struct World {
    folder: Folder,
    server: Server,
    project: String,
    task: String,
    /// Token with full permissions, of a user in the paid workspace.
    token: String,
    /// Token of the same user for reading tasks alone.
    reader: String,
    /// Token of another user of the same workspace.
    colleague: String,
    /// Token of the user of the free workspace, with no access to the paid one.
    stranger: String,
    foreign_project: String,
    foreign_task: String,
}

impl World {
    fn new(name: &str, settings: &[(&str, &str)]) -> Self {
        let folder = Folder::new(name);
        let server = Server::start(&folder, &[WIDE, settings].concat());
        let (token, stranger) = (server.token().to_owned(), server.demo("/free_token"));
        let scoped = admin(
            &folder,
            &[
                "token",
                "create",
                "--user",
                &server.demo("/users/0/email"),
                "--scopes",
                "tasks:read",
            ],
        );
        let project = server.project("Tables");
        let task = make(
            &server,
            &token,
            "/tasks",
            &json!({"name": "Oak", "projects": [project]}),
        );
        let foreign_project = make(
            &server,
            &stranger,
            "/projects",
            &json!({"name": "Nobody knows", "workspace": server.workspace("free")}),
        );
        let foreign_task = make(
            &server,
            &stranger,
            "/tasks",
            &json!({"name": "Nobody knows", "projects": [foreign_project]}),
        );
        Self {
            reader: scoped["token"].as_str().unwrap().to_owned(),
            colleague: server.demo("/rate_token"),
            folder,
            server,
            project,
            task,
            token,
            stranger,
            foreign_project,
            foreign_task,
        }
    }

    fn get(&self, path: &str) -> Vec<u8> {
        request("GET", path, &self.token, None)
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Vec<u8> {
        post(
            method,
            path,
            &self.token,
            "application/json",
            body.as_bytes(),
        )
    }

    fn ask(&self, bytes: &[u8]) -> Result<Reply, String> {
        self.server.raw_connection().ask(bytes)
    }

    /// Requests a listing of the project, by its options.
    fn page(&self, token: &str, options: &str) -> Reply {
        let path = format!("/projects/{}/tasks?{options}", self.project);
        self.ask(&request("GET", &path, token, None)).unwrap()
    }

    /// Tries all rows, then fails with those that were wrong.
    fn try_all(&self, rows: &[Row]) {
        let complaints: Vec<_> = rows.iter().filter_map(|row| self.complaint(row)).collect();
        assert!(
            complaints.is_empty(),
            "{} of {} rows:\n{}",
            complaints.len(),
            rows.len(),
            complaints.join("\n")
        );
        assert!(
            !self.folder.log().contains("panicked"),
            "{}",
            self.folder.log()
        );
    }

    fn complaint(&self, row: &Row) -> Option<String> {
        let name = format!("{} ({})", row.number, row.rule);
        let reply = match self.ask(&row.send) {
            Ok(reply) => reply,
            Err(e) => return Some(format!("{name}: no answer: {e}")),
        };
        let fits = reply.status == row.status && reply.message().starts_with(row.message);
        let form = row.status < 300 || is_error(&reply);
        let found = format!("{} {:.300}", reply.status, reply.text());
        (!fits || !form).then(|| {
            format!(
                "{name}: {found}\n    instead of {} {}",
                row.status, row.message
            )
        })
    }
}

fn make(server: &Server, token: &str, path: &str, data: &Value) -> String {
    let reply = server
        .raw_connection()
        .ask(&request("POST", path, token, Some(&json!({"data": data}))))
        .unwrap();
    assert_eq!(reply.status, 201, "{path}: {}", reply.text());
    reply.json()["data"]["gid"].as_str().unwrap().to_owned()
}

/// Returns true if a reply is the errors envelope: errors with a message and the help text, and a phrase with a 500
/// alone.
fn is_error(reply: &Reply) -> bool {
    let json: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let json_kind = reply
        .header("content-type")
        .is_some_and(|k| k.starts_with("application/json"));
    json_kind
        && json["errors"].as_array().is_some_and(|list| {
            let good = |e: &Value| {
                let said =
                    e["message"].as_str().is_some_and(|m| !m.is_empty()) && e["help"].is_string();
                said && e["phrase"].is_string() == (reply.status == 500)
            };
            !list.is_empty() && list.iter().all(good)
        })
}

/// S04. S74.
#[test]
fn a_write_that_finds_the_disk_full_is_500_and_leaves_nothing() {
    if is_about_one_node("the disk of the process") {
        return;
    }
    use crate::common::{binary, command, run};
    let folder = Folder::new("full");
    let begun = Server::start(&folder, WIDE);
    let project = begun.project("Full");
    drop(begun);
    // A limit on the size of files stands in for a full disk: writes past it fail instead of killing.
    let mut limited = command("bash");
    limited.args([
        "-c",
        "trap '' XFSZ; ulimit -S -f 1024; exec \"$0\" \"$@\"",
        &binary(),
    ]);
    let mut server = Server::start_by(limited, &folder, WIDE);
    let notes = "n".repeat(20_000);
    let mut connection: RawConnection = server.raw_connection();
    let mut made = Vec::new();
    let mut failure = None;
    for number in 0..500 {
        let body = json!({"data": {"name": format!("Row {number}"), "notes": notes, "projects": [project]}});
        let reply = connection
            .ask(&request("POST", "/tasks", server.token(), Some(&body)))
            .unwrap();
        if reply.status == 201 {
            made.push(reply.json()["data"]["gid"].as_str().unwrap().to_owned());
        } else {
            failure = Some((format!("Row {number}"), reply));
            break;
        }
    }
    let (name, reply) = failure.expect("the limit was never met");
    assert_eq!(
        (reply.status, is_error(&reply)),
        (500, true),
        "57: {}",
        reply.text()
    );
    let phrase = reply.json()["errors"][0]["phrase"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        folder.log().contains(&phrase),
        "57: the phrase is not in the log"
    );
    assert_eq!(
        reply.message(),
        "Server Error",
        "57: nothing of the inside is told"
    );
    assert!(server.lives(), "57: the process ended");
    let names = |server: &Server| {
        let list = server.data(
            "GET",
            &format!("/projects/{project}/tasks?opt_fields=name"),
            None,
        );
        list.as_array()
            .unwrap()
            .iter()
            .map(|t| t["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let listed = names(&server);
    assert!(
        listed.len() == made.len() && !listed.contains(&name),
        "57: {} made, {} listed",
        made.len(),
        listed.len()
    );
    for number in 0..5 {
        let body = json!({"data": {"name": format!("Again {number}"), "notes": notes, "projects": [project]}});
        assert_eq!(
            connection
                .ask(&request("POST", "/tasks", server.token(), Some(&body)))
                .unwrap()
                .status,
            500,
            "57: again"
        );
    }
    // With space again, all that was acknowledged is there and writing goes on, without a restart and after one.
    let raised = command("prlimit")
        .args(["--pid", &server.id().to_string(), "--fsize=unlimited"])
        .status()
        .unwrap();
    assert!(raised.success());
    make(
        &server,
        server.token(),
        "/tasks",
        &json!({"name": "Room again", "projects": [project]}),
    );
    let listed = [listed, vec!["Room again".to_owned()]].concat();
    assert_eq!(names(&server), listed, "57: with space again");
    drop(server);
    let check = run(&folder, &["check"]);
    assert!(check.status.success(), "57: {check:?}");
    let server = Server::start(&folder, WIDE);
    assert_eq!(names(&server), listed, "57: after a restart");
}
