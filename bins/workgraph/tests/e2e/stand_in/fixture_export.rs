//! Worlds that are exported as fixtures.
use super::client::{StandIn, World};
use super::fixtures::fixture;
use serde_json::{Value, json};

fn exported(world: &World<'_>) -> Value {
    world.control("GET", "/-/fixture", Value::Null)
}

/// Exports a world, makes one from that, and checks that it is exported as the same. Returns the new world.
fn round_trip<'s>(world: &World<'s>) -> World<'s> {
    let first = exported(world);
    let made = world.stand_in.world(json!({ "fixture": first }));
    assert_eq!(exported(&made), first);
    made
}

/// Returns what the API says about the task with a name in the fixture.
fn task(world: &World<'_>, name: &str) -> Value {
    let gid = world.made["names"][name].as_str().unwrap();
    let fields = "name,completed,due_on,notes,assignee.name,followers.name,tags.name,memberships.(project|section).name,num_subtasks";
    let mut task = world.data(
        "GET",
        &format!("/tasks/{gid}?opt_fields={fields}"),
        Value::Null,
    );
    without_gids(&mut task);
    task
}

fn without_gids(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("gid");
            fields.values_mut().for_each(without_gids);
        }
        Value::Array(items) => items.iter_mut().for_each(without_gids),
        _ => {}
    }
}

#[test]
fn a_world_made_from_an_exported_fixture_is_equal() {
    let stand_in = StandIn::start("stand-in-fixture-export");
    let first = stand_in.world(json!({"fixture": fixture()}));
    let made = round_trip(&first);
    for name in ["Write copy", "Ask Cleo", "Book a room"] {
        assert_eq!(task(&made, name), task(&first, name), "{name}");
    }
    // The app has the same credentials, and people the same tokens.
    for pointer in ["/apps/0/client_secret", "/users/1/token"] {
        assert_eq!(made.made.pointer(pointer), first.made.pointer(pointer));
    }
    let left_out = stand_in.send("GET", &format!("{}/-/fixture", first.path), &[], "");
    assert_eq!(left_out.json()["left_out"], json!({}));
    round_trip(&stand_in.world(json!({})));
    round_trip(&stand_in.world(json!({"from": "empty"})));
}

#[test]
fn what_a_client_wrote_is_exported_and_what_cannot_be_is_counted() {
    let stand_in = StandIn::start("stand-in-fixture-writes");
    let world = stand_in.world(json!({"fixture": fixture()}));
    let copy = world.made["names"]["Write copy"].as_str().unwrap();
    world.data(
        "PUT",
        &format!("/tasks/{copy}"),
        json!({"name": "@all: write", "completed": true}),
    );
    let own = world.task("Private");
    world.data(
        "POST",
        &format!("/tasks/{own}/addDependencies"),
        json!({"dependencies": [copy]}),
    );
    let project = world.project("Spring launch");
    world.data(
        "POST",
        &format!("/tasks/{copy}/addProject"),
        json!({"project": project}),
    );
    world.webhook(&project, "orders");
    let path = format!("{}/-/fixture", world.path);
    let shown = stand_in.send("GET", &path, &[], "").json();
    assert_eq!(shown["left_out"], json!({"webhook": 1}));
    round_trip(&world);
    // Time goes on, and days are counted from it.
    let before = exported(&world);
    world.advance("24h");
    assert_ne!(exported(&world), before);
}
