//! Exports of resources: the resources that pass the filters, with the named fields, one export at a time.
use super::*;
use crate::races::{post, race};

const PARTS: &str = "export_request_parameters";

fn ask(world: &World, token: &str, parts: Value) -> Answer {
    let body = json!({"workspace": world.gid("orchid").to_string(), PARTS: parts});
    world.post(token, "/exports/resource", body)
}

/// Returns the records of a requested export.
fn finished(world: &World, token: &str, job: &Answer) -> Vec<Value> {
    assert_eq!(job.status, 201, "{}", job.text);
    let job = world.get(token, &format!("/jobs/{}", job.gid()));
    let data = &job.json["data"];
    assert_eq!(data["status"], "succeeded", "{}", job.text);
    let file = Gid::parse(text(&data["new_resource_export"], "gid")).unwrap();
    let files = world.files.files.lock().unwrap();
    assert!(files[&file].whole);
    let lines = std::str::from_utf8(&files[&file].bytes).unwrap();
    assert!(lines.is_empty() || lines.ends_with('\n'));
    let lines = lines.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn bulk(world: &World, token: &str, parts: Value) -> Vec<Value> {
    let job = ask(world, token, parts);
    world.work();
    finished(world, token, &job)
}

/// Returns all tasks of the workspace that the token sees, as GET shows them.
fn tasks(world: &World, token: &str) -> Vec<Value> {
    let all = bulk(
        world,
        token,
        json!([{"resource_type": "task", "fields": ["name"]}]),
    );
    let shown = all.iter().map(|task| {
        let at = format!("/tasks/{}", text(task, "gid"));
        world.get(token, &at).json["data"].clone()
    });
    shown.collect()
}

#[test]
fn tasks_come_as_their_user_sees_them_with_their_stories() {
    for kind in KINDS {
        let world = world(kind, 40);
        for token in ["ada", "mel", "robot"] {
            let records = bulk(&world, token, json!([{"resource_type": "task"}]));
            gids(&records);
            for record in &records {
                let at = format!("/tasks/{}", text(record, "gid"));
                let shown = world.get(token, &at);
                assert_eq!(shown.status, 200, "{token} {at}: {}", shown.text);
                let mut shown = shown.json["data"].clone();
                let stories = world.get(token, &format!("{at}/stories?limit=100"));
                let attachments = world.get(token, &format!("{at}/attachments?limit=100"));
                shown["attachments"] = attachments.json["data"].clone();
                shown["stories"] = stories.json["data"].clone();
                assert_eq!(record, &shown, "{token} {at}");
            }
        }
        let of = |token: &str| {
            let all = bulk(&world, token, json!([{"resource_type": "task"}]));
            names(&all, "task").len()
        };
        assert!(of("mel") < of("ada"), "what is private to ada is not mel's");
        assert_eq!(of("robot"), of("robot"));
    }
}

#[test]
fn filters_are_conditions_of_which_all_hold() {
    for kind in KINDS {
        let world = world(kind, 30);
        let (moe, mel) = (world.gid("moe").to_string(), world.gid("mel").to_string());
        let forest = tasks(&world, "ada");
        let tree = |n: usize| {
            let name = format!("tree {n}");
            let found = forest.iter().find(|t| t["name"] == *name).unwrap();
            format!("/tasks/{}", text(found, "gid"))
        };
        world.advance(60);
        for (n, user) in [(3, &moe), (5, &moe), (7, &mel)] {
            world.call("ada", "PUT", &tree(n), &json!({"assignee": user}));
        }
        world.post(
            "ada",
            &format!("{}/addFollowers", tree(9)),
            json!({"followers": [moe]}),
        );
        world.call("mel", "PUT", &tree(11), &json!({"liked": true}));
        world.post(
            "mel",
            &format!("{}/stories", tree(13)),
            json!({"text": "Oh"}),
        );
        world.advance(60);
        let late = world.post(
            "mel",
            "/tasks",
            json!({"name": "late", "workspace": world.gid("orchid").to_string()}),
        );
        let at = |gid: &str, field: &str| {
            let shown = world.get("mel", &format!("/tasks/{gid}?opt_fields={field}"));
            text(&shown.json["data"], field).to_owned()
        };
        let made = at(&late.gid(), "created_at");
        let found = |filters: Value| {
            let part = json!({"resource_type": "task", "filters": filters, "fields": ["name"]});
            let mut names: Vec<String> = bulk(&world, "ada", json!([part]))
                .iter()
                .map(|t| text(t, "name").to_owned())
                .filter(|n| n.starts_with("tree"))
                .collect();
            names.sort();
            names
        };
        assert_eq!(found(json!({"assignee.any": [moe]})), ["tree 3", "tree 5"]);
        let any = json!({"assignee.any": [moe, mel]});
        assert_eq!(found(any), ["tree 3", "tree 5", "tree 7"]);
        let both = json!({"assignee.any": [moe, mel], "followers.any": [mel]});
        assert_eq!(found(both), ["tree 7"]);
        assert_eq!(
            found(json!({"followers.any": [moe]})),
            ["tree 3", "tree 5", "tree 9"]
        );
        assert_eq!(found(json!({"liked_by.any": [mel]})), ["tree 11"]);
        assert_eq!(found(json!({"commented_on_by.any": [mel]})), ["tree 13"]);
        let ada = world.gid("ada").to_string();
        assert_eq!(
            found(json!({"assigned_by.any": [ada]})),
            ["tree 3", "tree 5", "tree 7"]
        );
        assert_eq!(
            found(json!({"created_by.any": [mel]})),
            Vec::<String>::new()
        );
        // Bounds exclude their own instant.
        let start = "2026-01-15T09:30:30Z";
        let moved = found(json!({"modified_at.after": start}));
        assert!(moved.contains(&"tree 13".to_owned()) && !moved.contains(&"tree 1".to_owned()));
        assert_eq!(
            found(json!({"modified_at.before": start})).len(),
            30 - moved.len()
        );
        let mine = |filters: Value| {
            let part = json!({"resource_type": "task", "filters": filters, "fields": ["name"]});
            let found = bulk(&world, "mel", json!([part]));
            found.iter().any(|t| t["name"] == "late")
        };
        assert!(!mine(json!({"created_at.after": made})));
        assert!(!mine(json!({"created_at.before": made})));
        assert!(mine(json!({"created_at.after": start})));
        // Parts are joined, and a resource may be in two of them.
        let parts = json!([
            {"resource_type": "task", "filters": {"liked_by.any": [mel]}, "fields": ["name", "stories.text"]},
            {"resource_type": "message", "filters": {"created_by.any": [mel]}},
            {"resource_type": "task", "filters": {"liked_by.any": [mel]}, "fields": []},
        ]);
        let twice = bulk(&world, "ada", parts);
        assert_eq!(names_of(&twice), ["tree 11", "tree 11"]);
        let keys: Vec<&String> = twice[0].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["gid", "name", "stories"]);
        assert!(twice[1].get("attachments").is_some());
    }
}

