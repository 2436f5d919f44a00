//! Time moves only when a test moves it, and what is due happens on the way.
use super::client::{BEGIN, StandIn, World};
use crate::common::Seeded;
use serde_json::{Value, json};

/// Returns the times of the deliveries of an inbox, with their answers.
fn attempts(world: &World<'_>, inbox: &str) -> Vec<(String, u64)> {
    let text = |one: &Value| {
        (
            one["at"].as_str().unwrap().to_owned(),
            one["answered"].as_u64().unwrap(),
        )
    };
    world.deliveries(inbox).iter().map(text).collect()
}

#[test]
fn a_delivery_that_fails_is_repeated_when_the_clock_reaches_its_time() {
    let stand_in = StandIn::start("stand-in-retry");
    let world = stand_in.world(json!({}));
    // The first attempt after a change needs no move of the clock.
    world.change_with_failing_inbox(500, 3);
    world.advance("0s");
    let first = attempts(&world, "orders");
    assert_eq!(first, [(BEGIN.to_owned(), 500)]);
    let next = world.control("GET", "/-/clock", Value::Null)["next_due"].clone();
    assert_eq!(next["what"], "delivery", "{next}");
    // Not a millisecond before its time.
    let due = next["at"].as_str().unwrap();
    world.control("POST", "/-/clock", json!({ "set": due }));
    assert_eq!(attempts(&world, "orders").len(), 2);
    assert_eq!(attempts(&world, "orders")[1], (due.to_owned(), 500));
    world.advance("24h");
    let all = attempts(&world, "orders");
    let answers: Vec<u64> = all.iter().map(|(_, answer)| *answer).collect();
    assert_eq!(answers[..4], [500, 500, 500, 200], "{all:?}");
    let signed = world
        .deliveries("orders")
        .iter()
        .all(|one| one["is_signed"] == true);
    assert!(signed);
}

#[test]
fn one_jump_equals_many_small_ones() {
    let stand_in = StandIn::start("stand-in-jumps");
    let mut seeded = Seeded(11);
    let world = |jumps: &[u64]| {
        let world = stand_in.world(json!({"seed": 5, "now": BEGIN}));
        let project = world.change_with_failing_inbox(503, 9);
        for seconds in jumps {
            world.advance(&format!("{seconds}s"));
        }
        let now = world.control("GET", "/-/clock", Value::Null)["now"].clone();
        (
            now,
            attempts(&world, "orders"),
            world.data(
                "GET",
                &format!("/tasks?project={project}&opt_fields=name,created_at"),
                Value::Null,
            )[0]["name"]
                .clone(),
        )
    };
    const DAY: u64 = 86_400;
    let one = world(&[DAY]);
    assert!(one.1.len() > 5, "{one:?}");
    for _ in 0..3 {
        let mut jumps = Vec::new();
        while jumps.iter().sum::<u64>() < DAY {
            let left = DAY - jumps.iter().sum::<u64>();
            jumps.push((seeded.below(7_200) as u64 + 1).min(left));
        }
        assert_eq!(world(&jumps), one, "{jumps:?}");
    }
}

#[test]
fn a_job_has_ended_before_the_next_request() {
    let stand_in = StandIn::start("stand-in-jobs");
    let world = stand_in.world(json!({}));
    let project = world.project("Forest");
    for n in 0..30 {
        world.data(
            "POST",
            "/tasks",
            json!({"name": format!("Tree {n}"), "projects": [project]}),
        );
    }
    let job = world.data(
        "POST",
        &format!("/projects/{project}/duplicate"),
        json!({"name": "Copy"}),
    );
    let job = job["gid"].as_str().unwrap();
    let ended = world.data("GET", &format!("/jobs/{job}"), Value::Null);
    assert_eq!(ended["status"], "succeeded");
}

#[test]
fn a_clock_never_goes_back_and_runs_only_if_asked() {
    let stand_in = StandIn::start("stand-in-clock");
    let world = stand_in.world(json!({"now": "2020-01-01T00:00:00Z"}));
    let wrong = |body: Value| {
        let path = format!("{}/-/clock", world.path);
        let json = [("Content-Type", "application/json")];
        let reply = stand_in.send("POST", &path, &json, &body.to_string());
        assert_eq!(reply.status, 400, "{body}");
        reply.message()
    };
    assert!(wrong(json!({"set": "2019-12-31T00:00:00Z"})).starts_with("set:"));
    assert!(wrong(json!({"advance": "soon"})).starts_with("advance:"));
    assert!(wrong(json!({})).contains("one of"));
    assert!(wrong(json!({"mode": "fast"})).starts_with("mode:"));
    world.task("Old");
    let now = || {
        world.control("GET", "/-/clock", Value::Null)["now"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(now(), "2020-01-01T00:00:00.000Z");
    world.control("POST", "/-/clock", json!({"mode": "running"}));
    let first = now();
    crate::common::pause(20);
    assert!(now() > first);
    world.control("POST", "/-/clock", json!({"mode": "frozen"}));
    assert_eq!(now(), now());
}
