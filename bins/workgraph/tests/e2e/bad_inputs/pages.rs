//! Page tokens: changed, borrowed and too old.
use super::{World, make};
use crate::common::{Reply, request};
use serde_json::json;

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
    let mut connection = w.server.raw_connection();
    let mut refused = |changed: &str| {
        let path = format!("/projects/{}/tasks?limit=3&offset={changed}", w.project);
        assert_eq!(
            refusal(connection.ask(&w.get(&path)).unwrap()),
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
        if at > 0 {
            refused(&offset[..at]);
        }
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
