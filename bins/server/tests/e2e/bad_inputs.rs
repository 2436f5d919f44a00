//! Bad inputs to API operations: each row is a request as bytes, and the answer it must get.
//!
//! All rows are tried before the test fails, so that one run shows every row that is off.
use crate::common::{Folder, Line, Reply, Server, WIDE, admin, plain, post, request};
use serde_json::{Value, json};
use std::time::Duration;

/// A request and its answer.
struct Row {
    number: &'static str,
    rule: &'static str,
    send: Vec<u8>,
    status: u16,
    /// How the message begins.
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

/// A server with two tenants, and tokens of several kinds.
struct World {
    folder: Folder,
    server: Server,
    project: String,
    task: String,
    /// Full permissions, in the paid workspace.
    token: String,
    /// The same user, reading tasks alone.
    reader: String,
    /// Another user of the same workspace.
    colleague: String,
    /// The user of the free workspace, with nothing in common.
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
        self.server.line().ask(bytes)
    }

    /// A listing of the project, by its options.
    fn page(&self, token: &str, options: &str) -> Reply {
        let path = format!("/projects/{}/tasks?{options}", self.project);
        self.ask(&request("GET", &path, token, None)).unwrap()
    }

    /// Tries all rows, then complains about those that failed.
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
        .line()
        .ask(&request("POST", path, token, Some(&json!({"data": data}))))
        .unwrap();
    assert_eq!(reply.status, 201, "{path}: {}", reply.text());
    reply.json()["data"]["gid"].as_str().unwrap().to_owned()
}

/// Whether a reply is the errors envelope: errors with a message and the help text, and a phrase with a 500 alone.
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

/// B49. B51. B52. S44. Over a socket.
#[test]
fn a_request_needs_one_whole_bearer_token() {
    let w = World::new("auth", &[]);
    let with = |headers: &[(&str, &str)]| plain("GET", "/users/me", headers, b"");
    let bearer = |token: &str| with(&[("Authorization", &format!("Bearer {token}"))]);
    let denied = "Not Authorized";
    let mut rows = vec![
        row("1", "no Authorization header", with(&[]), 401, denied),
        row(
            "2",
            "another scheme",
            with(&[("Authorization", "Basic YTpi")]),
            401,
            "Not Authorized: a bearer token is needed",
        ),
        row(
            "3a",
            "no token after Bearer",
            with(&[("Authorization", "Bearer")]),
            401,
            denied,
        ),
        row(
            "3b",
            "an empty token",
            with(&[("Authorization", "Bearer ")]),
            401,
            denied,
        ),
        row(
            "3c",
            "two tokens",
            bearer(&format!("{0} {0}", w.token)),
            401,
            denied,
        ),
        row(
            "4",
            "two headers, even equal ones",
            {
                let value = format!("Bearer {}", w.token);
                with(&[("Authorization", &value), ("Authorization", &value)])
            },
            400,
            "Authorization: given twice",
        ),
        row(
            "5",
            "a token cut short",
            bearer(&w.token[..w.token.len() - 1]),
            401,
            denied,
        ),
        row(
            "6a",
            "a token and =",
            bearer(&format!("{}=", w.token)),
            401,
            denied,
        ),
        row(
            "6b",
            "a token and A",
            bearer(&format!("{}A", w.token)),
            401,
            denied,
        ),
        row(
            "6c",
            "a token in capitals",
            bearer(&w.token.to_uppercase()),
            401,
            denied,
        ),
        row(
            "10a",
            "a token in the query",
            plain(
                "GET",
                &format!("/users/me?access_token={}", w.token),
                &[],
                b"",
            ),
            401,
            denied,
        ),
        row(
            "10b",
            "a token in the body",
            {
                let body = format!("access_token={}", w.token);
                let length = body.len().to_string();
                plain(
                    "POST",
                    "/tasks",
                    &[
                        ("Content-Type", "application/x-www-form-urlencoded"),
                        ("Content-Length", &length),
                    ],
                    body.as_bytes(),
                )
            },
            401,
            denied,
        ),
    ];
    let revoked = admin(
        &w.folder,
        &[
            "token",
            "create",
            "--user",
            &w.server.demo("/users/0/email"),
        ],
    );
    admin(&w.folder, &["token", "revoke", &revoked["id"].to_string()]);
    rows.push(row(
        "8",
        "a revoked token",
        bearer(revoked["token"].as_str().unwrap()),
        401,
        denied,
    ));
    let expired = admin(
        &w.folder,
        &[
            "token",
            "create",
            "--user",
            &w.server.demo("/users/0/email"),
            "--expires-days",
            "0",
        ],
    );
    rows.push(row(
        "7",
        "a token past its end",
        bearer(expired["token"].as_str().unwrap()),
        401,
        denied,
    ));
    let place = w.server.workspace("paid");
    admin(
        &w.folder,
        &[
            "user",
            "create",
            "--name",
            "Gus",
            "--email",
            "gus@example.com",
            "--workspace",
            &place,
        ],
    );
    let off = admin(&w.folder, &["token", "create", "--user", "gus@example.com"]);
    let off = off["token"].as_str().unwrap();
    w.try_all(&[row("9a", "a token of an account", bearer(off), 200, "")]);
    admin(&w.folder, &["user", "disable", "gus@example.com"]);
    rows.push(row(
        "9b",
        "the same, switched off",
        bearer(off),
        401,
        denied,
    ));
    w.try_all(&rows);
    for row in rows.iter().filter(|r| r.status == 401) {
        let reply = w.ask(&row.send).unwrap();
        assert!(
            reply
                .header("www-authenticate")
                .is_some_and(|v| v.starts_with("Bearer")),
            "{}: {:?}",
            row.number,
            reply.headers
        );
        assert!(
            !reply.text().contains(&w.token[..w.token.len() - 1]),
            "{}: a token is echoed",
            row.number
        );
    }
    assert_eq!(w.ask(&rows[0].send).unwrap().message(), denied);
}

