//! Runs of rule triggers: their stories, and who may run one.
use crate::world::{Answer, KINDS, Kind, World};
use serde_json::{Value, json};

fn run(world: &World, who: &str, task: &str, data: Value) -> Answer {
    let path = format!("/rule_triggers/{}/run", world.gid("orchid_trigger"));
    let resource = world.gid(task).to_string();
    world.post(
        who,
        &path,
        json!({"resource": resource, "action_data": data}),
    )
}

/// Returns the texts of the stories of runs on a task.
fn stories(world: &World, task: &str) -> Vec<String> {
    let path = format!(
        "/tasks/{}/stories?opt_fields=text,resource_subtype",
        world.gid(task)
    );
    let list = world.get("ada", &path);
    let items = list.json["data"].as_array().unwrap().iter();
    let runs = items.filter(|item| item["resource_subtype"] == "rule_triggered");
    runs.map(|item| item["text"].as_str().unwrap().to_owned())
        .collect()
}

/// S275. The story is told at the task and the project.
#[test]
fn a_run_is_a_story_of_the_task() {
    for kind in KINDS {
        let world = World::new(kind);
        let feeds = ["water", "garden"].map(|name| {
            let feed = format!("/events?resource={}", world.gid(name));
            let sync = world.get("mel", &feed).json["sync"]
                .as_str()
                .unwrap()
                .to_owned();
            format!("{feed}&sync={sync}")
        });
        let reply = run(&world, "moe", "water", json!({"branch": "<main> \u{e9}"}));
        assert_eq!(reply.status, 200, "{}", reply.text);
        let message = "Ran the rule trigger \"Rule of Sepals\".";
        assert_eq!(reply.json, json!({"data": {"message": message}}));
        let sentence =
            "ran the rule trigger \"Rule of Sepals\" with {\"branch\":\"<main> \u{e9}\"}";
        assert_eq!(stories(&world, "water"), [sentence]);
        for feed in feeds {
            let told = world.get("mel", &feed);
            let events = told.json["data"].as_array().unwrap();
            let about = |event: &&Value| {
                event["resource"]["resource_subtype"] == "rule_triggered"
                    && event["user"]["gid"] == json!(world.gid("moe").to_string())
            };
            assert_eq!(events.iter().filter(about).count(), 1, "{}", told.text);
        }
    }
}

/// S275.
#[test]
fn only_who_may_change_project_and_task_runs_a_trigger() {
    let world = World::new(Kind::Memory);
    // A guest with comments alone, a member of another workspace, a view-only member.
    for other in ["gus", "ben", "vic"] {
        assert_eq!(
            run(&world, other, "water", json!({})).status,
            403,
            "{other}"
        );
    }
    assert_eq!(
        run(&world, "ada", "mint", json!({})).status,
        400,
        "in another project"
    );
    assert_eq!(
        run(&world, "moe", "mint", json!({})).status,
        403,
        "not seen"
    );
    assert!(stories(&world, "water").is_empty());
}

/// S275. Bad data is refused by its name, and nothing is told.
#[test]
fn the_data_of_a_run_is_an_object_of_bounded_size() {
    let world = World::new(Kind::Memory);
    let room = 10_000 - json!({"text": ""}).to_string().len();
    for wrong in [
        json!("text"),
        json!([1]),
        json!(1),
        json!({"text": "x".repeat(room + 1)}),
    ] {
        let reply = run(&world, "ada", "water", wrong);
        assert_eq!(reply.status, 400, "{}", reply.text);
        assert!(
            reply.message().starts_with("action_data: "),
            "{}",
            reply.text
        );
    }
    let missing = json!({"resource": world.gid("water").to_string()});
    let path = format!("/rule_triggers/{}/run", world.gid("orchid_trigger"));
    let reply = world.post("ada", &path, missing);
    assert_eq!(reply.message(), "action_data: Missing input");
    assert!(stories(&world, "water").is_empty());
    let most = json!({"text": "x".repeat(room)});
    assert_eq!(run(&world, "ada", "water", most).status, 200);
    assert_eq!(stories(&world, "water").len(), 1);
}
