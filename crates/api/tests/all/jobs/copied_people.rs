//! Followers, allocations and custom field values of copies. People who have left, and objects that the caller does not see,
//! stay behind.
use crate::hidden::scene;
use crate::world::{Kind, World};
use serde_json::{Value, json};

/// Returns the custom field of a task by its name among the gids, as ada sees it.
fn shown(world: &World, task: &str, field: &str) -> Option<Value> {
    let task = world.get("ada", &format!("/tasks/{task}"));
    let field = world.gid(field).to_string();
    let fields = task.json["data"]["custom_fields"].as_array().unwrap();
    fields.iter().find(|f| f["gid"] == field).cloned()
}

fn people(value: &Value) -> Vec<&str> {
    let people = value.as_array().unwrap().iter();
    people.map(|user| user["name"].as_str().unwrap()).collect()
}

/// Duplicates a task with everything; returns the new task.
fn copied(world: &World, caller: &str, task: &str) -> String {
    let parts = "assignee,attachments,dates,dependencies,followers,notes,projects,subtasks,tags";
    let at = format!("/tasks/{}/duplicate", world.gid(task));
    let job = world.post(caller, &at, json!({"name": "Copy", "include": parts}));
    assert_eq!(job.status, 201, "{}", job.text);
    world.work();
    let new = job.json["data"]["new_task"]["gid"].as_str();
    new.unwrap().to_owned()
}

/// Sets values of a task as ada.
fn set(world: &World, task: &str, field: &str, value: Value) {
    let data = json!({"custom_fields": {world.gid(field).to_string(): value}});
    let at = format!("/tasks/{}", world.gid(task));
    let set = world.call("ada", "PUT", &at, &data);
    assert_eq!(set.status, 200, "{}", set.text);
}

#[test]
fn copies_take_over_no_people_who_have_left_the_workspace() {
    let world = scene(Kind::Memory);
    let (nia, mel) = (world.gid("nia").to_string(), world.gid("mel").to_string());
    set(&world, "shared", "m_people", json!([nia, mel]));
    let followers = json!({"followers": [nia, mel]});
    let task = format!("/tasks/{}", world.gid("shared"));
    world.post("ada", &format!("{task}/addFollowers"), followers);
    let at = format!("/workspaces/{}/removeUser", world.gid("orchid"));
    let gone = world.post("ada", &at, json!({"user": nia}));
    assert_eq!(gone.status, 200, "{}", gone.text);
    let project = format!("/projects/{}/duplicate", world.gid("meadow"));
    let include = "members,task_assignee,task_followers,task_subtasks";
    let job = world.post(
        "ada",
        &project,
        json!({"name": "Copy", "include": include, "team": world.gid("open_team")}),
    );
    assert_eq!(job.status, 201, "{}", job.text);
    world.work();
    let copy = job.json["data"]["new_project"]["gid"].as_str().unwrap();
    let tasks = world.get("ada", &format!("/projects/{copy}/tasks"));
    let tasks = tasks.json["data"].as_array().unwrap();
    let of_project = tasks.iter().find(|task| task["name"] == "Shared").unwrap();
    for copy in [
        of_project["gid"].as_str().unwrap(),
        &copied(&world, "ada", "shared"),
    ] {
        let field = shown(&world, copy, "m_people").unwrap();
        assert_eq!(people(&field["people_value"]), ["Mel of Orchid"]);
        let record = world.get("ada", &format!("/tasks/{copy}?opt_fields=followers.name"));
        let followers = people(&record.json["data"]["followers"]);
        assert!(followers.contains(&"Mel of Orchid"), "{followers:?}");
        assert!(!followers.contains(&"MEMBERS-nia"), "{followers:?}");
    }
}

#[test]
fn copies_take_over_no_values_of_fields_that_none_of_their_projects_has() {
    let world = scene(Kind::Memory);
    let copy = copied(&world, "ada", "shared");
    assert_eq!(
        shown(&world, &copy, "m_text").unwrap()["text_value"],
        "MEMBERS-value"
    );
    let task = format!("/tasks/{}", world.gid("shared"));
    let meadow = json!({"project": world.gid("meadow")});
    let left = world.post("ada", &format!("{task}/removeProject"), meadow);
    assert_eq!(left.status, 200, "{}", left.text);
    let kept = shown(&world, &world.gid("shared").to_string(), "m_text");
    assert_eq!(kept.unwrap()["enabled"], false);
    assert_eq!(
        shown(&world, &copied(&world, "ada", "shared"), "m_text"),
        None
    );
}