/// S34. S64.
#[test]
fn the_path_the_query_and_the_objects_they_name_are_checked() {
    let w = World::new("query", &[]);
    let tasks = format!("/projects/{}/tasks", w.project);
    let list = |options: &str| w.get(&format!("{tasks}?{options}"));
    let no_route = "No matching route for request";
    let (limit, invalid) = (
        "limit: must be 1 to 100",
        "offset: Your pagination token is invalid.",
    );
    let trace = b"TRACE / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
    let rows = [
        row(
            "11",
            "GET /tasks without a filter",
            w.get("/tasks"),
            400,
            "workspace: Missing input",
        ),
        row(
            "12",
            "an empty filter",
            w.get("/tasks?project="),
            400,
            "project: Missing input",
        ),
        row(
            "13a",
            "a filter that is no gid",
            w.get("/tasks?project=abc"),
            400,
            "project: Not a recognized ID: abc",
        ),
        row(
            "13b",
            "two filters",
            w.get(&format!("/tasks?project={0}&section={0}", w.project)),
            400,
            "Must specify exactly one of",
        ),
        row(
            "14a",
            "a gid past 64 bits",
            w.get("/tasks?project=18446744073709551616"),
            400,
            "project: Not a recognized ID",
        ),
        row(
            "14b",
            "a gid past 53 bits",
            w.get("/tasks?project=9007199254740993"),
            400,
            "project: ",
        ),
        row(
            "14c",
            "gid 0",
            w.get("/tasks?project=0"),
            400,
            "project: Not a recognized ID: 0",
        ),
        row(
            "14d",
            "a negative gid",
            w.get("/tasks/-1"),
            400,
            "task: Not a recognized ID: -1",
        ),
        row(
            "14e",
            "a gid with a leading zero",
            w.get(&format!("/tasks/0{}", w.task)),
            400,
            "task: Not a recognized ID",
        ),
        row(
            "15a",
            "a project of another tenant",
            w.get(&format!("/projects/{}", w.foreign_project)),
            403,
            "You do not have access to this project.",
        ),
        row(
            "15b",
            "its tasks",
            w.get(&format!("/tasks?project={}", w.foreign_project)),
            403,
            "You do not have access to this project.",
        ),
        row(
            "15c",
            "a task of another tenant",
            w.get(&format!("/tasks/{}", w.foreign_task)),
            403,
            "You do not have access to this task.",
        ),
        row(
            "15d",
            "changing it",
            w.send(
                "PUT",
                &format!("/tasks/{}", w.foreign_task),
                r#"{"data":{"name":"x"}}"#,
            ),
            403,
            "You do not have access to this task.",
        ),
        row(
            "15e",
            "a task into another tenant's project",
            w.send(
                "POST",
                "/tasks",
                &format!(
                    r#"{{"data":{{"name":"x","projects":["{}"]}}}}"#,
                    w.foreign_project
                ),
            ),
            403,
            "You do not have access to this project.",
        ),
        row(
            "16a",
            "an unknown task",
            w.get("/tasks/999"),
            404,
            "task: Unknown object: 999",
        ),
        row(
            "16b",
            "a project where a task belongs",
            w.get(&format!("/tasks/{}", w.project)),
            404,
            "task: Unknown object",
        ),
        row(
            "17a",
            "a slash in a parameter",
            w.get("/tasks/1%2f2"),
            404,
            no_route,
        ),
        row(
            "17b",
            "dots and a semicolon",
            w.get("/tasks/..;/x"),
            404,
            no_route,
        ),
        row("17c", "an empty segment", w.get("/tasks//1"), 404, no_route),
        row("17d", "a slash at the end", w.get("/tasks/"), 404, no_route),
        row("17e", "dots", w.get("/tasks/../tasks"), 404, no_route),
        row(
            "17f",
            "a NUL in a parameter",
            w.get("/tasks/1%00"),
            404,
            no_route,
        ),
        row("17g", "another case", w.get("/Tasks"), 404, no_route),
        row(
            "18a",
            "a method that the path lacks",
            w.send("PATCH", &format!("/tasks/{}", w.task), "{}"),
            404,
            no_route,
        ),
        row("18b", "TRACE", trace, 404, no_route),
        row(
            "18c",
            "an unknown path, without a token",
            plain("GET", "/nothing", &[], b""),
            404,
            no_route,
        ),
        row(
            "18d",
            "POST to a list that is only read",
            w.send("POST", "/users", "{}"),
            404,
            no_route,
        ),
        row(
            "18e",
            "a method of one's own",
            w.send("BREW", "/tasks", "{}"),
            404,
            no_route,
        ),
        row("19a", "limit 0", list("limit=0"), 400, limit),
        row("19b", "limit 101", list("limit=101"), 400, limit),
        row("19c", "limit -1", list("limit=-1"), 400, limit),
        row("20a", "limit 1.5", list("limit=1.5"), 400, limit),
        row("20b", "limit +5", list("limit=%2B5"), 400, limit),
        row("20c", "limit 1e2", list("limit=1e2"), 400, limit),
        row(
            "20d",
            "limit in Arabic digits",
            list("limit=%D9%A3"),
            400,
            limit,
        ),
        row("20e", "an empty limit", list("limit="), 400, limit),
        row(
            "20f",
            "a limit of 30 digits",
            list("limit=000000000000000000000000000005"),
            400,
            limit,
        ),
        row(
            "21",
            "limit twice",
            list("limit=5&limit=5"),
            400,
            "limit: given twice",
        ),
        row(
            "22a",
            "a made-up offset",
            list("limit=5&offset=garbage"),
            400,
            invalid,
        ),
        row(
            "22b",
            "an empty offset",
            list("limit=5&offset="),
            400,
            invalid,
        ),
        row(
            "22c",
            "a number as offset",
            list("limit=5&offset=50"),
            400,
            invalid,
        ),
        row(
            "27",
            "a field that does not exist is left out",
            w.get(&format!("/tasks/{}?opt_fields=nope", w.task)),
            200,
            "",
        ),
        row(
            "29a",
            "a path of ten names",
            w.get(&format!(
                "/tasks/{}?opt_fields=parent{}",
                w.task,
                ".parent".repeat(9)
            )),
            400,
            "opt_fields: A path is too deep",
        ),
        row(
            "29b",
            "500 names",
            w.get(&format!(
                "/tasks/{}?opt_fields={}",
                w.task,
                (0..500)
                    .map(|i| format!("n{i}"))
                    .collect::<Vec<_>>()
                    .join(",")
            )),
            400,
            "opt_fields: Too many",
        ),
        row(
            "30a",
            "an empty name",
            list("opt_fields=name,,notes"),
            400,
            "opt_fields: ",
        ),
        row(
            "30b",
            "NUL in names",
            list("opt_fields=a%00b"),
            400,
            "opt_fields: must not contain NUL",
        ),
        row(
            "30c",
            "a broken group",
            list("opt_fields=(name|notes"),
            400,
            "opt_fields: ",
        ),
        row(
            "30d",
            "broken percent-encoding",
            list("opt_fields=%zz"),
            400,
            "opt_fields: not valid percent-encoding",
        ),
        row(
            "30e",
            "no UTF-8",
            list("opt_fields=%ff"),
            400,
            "opt_fields: not valid UTF-8",
        ),
    ];
    w.try_all(&rows);
    for row in rows.iter().filter(|r| r.number.starts_with("15")) {
        assert!(
            !w.ask(&row.send).unwrap().text().contains("Nobody"),
            "{}: the name leaks",
            row.number
        );
    }
    let record = w
        .ask(&w.get(&format!("/tasks/{}?opt_fields=nope", w.task)))
        .unwrap()
        .json();
    assert_eq!(
        record["data"],
        json!({"gid": w.task}),
        "27: only what is named, and gid"
    );
    let echo = w
        .ask(&w.get(&format!("/tasks?project={}", "%3Cb%3E".repeat(60))))
        .unwrap()
        .message();
    assert!(echo.len() < 300, "13: an echo is cut: {echo}");
}

