//! Bodies: their form, their fields, their size.
use super::{World, is_error, row};
use crate::common::{plain, post};
use std::time::Duration;

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
            send(r#"{"data":[1]}"#),
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
            "two byte order marks",
            raw(b"\xef\xbb\xbf\xef\xbb\xbf{\"data\":{}}"),
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
            "a time with half a zone",
            with(r#""due_at":"2026-02-03T00:00:00+2""#),
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
            "completed null, of a task that is there",
            w.send(
                "PUT",
                &format!("/tasks/{}", w.task),
                r#"{"data":{"completed":null}}"#,
            ),
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
            send(r#"{"data":{},"options":[1]}"#),
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
    let mut connection = w.server.raw_connection();
    let reply = connection.ask(&w.send("POST", "/tasks", &over)).unwrap();
    assert_eq!(
        (reply.status, is_error(&reply)),
        (413, true),
        "40, with a length: {}",
        reply.text()
    );
    assert!(
        connection.closes_within(Duration::from_secs(5)),
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
    let mut connection = w.server.raw_connection();
    let reply = connection.ask(&chunked).unwrap();
    assert_eq!(
        (reply.status, is_error(&reply)),
        (413, true),
        "40, without a length: {}",
        reply.text()
    );
    assert!(
        connection.closes_within(Duration::from_secs(5)),
        "40, without a length: the connection stays"
    );

    // A length that no body has, of which nothing is sent.
    for length in ["99999999999", "18446744073709551615"] {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Content-Length", length),
        ];
        let mut connection = w.server.raw_connection();
        let reply = connection
            .ask(&plain("POST", "/tasks", &headers, b"{"))
            .unwrap();
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
