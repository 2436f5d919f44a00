//! Automatic ids: every task of a project is numbered, without gaps, once and for ever.
use crate::jobs::at_every_step;
use crate::world::{Answer, KINDS, Kind, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Creates a field with automatic ids in the library.
fn field(world: &World, prefix: &str) -> Answer {
    let data = json!({"workspace": world.gid("orchid").to_string(), "name": format!("{prefix} ids"),
        "resource_subtype": "text", "id_prefix": prefix});
    world.post("ada", "/custom_fields", data)
}

fn add(world: &World, project: &str, field: &str) {
    let path = format!("/projects/{project}/addCustomFieldSetting");
    let answer = world.post("ada", &path, json!({ "custom_field": field }));
    assert_eq!(answer.status, 200, "{}", answer.text);
}

fn create(world: &World, name: &str, projects: &[&str]) -> String {
    let answer = world.post("ada", "/tasks", json!({"name": name, "projects": projects}));
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.gid()
}

/// Returns the ids of a project's tasks, in the order of their creation.
fn ids(world: &World, project: &str, field: &str) -> Vec<(String, Option<String>)> {
    let mut out = Vec::new();
    let mut offset = String::new();
    let fields = "name,custom_fields.display_value";
    loop {
        let path = format!("/projects/{project}/tasks?limit=100&opt_fields={fields}{offset}");
        let page = world.get("ada", &path);
        for task in page.json["data"].as_array().unwrap() {
            let values = task["custom_fields"].as_array().unwrap();
            let value = values.iter().find(|v| v["gid"] == field);
            let id = value.and_then(|v| v["display_value"].as_str());
            let gid = task["gid"].as_str().unwrap().to_owned();
            out.push((gid, id.map(str::to_owned)));
        }
        match page.next() {
            Some(next) => offset = format!("&offset={next}"),
            None => break,
        }
    }
    out.sort_by_key(|(gid, _)| gid.parse::<u64>().unwrap());
    out
}

fn numbered(prefix: &str, count: usize) -> Vec<Option<String>> {
    (1..=count).map(|n| Some(format!("{prefix}-{n}"))).collect()
}

fn only(ids: Vec<(String, Option<String>)>) -> Vec<Option<String>> {
    ids.into_iter().map(|(_, id)| id).collect()
}

fn project(world: &World, name: &str) -> String {
    let data = json!({"name": name, "workspace": world.gid("orchid").to_string(),
        "team": world.gid("gardeners").to_string()});
    world.post("ada", "/projects", data).gid()
}

/// Returns the names of the tasks that a search by the field finds.
fn found(world: &World, field: &str, test: &str) -> BTreeSet<String> {
    let orchid = world.gid("orchid");
    let path = format!(
        "/workspaces/{orchid}/tasks/search?custom_fields.{field}.{test}&sort_by=created_at"
    );
    let answer = world.get("ada", &path);
    let tasks = answer.json["data"].as_array();
    let tasks = tasks.unwrap_or_else(|| panic!("{}", answer.text)).iter();
    tasks
        .map(|task| task["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_search_finds_ids_like_texts() {
    for kind in KINDS {
        let world = World::new(kind);
        let (eng, ops) = (field(&world, "ENG").gid(), field(&world, "OPS").gid());
        let (engine, office) = (project(&world, "Engine"), project(&world, "Office"));
        add(&world, &engine, &eng);
        add(&world, &office, &ops);
        world.work();
        for number in 1..=12 {
            create(&world, &format!("e{number}"), &[&engine]);
        }
        create(&world, "both", &[&engine, &office]);
        let all: Vec<String> = (1..=12).map(|n| format!("e{n}")).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).chain(["both"]).collect();
        for (test, expected) in [
            ("value=ENG-2", &["e2"][..]),
            ("value=eng-12", &["e12"]),
            ("value=ENG-02", &[]),
            ("value=ENG-14", &[]),
            ("value=2", &[]),
            ("value=OPS-1", &[]),
            ("is_set=true", &all),
            ("starts_with=eng-1", &["e1", "e10", "e11", "e12", "both"]),
            ("ends_with=-1", &["e1"]),
            ("contains=G-1", &["e1", "e10", "e11", "e12", "both"]),
            ("greater_than=1", &[]),
        ] {
            let expected = expected.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(found(&world, &eng, test), expected, "{test}");
        }
        assert_eq!(found(&world, &ops, "value=ops-1").len(), 1);
        let without = found(&world, &ops, "is_set=false");
        assert!(!without.contains("both") && without.contains("e1"));
    }
}

#[test]
fn each_new_task_gets_the_next_number_and_shows_it() {
    for kind in KINDS {
        let world = World::new(kind);
        let (field, project) = (field(&world, "ENG").gid(), project(&world, "Engine"));
        add(&world, &project, &field);
        world.work();
        let first = create(&world, "one", &[&project]);
        let second = create(&world, "two", &[&project]);
        assert_eq!(only(ids(&world, &project, &field)), numbered("ENG", 2));
        let shown = world.get("ada", &format!("/tasks/{second}"));
        let value = &shown.json["data"]["custom_fields"][0];
        for (key, expected) in [
            ("display_value", json!("ENG-2")),
            ("text_value", json!("ENG-2")),
            ("representation_type", json!("custom_id")),
            ("id_prefix", json!("ENG")),
            ("enabled", json!(true)),
            ("is_value_read_only", json!(true)),
        ] {
            assert_eq!(value[key], expected, "{key}: {value}");
        }
        let write = json!({"custom_fields": {field.clone(): "ENG-9"}});
        let path = format!("/tasks/{first}");
        let refused = world.call("ada", "PUT", &path, &write);
        assert_eq!(refused.status, 400, "{}", refused.text);
        // A subtask is in no project.
        world.post(
            "ada",
            &format!("/tasks/{first}/subtasks"),
            json!({"name": "below"}),
        );
        create(&world, "three", &[&project]);
        assert_eq!(only(ids(&world, &project, &field)), numbered("ENG", 3));
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

#[test]
fn a_task_is_found_by_its_id() {
    for kind in KINDS {
        let world = World::new(kind);
        let (field, project) = (field(&world, "ENG").gid(), project(&world, "Engine"));
        add(&world, &project, &field);
        let made: Vec<String> = (0..3)
            .map(|n| create(&world, &n.to_string(), &[&project]))
            .collect();
        let orchid = world.gid("orchid");
        let find = |reader: &str, id: &str| {
            world.get(
                reader,
                &format!("/workspaces/{orchid}/tasks/custom_id/{id}"),
            )
        };
        for (n, task) in made.iter().enumerate() {
            let found = find("ada", &format!("ENG-{}", n + 1));
            assert_eq!((found.status, found.gid()), (200, task.clone()));
        }
        assert_eq!(find("ada", "eng-2").gid(), made[1], "in any case");
        for id in [
            "ENG-4",
            "ENG-0",
            "ENG-02",
            "ENG-",
            "-2",
            "ENG2",
            "X-1",
            "ENG--2",
            "ENG-99999999999999999999",
            "é-1",
        ] {
            let found = find("ada", id);
            assert_eq!(found.status, 404, "{id}: {}", found.text);
        }
        let basalt = world.gid("basalt");
        let elsewhere = world.get(
            "bob",
            &format!("/workspaces/{basalt}/tasks/custom_id/ENG-1"),
        );
        assert_eq!(elsewhere.status, 404);
        assert_eq!(find("bob", "ENG-1").status, 403);
        let private = json!({"privacy_setting": "private"});
        world.call("ada", "PUT", &format!("/projects/{project}"), &private);
        assert_eq!(find("moe", "ENG-1").status, 403);
        world.call(
            "ada",
            "DELETE",
            &format!("/tasks/{}", made[1]),
            &Value::Null,
        );
        assert_eq!(find("ada", "ENG-2").status, 404, "deleted");
        create(&world, "four", &[&project]);
        assert_eq!(
            find("ada", "ENG-4").status,
            200,
            "its number is not given again"
        );
    }
}

#[test]
fn tasks_that_were_there_before_are_numbered_in_the_order_of_their_creation() {
    for kind in KINDS {
        let begin = || {
            let world = World::new(kind);
            let (field, project) = (field(&world, "OLD").gid(), project(&world, "Old"));
            for n in 0..230 {
                // At the top of the list, so that its order is another one.
                let task = create(&world, &n.to_string(), &[&project]);
                if n % 3 == 0 {
                    let first = json!({"project": project, "insert_before": null});
                    world.post("ada", &format!("/tasks/{task}/addProject"), first);
                }
            }
            add(&world, &project, &field);
            (world, (project, field))
        };
        let points = at_every_step(Some(1), begin, |world, (project, field), steps| {
            let given = || only(ids(world, &project, &field));
            assert_eq!(given(), numbered("OLD", 230), "died after {steps} steps");
            create(world, "new", &[&project]);
            assert_eq!(given(), numbered("OLD", 231));
        });
        assert!(points >= 6, "{points} points");
    }
}

/// No number is left out and none is given twice, even if many tasks are created at the same time.
#[test]
fn numbers_have_no_gaps_however_many_create_at_once() {
    let world = Arc::new(World::new(Kind::Sqlite));
    let (field, project) = (field(&world, "ENG").gid(), project(&world, "Engine"));
    add(&world, &project, &field);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (api, project) = (&world.api, project.clone());
            let requests: Vec<_> = (0..25)
                .map(|n| {
                    let data =
                        json!({"data": {"name": format!("{thread}.{n}"), "projects": [project]}});
                    world.request("ada", "POST", "/tasks", data.to_string())
                })
                .collect();
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .build()
                    .unwrap();
                for request in requests {
                    assert_eq!(runtime.block_on(api.handle(&request)).status, 201);
                }
            });
        }
    });
    // The last of these jobs finds nothing left to number.
    world.work();
    let given: BTreeSet<_> = only(ids(&world, &project, &field)).into_iter().collect();
    assert_eq!(given, numbered("ENG", 200).into_iter().collect());
}

