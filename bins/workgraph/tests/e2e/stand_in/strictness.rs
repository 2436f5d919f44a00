//! Names that no operation knows: reported, or refused where a test asks for that.
use super::client::{StandIn, World};
use serde_json::{Value, json};

/// Returns the unknown names of the requests to a world that have some.
fn unknown(world: &World<'_>) -> Vec<String> {
    let shown = world.control("GET", "/-/requests?has_unknown=true", Value::Null);
    let names = shown.as_array().unwrap().iter();
    names
        .flat_map(|request| request["unknown"].as_array().unwrap().clone())
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn names_that_nobody_knows_are_reported_in_every_part_of_a_request() {
    let stand_in = StandIn::start("stand-in-reports");
    let world = stand_in.world(json!({}));
    let workspace = world.workspace().to_owned();
    let misspelt = json!({"name": "Buy", "workspace": workspace, "asignee": "me"});
    let task = world.data("POST", "/tasks", misspelt)["gid"].clone();
    let task = task.as_str().unwrap();
    let page = format!("/tasks?assignee=me&workspace={workspace}");
    // The second reply would come from a cache.
    for _ in 0..2 {
        world.data(
            "GET",
            &format!("/tasks/{task}?opt_fields=name,assignee.nmae"),
            Value::Null,
        );
    }
    world.data("GET", &format!("{page}&lmit=5"), Value::Null);
    let action =
        json!({"method": "put", "relative_path": format!("/tasks/{task}"), "data": {"note": "x"}});
    world.data("POST", "/batch", json!({"actions": [action]}));
    let expected = [
        "data: asignee (did you mean assignee?)",
        "opt_fields: assignee.nmae (did you mean name?)",
        "opt_fields: assignee.nmae (did you mean name?)",
        "query: lmit (did you mean limit?)",
        "data: note (did you mean notes?)",
    ];
    assert_eq!(unknown(&world), expected);
    let found = json!({"operation": "createTask", "has_unknown": true, "count": 1});
    let verified = world.control("POST", "/-/requests/verify", found);
    assert_eq!(verified["holds"], true);
}

#[test]
fn what_the_contract_knows_is_not_reported() {
    let stand_in = StandIn::start("stand-in-known");
    let world = stand_in.world(json!({"strict": true}));
    assert_eq!(world.made["strict"], true);
    let workspace = world.workspace().to_owned();
    let task = world.task("Buy");
    // What the server sets is ignored, and known.
    let fields = "opt_fields=name,notes,created_at,permalink_url,num_likes";
    let record = world.data("GET", &format!("/tasks/{task}?{fields}"), Value::Null);
    // A record sent back, the path's parameter in the query, and what lists name beside fields.
    world.data("PUT", &format!("/tasks/{task}?task_gid={task}"), record);
    for query in [
        "opt_fields=name,offset,path,uri&limit=2",
        "opt_fields=this.name,(followers|assignee).name&opt_pretty=true",
        "opt_expand=followers",
    ] {
        let path = format!("/tasks?assignee=me&workspace={workspace}&{query}");
        world.data("GET", &path, Value::Null);
    }
    let project = world.project("Orders");
    let counts = format!("/projects/{project}/task_counts?opt_fields=num_tasks");
    world.data("GET", &counts, Value::Null);
    let search = "custom_fields.12.is_set=true&sort_by=created_at&is_subtask=false";
    let path = format!("/workspaces/{workspace}/tasks/search?{search}");
    world.ask("GET", &path, Value::Null);
    assert_eq!(unknown(&world), Vec::<String>::new());
}

#[test]
fn a_strict_world_refuses_them_and_does_nothing() {
    let stand_in = StandIn::start_with("stand-in-strict", &["--seed", "7", "--strict"]);
    let world = stand_in.world(json!({}));
    let workspace = world.workspace().to_owned();
    let misspelt = json!({"name": "Buy", "workspace": workspace, "asignee": "me"});
    let refused = world.ask("POST", "/tasks", misspelt.clone());
    assert_eq!(refused.status, 400);
    let message = "asignee: No operation input has this name in data; did you mean assignee?";
    assert_eq!(refused.json()["errors"][0]["message"], message);
    let gentle = stand_in.world(json!({"strict": false}));
    gentle.data("POST", "/tasks", misspelt);
    assert_eq!(unknown(&world).len(), 1);
}
