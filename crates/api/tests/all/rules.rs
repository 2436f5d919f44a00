//! Rules that a transcript shows badly: limits, depths, and values that are given twice.
use crate::world::{Kind, World};
use serde_json::json;

fn world() -> World {
    World::new(Kind::Memory)
}

fn task(world: &World, data: serde_json::Value) -> String {
    let made = world.post("ada", "/tasks", data);
    assert_eq!(made.status, 201, "{}", made.text);
    made.gid()
}

#[test]
fn a_task_is_in_one_section_of_a_project() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let data = json!({"name": "Twice", "memberships": [
        {"project": gid("garden"), "section": gid("beds")},
        {"project": gid("garden"), "section": gid("paths")},
    ]});
    let twice = world.post("ada", "/tasks", data);
    assert_eq!(twice.status, 400, "{}", twice.text);
}

#[test]
fn a_task_is_in_at_most_twenty_projects() {
    let world = world();
    let orchid = world.gid("orchid").to_string();
    let team = world.gid("gardeners").to_string();
    let on = task(&world, json!({"name": "Many", "workspace": orchid}));
    let mut statuses = Vec::new();
    for n in 0..21 {
        let data = json!({"name": format!("P{n}"), "team": team});
        let project = world.post("ada", "/projects", data).gid();
        let put = world.post(
            "ada",
            &format!("/tasks/{on}/addProject"),
            json!({"project": project}),
        );
        statuses.push(put.status);
    }
    assert_eq!((statuses[19], statuses[20]), (200, 400));
}

#[test]
fn subtasks_go_five_levels_deep() {
    let world = world();
    let orchid = world.gid("orchid").to_string();
    let mut at = task(&world, json!({"name": "Top", "workspace": orchid}));
    for level in 1..=6 {
        let made = world.post(
            "ada",
            &format!("/tasks/{at}/subtasks"),
            json!({"name": "Sub"}),
        );
        assert_eq!(
            made.status,
            if level <= 5 { 201 } else { 400 },
            "{level}: {}",
            made.text
        );
        if level <= 5 {
            at = made.gid();
        }
    }
    // A move cannot make it deeper either.
    let loose = world.gid("loose").to_string();
    let moved = world.post(
        "ada",
        &format!("/tasks/{loose}/setParent"),
        json!({"parent": at}),
    );
    assert_eq!(moved.status, 400, "{}", moved.text);
}

#[test]
fn dependencies_and_dependents_are_thirty_together() {
    let world = world();
    let orchid = world.gid("orchid").to_string();
    let on = task(&world, json!({"name": "Busy", "workspace": orchid}));
    for n in 0..31 {
        let other = task(&world, json!({"name": "Other", "workspace": orchid}));
        let (path, field) = if n % 2 == 0 {
            ("addDependencies", "dependencies")
        } else {
            ("addDependents", "dependents")
        };
        let put = world.post(
            "ada",
            &format!("/tasks/{on}/{path}"),
            json!({field: [other]}),
        );
        assert_eq!(
            put.status,
            if n < 30 { 200 } else { 400 },
            "{n}: {}",
            put.text
        );
    }
    // The other task's end of the edge gives no more either.
    let other = task(&world, json!({"name": "Other", "workspace": orchid}));
    for (path, field) in [
        ("addDependencies", "dependencies"),
        ("addDependents", "dependents"),
    ] {
        let put = world.post(
            "ada",
            &format!("/tasks/{other}/{path}"),
            json!({field: [on]}),
        );
        assert_eq!(put.status, 400, "{}", put.text);
        assert!(
            put.text.contains(&format!("Too many for {on}")),
            "{}",
            put.text
        );
    }
}

#[test]
fn things_named_twice_are_there_once() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let on = task(
        &world,
        json!({
            "name": "Once",
            "projects": [gid("garden"), gid("garden")],
            "tags": [gid("thirsty"), gid("thirsty")],
            "followers": [gid("mel"), "mel@orchid.test", gid("mel")],
        }),
    );
    let fields = "opt_fields=followers,tags,projects,memberships.section";
    let read = world.get("ada", &format!("/tasks/{on}?{fields}"));
    for (field, many) in [
        ("projects", 1),
        ("tags", 1),
        ("followers", 2),
        ("memberships", 1),
    ] {
        let items = read.json["data"][field].as_array().unwrap();
        assert_eq!(items.len(), many, "{field}: {}", read.text);
    }
    let listed = world
        .get("ada", &format!("/projects/{}/tasks", gid("garden")))
        .gids();
    assert_eq!(listed.iter().filter(|g| **g == on).count(), 1);
}

#[test]
fn nothing_is_written_by_a_request_that_is_refused() {
    let world = world();
    let gid = |name: &str| world.gid(name).to_string();
    let before = world.events(0).len();
    for data in [
        json!({"name": "x", "projects": [gid("garden"), gid("quarry")]}),
        json!({"name": "x", "workspace": gid("orchid"), "tags": [gid("thirsty"), "999999"]}),
        json!({"name": "x", "workspace": gid("orchid"), "followers": [gid("bob")]}),
        json!({"name": "x", "workspace": gid("orchid"), "due_on": "2026-02-30"}),
    ] {
        assert!(world.post("ada", "/tasks", data).status >= 400);
    }
    assert_eq!(world.events(0).len(), before);
}

#[test]
fn a_request_that_changes_nothing_commits_nothing() {
    let world = world();
    let water = format!("/tasks/{}", world.gid("water"));
    let before = world.events(0).len();
    for data in [
        json!({}),
        json!({"name": "Water the roses"}),
        json!({"completed": false, "due_on": null}),
    ] {
        assert_eq!(world.call("ada", "PUT", &water, &data).status, 200);
    }
    assert_eq!(world.events(0).len(), before);
}

#[test]
fn what_is_moved_under_a_task_brings_its_own_levels() {
    let world = world();
    let orchid = world.gid("orchid").to_string();
    let top = task(&world, json!({"name": "Top", "workspace": orchid}));
    let mut at = top.clone();
    for _ in 0..4 {
        at = world
            .post(
                "ada",
                &format!("/tasks/{at}/subtasks"),
                json!({"name": "Sub"}),
            )
            .gid();
    }
    let under = |levels: u32| {
        let mut at = task(&world, json!({"name": "Other", "workspace": orchid}));
        for _ in 0..levels {
            let made = world.post(
                "ada",
                &format!("/tasks/{at}/subtasks"),
                json!({"name": "S"}),
            );
            at = made.gid();
        }
        let body = json!({"parent": at});
        world
            .post("ada", &format!("/tasks/{top}/setParent"), body)
            .status
    };
    assert_eq!(
        (under(1), under(0)),
        (400, 200),
        "four levels fit under one, not under two"
    );
}

#[test]
fn the_admin_of_a_workspace_cannot_remove_themselves() {
    let world = world();
    let path = format!("/workspaces/{}/removeUser", world.gid("orchid"));
    let gone = world.post("ada", &path, json!({"user": "me"}));
    assert_eq!(gone.status, 403, "{}", gone.text);
}
