//! Rules for every request, for all rows.
use super::memory;
use crate::world::{KINDS, World};
use workgraph_api::ApiRequest;
use workgraph_api::request::Method;

/// S71.
#[test]
fn a_route_is_decided_before_anything_else() {
    let world = memory();
    for target in [
        "/nothing",
        "/",
        "/tasks/1/2/3",
        "/tasks/1%2f2",
        "/tasks/..;/x",
        "/tasks//1",
        "/Tasks",
        "/tasks//",
    ] {
        for token in ["-", "ada"] {
            let answer = world.send(world.request(token, "GET", target, String::new()));
            assert_eq!(
                (answer.status, answer.message()),
                (404, "No matching route for request"),
                "{target}"
            );
        }
    }
}

/// B40. B50. B51. B52. S11. One header, one whole token, dead at its hour.
#[test]
fn a_token_must_be_whole_alone_and_alive() {
    let world = memory();
    let good = format!("Bearer {}", world.text("ada"));
    let send = |headers: &[&str]| {
        world.send(ApiRequest {
            method: Some(Method::Get),
            path: "/users/me".to_owned(),
            authorization: headers.iter().map(|h| (*h).to_owned()).collect(),
            ..ApiRequest::default()
        })
    };
    assert_eq!(send(&[&good]).status, 200);
    assert_eq!(send(&[&good, &good]).status, 400);
    for bad in [
        "Basic YTpi".to_owned(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("{good} x"),
        good[..good.len() - 1].to_owned(),
        format!("{good}="),
        format!("{good}A"),
        good.replace("Bearer ", "Bearer wgp_"),
    ] {
        assert_eq!(send(&[&bad]).status, 401, "{bad}");
    }
    // An access token ends at 3600 seconds, not before.
    let token = "ada[users:read]";
    assert_eq!(world.get(token, "/users/me").status, 200);
    world.advance(3599);
    assert_eq!(world.get(token, "/users/me").status, 200);
    world.advance(1);
    let late = world.get(token, "/users/me");
    assert_eq!(late.status, 401);
    assert!(
        late.message().starts_with("The bearer token has expired."),
        "{}",
        late.text
    );
}

#[test]
fn a_token_tells_when_it_was_last_used() {
    for kind in KINDS {
        let world = World::new(kind);
        let used = || world.last_used("ada");
        assert_eq!(used(), None);
        let first = world.now();
        assert_eq!(world.get("ada", "/users/me").status, 200);
        assert_eq!(used(), Some(first));
        // Approximately: another use soon after is not written.
        world.advance(599);
        world.get("ada", "/users/me");
        assert_eq!(used(), Some(first));
        world.advance(1);
        world.get("ada", "/users/me");
        assert_eq!(used(), Some(world.now()));
        assert_eq!(world.get("ben", "/users/me").status, 200);
        assert_eq!(used(), Some(world.now()));
    }
}

/// S03.
#[test]
fn every_error_is_an_envelope_with_help() {
    let world = memory();
    for answer in [
        world.get("-", "/users/me"),
        world.get("ada", "/tasks"),
        world.get("ada", "/tasks/999999"),
        world.get("ada", "/nothing"),
        world.get("bob", "/tasks/1001"),
        world.get("ada[users:read]", "/tasks/1001"),
    ] {
        let errors = answer.json["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 1, "{}", answer.text);
        assert!(!answer.message().is_empty(), "{}", answer.text);
        assert!(
            errors[0]["help"]
                .as_str()
                .unwrap()
                .starts_with("For more information on API status codes")
        );
        assert!(errors[0].get("phrase").is_none(), "{}", answer.text);
        assert!(answer.json.get("data").is_none());
    }
}
