//! Batches: the limits admit all actions or none; after that each action is on its own.
use crate::world::{Answer, KINDS, Kind, World};
use serde_json::{Value, json};
use workgraph_core::storage::ChangeAction;

fn batch(world: &World, token: &str, actions: Vec<Value>) -> Answer {
    world.post(token, "/batch", json!({ "actions": actions }))
}

fn make(name: &str, world: &World, workspace: &str) -> Value {
    let data = json!({"name": name, "workspace": world.gid(workspace).to_string()});
    json!({"relative_path": "/tasks", "method": "post", "data": data})
}

fn statuses(answer: &Answer) -> Vec<u64> {
    let outcomes = answer.json["data"].as_array().unwrap();
    outcomes
        .iter()
        .map(|o| o["status_code"].as_u64().unwrap())
        .collect()
}

/// Returns a world with limits. Bob's workspace is free: 150 requests a minute.
fn limited() -> World {
    let mut world = World::new(Kind::Memory);
    world.limit();
    world
}

fn commits(world: &World) -> usize {
    world.events(0).len()
}

#[test]
fn outcomes_stand_in_the_order_of_their_actions() {
    for kind in KINDS {
        let world = World::new(kind);
        let names: Vec<String> = (0..10).map(|i| format!("Task {i}")).collect();
        let answer = batch(
            &world,
            "ada",
            names.iter().map(|n| make(n, &world, "orchid")).collect(),
        );
        assert_eq!(statuses(&answer), [201; 10]);
        for (outcome, name) in answer.json["data"].as_array().unwrap().iter().zip(&names) {
            let data = &outcome["body"]["data"];
            assert_eq!(data["name"], **name);
            let path = outcome["headers"]["location"].as_str().unwrap();
            assert_eq!(path, format!("/tasks/{}", data["gid"].as_str().unwrap()));
            assert_eq!(world.get("ada", path).status, 200);
        }
    }
}

#[test]
fn a_batch_that_the_quota_cannot_hold_runs_nothing() {
    let world = limited();
    for _ in 0..141 {
        assert_eq!(world.get("bob", "/users/me").status, 200);
    }
    let before = commits(&world);
    let ten = (0..10).map(|i| make(&format!("Task {i}"), &world, "basalt"));
    let refused = batch(&world, "bob", ten.collect());
    assert_eq!(refused.status, 429, "{}", refused.text);
    assert!(
        refused
            .headers
            .iter()
            .any(|(n, v)| *n == "Retry-After" && v.parse::<u32>().is_ok())
    );
    assert_eq!(commits(&world), before, "nothing was run");
}

/// S79.
#[test]
fn a_batch_counts_as_its_actions_and_is_itself_free() {
    let world = limited();
    let read = json!({"relative_path": "/users/me", "method": "get"});
    for _ in 0..15 {
        assert_eq!(batch(&world, "bob", vec![read.clone(); 10]).status, 200);
    }
    assert_eq!(world.get("bob", "/users/me").status, 429, "150 are used up");
    let world = limited();
    for _ in 0..150 {
        assert_eq!(batch(&world, "bob", Vec::new()).status, 400);
    }
    assert_eq!(
        batch(&world, "bob", vec![read]).status,
        429,
        "what is no batch counts as one request"
    );
}

/// S39.
#[test]
fn actions_answer_as_the_same_requests_do() {
    let world = World::new(Kind::Memory);
    let targets = [
        "/users/me",
        "/tasks/{water}",
        "/projects/{garden}/tasks",
        "/tasks/1",
        "/tasks",
        "/no/such",
    ];
    let targets = targets.map(|t| {
        t.replace("{water}", &world.gid("water").to_string())
            .replace("{garden}", &world.gid("garden").to_string())
    });
    let actions = targets
        .iter()
        .map(|t| json!({"relative_path": t, "method": "get"}));
    let answer = batch(&world, "mel", actions.collect());
    for (outcome, target) in answer.json["data"].as_array().unwrap().iter().zip(&targets) {
        let alone = world.get("mel", target);
        assert_eq!(outcome["status_code"], alone.status, "{target}");
        assert_eq!(outcome["body"], alone.json, "{target}");
    }
}

#[test]
fn one_failing_action_takes_nothing_from_the_others() {
    let world = World::new(Kind::Sqlite);
    let before = commits(&world);
    let delete = json!({"relative_path": "/tasks/1", "method": "delete"});
    let actions = vec![
        make("First", &world, "orchid"),
        delete,
        make("Foreign", &world, "basalt"),
    ];
    let answer = batch(&world, "ada", actions);
    assert_eq!(
        (answer.status, statuses(&answer)),
        (200, vec![201, 404, 403])
    );
    let after = world.events(before as u64);
    let added = |e: &workgraph_core::storage::JournalEntry| {
        e.change_records
            .iter()
            .any(|f| matches!(f.action, ChangeAction::Added { .. }))
    };
    assert_eq!(after.iter().filter(|e| added(e)).count(), 1);
}