#[test]
fn copies_get_numbers_of_their_own_and_moves_keep_them() {
    let world = World::new(Kind::Memory);
    let (field, one) = (field(&world, "ENG").gid(), project(&world, "One"));
    let two = project(&world, "Two");
    for project in [&one, &two] {
        add(&world, project, &field);
    }
    world.work();
    let task = create(&world, "a", &[&one, &two]);
    create(&world, "b", &[&two]);
    assert_eq!(only(ids(&world, &one, &field)), numbered("ENG", 1));
    assert_eq!(only(ids(&world, &two, &field)), numbered("ENG", 2));
    // The task leaves the project and comes back.
    let path = format!("/tasks/{task}");
    world.post(
        "ada",
        &format!("{path}/removeProject"),
        json!({ "project": one }),
    );
    world.post(
        "ada",
        &format!("{path}/addProject"),
        json!({ "project": one }),
    );
    assert_eq!(only(ids(&world, &one, &field)), numbered("ENG", 1));
    // Copies of a task, of a project, and the results of a template.
    let copy = world.post(
        "ada",
        &format!("{path}/duplicate"),
        json!({"name": "c", "include": "projects"}),
    );
    assert_eq!(copy.status, 201, "{}", copy.text);
    world.work();
    assert_eq!(ids(&world, &one, &field)[1].1.as_deref(), Some("ENG-3"));
    let copy = json!({"name": "Three", "team": world.gid("gardeners").to_string()});
    let copy = world.post("ada", &format!("/projects/{two}/duplicate"), copy);
    world.work();
    let three = copy.json["data"]["new_project"]["gid"].as_str().unwrap();
    let found: BTreeSet<_> = only(ids(&world, three, &field))
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(found, ["ENG-4", "ENG-5", "ENG-6"].map(str::to_owned).into());
    let template = json!({"name": "Pattern", "public": true});
    let template = world.post("ada", &format!("/projects/{one}/saveAsTemplate"), template);
    world.work();
    let template = template.json["data"]["new_project_template"]["gid"]
        .as_str()
        .unwrap();
    let made = json!({"name": "Four", "team": world.gid("gardeners").to_string()});
    let made = world.post(
        "ada",
        &format!("/project_templates/{template}/instantiateProject"),
        made,
    );
    world.work();
    let four = made.json["data"]["new_project"]["gid"].as_str().unwrap();
    let found: BTreeSet<_> = only(ids(&world, four, &field))
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(found, ["ENG-7", "ENG-8"].map(str::to_owned).into());
    // Without the field, no numbers; with it again, the next ones.
    let without = json!({ "custom_field": field });
    let path = format!("/projects/{four}/removeCustomFieldSetting");
    let removed = world.post("ada", &path, without);
    assert_eq!(removed.status, 200, "{}", removed.text);
    create(&world, "plain", &[four]);
    assert_eq!(ids(&world, four, &field)[2].1, None);
    add(&world, four, &field);
    world.work();
    assert_eq!(ids(&world, four, &field)[2].1.as_deref(), Some("ENG-9"));
    // A deleted field numbers nothing.
    world.call(
        "ada",
        "DELETE",
        &format!("/custom_fields/{field}"),
        &Value::Null,
    );
    create(&world, "last", &[&one]);
}

