//! Deletion of a project: the tasks that nothing else lists go with it.
use super::*;

fn made(world: &World, path: &str, data: Value) -> String {
    let made = world.post("ada", path, data);
    assert!(made.status < 300, "{path}: {}", made.text);
    made.gid()
}

fn delete(world: &World, project: &str) {
    let path = format!("/projects/{project}");
    let done = world.call("ada", "DELETE", &path, &json!(null));
    assert_eq!(done.status, 200, "{}", done.text);
}

fn status_of(world: &World, task: &str) -> u16 {
    world.get("ada", &format!("/tasks/{task}")).status
}

#[test]
fn a_deleted_project_takes_the_tasks_along_that_nothing_else_lists() {
    for kind in KINDS {
        let world = World::new(kind);
        let gid = |name: &str| world.gid(name).to_string();
        let pond = json!({"name": "Pond", "team": gid("gardeners")});
        let pond = made(&world, "/projects", pond);
        let task = |data: Value| {
            let mut data = data;
            data["projects"] = json!([pond]);
            made(&world, "/tasks", data)
        };
        let alone = task(json!({"name": "Alone"}));
        let below = made(
            &world,
            &format!("/tasks/{alone}/subtasks"),
            json!({"name": "Below"}),
        );
        let assigned = task(json!({"name": "Assigned", "assignee": gid("mel")}));
        let under = made(
            &world,
            &format!("/tasks/{assigned}/subtasks"),
            json!({"name": "Under a task that stays", "projects": [pond]}),
        );
        let shared = task(json!({"name": "Shared"}));
        let add = json!({"project": gid("garden")});
        world.post("ada", &format!("/tasks/{shared}/addProject"), add);
        let first = world.get("ada", &format!("/events?resource={alone}"));
        let sync = first.json["sync"].as_str().unwrap().to_owned();
        delete(&world, &pond);
        for (task, status) in [
            (&alone, 404),
            (&below, 404),
            (&assigned, 200),
            (&under, 200),
            (&shared, 200),
        ] {
            assert_eq!(status_of(&world, task), status, "{task}");
        }
        let told = world.get("ada", &format!("/events?resource={pond}&sync={sync}"));
        assert_ne!(told.status, 500, "{}", told.text);
        world.run(world.api.cleanup_jobs(1000)).unwrap();
        assert_eq!(status_of(&world, &assigned), 200);
        assert_eq!(status_of(&world, &shared), 200);
    }
}

#[test]
fn a_large_project_is_deleted_step_by_step() {
    for kind in KINDS {
        // Two sections, of 300 tasks each and more.
        let world = world(kind, 700);
        let forest = world.gid("forest").to_string();
        let path =
            format!("/projects/{forest}/tasks?limit=100&opt_fields=assignee,projects,parent");
        let mut tasks = Vec::new();
        let mut offset = String::new();
        loop {
            let page = world.get("ada", &format!("{path}{offset}"));
            assert_eq!(page.status, 200, "{}", page.text);
            for row in page.json["data"].as_array().unwrap() {
                let alone = row["assignee"].is_null()
                    && row["parent"].is_null()
                    && row["projects"].as_array().unwrap().len() == 1;
                tasks.push((row["gid"].as_str().unwrap().to_owned(), alone));
            }
            let Some(next) = page.json["next_page"]["offset"].as_str() else {
                break;
            };
            offset = format!("&offset={next}");
        }
        assert!(tasks.len() > 600, "{}", tasks.len());
        delete(&world, &forest);
        let left = |world: &World| {
            let left = tasks
                .iter()
                .filter(|(task, _)| status_of(world, task) == 200);
            left.count()
        };
        let stay = tasks.iter().filter(|(_, alone)| !alone).count();
        assert!(left(&world) > stay, "all of it in one commit");
        world.run(world.api.cleanup_jobs(1000)).unwrap();
        assert_eq!(left(&world), stay);
    }
}

/// Returns the number of times that events tell the end of a record.
fn deletions(events: &Value, task: &str) -> usize {
    let events = events.as_array().into_iter().flatten();
    let of_task = events.filter(|event| event["resource"]["gid"] == task);
    of_task.filter(|event| event["action"] == "deleted").count()
}

#[test]
fn events_webhooks_and_audit_log_agree_on_what_goes_with_a_project() {
    for kind in KINDS {
        let world = World::new(kind);
        let gid = |name: &str| world.gid(name).to_string();
        let orchid = gid("orchid");
        let pond = made(
            &world,
            "/projects",
            json!({"name": "Pond", "team": gid("gardeners")}),
        );
        let task = |name: &str| made(&world, "/tasks", json!({"name": name, "projects": [pond]}));
        let (alone, kept) = (task("Alone"), task("Kept"));
        let below = format!("/tasks/{alone}/subtasks");
        let below = made(&world, &below, json!({"name": "Below"}));
        let story = format!("/tasks/{below}/stories");
        let story = made(&world, &story, json!({"text": "Said"}));
        let assign = json!({"assignee": gid("mel")});
        world.call("ada", "PUT", &format!("/tasks/{kept}"), &assign);
        let filters = json!([{"resource_type": "project"}]);
        for (at, path, filters) in [
            (&orchid, "/echo/workspace", filters),
            (&pond, "/echo/project", Value::Null),
            (&alone, "/echo/task", Value::Null),
        ] {
            let data = json!({"resource": at, "target": format!("https://hooks.test{path}"),
                "filters": filters});
            assert_eq!(world.post("ada", "/webhooks", data).status, 201);
        }
        world.deliver();
        let feed = format!("/workspaces/{orchid}/events");
        let sync = world.get("robot", &feed).json["sync"]
            .as_str()
            .unwrap()
            .to_owned();
        delete(&world, &pond);
        world.run(world.api.cleanup_jobs(1000)).unwrap();
        world.deliver();

        let feed = world.get("robot", &format!("{feed}?sync={sync}"));
        let heard = |path: &str| -> Value {
            let got = world.receiver.got(path).into_iter();
            got.flat_map(|got| got.events).collect()
        };
        let log = |event_type: &str| {
            let log = format!("/workspaces/{orchid}/audit_log_events?event_type={event_type}");
            world.get("robot", &log).json["data"].clone()
        };
        let logged = |rows: &Value, gid: &str| {
            let rows = rows.as_array().unwrap().iter();
            rows.filter(|row| row["resource"]["gid"] == gid).count()
        };
        let (tasks, projects) = (log("task_deleted"), log("project_deleted"));
        for (gone, times) in [(&alone, 1), (&below, 1), (&kept, 0)] {
            assert_eq!(deletions(&feed.json["data"], gone), times, "{}", feed.text);
            assert_eq!(logged(&tasks, gone), times, "{tasks}");
        }
        assert_eq!(deletions(&feed.json["data"], &pond), 1, "{}", feed.text);
        assert_eq!(logged(&projects, &pond), 1, "{projects}");
        // A webhook tells the end of what it is on.
        assert_eq!(deletions(&heard("/echo/workspace"), &pond), 1);
        assert_eq!(deletions(&heard("/echo/project"), &pond), 1);
        assert_eq!(deletions(&heard("/echo/task"), &alone), 1);
        assert_ne!(world.get("ada", &format!("/stories/{story}")).status, 200);
        let tasks = world.get("mel", &format!("/tasks?assignee=me&workspace={orchid}"));
        assert!(tasks.gids().contains(&kept), "{}", tasks.text);
    }
}
