//! `null` in filters: matches without a value, or without a link.
use super::{read, task, world, written};
use crate::world::World;
use serde_json::json;
use std::collections::BTreeSet;

/// Returns the tasks of a world by name: two without any searchable property, one with all.
fn tasks(world: &World) -> Vec<(String, &'static str)> {
    let gid = |name: &str| world.gid(name).to_string();
    let orchid = json!({"name": "Bare", "workspace": gid("orchid"), "followers": []});
    let bare = written(world, "POST", "/tasks", &orchid);
    let bare = bare["gid"].as_str().unwrap().to_owned();
    let team = json!({"name": "Shared", "team": gid("gardeners")});
    let shared = written(world, "POST", "/projects", &team);
    let full = json!({
        "name": "Full", "projects": [shared["gid"]], "assignee": gid("mel"), "tags": [gid("thirsty")], "liked": true,
        "start_on": "2031-01-01", "due_at": "2031-01-02T10:30:00Z", "completed": true,
    });
    let full = written(world, "POST", "/tasks", &full);
    let full = full["gid"].as_str().unwrap().to_owned();
    let comment = json!({"text": "Said"});
    written(world, "POST", &format!("/tasks/{full}/stories"), &comment);
    let day = task(world, json!({"name": "Day", "due_on": "2031-01-02"}));
    for on in [&bare, &day] {
        let followers = json!({"followers": [gid("ada")]});
        written(
            world,
            "POST",
            &format!("/tasks/{on}/removeFollowers"),
            &followers,
        );
    }
    vec![(bare, "bare"), (full, "full"), (day, "day")]
}

/// Returns the names of the tasks that a query finds.
fn found<'n>(world: &World, tasks: &[(String, &'n str)], query: &str) -> BTreeSet<&'n str> {
    let path = format!(
        "/workspaces/{}/tasks/search?limit=100&{query}",
        world.gid("orchid")
    );
    let gids = read(world, &path).gids();
    let named = tasks.iter().filter(|(gid, _)| gids.contains(gid));
    named.map(|(_, name)| *name).collect()
}

/// S130.
#[test]
fn null_in_a_search_finds_what_has_none() {
    let world = world();
    let tasks = tasks(&world);
    let gid = |name: &str| world.gid(name).to_string();
    let (mel, herbs, thirsty, ada) = (gid("mel"), gid("herbs"), gid("thirsty"), gid("ada"));
    for (query, names) in [
        ("assignee.any=null".to_owned(), "bare day"),
        (format!("assignee.any=null,{mel}"), "bare day full"),
        ("assignee.not=null".to_owned(), "full"),
        (format!("assignee.not=null,{mel}"), ""),
        ("projects.any=null".to_owned(), "bare"),
        (format!("projects.any=null,{herbs}"), "bare"),
        ("projects.not=null".to_owned(), "full day"),
        ("projects.all=null".to_owned(), "bare"),
        ("sections.any=null".to_owned(), "bare"),
        ("tags.any=null".to_owned(), "bare day"),
        (format!("tags.any={thirsty},null"), "bare day full"),
        (format!("tags.all={thirsty},null"), ""),
        ("teams.any=null".to_owned(), "bare day"),
        ("portfolios.any=null".to_owned(), "bare day full"),
        ("followers.any=null".to_owned(), "bare day"),
        ("followers.not=null".to_owned(), "full"),
        (format!("created_by.any={ada},null"), "bare day full"),
        ("created_by.any=null".to_owned(), ""),
        ("assigned_by.any=null".to_owned(), "bare day"),
        ("liked_by.not=null".to_owned(), "full"),
        ("commented_on_by.not=null".to_owned(), "full"),
        ("due_on=null".to_owned(), "bare"),
        ("due_on.before=null".to_owned(), "bare"),
        ("due_on.after=null".to_owned(), "bare"),
        ("due_at.before=null".to_owned(), "bare day"),
        ("start_on.after=null".to_owned(), "bare day"),
        ("completed_on.before=null".to_owned(), "bare day"),
        ("completed_at.after=null".to_owned(), "bare day"),
        ("created_on=null".to_owned(), ""),
    ] {
        let expected: BTreeSet<&str> = names.split_whitespace().collect();
        assert_eq!(found(&world, &tasks, &query), expected, "{query}");
    }
    let path = format!("/workspaces/{}/projects/search", gid("orchid"));
    let all = read(&world, &path).gids();
    let unowned = read(&world, &format!("{path}?owner.any=null")).gids();
    let owned = read(&world, &format!("{path}?owner.any={ada},{mel}")).gids();
    assert!(!unowned.is_empty() && unowned.iter().all(|p| all.contains(p)));
    assert!(unowned.iter().all(|p| !owned.contains(p)));
    let wrong = world.get("ada", &format!("{path}?completed=null"));
    assert_eq!(wrong.message(), "completed: must be true or false");
}

/// S130. A trashed project does not count as a project of a task.
#[test]
fn a_task_whose_only_project_is_deleted_is_in_none() {
    let world = world();
    let team = json!({"name": "Short", "team": world.gid("gardeners").to_string()});
    let project = written(&world, "POST", "/projects", &team);
    let project = project["gid"].as_str().unwrap();
    let data = json!({"name": "Left", "projects": [project], "assignee": "me"});
    let left = written(&world, "POST", "/tasks", &data);
    let tasks = [(left["gid"].as_str().unwrap().to_owned(), "left")];
    assert_eq!(found(&world, &tasks, "projects.any=null").len(), 0);
    let gone = world.call(
        "ada",
        "DELETE",
        &format!("/projects/{project}"),
        &json!(null),
    );
    assert_eq!(gone.status, 200, "{}", gone.text);
    assert_eq!(found(&world, &tasks, "projects.any=null").len(), 1);
}

/// S130. In a workspace, as the contract describes the search for unassigned tasks.
#[test]
fn tasks_of_nobody_are_listed() {
    let world = world();
    let tasks = tasks(&world);
    let orchid = world.gid("orchid");
    for name in ["assignee", "assignee.any"] {
        let listed = read(&world, &format!("/tasks?workspace={orchid}&{name}=null")).gids();
        for (gid, what) in &tasks {
            assert_eq!(listed.contains(gid), *what != "full", "{name} {what}");
        }
        let page = read(
            &world,
            &format!("/tasks?workspace={orchid}&{name}=null&limit=2"),
        );
        assert_eq!(page.gids(), listed[..2]);
        let without = world.get("ada", &format!("/tasks?{name}=null"));
        assert_eq!(without.message(), "workspace: Missing input");
        let foreign = format!("/tasks?workspace={}&{name}=null", world.gid("basalt"));
        assert_eq!(world.get("ada", &foreign).status, 403);
    }
    // A user who sees less gets less.
    let gus = world
        .get("gus", &format!("/tasks?workspace={orchid}&assignee=null"))
        .gids();
    assert!(!gus.contains(&tasks[0].0));
}
