//! Equal seeds, times and requests give equal replies.
use super::client::{StandIn, World};
use crate::common::{Reply, Seeded};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// Number of requests of the program, and of other worlds beside it, unless `WORKGRAPH_STEPS` says more.
const STEPS: usize = 60;
const OTHERS: usize = 3;
const OTHERS_OF_MANY_STEPS: usize = 20;
/// Flags of a server that logs everything about requests.
const DEBUG: [&str; 4] = ["--log-format", "json", "--set", "log.level=debug"];

fn steps() -> usize {
    std::env::var("WORKGRAPH_STEPS").map_or(STEPS, |text| text.parse().unwrap())
}

/// Returns the lines of the log about requests with these ids, without the time of the machine and the port.
fn logged(stand_in: &StandIn, ids: &BTreeSet<String>) -> Vec<String> {
    let log = stand_in.folder().log();
    let lines = log.lines().filter_map(|line| {
        let mut line: Value = serde_json::from_str(line).ok()?;
        let id = line["request_id"].as_str()?;
        if !ids.contains(id) {
            return None;
        }
        line.as_object_mut()?.remove("timestamp");
        Some(line.to_string().replace(&stand_in.port.to_string(), "PORT"))
    });
    lines.collect()
}

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

/// Sends a random program to a world. Returns all that it answered, what its inbox got, and what was logged.
fn run(world: &World<'_>, seed: u64) -> Vec<String> {
    let mut seeded = Seeded(seed);
    let port = world.stand_in.port;
    let project = world.project("Orders");
    world.control("PUT", "/-/inbox/orders", json!({"answer": 500, "times": 4}));
    world.webhook(&project, "orders");
    world.advance("0s");
    let (mut transcript, mut ids) = (Vec::new(), BTreeSet::new());
    for number in 0..steps() {
        let reply = match seeded.below(6) {
            0 => world.ask(
                "GET",
                &format!("/projects/{project}/tasks?limit=3"),
                Value::Null,
            ),
            // Later the project is large, and a copy of it slow.
            1 if number < STEPS => world.ask(
                "POST",
                &format!("/projects/{project}/duplicate"),
                json!({"name": "Copy"}),
            ),
            1 => world.ask(
                "PUT",
                &format!("/projects/{project}"),
                json!({"name": format!("Orders {number}")}),
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
        ids.extend(reply.header("x-request-id").map(str::to_owned));
        // What the change brought about has happened before the next request.
        world.advance("0s");
    }
    let deliveries = world.deliveries("orders");
    transcript.extend(
        deliveries
            .iter()
            .map(|one| one.to_string().replace(&port.to_string(), "PORT")),
    );
    let lines = logged(world.stand_in, &ids);
    assert!(
        lines.len() > steps() / 20,
        "requests that are refused are logged"
    );
    transcript.extend(lines);
    transcript
}

/// Returns the options of a world whose clock never lets a limit recover, and that has none.
fn unlimited() -> Value {
    json!({"settings": {"limits.standard_paid": 1_000_000, "limits.cost": 1_000_000_000}})
}

#[test]
fn the_same_program_gives_the_same_bytes_beside_other_work_and_another_seed_does_not() {
    let start = |name: &str, seed: &str| {
        StandIn::start_with(name, &[&["--seed", seed][..], &DEBUG].concat())
    };
    let quiet = start("stand-in-quiet", "7");
    let expected = run(&quiet.world(unlimited()), 3);
    assert!(expected.len() > steps() / 2);
    let busy = start("stand-in-busy", "7");
    let world = busy.world(unlimited());
    let others = match steps() {
        STEPS => OTHERS,
        _ => OTHERS_OF_MANY_STEPS,
    };
    let others: Vec<World<'_>> = (0..others).map(|_| busy.world(unlimited())).collect();
    let done = AtomicBool::new(false);
    let again = std::thread::scope(|scope| {
        for other in &others {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    other.task("Noise");
                }
            });
        }
        let again = run(&world, 3);
        done.store(true, Relaxed);
        again
    });
    for (number, (one, other)) in expected.iter().zip(&again).enumerate() {
        assert_eq!(one, other, "line {number}");
    }
    assert_eq!(expected.len(), again.len());
    let other_seed = start("stand-in-seed", "8");
    assert_ne!(run(&other_seed.world(unlimited()), 3), expected);
}
