//! Access to the control routes of a stand-in, and their absence without one.
use super::client::StandIn;
use crate::common::{Folder, Server, binary, command};
use serde_json::{Value, json};

#[test]
fn pages_of_other_origins_other_hosts_and_forms_move_nothing() {
    let stand_in = StandIn::start("stand-in-safety");
    let body = r#"{"advance":"1h"}"#;
    let json = ("Content-Type", "application/json");
    for headers in [
        &[("Host", "evil.example"), json][..],
        &[json, ("Origin", "http://evil.example")],
        &[json, ("Origin", "null")],
        &[("Content-Type", "text/plain")],
        &[("Content-Type", "application/x-www-form-urlencoded")],
    ] {
        for path in [
            "/-/clock",
            "/-/worlds",
            "/-/faults",
            "/-/limits",
            "/-/requests/verify",
        ] {
            let reply = stand_in.send("POST", path, headers, body);
            assert_eq!(reply.status, 403, "{path} {headers:?}");
        }
    }
    let clock = stand_in.control("GET", "/-/clock", Value::Null);
    assert_eq!(clock["now"], super::client::BEGIN);
    let worlds = stand_in.control("GET", "/-/worlds", Value::Null);
    assert_eq!(worlds.as_array().unwrap().len(), 1);
}

#[test]
fn a_request_that_could_not_be_meant_is_refused() {
    let stand_in = StandIn::start("stand-in-refusals");
    let json = [("Content-Type", "application/json")];
    for (method, path, body, reason) in [
        (
            "POST",
            "/-/clock",
            r#"{"advance":300000000000}"#,
            "would be after",
        ),
        (
            "POST",
            "/-/clock",
            r#"{"set":"9999-12-31T23:59:59Z"}"#,
            "would be after",
        ),
        (
            "POST",
            "/-/requests/verify",
            r#"{"operation":"creatTask","count":0}"#,
            "no operation has the name",
        ),
        (
            "GET",
            "/-/requests?operation=nope",
            "",
            "no operation has the name",
        ),
        (
            "DELETE",
            "/-/requests?operation=getUser",
            "",
            "leave the parameters out",
        ),
    ] {
        let reply = stand_in.send(method, path, &json, body);
        let said = String::from_utf8_lossy(&reply.body);
        assert_eq!(reply.status, 400, "{path} {body}: {said}");
        assert!(said.contains(reason), "{path}: {said}");
    }
}

#[test]
fn without_a_stand_in_none_of_its_routes_exists_and_folders_are_not_mixed_up() {
    let folder = Folder::new("no-stand-in");
    let mut server = Server::start(&folder, &[]);
    let json = [("Content-Type", "application/json")];
    for path in [
        "/-/clock",
        "/-/worlds",
        "/-/faults",
        "/-/requests",
        "/-/inbox/a",
        "/w/1/api/1.0/users/me",
    ] {
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let mut text =
                format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n");
            for (name, value) in json {
                text += &format!("{name}: {value}\r\n");
            }
            let reply = server
                .raw_connection()
                .ask(format!("{text}\r\n{{}}").as_bytes());
            assert_eq!(reply.unwrap().status, 404, "{method} {path}");
        }
    }
    server.stop();
    let refused = |arguments: &[&str]| {
        let mut command = command(&binary());
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments);
        let output = command.arg("--data").arg(folder.data()).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = refused(&["--stand-in"]);
    assert!(text.contains("not that of a stand-in"), "{text}");
    std::fs::write(folder.data().join("stand-in"), "").unwrap();
    let text = refused(&[]);
    assert!(text.contains("that of a stand-in"), "{text}");
    let unknown = StandIn::start("stand-in-unknown");
    let reply = unknown.send(
        "POST",
        "/-/worlds",
        &json,
        &json!({"from": "nowhere"}).to_string(),
    );
    assert_eq!(
        (reply.status, reply.message().starts_with("from:")),
        (400, true)
    );
}

#[test]
fn a_control_token_lets_other_hosts_in_and_a_wrong_one_nobody() {
    let stand_in = StandIn::start_with("stand-in-token", &["--control-token", "s3cret"]);
    let status = |headers: &[(&str, &str)]| {
        let json = [("Content-Type", "application/json")];
        let headers = [&json, headers].concat();
        stand_in
            .send("POST", "/-/clock", &headers, r#"{"advance":"1h"}"#)
            .status
    };
    let far = ("Host", "stand-in:8080");
    assert_eq!(status(&[far]), 403);
    assert_eq!(status(&[far, ("Workgraph-Control", "s3cret")]), 200);
    assert_eq!(status(&[far, ("Workgraph-Control", "guess")]), 403);
    assert_eq!(status(&[("Workgraph-Control", "guess")]), 403);
    assert_eq!(status(&[]), 200);
}

#[test]
fn a_folder_that_a_stand_in_uses_is_left_alone() {
    let stand_in = StandIn::start("stand-in-folder");
    let mut second = command(&binary());
    second.args(["serve", "--stand-in", "--listen", "127.0.0.1:0"]);
    let output = second
        .arg("--data")
        .arg(stand_in.folder().data())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && text.contains("another stand-in"),
        "{text}"
    );
    stand_in.world(json!({})).task("Still there");
}