fn names_of(records: &[Value]) -> Vec<&str> {
    records.iter().map(|r| text(r, "name")).collect()
}

#[test]
fn teams_come_with_their_members_and_there_are_no_messages() {
    for kind in KINDS {
        let world = World::new(kind);
        let teams = bulk(&world, "ada", json!([{"resource_type": "team"}]));
        assert!(names_of(&teams).contains(&"Gardeners"));
        for record in &teams {
            let at = format!("/teams/{}", text(record, "gid"));
            let mut shown = world.get("ada", &at).json["data"].clone();
            let members: BTreeSet<String> = world
                .get("ada", &format!("{at}/users"))
                .gids()
                .into_iter()
                .collect();
            shown["members"] = record["members"].clone();
            assert_eq!(record, &shown);
            assert_eq!(gids(record["members"].as_array().unwrap()), members);
        }
        let none = bulk(&world, "ada", json!([{"resource_type": "message"}]));
        assert_eq!(none, Vec::<Value>::new());
    }
}

#[test]
fn all_filters_of_a_request_name_two_hundred_users_at_most() {
    let world = world(Kind::Memory, 1);
    let vic = world.gid("vic").to_string();
    let parts = |last: usize| {
        let part = |users| json!({"resource_type": "task", "filters": {"assignee.any": vec![vic.as_str(); users]}});
        json!([part(100), part(100 - last), part(last)])
    };
    assert_eq!(ask(&world, "ada", parts(1)).status, 201);
    let mut many = parts(1);
    many[0]["filters"]["followers.any"] = json!([vic]);
    let refused = ask(&world, "ada", many);
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert_eq!(
        refused.message(),
        format!("{PARTS}: Must name at most 200 users in all filters, not: 201")
    );
}

