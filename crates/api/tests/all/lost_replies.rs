//! Writes that were committed before the store could not be reached any more.
use crate::world::{Kind, World};
use serde_json::{Value, json};

/// Makes a request, and returns the status and body of its reply: an error of the server ends no test here.
fn write(world: &World, method: &str, path: &str, data: &Value) -> (u16, Value) {
    let body = json!({ "data": data }).to_string();
    let reply = world.reply(world.request("ada", method, path, body));
    (reply.status, serde_json::from_slice(&reply.body).unwrap())
}

/// S941.
#[test]
fn a_write_whose_reply_cannot_be_read_is_not_answered_as_one_that_changed_nothing() {
    let world = World::new(Kind::Memory);
    let task = format!("/tasks/{}", world.gid("water"));
    let project = world.gid("garden").to_string();
    let writes = [
        ("PUT", &*task, json!({"name": "Kept"})),
        (
            "POST",
            "/tasks",
            json!({"name": "Made", "projects": [project]}),
        ),
    ];
    for (method, path, data) in writes {
        world.lose_store_after_commit(true);
        let (status, reply) = write(&world, method, path, &data);
        world.lose_store_after_commit(false);
        let error = &reply["errors"][0];
        assert_eq!(status, 500, "{method} {path}: {reply}");
        assert!(error["phrase"].is_string(), "{error}");
    }
    let kept = world.get("ada", &format!("{task}?opt_fields=name")).json;
    assert_eq!(kept["data"]["name"], "Kept");
}

/// S941.
#[test]
fn a_write_that_the_store_did_not_take_is_503() {
    let world = World::new(Kind::Memory);
    let task = format!("/tasks/{}", world.gid("water"));
    world.lose_store(true);
    let (status, reply) = write(&world, "PUT", &task, &json!({"name": "Lost"}));
    world.lose_store(false);
    assert_eq!(status, 503, "{reply}");
    let kept = world.get("ada", &format!("{task}?opt_fields=name")).json;
    assert_ne!(kept["data"]["name"], "Lost");
}
