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