#[test]
fn a_workspace_has_one_export_at_a_time() {
    for kind in KINDS {
        let world = world(kind, 60);
        let all = || json!([{"resource_type": "task"}]);
        let first = ask(&world, "ada", all());
        for token in ["ada", "mel", "robot"] {
            let second = ask(&world, token, all());
            assert_eq!(second.status, 403, "{token}: {}", second.text);
        }
        die_after(&world, 2);
        assert_eq!(ask(&world, "mel", all()).status, 403, "it goes on later");
        world.advance(31);
        world.work();
        assert!(!finished(&world, "ada", &first).is_empty());
        // An export that fails makes room, too.
        let failing = ask(&world, "mel", all());
        world.advance(3601);
        world.work();
        assert_eq!(status_of(&world, "mel", &failing), "failed");
        let body = json!({"workspace": world.gid("orchid").to_string(), PARTS: all()});
        let one = || post("/exports/resource".to_owned(), body.clone());
        let mut both = race(&world, one(), one());
        both.sort_unstable();
        assert_eq!(both, [201, 403]);
        world.work();
        assert_eq!(ask(&world, "ada", all()).status, 201);
        assert_eq!(world.problems(), Vec::<String>::new());
    }
}

fn status_of(world: &World, token: &str, job: &Answer) -> String {
    let job = world.get(token, &format!("/jobs/{}", job.gid()));
    text(&job.json["data"], "status").to_owned()
}

#[test]
fn a_runner_that_dies_in_an_export_of_resources_leaves_neither_gaps_nor_doubles() {
    for kind in KINDS {
        let world = world(kind, 60);
        let parts = || json!([{"resource_type": "team"}, {"resource_type": "task"}]);
        let whole = bulk(&world, "ada", parts());
        let begin = || (&world, ask(&world, "ada", parts()));
        let points = at_every_step(Some(1), begin, |_, job, steps| {
            let again = finished(&world, "ada", &job);
            assert_eq!(again, whole, "died after {steps} steps");
        });
        assert!(points > 5, "{points} points");
    }
}

#[test]
fn members_of_paid_workspaces_export_resources() {
    let world = World::new(Kind::Memory);
    let all = || json!([{"resource_type": "task"}]);
    for (token, status) in [
        ("gus", 402),
        ("bob", 403),
        ("-", 401),
        ("ada[tasks:read,teams:read,jobs:read]", 403),
        ("vic", 201),
    ] {
        let answer = ask(&world, token, all());
        assert_eq!(answer.status, status, "{token}: {}", answer.text);
    }
    let body = json!({"workspace": world.gid("basalt").to_string(), PARTS: all()});
    let free = world.post("bob", "/exports/resource", body);
    assert_eq!(free.status, 402, "{}", free.text);
}

#[test]
fn addresses_of_exports_of_resources_are_given_for_a_month() {
    let world = World::new(Kind::Memory);
    let job = ask(&world, "ada", json!([{"resource_type": "team"}]));
    world.work();
    let url = || {
        let job = world.get("ada", &format!("/jobs/{}", job.gid()));
        job.json["data"]["new_resource_export"]["download_url"].clone()
    };
    assert!(url().is_string());
    world.advance(30 * 24 * 3600 - 1);
    assert!(url().is_string());
    world.advance(2);
    assert_eq!(url(), Value::Null);
    world.advance(24 * 3600);
    world.run(world.api.cleanup_jobs(100)).unwrap();
    let gone = world.get("ada", &format!("/jobs/{}", job.gid()));
    assert_eq!(gone.status, 404, "{}", gone.text);
    assert_eq!(world.problems(), Vec::<String>::new());
}