#[test]
fn hidden_objects_look_like_none_if_the_operator_says_so() {
    let w = World::new("hidden", &[("hide_forbidden", "true")]);
    let hidden = w
        .ask(&w.get(&format!("/tasks/{}", w.foreign_task)))
        .unwrap();
    assert_eq!(hidden.status, 404, "15: {}", hidden.text());
    assert!(!hidden.text().contains("Nobody"));
}

/// S42.
#[test]
fn page_tokens_are_sealed_and_bound() {
    let w = World::new("offset", &[("set_cap", "120")]);
    for number in 0..9 {
        make(
            &w.server,
            &w.token,
            "/tasks",
            &json!({"name": format!("Chair {number}"), "projects": [w.project]}),
        );
    }
    let first = w.page(&w.token, "limit=3");
    let offset = first.json()["next_page"]["offset"]
        .as_str()
        .unwrap()
        .to_owned();
    let refusal = |reply: Reply| (reply.status, reply.message());
    let invalid = (400, "offset: Your pagination token is invalid.".to_owned());
    assert_eq!(
        w.page(&w.token, &format!("limit=5&offset={offset}")).status,
        200,
        "another page size and the same walk"
    );
    assert_eq!(
        w.page(
            &w.token,
            &format!("limit=3&opt_fields=notes&offset={offset}")
        )
        .status,
        200,
        "other fields and the same walk"
    );

    // 23: no character of it can be changed, left out or added.
    let mut line = w.server.line();
    let mut refused = |changed: &str| {
        let path = format!("/projects/{}/tasks?limit=3&offset={changed}", w.project);
        assert_eq!(
            refusal(line.ask(&w.get(&path)).unwrap()),
            invalid,
            "23: {changed}"
        );
    };
    for at in 0..offset.len() {
        let mut bytes = offset.clone().into_bytes();
        bytes[at] = if bytes[at] == b'B' { b'C' } else { b'B' };
        if bytes != offset.as_bytes() {
            refused(std::str::from_utf8(&bytes).unwrap());
        }
        refused(&offset[..at]);
    }
    refused(&format!("{offset}A"));
    refused(&format!("{offset}%3D"));

    // 24: it belongs to a user, a list and its filters.
    let other = w.server.project("Lamps");
    make(
        &w.server,
        &w.token,
        "/tasks",
        &json!({"name": "Lamp", "projects": [other]}),
    );
    let ask = |token: &str, path: &str| refusal(w.ask(&request("GET", path, token, None)).unwrap());
    assert_eq!(
        ask(
            &w.token,
            &format!("/projects/{other}/tasks?limit=3&offset={offset}")
        ),
        invalid,
        "24: another project"
    );
    assert_eq!(
        ask(
            &w.token,
            &format!("/projects/{}/sections?limit=3&offset={offset}", w.project)
        ),
        invalid,
        "24: another list"
    );
    assert_eq!(
        ask(
            &w.token,
            &format!(
                "/projects/{}/tasks?limit=3&completed_since=now&offset={offset}",
                w.project
            )
        ),
        invalid,
        "24: another filter"
    );
    let stranger = ask(
        &w.colleague,
        &format!("/projects/{}/tasks?limit=3&offset={offset}", w.project),
    );
    assert_eq!(stranger, invalid, "24: another user");
    let status = ask(
        &w.stranger,
        &format!("/projects/{}/tasks?limit=3&offset={offset}", w.project),
    )
    .0;
    assert!(status == 400 || status == 403, "24: a stranger: {status}");

    // 26: full pages up to the cap, then one that says so.
    for number in 0..140 {
        make(
            &w.server,
            &w.token,
            "/tasks",
            &json!({"name": format!("Shelf {number}"), "projects": [other]}),
        );
    }
    let mut path = format!("/projects/{other}/tasks?limit=50");
    let mut sizes = Vec::new();
    let end = loop {
        let reply = w.ask(&w.get(&path)).unwrap();
        if reply.status != 200 {
            break reply;
        }
        sizes.push(reply.json()["data"].as_array().unwrap().len());
        path = reply.json()["next_page"]["path"]
            .as_str()
            .expect("the walk must not end as if it were complete")
            .to_owned();
    };
    assert_eq!(
        (end.status, sizes.iter().sum::<usize>()),
        (400, 120),
        "26: {sizes:?} {}",
        end.text()
    );
    assert!(
        end.message().contains("truncated data set"),
        "26: {}",
        end.text()
    );
}

