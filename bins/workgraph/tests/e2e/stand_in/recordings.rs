//! Recordings of worlds, which are compared with other worlds.
use super::client::{StandIn, World};
use crate::common::{Folder, binary, command};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

/// Sends requests of several kinds to a world: writes, lists, a batch, and what is refused.
fn use_world(world: &World<'_>) {
    let project = world.project("Orders");
    let task = world.task("Buy");
    world.data(
        "POST",
        &format!("/tasks/{task}/addProject"),
        json!({"project": project}),
    );
    world.data(
        "PUT",
        &format!("/tasks/{task}"),
        json!({"due_on": "2026-03-09"}),
    );
    world.data(
        "POST",
        &format!("/tasks/{task}/stories"),
        json!({"text": "Soon"}),
    );
    for number in 0..3 {
        world.task(&format!("More {number}"));
    }
    let page = format!("/tasks?assignee=me&workspace={}&limit=2", world.workspace());
    assert_eq!(world.ask("GET", &page, Value::Null).status, 200);
    let action = json!({"method": "get", "relative_path": format!("/tasks/{task}")});
    world.data("POST", "/batch", json!({"actions": [action]}));
    assert_eq!(world.ask("GET", "/tasks/1", Value::Null).status, 404);
    world.data("DELETE", &format!("/tasks/{task}"), Value::Null);
}

/// Compares a recording with a world.
fn compare(recording: &Path, world: &World<'_>, flags: &[&str]) -> Output {
    let mut compare = command(&binary());
    compare
        .args(["compare", recording.to_str().unwrap()])
        .args(["--base-url", world.made["base_url"].as_str().unwrap()])
        .args(flags)
        .env("WORKGRAPH_TOKEN", &world.token);
    compare.output().unwrap()
}

#[test]
fn a_recording_holds_for_an_equal_world_and_not_for_one_that_answers_otherwise() {
    let stand_in = StandIn::start("stand-in-recordings");
    let world = stand_in.world(json!({}));
    use_world(&world);
    let recording = stand_in.send("GET", &format!("{}/-/recording", world.path), &[], "");
    let archive = recording.json();
    assert_eq!(archive["log"]["comment"], "0 requests are left out");
    assert!(!recording.text().contains(&world.token));
    let folder = Folder::new("stand-in-recordings-file");
    let file = folder.path().join("requests.har");
    std::fs::write(&file, recording.text()).unwrap();

    // Tokens and gids of new objects differ, and stand for the same.
    let equal = stand_in.world(json!({}));
    let output = compare(&file, &equal, &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");

    let other = stand_in.world(json!({}));
    let reply = json!({"respond": {"status": 200, "body": {"data": {"gid": "1"}}}});
    let operation = json!({"operation": "updateTask"});
    other.control(
        "POST",
        "/-/faults",
        json!({"match": operation, "do": reply}),
    );
    let output = compare(&file, &other, &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["holds"], false);
    let differences = report["differences"].as_array().unwrap();
    assert!(
        differences.iter().any(|one| one["method"] == "PUT"),
        "{report}"
    );

    let output = compare(&folder.path().join("none"), &other, &[]);
    assert_eq!(output.status.code(), Some(2));
    std::fs::write(&file, r#"{"log": {"entries": [{}]}}"#).unwrap();
    let output = compare(&file, &other, &["--shape"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("log.entries[0]"), "{error}");
}
