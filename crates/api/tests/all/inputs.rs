//! Forms of input: the ways in which clients send a value. An input is read only if it has one meaning.
mod bodies;
mod filters;
mod forms;
mod inputs_outside_body;
mod named_nodes;
mod queries;
mod scopes;
mod tokens;

use crate::world::{Answer, Kind, World};
use serde_json::{Value, json};

fn world() -> World {
    World::new(Kind::Memory)
}

/// Reads a target that must exist.
fn read(world: &World, target: &str) -> Answer {
    let answer = world.get("ada", target);
    assert_eq!(answer.status, 200, "{target}: {}", answer.text);
    answer
}

/// Returns the record of a write that must succeed.
fn written(world: &World, method: &str, target: &str, data: &Value) -> Value {
    let mut answer = world.call("ada", method, target, data);
    assert!(
        answer.status < 300,
        "{method} {target} {data}: {}",
        answer.text
    );
    answer.json["data"].take()
}

/// Creates a task in the garden.
fn task(world: &World, mut data: Value) -> String {
    data["projects"] = json!([world.gid("garden").to_string()]);
    let made = written(world, "POST", "/tasks", &data);
    made["gid"].as_str().unwrap().to_owned()
}