#[test]
fn a_prefix_is_one_fields_alone_and_stays() {
    let world = World::new(Kind::Memory);
    let made = field(&world, "ENG");
    assert_eq!(made.json["data"]["id_prefix"], "ENG");
    let taken = field(&world, "eng");
    assert_eq!(taken.status, 400, "{}", taken.text);
    assert!(
        taken.message().starts_with("id_prefix: Already taken: ENG"),
        "{}",
        taken.text
    );
    for prefix in ["", "1A", "A-B", "A B", "ABCDEFGHIJK", "Ä"] {
        let refused = field(&world, prefix);
        assert_eq!(refused.status, 400, "{prefix}");
        assert!(
            refused.message().starts_with("id_prefix: Must be"),
            "{}",
            refused.text
        );
    }
    let number = json!({"workspace": world.gid("orchid").to_string(), "name": "n",
        "resource_subtype": "number", "id_prefix": "NUM"});
    let refused = world.post("ada", "/custom_fields", number);
    assert_eq!(refused.message(), "id_prefix: Only text fields have one");
    let path = format!("/custom_fields/{}", made.gid());
    let same = world.call(
        "ada",
        "PUT",
        &path,
        &json!({"id_prefix": "ENG", "name": "Number"}),
    );
    assert_eq!(same.status, 200, "{}", same.text);
    let other = world.call("ada", "PUT", &path, &json!({"id_prefix": "OTHER"}));
    assert_eq!(other.status, 400, "{}", other.text);
    // A prefix is free again when its field is deleted.
    world.call("ada", "DELETE", &path, &Value::Null);
    let again = field(&world, "ENG");
    assert_eq!(again.status, 201, "{}", again.text);
    let plain = field(&world, "PLAIN").gid();
    let list = world.gid("ada_list");
    let on_list = world.post(
        "ada",
        &format!("/projects/{list}/addCustomFieldSetting"),
        json!({"custom_field": plain}),
    );
    assert_eq!(on_list.status, 400, "{}", on_list.text);
}
