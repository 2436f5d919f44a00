//! HTTP over raw sockets: framing, sizes, hosts and slow clients.
mod bounds;

use crate::common::{Folder, Reply, Seeded, Server, WIDE, clock, plain, request};
#[cfg(debug_assertions)]
use crate::common::{binary, command};
use serde_json::json;
use std::time::Duration;

/// Time for which a connection is watched for a second reply.
const SILENCE: Duration = Duration::from_millis(300);

/// Bytes of a request that would be answered if they were taken for one.
const SECOND: &str = "GET /api/1.0/nothing HTTP/1.1\r\nHost: x\r\n\r\n";

fn server(name: &str, settings: &[(&str, &str)]) -> (Folder, Server) {
    let folder = Folder::new(name);
    let server = Server::start(&folder, &[WIDE, settings].concat());
    (folder, server)
}

/// Sends these bytes. Returns all replies, and true if the connection ended.
fn replies(server: &Server, bytes: &[u8]) -> (Vec<Reply>, bool) {
    let mut connection = server.raw_connection();
    // The server may close before all is sent.
    let _cut = connection.send(bytes);
    let replies = connection.drain(SILENCE);
    (replies, connection.closes_within(Duration::from_secs(2)))
}

#[test]
fn a_request_whose_end_is_in_doubt_is_answered_once_and_ends_the_connection() {
    let (_folder, server) = server("framing", &[]);
    let project = server.project("Framing");
    let body = json!({"data": {"name": "smuggled", "projects": [project]}}).to_string();
    let head = format!(
        "POST /api/1.0/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n",
        server.token()
    );
    let (length, chunk) = (
        body.len(),
        format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
    );
    let doubtful = [
        (
            "93a",
            "a length and chunks",
            format!(
                "{head}Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}{SECOND}"
            ),
        ),
        (
            "93b",
            "chunks and a length",
            format!("{head}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n{chunk}{SECOND}"),
        ),
        (
            "93c",
            "two lengths",
            format!("{head}Content-Length: {length}\r\nContent-Length: 0\r\n\r\n{body}{SECOND}"),
        ),
        (
            "93d",
            "two lengths in one line",
            format!("{head}Content-Length: {length}, 0\r\n\r\n{body}{SECOND}"),
        ),
        (
            "93e",
            "xchunked",
            format!("{head}Transfer-Encoding: xchunked\r\n\r\n{chunk}{SECOND}"),
        ),
        (
            "93f",
            "chunked, identity",
            format!("{head}Transfer-Encoding: chunked, identity\r\n\r\n{chunk}{SECOND}"),
        ),
        (
            "93g",
            "two encodings",
            format!(
                "{head}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n{chunk}{SECOND}"
            ),
        ),
        (
            "93h",
            "a folded header",
            format!("{head}X-Fold: a\r\n b\r\nContent-Length: {length}\r\n\r\n{body}{SECOND}"),
        ),
        (
            "93i",
            "a folded encoding",
            format!(
                "{head}Transfer-Encoding:\r\n chunked\r\nContent-Length: {length}\r\n\r\n{body}{SECOND}"
            ),
        ),
        (
            "93j",
            "a blank before the colon",
            format!("{head}Content-Length : {length}\r\n\r\n{body}{SECOND}"),
        ),
        (
            "93k",
            "a length with a sign",
            format!("{head}Content-Length: +{length}\r\n\r\n{body}{SECOND}"),
        ),
        (
            "93l",
            "a length in hexadecimal",
            format!("{head}Content-Length: 0x{length:x}\r\n\r\n{body}{SECOND}"),
        ),
        (
            "93m",
            "a carriage return alone",
            format!("{head}X-A: b\rContent-Length: {length}\r\n\r\n{body}{SECOND}"),
        ),
        (
            "93n",
            "a NUL in a header",
            format!("{head}X-A: b\0c\r\nContent-Length: {length}\r\n\r\n{body}{SECOND}"),
        ),
        (
            "93o",
            "a chunk size past 64 bits",
            format!(
                "{head}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff1\r\n{body}\r\n0\r\n\r\n{SECOND}"
            ),
        ),
        (
            "93p",
            "a chunk size that is no number",
            format!(
                "{head}Transfer-Encoding: chunked\r\n\r\n{length:x}z\r\n{body}\r\n0\r\n\r\n{SECOND}"
            ),
        ),
        (
            "93q",
            "a chunk longer than its size",
            format!("{head}Transfer-Encoding: chunked\r\n\r\n2\r\n{body}\r\n0\r\n\r\n{SECOND}"),
        ),
        (
            "93r",
            "an encoding under HTTP/1.0",
            format!(
                "{}Transfer-Encoding: chunked\r\n\r\n{chunk}{SECOND}",
                head.replace("HTTP/1.1", "HTTP/1.0")
            ),
        ),
        (
            "93v",
            "line feeds alone",
            format!(
                "{}Content-Length: {length}\n\n{body}{SECOND}",
                head.replace("\r\n", "\n")
            ),
        ),
        (
            "93w",
            "one line feed alone",
            format!("{head}X-A: b\nContent-Length: {length}\r\n\r\n{body}{SECOND}"),
        ),
    ];
    let mut complaints = Vec::new();
    for (number, rule, bytes) in &doubtful {
        let (replies, closed) = replies(&server, bytes.as_bytes());
        let statuses: Vec<_> = replies.iter().map(|r| r.status).collect();
        let fits = matches!(statuses.as_slice(), [] | [201 | 400 | 413 | 501]);
        if !fits || !closed {
            complaints.push(format!("{number} ({rule}): {statuses:?}, closed: {closed}"));
        }
    }
    // A body is never taken for a request, whether a route reads it or not.
    let about = format!("Host: x\r\nContent-Length: {}\r\n", SECOND.len());
    let bearer = format!("Authorization: Bearer {}\r\n", server.token());
    let whole = [
        (
            "93s",
            "a GET with a body",
            format!("GET /api/1.0/users/me HTTP/1.1\r\n{about}{bearer}\r\n{SECOND}"),
            200,
        ),
        (
            "93t",
            "a body for no route",
            format!("POST /api/1.0/nothing HTTP/1.1\r\n{about}\r\n{SECOND}"),
            404,
        ),
        (
            "93u",
            "a body without a token",
            format!("POST /api/1.0/tasks HTTP/1.1\r\n{about}\r\n{SECOND}"),
            401,
        ),
        (
            "93v",
            "a body for a DELETE",
            format!("DELETE /api/1.0/tasks/999 HTTP/1.1\r\n{about}{bearer}\r\n{SECOND}"),
            404,
        ),
        // RFC 9112 section 2.2 lets a line feed alone end a line, so this is one request like any other.
        (
            "93w",
            "line feeds alone",
            format!(
                "{}{body}",
                format!("{head}Content-Length: {length}\r\n\r\n").replace("\r\n", "\n")
            ),
            201,
        ),
    ];
    for (number, rule, bytes, status) in &whole {
        let statuses: Vec<_> = replies(&server, bytes.as_bytes())
            .0
            .iter()
            .map(|r| r.status)
            .collect();
        if statuses != [*status] {
            complaints.push(format!(
                "{number} ({rule}): {statuses:?} instead of {status}"
            ));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    let made = server.data("GET", &format!("/projects/{project}/tasks"), None);
    assert!(
        made.as_array().unwrap().len() <= doubtful.len() + 1,
        "none was processed twice"
    );
}

#[test]
fn requests_on_one_connection_are_answered_in_order() {
    let (_folder, server) = server("pipeline", &[]);
    let me = request("GET", "/users/me", server.token(), None);
    let bytes = [&me[..], SECOND.as_bytes(), &me[..]].concat();
    let (replies, _) = replies(&server, &bytes);
    assert_eq!(
        replies.iter().map(|r| r.status).collect::<Vec<_>>(),
        [200, 404, 200]
    );
}

#[test]
fn links_come_from_the_configured_address_and_never_from_the_request() {
    let (_folder, server) = server("hosts", &[("public_url", "https://work.example")]);
    let project = server.project("Hosts");
    let make = |name: &str| json!({"data": {"name": name, "projects": [project]}});
    for name in ["One", "Two"] {
        server.data("POST", "/tasks", Some(&make(name)));
    }
    let bearer = format!("Authorization: Bearer {}\r\n", server.token());
    let get = |hosts: &str| {
        format!("GET /api/1.0/projects/{project}/tasks?limit=1 HTTP/1.1\r\n{hosts}{bearer}\r\n")
            .into_bytes()
    };
    let status = |hosts: &str| {
        replies(&server, &get(hosts))
            .0
            .iter()
            .map(|r| r.status)
            .collect::<Vec<_>>()
    };
    assert_eq!(status(""), [400], "96: no Host");
    assert_eq!(status("Host: a\r\nHost: b\r\n"), [400], "96: two Hosts");
    assert_eq!(
        status("Host: a\r\nHost: a\r\n"),
        [400],
        "96: two equal Hosts"
    );
    let base = "https://work.example/api/1.0";
    let more = "Host: evil.example\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\nForwarded: host=evil.example\r\n";
    let reply = server.raw_connection().ask(&get(more)).unwrap();
    let next = reply.json()["next_page"].clone();
    assert!(
        next["uri"]
            .as_str()
            .unwrap()
            .starts_with(&format!("{base}/projects/{project}/tasks?")),
        "96: {next}"
    );
    assert!(
        next["path"]
            .as_str()
            .unwrap()
            .starts_with(&format!("/projects/{project}/tasks?")),
        "96: {next}"
    );
    let body = make("Three").to_string();
    let head = format!(
        "POST /api/1.0/tasks HTTP/1.1\r\n{more}{bearer}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let made = server.raw_connection().ask(head.as_bytes()).unwrap();
    let gid = made.json()["data"]["gid"].as_str().unwrap().to_owned();
    let location = made.header("location").unwrap().to_owned();
    assert_eq!(made.status, 201);
    assert!(
        location.ends_with(&format!("/tasks/{gid}")) && !location.contains("evil"),
        "96: {location}"
    );
    assert!(
        !made.text().contains("evil") && !reply.text().contains("evil"),
        "96"
    );
    // A target in absolute form names the same operations.
    let absolute = format!(
        "GET http://evil.example/api/1.0/tasks/{gid} HTTP/1.1\r\nHost: evil.example\r\n{bearer}\r\n"
    );
    let reply = server.raw_connection().ask(absolute.as_bytes()).unwrap();
    assert!(
        [200, 400, 404].contains(&reply.status) && !reply.text().contains("evil"),
        "96: {} {}",
        reply.status,
        reply.text()
    );
}

#[test]
fn bytes_changed_at_random_bring_nothing_down() {
    let (folder, mut server) = server("bytes", &[]);
    let seeds = [
        request("GET", "/users/me?opt_fields=name,(email|photo)", server.token(), None),
        request("POST", "/tags", server.token(), Some(&json!({"data": {"name": "x", "workspace": server.workspace("paid")}}))),
        plain("POST", "/tasks", &[("Transfer-Encoding", "chunked"), ("Expect", "100-continue")], b"5\r\n{\"dat\r\n0\r\n\r\n"),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80\0\x04\0\x01\0\0\0\x05\0\0@\0\0\0\x04\x01\x05\0\0\0\x01\x82\x84\x86A".to_vec(),
    ];
    let pieces: [&[u8]; 10] = [
        b"\r\n",
        b"\r\n\r\n",
        b"\n",
        b"\0",
        b": ",
        b"%",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"\xff\xfe",
        b" HTTP/1.1",
    ];
    let mut random = Seeded(9);
    for number in 0..600 {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() + 1);
            match random.below(5) {
                0 => bytes.truncate(at),
                1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
                2 => drop(bytes.splice(at..at, pieces[random.below(pieces.len())].iter().copied())),
                3 => drop(bytes.splice(at..(at + random.below(20)).min(bytes.len()), [])),
                _ => bytes.extend_from_within(at..),
            }
        }
        let mut connection = server.raw_connection();
        // The server may have closed by then.
        let _cut = connection.send(&bytes);
        connection.finish();
        let statuses: Vec<_> = connection.drain(SILENCE).iter().map(|r| r.status).collect();
        assert!(
            statuses.iter().all(|s| *s < 500),
            "{number}: {statuses:?}: {}",
            String::from_utf8_lossy(&bytes)
        );
    }
    assert!(
        server.lives() && !folder.log().contains("panicked"),
        "{}",
        folder.log()
    );
    assert_eq!(server.ask("GET", "/users/me", None).status, 200);
}

/// S74. Only debug builds have the store that panics.
#[cfg(debug_assertions)]
#[test]
fn a_panic_is_a_500_with_a_phrase_and_leaves_neither_process_nor_permits_worse() {
    let folder = Folder::new("panic");
    let mut program = command(&binary());
    program.env("WORKGRAPH_TEST_PANIC", "4242");
    let few = [WIDE, &[("limits.concurrent_reads", "5")]].concat();
    let mut server = Server::start_by(program, &folder, &few);
    // The link to the page of errors is that of all errors, under the host of the request.
    let missing = server.ask("GET", "/tasks/1", None).json();
    let help = &missing["errors"][0]["help"];
    for method in ["GET", "DELETE"] {
        // More often than requests may run at once: a permit that was not freed would be missed.
        for _ in 0..20 {
            let reply = server.ask(method, "/tasks/4242", None);
            let error = &reply.json()["errors"][0];
            assert_eq!(
                (reply.status, error["message"].as_str()),
                (500, Some("Server Error"))
            );
            assert_eq!(&error["help"], help);
            let phrase = error["phrase"].as_str().unwrap();
            assert!(folder.log().contains(phrase), "{phrase} is not in the log");
        }
    }
    assert_eq!(server.ask("GET", "/users/me", None).status, 200);
    assert!(server.lives());
}
