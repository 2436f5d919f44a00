//! Requirements that the contract mentions in passing: the parts of the API, and their names.
use crate::probes::{ORCHID, sample, sender};
use crate::world::{Answer, Kind, World};
use serde_json::{Value, json};
use workgraph_api::SCOPES;
use workgraph_operations::all;
use workgraph_operations::operation::{Handler, ResponseKind};

/// Types of records that are nested as a part of their owner, with more than the compact fields.
const PARTS: [&str; 8] = [
    "custom_field",
    "custom_field_setting",
    "enum_option",
    "custom_type_status_option",
    "graph_export",
    "export_request",
    "project_status",
    "goal_metric",
];

fn compact(value: &Value, nested: bool, what: &str) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| compact(item, nested, what)),
        Value::Object(record) => {
            let ty = record.get("resource_type").and_then(Value::as_str);
            if let Some(ty) = ty.filter(|ty| nested && !PARTS.contains(ty)) {
                let known = ["gid", "name", "title", "resource_type", "resource_subtype"];
                let more = record.keys().find(|k| !known.contains(&k.as_str()));
                assert_eq!(more, None, "{what}: of a {ty}");
            }
            for inner in record.values() {
                compact(inner, true, what);
            }
        }
        _ => {}
    }
}

/// S06. The reply to every row without `opt_fields`.
#[test]
fn a_nested_record_is_compact() {
    for row in all() {
        let world = World::new(Kind::Memory);
        let answer = sample(&world, &ORCHID, row).send(&world, sender(row, "ada"), row);
        if matches!(
            row.response,
            ResponseKind::Record(_)
                | ResponseKind::Created(_)
                | ResponseKind::List(_)
                | ResponseKind::Records(_)
        ) {
            compact(&answer.json["data"], false, row.id);
        }
    }
}

/// S08. One node of each kind is linked with another, and shown from there.
#[test]
fn the_parts_of_the_graph_are_there() {
    let world = World::new(Kind::Memory);
    let gid = |name: &str| world.gid(name).to_string();
    let get = |target: String| -> Answer {
        let answer = world.get("ada", &target);
        assert_eq!(answer.status, 200, "{target}: {}", answer.text);
        answer
    };
    let (task, project) = (gid("water"), gid("garden"));
    let fields =
        "assignee,followers,likes,custom_fields,memberships.section,tags,workspace,projects.team";
    let shown = get(format!("/tasks/{task}?opt_fields={fields}")).json["data"].take();
    let linked = [
        "/workspace/gid",
        "/memberships/0/section/gid",
        "/projects/0/gid",
    ];
    for pointer in linked {
        assert!(shown.pointer(pointer).is_some(), "{pointer}: {shown}");
    }
    for list in ["followers", "likes", "tags", "custom_fields"] {
        assert!(shown[list].is_array(), "{list}: {shown}");
    }
    for list in [
        format!("/tasks/{task}/subtasks"),
        format!("/tasks/{task}/tags"),
        format!("/projects/{project}/sections"),
        format!("/projects/{project}/custom_field_settings"),
        format!("/workspaces/{}/users", gid("orchid")),
        format!("/users/{}/teams?organization={}", gid("mel"), gid("orchid")),
        format!("/teams/{}/project_templates", gid("gardeners")),
        format!("/webhooks?workspace={}", gid("orchid")),
    ] {
        assert!(get(list).json["data"].is_array());
    }
    assert_eq!(
        get(format!("/jobs/{}", gid("ada_job"))).gid(),
        gid("ada_job")
    );
}

/// S09. S35. Made in a project, with every field that the contract names.
#[test]
fn a_task_has_the_fields_that_the_contract_names() {
    let world = World::new(Kind::Memory);
    let gid = |name: &str| world.gid(name).to_string();
    let data = json!({
        "name": "Rake", "completed": true, "due_on": "2026-12-24", "assignee": gid("mel"),
        "followers": [gid("moe")], "projects": [gid("garden")],
    });
    let made = world.post("ada", "/tasks", data);
    assert_eq!(made.status, 201, "{}", made.text);
    let location = made.headers.iter().find(|(name, _)| *name == "Location");
    let location = location
        .unwrap()
        .1
        .strip_prefix(crate::world::BASE)
        .unwrap();
    let shown = world.get("ada", location).json["data"].take();
    assert_eq!(shown["name"], "Rake");
    assert_eq!(shown["completed"], true);
    assert_eq!(shown["due_on"], "2026-12-24");
    assert_eq!(shown["assignee"]["gid"], gid("mel"));
    assert_eq!(shown["projects"][0]["gid"], gid("garden"));
    let followers: Vec<&Value> = shown["followers"].as_array().unwrap().iter().collect();
    assert!(followers.iter().any(|f| f["gid"] == gid("moe")), "{shown}");
    assert!(shown["custom_fields"].is_array() && shown["likes"].is_array());
    let below = world.post(
        "ada",
        &format!("{location}/subtasks"),
        json!({"name": "Sharpen the rake"}),
    );
    let subtasks = world.get("ada", &format!("{location}/subtasks"));
    assert_eq!(subtasks.gids(), [below.gid()]);
}

/// S10. The operations of the authorization server are in its own tests.
#[test]
fn the_operations_that_the_contract_names_are_there() {
    for named in [
        "GET /users/{user_gid}",
        "GET /tasks",
        "GET /tasks/{task_gid}",
        "POST /tasks",
        "GET /projects",
        "GET /projects/{project_gid}/tasks",
        "GET /workspaces/{workspace_gid}/tasks/search",
        "POST /project_templates/{project_template_gid}/instantiateProject",
        "POST /projects/{project_gid}/duplicate",
        "GET /jobs/{job_gid}",
        "POST /batch",
        "POST /webhooks",
        "GET /events",
    ] {
        let known = all().any(|row| named == format!("{} {}", row.method.name(), row.path));
        assert!(known, "{named}");
    }
    let world = World::new(Kind::Memory);
    let me = world.get("ada", "/users/me");
    assert_eq!((me.status, me.gid()), (200, world.gid("ada").to_string()));
}

/// S45.
#[test]
fn each_kind_of_token_is_a_bearer_token() {
    let world = World::new(Kind::Memory);
    // Tokens of a person, of an app, of a service account.
    for token in ["ada", "ada[users:read]", "robot"] {
        assert_eq!(world.get(token, "/users/me").status, 200, "{token}");
    }
}

/// S55.
#[test]
fn the_scopes_that_the_contract_names_are_there() {
    for name in [
        "projects:read",
        "projects:write",
        "tasks:read",
        "tasks:write",
        "tasks:delete",
        "users:read",
        "openid",
        "email",
        "profile",
    ] {
        assert!(SCOPES.iter().any(|scope| scope.name == name), "{name}");
    }
}

/// S87. With `limit`, every list has a `next_page`, null at its end.
#[test]
fn a_list_is_paginated_where_a_limit_is_given() {
    let world = World::new(Kind::Memory);
    for row in
        all().filter(|row| matches!(row.handler, Handler::Page(..) | Handler::ComputedPage(_)))
    {
        let mut whole = sample(&world, &ORCHID, row);
        let paginated = |answer: &Answer| answer.json.get("next_page").is_some();
        let answer = whole.send(&world, sender(row, "ada"), row);
        assert!(!paginated(&answer), "{}: {}", row.id, answer.text);
        whole.query.push(("limit", "1".to_owned()));
        let answer = whole.send(&world, sender(row, "ada"), row);
        assert!(paginated(&answer), "{}: {}", row.id, answer.text);
    }
}