#[test]
fn copies_refer_to_no_objects_that_the_caller_does_not_see() {
    let world = scene(Kind::Memory);
    let references = |task: &str| {
        let field = shown(&world, task, "m_reference").unwrap();
        let found = field["reference_value"].as_array().unwrap().iter();
        let names = found.map(|task| task["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let both = ["HIDDEN-task", "Child"];
    assert_eq!(references(&world.gid("shared").to_string()), both);
    assert_eq!(references(&copied(&world, "ada", "shared")), both);
    assert_eq!(references(&copied(&world, "moe", "shared")), ["Child"]);
}

#[test]
fn a_copy_of_a_project_has_its_allocations_if_they_are_included() {
    let world = scene(Kind::Memory);
    let meadow = world.gid("meadow");
    for (user, day) in [
        ("mel", "2031-03-03"),
        ("nia", "2031-03-04"),
        ("moe", "2031-03-05"),
    ] {
        let allocation = json!({"parent": meadow, "assignee": world.gid(user), "start_date": day,
            "end_date": "2031-03-09", "effort": {"type": "hours", "value": 10}});
        let made = world.post("ada", "/allocations", allocation);
        assert_eq!(made.status, 201, "{}", made.text);
    }
    let at = format!("/workspaces/{}/removeUser", world.gid("orchid"));
    world.post("ada", &at, json!({"user": world.gid("nia")}));
    let allocations = |include: &str| {
        let at = format!("/projects/{meadow}/duplicate");
        let copy = json!({"name": "Copy", "include": include, "team": world.gid("open_team")});
        let job = world.post("ada", &at, copy);
        assert_eq!(job.status, 201, "{}", job.text);
        world.work();
        let copy = job.json["data"]["new_project"]["gid"].as_str().unwrap();
        let fields = "assignee.name,start_date,effort,parent";
        let list = world.get(
            "ada",
            &format!("/allocations?parent={copy}&opt_fields={fields}"),
        );
        let list = list.json["data"].as_array().unwrap().iter();
        let shown = list.map(|one| {
            assert_eq!(one["parent"]["gid"], copy);
            assert_eq!(one["effort"]["value"], 10);
            let name = one["assignee"]["name"].as_str().unwrap();
            format!("{name} {}", one["start_date"].as_str().unwrap())
        });
        shown.collect::<Vec<_>>()
    };
    assert!(allocations("notes").is_empty());
    let both = ["Mel of Orchid 2031-03-03", "Moe of Orchid 2031-03-05"];
    assert_eq!(allocations("allocations"), both);
}

/// More allocations than one step copies count in the budgets of the copy as in those of the original.
#[test]
fn copied_allocations_count_in_budgets() {
    let world = scene(Kind::Memory);
    let (meadow, mel) = (world.gid("meadow").to_string(), world.gid("mel"));
    for hours in 1..=120 {
        let allocation = json!({"parent": meadow, "assignee": mel, "start_date": "2031-03-03",
            "end_date": "2031-03-07", "effort": {"type": "hours", "value": hours}});
        let made = world.post("ada", "/allocations", allocation);
        assert_eq!(made.status, 201, "{}", made.text);
    }
    let copy = json!({"name": "Copy", "include": "allocations", "team": world.gid("open_team")});
    let job = world.post("ada", &format!("/projects/{meadow}/duplicate"), copy);
    assert_eq!(job.status, 201, "{}", job.text);
    world.work();
    let copy = job.json["data"]["new_project"]["gid"].as_str().unwrap();
    let planned = |project: &str| {
        let budget = json!({"parent": project, "budget_type": "time",
            "estimate": {"source": "capacity_plans"}});
        let made = world.post("ada", "/budgets", budget);
        assert_eq!(made.status, 201, "{}", made.text);
        made.json["data"]["estimate"]["value"].as_f64().unwrap()
    };
    let original = planned(&meadow);
    assert!(original > 0.0);
    assert!((planned(copy) - original).abs() < 0.001);
}
