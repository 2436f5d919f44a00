//! Receivers of webhooks that make requests of their own, or hang, while a clock moves.
use super::client::{StandIn, World};
use crate::common::{RawConnection, clock, webhook_receiver};
use serde_json::{Value, json};

/// Makes a project with a webhook to a target.
fn watched_project(world: &World<'_>, target: &str) -> String {
    let project = world.project("Orders");
    let webhook = json!({"resource": project, "target": target});
    world.data("POST", "/webhooks", webhook);
    project
}

fn add_task(world: &World<'_>, project: &str, name: &str) {
    world.data(
        "POST",
        "/tasks",
        json!({"name": name, "projects": [project]}),
    );
}

#[test]
fn a_receiver_that_calls_back_while_the_clock_moves_is_served() {
    let stand_in = StandIn::start("stand-in-callbacks");
    let world = stand_in.world(json!({}));
    let path = format!("{}/api/1.0/users/me", world.path);
    let (port, token) = (stand_in.port, world.token.clone());
    let target = webhook_receiver(move |_delivery| {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        let reply = RawConnection::open(port).unwrap().ask(head.as_bytes());
        assert_eq!(reply.unwrap().status, 200);
    });
    let project = watched_project(&world, &target);
    add_task(&world, &project, "Buy");
    let begun = clock();
    // A heartbeat every eight hours, each of which asks.
    let moved = world.advance("25h");
    let happened = moved["happened"].as_array().unwrap();
    let deliveries = happened.iter().filter(|one| one["what"] == "delivery");
    assert!(deliveries.count() >= 3, "{moved}");
    assert!(begun.elapsed().as_secs() < 20, "the calls were not served");
    let asked = world.control(
        "GET",
        "/-/requests?operation=getUser&status=200",
        Value::Null,
    );
    assert!(asked.as_array().unwrap().len() >= 4, "{asked}");
}

#[test]
fn a_receiver_that_hangs_ends_the_call_at_its_time_and_not_the_move() {
    let stand_in = StandIn::start("stand-in-hanging");
    let world = stand_in.world(json!({}));
    let (open, closed) = std::sync::mpsc::channel::<()>();
    let closed = std::sync::Arc::new(std::sync::Mutex::new(closed));
    // Until the test drops its end.
    let target = webhook_receiver(move |_delivery| {
        let _ended = closed.lock().unwrap().recv();
    });
    let project = watched_project(&world, &target);
    add_task(&world, &project, "Buy");
    let path = format!("{}/-/clock", world.path);
    let json = [("Content-Type", "application/json")];
    let begun = clock();
    let body = json!({"advance": "1h", "max_wait": 0.3}).to_string();
    let reply = stand_in.send("POST", &path, &json, &body);
    assert_eq!(reply.status, 202, "{}", reply.text());
    assert_eq!(reply.json()["data"]["settled"], false);
    assert!(begun.elapsed().as_secs() < 5);
    // Another world does not wait.
    stand_in.world(json!({})).advance("1h");
    drop(open);
    let settled = world.control("POST", "/-/clock", json!({"advance": "0s"}));
    assert_eq!(settled["settled"], true);
    assert_eq!(settled["now"], "2026-03-02T10:30:00.000Z");
}