/// S89.
#[test]
fn page_tokens_expire() {
    let w = World::new("expiry", &[("offset_lifetime", "0s")]);
    make(
        &w.server,
        &w.token,
        "/tasks",
        &json!({"name": "Second", "projects": [w.project]}),
    );
    let offset = w.page(&w.token, "limit=1").json()["next_page"]["offset"]
        .as_str()
        .unwrap()
        .to_owned();
    let reply = w.page(&w.token, &format!("limit=1&offset={offset}"));
    assert_eq!(
        (reply.status, reply.message()),
        (400, "offset: Your pagination token has expired.".to_owned()),
        "25"
    );
}

/// S64.
#[test]
fn bodies_are_checked() {
    let w = World::new("bodies", &[]);
    let send = |body: &str| w.send("POST", "/tasks", body);
    let raw = |body: &[u8]| post("POST", "/tasks", &w.token, "application/json", body);
    let kind = |kind: &str, body: &str| post("POST", "/tasks", &w.token, kind, body.as_bytes());
    let with = |field: &str| {
        send(&format!(
            r#"{{"data":{{"name":"x","projects":["{}"],{field}}}}}"#,
            w.project
        ))
    };
    let (json, utf8) = (
        "Could not parse request data, invalid JSON",
        "Could not parse request data, not valid UTF-8",
    );
    let no_length = plain(
        "POST",
        "/tasks",
        &[("Authorization", &format!("Bearer {}", w.token))],
        b"",
    );
    let long = "n".repeat((1 << 20) - 200);
    let nested =
        |levels: usize| format!("{{\"data\":{}1{}}}", "[".repeat(levels), "]".repeat(levels));
    w.try_all(&[
        row("31a", "no body", no_length, 400, "data: Missing input"),
        row("31b", "an empty body", raw(b""), 400, "data: Missing input"),
        row(
            "32a",
            "fields outside of data",
            send(r#"{"name":"x"}"#),
            400,
            "Unrecognized request field `name`",
        ),
        row(
            "32b",
            "an empty object",
            send("{}"),
            400,
            "data: Missing input",
        ),
        row(
            "32c",
            "data null",
            send(r#"{"data":null}"#),
            400,
            "data: Missing input",
        ),
        row(
            "32d",
            "data an array",
            send(r#"{"data":[]}"#),
            400,
            "data: must be an object",
        ),
        row(
            "32e",
            "an array",
            send("[]"),
            400,
            "Could not parse request data, the body must be a JSON object",
        ),
        row(
            "33a",
            "a task without a home",
            send(r#"{"data":{"name":"x"}}"#),
            400,
            "You should specify one of workspace, parent, projects",
        ),
        row(
            "33b",
            "a tag without a workspace",
            w.send("POST", "/tags", r#"{"data":{"name":"x"}}"#),
            400,
            "workspace: Missing input",
        ),
        row(
            "34a",
            "projects a number",
            send(r#"{"data":{"name":"x","projects":1}}"#),
            400,
            "projects: ",
        ),
        row(
            "34b",
            "projects an object",
            send(r#"{"data":{"name":"x","projects":{"a":1}}}"#),
            400,
            "projects: ",
        ),
        row(
            "34c",
            "an unknown project",
            send(r#"{"data":{"name":"x","projects":["999"]}}"#),
            400,
            "projects: [0]: Unknown object: 999",
        ),
        row(
            "34d",
            "a project that is a task",
            send(&format!(
                r#"{{"data":{{"name":"x","projects":["{}"]}}}}"#,
                w.task
            )),
            400,
            "projects: [0]: Unknown object",
        ),
        row("35a", "broken JSON", send(r#"{"data":"#), 400, json),
        row(
            "35b",
            "a trailing comma",
            send(r#"{"data":{"name":"x",}}"#),
            400,
            json,
        ),
        row(
            "35c",
            "a byte order mark",
            raw(b"\xef\xbb\xbf{\"data\":{}}"),
            400,
            json,
        ),
        row(
            "35d",
            "something after it",
            send(r#"{"data":{}}{}"#),
            400,
            json,
        ),
        row("35e", "single quotes", send("{'data':{}}"), 400, json),
        row("35f", "a comment", send(r#"{"data":{}/**/}"#), 400, json),
        row(
            "36a",
            "a field twice",
            send(r#"{"data":{"name":"x","name":"y"}}"#),
            400,
            "name: given twice",
        ),
        row(
            "36b",
            "data twice",
            send(r#"{"data":{},"data":{}}"#),
            400,
            "data: given twice",
        ),
        row(
            "37a",
            "half a surrogate pair",
            send(r#"{"data":{"name":"\ud800"}}"#),
            400,
            utf8,
        ),
        row(
            "37b",
            "no UTF-8",
            raw(b"{\"data\":{\"name\":\"\xff\"}}"),
            400,
            utf8,
        ),
        row(
            "37c",
            "an overlong NUL",
            raw(b"{\"data\":{\"name\":\"\xc0\x80\"}}"),
            400,
            utf8,
        ),
        row(
            "38a",
            "nested 33 deep",
            send(&nested(32)),
            400,
            "Could not parse request data, nested deeper than 32 levels",
        ),
        row(
            "38b",
            "nested 100,000 deep",
            send(&nested(100_000)),
            400,
            "Could not parse request data, nested deeper than 32 levels",
        ),
        row(
            "38c",
            "1e999",
            with(r#""liked":1e999"#),
            400,
            "Could not parse request data, number out of range",
        ),
        row("38d", "NaN", with(r#""liked":NaN"#), 400, json),
        row(
            "39a",
            "plain text",
            kind("text/plain", r#"{"data":{}}"#),
            415,
            "The content type must be application/json",
        ),
        row(
            "39b",
            "XML",
            kind("application/xml", "<a/>"),
            415,
            "The content type must be application/json",
        ),
        row(
            "39c",
            "JSON in another charset's clothes",
            kind("application/json; charset=utf-8", "{}"),
            400,
            "data: Missing input",
        ),
        row(
            "39d",
            "a form is read, and checked",
            kind("application/x-www-form-urlencoded", "name=x"),
            400,
            "You should specify one of workspace, parent, projects",
        ),
        row(
            "39e",
            "a form with broken encoding",
            kind("application/x-www-form-urlencoded", "name=%zz"),
            400,
            "name: not valid percent-encoding",
        ),
        row(
            "39f",
            "a form with a field twice",
            kind("application/x-www-form-urlencoded", "name=x&name=y"),
            400,
            "name: given twice",
        ),
        row(
            "41a",
            "a day that does not exist",
            with(r#""due_on":"2026-02-30""#),
            400,
            "due_on: ",
        ),
        row(
            "41b",
            "a date of another form",
            with(r#""due_on":"02/03/2026""#),
            400,
            "due_on: ",
        ),
        row(
            "41c",
            "a number as a date",
            with(r#""due_on":20260203"#),
            400,
            "due_on: ",
        ),
        row(
            "41d",
            "both due dates",
            with(r#""due_on":"2026-02-03","due_at":"2026-02-03T00:00:00Z""#),
            400,
            "You may only provide one of due_on or due_at!",
        ),
        row(
            "41e",
            "a start after the end",
            with(r#""start_on":"2026-02-04","due_on":"2026-02-03""#),
            400,
            "",
        ),
        row(
            "41f",
            "a time without a zone",
            with(r#""due_at":"2026-02-03T00:00:00""#),
            400,
            "due_at: ",
        ),
        row(
            "42a",
            "NUL in a name",
            send(&format!(
                r#"{{"data":{{"name":"a\u0000b","projects":["{}"]}}}}"#,
                w.project
            )),
            400,
            "name: ",
        ),
        row(
            "42b",
            "a name of a megabyte",
            send(&format!(
                r#"{{"data":{{"name":"{long}","projects":["{}"]}}}}"#,
                w.project
            )),
            400,
            "name: Too long",
        ),
        row(
            "42c",
            "a number as a name",
            send(&format!(
                r#"{{"data":{{"name":1,"projects":["{}"]}}}}"#,
                w.project
            )),
            400,
            "name: Not a string",
        ),
        row(
            "42d",
            "completed perhaps",
            with(r#""completed":"perhaps""#),
            400,
            "completed: Not a boolean",
        ),
        row(
            "42e",
            "completed null",
            with(r#""completed":null"#),
            400,
            "completed: ",
        ),
        row(
            "42f",
            "an unknown assignee",
            with(r#""assignee":"999""#),
            400,
            "assignee: Unknown object: 999",
        ),
        row(
            "42g",
            "an assignee that is no one",
            with(r#""assignee":"someone""#),
            400,
            "assignee: Not an email, GID, or \"me\": someone",
        ),
        row(
            "42h",
            "an assignee of another tenant",
            with(&format!(
                r#""assignee":"{}""#,
                w.server.demo("/users/3/gid")
            )),
            400,
            "assignee: ",
        ),
        row(
            "42i",
            "an unknown subtype",
            with(r#""resource_subtype":"dance""#),
            400,
            "resource_subtype: ",
        ),
        row(
            "42j",
            "rich text with a script",
            with(r#""html_notes":"<body><script>x</script></body>""#),
            400,
            "html_notes: ",
        ),
        row(
            "42k",
            "rich text that ends early",
            with(r#""html_notes":"<body><b>x</body>""#),
            400,
            "html_notes: ",
        ),
        row(
            "42l",
            "options of the wrong kind",
            send(r#"{"data":{},"options":[]}"#),
            400,
            "options: must be an object",
        ),
    ]);
    let count = w.page(&w.token, "limit=100").json()["data"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(count, 1, "nothing of it was made");
    assert!(
        w.ask(&w.get("/users/me")).is_ok_and(|r| r.status == 200),
        "and the server lives"
    );
}

#[test]
fn a_body_over_the_cap_is_413_and_ends_the_connection() {
    let w = World::new("large", &[]);
    let frame = format!(r#"{{"data":{{"name":"","projects":["{}"]}}}}"#, w.project);
    let body =
        |size: usize| frame.replace("\"\"", &format!("\"{}\"", "x".repeat(size - frame.len())));
    let bearer = format!("Bearer {}", w.token);
    // One byte less than too much is read, and refused for its own sake.
    let most = w.ask(&w.send("POST", "/tasks", &body(1 << 20))).unwrap();
    assert_eq!(most.status, 400, "{}", most.text());
    let over = body((1 << 20) + 1);
    let mut line = w.server.line();
    let reply = line.ask(&w.send("POST", "/tasks", &over)).unwrap();
    assert_eq!(
        (reply.status, is_error(&reply)),
        (413, true),
        "40, with a length: {}",
        reply.text()
    );
    assert!(
        line.closes_within(Duration::from_secs(5)),
        "40, with a length: the connection stays"
    );

    let mut chunked = plain(
        "POST",
        "/tasks",
        &[
            ("Authorization", &bearer),
            ("Content-Type", "application/json"),
            ("Transfer-Encoding", "chunked"),
        ],
        b"",
    );
    for part in over.as_bytes().chunks(60_000) {
        chunked.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        chunked.extend_from_slice(part);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let mut line = w.server.line();
    let reply = line.ask(&chunked).unwrap();
    assert_eq!(
        (reply.status, is_error(&reply)),
        (413, true),
        "40, without a length: {}",
        reply.text()
    );
    assert!(
        line.closes_within(Duration::from_secs(5)),
        "40, without a length: the connection stays"
    );

    // A length that no body has, of which nothing is sent.
    for length in ["99999999999", "18446744073709551615"] {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Content-Length", length),
        ];
        let mut line = w.server.line();
        let reply = line.ask(&plain("POST", "/tasks", &headers, b"{")).unwrap();
        assert!(
            [400, 413, 431].contains(&reply.status),
            "40, {length}: {} {}",
            reply.status,
            reply.text()
        );
    }
    assert!(
        w.page(&w.token, "limit=100").json()["data"]
            .as_array()
            .unwrap()
            .len()
            == 1,
        "nothing of it was made"
    );
}

/// B53. S07. Operations and fields beyond the scopes are 403.
#[test]
fn a_token_does_only_what_its_scopes_say() {
    let w = World::new("scopes", &[]);
    let as_reader = |method: &str, path: &str, body: Option<Value>| {
        request(method, path, &w.reader, body.as_ref())
    };
    let task = format!("/tasks/{}", w.task);
    w.try_all(&[
        row(
            "43a",
            "reading is allowed",
            as_reader("GET", &task, None),
            200,
            "",
        ),
        row(
            "43b",
            "creating is not",
            as_reader(
                "POST",
                "/tasks",
                Some(json!({"data": {"name": "x", "projects": [w.project]}})),
            ),
            403,
            "createTask: needs the scope tasks:write",
        ),
        row(
            "43c",
            "changing is not",
            as_reader("PUT", &task, Some(json!({"data": {"name": "x"}}))),
            403,
            "updateTask: needs the scope tasks:write",
        ),
        row(
            "43d",
            "deleting is not",
            as_reader("DELETE", &task, None),
            403,
            "deleteTask: needs the scope tasks:delete",
        ),
        row(
            "43e",
            "other objects are not",
            as_reader("GET", &format!("/projects/{}", w.project), None),
            403,
            "getProject: needs the scope projects:read",
        ),
        row(
            "43f",
            "nor before the body is read",
            post("POST", "/tasks", &w.reader, "application/json", b"{"),
            403,
            "createTask: needs the scope tasks:write",
        ),
        row(
            "28a",
            "compact records of others need no scope",
            as_reader("GET", &format!("{task}?opt_fields=assignee.name"), None),
            200,
            "",
        ),
        row(
            "28b",
            "their further fields do",
            as_reader("GET", &format!("{task}?opt_fields=assignee.email"), None),
            403,
            "assignee.email: needs the scope users:read",
        ),
        row(
            "28c",
            "and of followers",
            as_reader(
                "GET",
                &format!("{task}?opt_fields=name,followers.email"),
                None,
            ),
            403,
            "followers.email: needs the scope users:read",
        ),
        row(
            "28d",
            "and in lists",
            as_reader(
                "GET",
                &format!("/projects/{}/tasks?opt_fields=assignee.email", w.project),
                None,
            ),
            403,
            "assignee.email: needs the scope users:read",
        ),
    ]);
}

/// S68.
#[test]
fn paid_features_are_402_on_a_free_workspace() {
    let w = World::new("premium", &[]);
    let other = make(
        &w.server,
        &w.stranger,
        "/tasks",
        &json!({"name": "Other", "projects": [w.foreign_project]}),
    );
    let path = format!("/tasks/{}/addDependencies", w.foreign_task);
    let body = json!({"data": {"dependencies": [other]}});
    w.try_all(&[row(
        "44",
        "dependencies",
        request("POST", &path, &w.stranger, Some(&body)),
        402,
        "",
    )]);
    let paid = format!("/tasks/{}/addDependencies", w.task);
    let second = make(
        &w.server,
        &w.token,
        "/tasks",
        &json!({"name": "Second", "projects": [w.project]}),
    );
    let body = json!({"data": {"dependencies": [second]}});
    w.try_all(&[row(
        "44",
        "dependencies on a paid one",
        request("POST", &paid, &w.token, Some(&body)),
        200,
        "",
    )]);
}

/// S04. S74.
#[test]
fn a_write_that_finds_the_disk_full_is_500_and_leaves_nothing() {
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
    let mut line: Line = server.line();
    let mut made = Vec::new();
    let mut failure = None;
    for number in 0..500 {
        let body = json!({"data": {"name": format!("Row {number}"), "notes": notes, "projects": [project]}});
        let reply = line
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
            line.ask(&request("POST", "/tasks", server.token(), Some(&body)))
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
