//! Equal seeds, times and requests give equal replies.
use super::client::{StandIn, World};
use crate::common::{Reply, Seeded};
use serde_json::{Value, json};

/// Returns what a reply shows, without the port of its server.
fn shown(reply: &Reply, port: u16) -> String {
    let mut headers: Vec<String> = reply
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    headers.sort();
    let text = format!("{} {} {}", reply.status, headers.join(", "), reply.text());
    text.replace(&port.to_string(), "PORT")
}

/// Sends a random program to a world. Returns all that it answered, and what its inbox got.
fn run(world: &World<'_>, seed: u64) -> Vec<String> {
    let mut seeded = Seeded(seed);
    let port = world.stand_in.port;
    let project = world.project("Orders");
    world.control("PUT", "/-/inbox/orders", json!({"answer": 500, "times": 4}));
    world.webhook(&project, "orders");
    world.advance("0s");
    let mut transcript = Vec::new();
    for number in 0..60 {
        let reply = match seeded.below(6) {
            0 => world.ask(
                "GET",
                &format!("/projects/{project}/tasks?limit=3"),
                Value::Null,
            ),
            1 => world.ask(
                "POST",
                &format!("/projects/{project}/duplicate"),
                json!({"name": "Copy"}),
            ),
            2 => world.ask("GET", "/tasks/0", Value::Null),
            3 => world.ask("GET", &format!("/events?resource={project}"), Value::Null),
            4 => {
                world.advance(&format!("{}s", seeded.below(900)));
                continue;
            }
            _ => world.ask(
                "POST",
                "/tasks",
                json!({"name": format!("{number}"), "projects": [project]}),
            ),
        };
        transcript.push(shown(&reply, port));
        // What the change brought about has happened before the next request.
        world.advance("0s");
    }
    let deliveries = world.deliveries("orders");
    transcript.extend(
        deliveries
            .iter()
            .map(|one| one.to_string().replace(&port.to_string(), "PORT")),
    );
    transcript
}

#[test]
fn the_same_program_gives_the_same_bytes_beside_other_work_and_another_seed_does_not() {
    let quiet = StandIn::start("stand-in-quiet");
    let expected = run(&quiet.world(json!({})), 3);
    assert!(expected.len() > 40);
    let busy = StandIn::start("stand-in-busy");
    let world = busy.world(json!({}));
    // Their time stands still, so nothing that they sent is ever over for a limit.
    let unlimited = || json!({"settings": {"limits.standard_paid": 1_000_000}});
    let others: Vec<World<'_>> = (0..3).map(|_| busy.world(unlimited())).collect();
    let done = std::sync::atomic::AtomicBool::new(false);
    let again = std::thread::scope(|scope| {
        for other in &others {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    other.task("Noise");
                }
            });
        }
        let again = run(&world, 3);
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        again
    });
    for (number, (one, other)) in expected.iter().zip(&again).enumerate() {
        assert_eq!(one, other, "line {number}");
    }
    assert_eq!(expected.len(), again.len());
    let other_seed = StandIn::start_with("stand-in-seed", &["--seed", "8"]);
    assert_ne!(run(&other_seed.world(json!({})), 3), expected);
}
