//! Walks of a search by an instant: each request goes on after the instant of the last task.
use crate::world::{KINDS, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const TASKS: usize = 60;
const LIMIT: usize = 7;

/// Sends actions in batches of ten. The clock stands still.
fn in_batches(world: &World, actions: &[Value]) -> Vec<String> {
    let mut gids = Vec::new();
    for some in actions.chunks(10) {
        let done = world.post("ada", "/batch", json!({ "actions": some }));
        assert_eq!(done.status, 200, "{}", done.text);
        for answer in done.json["data"].as_array().unwrap() {
            let gid = answer["body"]["data"]["gid"].as_str();
            gids.push(gid.unwrap_or_else(|| panic!("{answer}")).to_owned());
        }
    }
    gids
}

/// Returns the tasks of a walk by an instant, in its order.
fn walk(world: &World, instant: &str, ascending: bool) -> Vec<String> {
    let (orchid, garden) = (world.gid("orchid"), world.gid("garden"));
    let side = if ascending { "after" } else { "before" };
    let mut found = Vec::new();
    let mut from = String::new();
    loop {
        let page = world.get(
            "ada",
            &format!(
                "/workspaces/{orchid}/tasks/search?projects.any={garden}&text=walked&sort_by={instant}\
                 &sort_ascending={ascending}&limit={LIMIT}&opt_fields={instant}{from}"
            ),
        );
        assert_eq!(page.status, 200, "{}", page.text);
        let rows = page.json["data"].as_array().unwrap();
        found.extend(
            rows.iter()
                .map(|row| row["gid"].as_str().unwrap().to_owned()),
        );
        let Some(last) = rows.last() else {
            return found;
        };
        from = format!("&{instant}.{side}={}", last[instant].as_str().unwrap());
    }
}

/// Asserts that walks by an instant find each task once, in both directions.
fn assert_walked(world: &World, instant: &str, gids: &[String]) {
    for ascending in [true, false] {
        let found = walk(world, instant, ascending);
        let distinct: BTreeSet<_> = found.iter().collect();
        assert_eq!(
            (found.len(), distinct.len()),
            (gids.len(), gids.len()),
            "{instant}"
        );
        assert_eq!(distinct, gids.iter().collect(), "{instant}");
    }
}

#[test]
fn a_walk_by_an_instant_finds_every_task_that_was_made_or_changed_in_one_millisecond() {
    for kind in KINDS {
        let world = World::new(kind);
        let garden = world.gid("garden").to_string();
        let made: Vec<Value> = (0..TASKS)
            .map(|n| {
                let data = json!({"name": format!("walked {n}"), "projects": [garden]});
                json!({"method": "post", "relative_path": "/tasks", "data": data})
            })
            .collect();
        let gids = in_batches(&world, &made);
        assert_walked(&world, "created_at", &gids);
        let change = |data: Value| -> Vec<Value> {
            let path = |gid: &String| format!("/tasks/{gid}");
            gids.iter()
                .map(|gid| json!({"method": "put", "relative_path": path(gid), "data": data}))
                .collect()
        };
        in_batches(&world, &change(json!({"notes": "changed"})));
        assert_walked(&world, "modified_at", &gids);
        in_batches(&world, &change(json!({"completed": true})));
        assert_walked(&world, "completed_at", &gids);
    }
}

#[test]
fn events_have_times_in_the_order_of_the_stream() {
    for kind in KINDS {
        let world = World::new(kind);
        let garden = world.gid("garden").to_string();
        let token = |sync: &str| format!("/events?resource={garden}{sync}");
        let first = world.get("ada", &token("")).json["sync"].clone();
        for n in 0..5 {
            let data = json!({"name": format!("told {n}"), "projects": [garden]});
            assert_eq!(world.post("ada", "/tasks", data).status, 201);
        }
        let told = world.get("ada", &token(&format!("&sync={}", first.as_str().unwrap())));
        let times: Vec<&str> = told.json["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["created_at"].as_str().unwrap())
            .collect();
        assert!(times.len() >= 5 && times.is_sorted(), "{times:?}");
    }
}
