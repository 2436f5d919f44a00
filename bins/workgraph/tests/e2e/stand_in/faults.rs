//! Faults and limits that a test asks for are true: their waits are exact, and a client that obeys gets in.
use super::client::{StandIn, World};
use serde_json::{Value, json};

/// Returns the statuses of requests.
fn statuses(world: &World<'_>, path: &str, count: usize) -> Vec<u16> {
    (0..count)
        .map(|_| world.ask("GET", path, Value::Null).status)
        .collect()
}

#[test]
fn an_exhausted_limit_lets_a_client_in_at_the_stated_wait_and_not_a_second_before() {
    let stand_in = StandIn::start("stand-in-exhaust");
    for (limit, path) in [
        ("standard", "/users/me".to_owned()),
        ("search", "/workspaces/{}/tasks/search?text=a".to_owned()),
        ("cost", "/users/me".to_owned()),
    ] {
        let world = stand_in.world(json!({}));
        let path = path.replace("{}", world.workspace());
        assert_eq!(world.ask("GET", &path, Value::Null).status, 200, "{limit}");
        world.control(
            "POST",
            "/-/limits",
            json!({"token": world.token, "exhaust": limit}),
        );
        let refused = world.ask("GET", &path, Value::Null);
        assert_eq!(refused.status, 429, "{limit}");
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!(wait >= 1, "{limit}");
        world.advance(&format!("{}s", wait - 1));
        assert_eq!(world.ask("GET", &path, Value::Null).status, 429, "{limit}");
        world.advance("1s");
        assert_eq!(world.ask("GET", &path, Value::Null).status, 200, "{limit}");
    }
}

#[test]
fn requests_that_are_held_take_the_slots_of_their_user() {
    let stand_in = StandIn::start("stand-in-hold");
    let world = stand_in.world(json!({"settings": {"limits.concurrent_reads": 2}}));
    let hold = json!({"match": {"operation": "getUser"}, "do": {"hold": true}});
    let fault = world.control("POST", "/-/faults", hold);
    let id = fault["id"].as_str().unwrap().to_owned();
    std::thread::scope(|scope| {
        let held: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| world.ask("GET", "/users/me", Value::Null).status))
            .collect();
        let matched = || world.control("GET", "/-/faults", Value::Null)[0]["matched"].as_u64();
        while matched() != Some(2) {
            crate::common::pause(2);
        }
        let refused = world.ask("GET", "/workspaces", Value::Null);
        assert_eq!(refused.status, 429);
        assert!(refused.header("retry-after").is_some());
        world.control("POST", &format!("/-/faults/{id}/release"), json!({}));
        for one in held {
            assert_eq!(one.join().unwrap(), 200);
        }
    });
    assert_eq!(statuses(&world, "/workspaces", 1), [200]);
}

#[test]
fn errors_have_the_form_of_the_contract() {
    let stand_in = StandIn::start("stand-in-errors");
    let world = stand_in.world(json!({}));
    for (error, status) in [
        ("internal", 500),
        ("unavailable", 503),
        ("payment_required", 402),
        ("legal", 451),
        ("offset_expired", 400),
        ("token_expired", 401),
    ] {
        world.control(
            "POST",
            "/-/faults",
            json!({"match": {"times": 1}, "do": {"error": error}}),
        );
        let reply = world.ask("GET", "/users/me", Value::Null);
        assert_eq!(reply.status, status, "{error}");
        assert!(!reply.message().is_empty(), "{error}");
        assert_eq!(statuses(&world, "/users/me", 1), [200], "{error}");
    }
    let own = json!({"respond": {"status": 418, "retry_after": 9, "body": {"tea": true}}});
    world.control(
        "POST",
        "/-/faults",
        json!({"match": {"path": "/users/*"}, "do": own}),
    );
    let reply = world.ask("GET", "/users/me", Value::Null);
    assert_eq!(
        (reply.status, reply.header("retry-after")),
        (418, Some("9"))
    );
    assert_eq!(reply.json(), json!({"tea": true}));
    assert_eq!(statuses(&world, "/workspaces", 1), [200]);
}

#[test]
fn a_cut_after_the_commit_leaves_the_change_and_one_before_does_not() {
    let stand_in = StandIn::start("stand-in-cuts");
    let world = stand_in.world(json!({}));
    let project = world.project("Orders");
    for (cut, kept) in [("before", 0), ("after_commit", 1), ("half", 2)] {
        let fault = json!({"match": {"operation": "createTask", "times": 1}, "do": {"cut": cut}});
        world.control("POST", "/-/faults", fault);
        let task = json!({"name": cut, "projects": [project]});
        let error = world.try_ask("POST", "/tasks", task).unwrap_err();
        assert!(
            error.starts_with("closed") || error.contains("reset"),
            "{cut}: {error}"
        );
        let tasks = world.data("GET", &format!("/projects/{project}/tasks"), Value::Null);
        assert_eq!(tasks.as_array().unwrap().len(), kept, "{cut}");
    }
}

#[test]
fn requests_are_listed_and_verified_with_near_misses() {
    let stand_in = StandIn::start("stand-in-requests");
    let world = stand_in.world(json!({}));
    world.task("One");
    world.ask("GET", "/tasks/1", Value::Null);
    let listed = world.control("GET", "/-/requests?operation=getTask", Value::Null);
    assert_eq!(
        (&listed[0]["status"], listed.as_array().unwrap().len()),
        (&404.into(), 1)
    );
    let verify = |pattern: Value| world.control("POST", "/-/requests/verify", pattern);
    assert_eq!(
        verify(json!({"operation": "createTask", "count": 1}))["holds"],
        true
    );
    let missed = verify(json!({"operation": "createTask", "status": 500}));
    assert_eq!(
        (&missed["holds"], &missed["near_misses"][0]["status"]),
        (&false.into(), &201.into())
    );
}
