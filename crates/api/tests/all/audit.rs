//! The audit log as its readers see it: a walk that never ends, and rows with the origin of each act.
use crate::world::{Answer, Kind, World};
use serde_json::{Value, json};
use workgraph_api::Caller;

const LOG: &str = "/workspaces/{orchid}/audit_log_events";

fn target(world: &World, query: &str) -> String {
    let workspace = world.gid("orchid").to_string();
    format!("{}?{query}", LOG.replace("{orchid}", &workspace))
}

/// Returns the page after this one.
fn next(world: &World, page: &Answer) -> Answer {
    world.get("robot", page.json["next_page"]["path"].as_str().unwrap())
}

fn rows(page: &Answer) -> &Vec<Value> {
    page.json["data"].as_array().unwrap()
}

/// Makes a task and deletes it: an act that is in the log.
fn act(world: &World) -> String {
    let workspace = world.gid("orchid").to_string();
    let made = world.post(
        "ada",
        "/tasks",
        json!({"workspace": workspace, "name": "Gone"}),
    );
    let path = format!("/tasks/{}", made.gid());
    assert_eq!(
        world
            .send(world.request("ada", "DELETE", &path, String::new()))
            .status,
        200
    );
    made.gid()
}

/// S93.
#[test]
fn a_walk_over_the_audit_log_never_ends_and_an_empty_page_means_caught_up() {
    for kind in crate::world::KINDS {
        let world = World::new(kind);
        let none = world.get("robot", &target(&world, "limit=2&event_type=task_deleted"));
        assert_eq!(
            (rows(&none).len(), &none.json["next_page"]),
            (0, &Value::Null)
        );
        let gone: Vec<String> = (0..5).map(|_| act(&world)).collect();
        let mut page = world.get("robot", &target(&world, "limit=2&event_type=task_deleted"));
        let mut seen = Vec::new();
        let mut pages = 0;
        while !rows(&page).is_empty() {
            seen.extend(rows(&page).iter().map(|row| row["resource"]["gid"].clone()));
            page = next(&world, &page);
            pages += 1;
        }
        assert_eq!(
            (pages, &seen),
            (3, &gone.iter().map(|g| json!(g)).collect())
        );
        // There is still nothing new, and still a page to go on from. A long time later it has the rows since then.
        page = next(&world, &page);
        assert!(rows(&page).is_empty());
        world.advance(80 * 86_400);
        let late = act(&world);
        page = next(&world, &page);
        assert_eq!(rows(&page)[0]["resource"]["gid"], late);
        // A token lives as long as the log is kept.
        world.advance(90 * 86_400);
        let old = next(&world, &page);
        assert_eq!(
            (old.status, old.message()),
            (400, "offset: Your pagination token has expired.")
        );
    }
}

#[test]
fn a_row_says_which_way_its_act_came() {
    let world = World::new(Kind::Memory);
    let workspace = world.gid("orchid").to_string();
    let made = world.post(
        "ada",
        "/tasks",
        json!({"workspace": workspace, "name": "Gone"}),
    );
    let path = format!("/tasks/{}", made.gid());
    let caller = Caller {
        address: Some([198, 51, 100, 7].into()),
        user_agent: Some("planner/1"),
        ..Caller::default()
    };
    let request = world.request("ada[tasks:delete]", "DELETE", &path, String::new());
    assert_eq!(
        world
            .run(world.api.handle_from(&request, caller.into()))
            .status,
        200
    );
    let page = world.get("robot", &target(&world, "event_type=task_deleted"));
    assert_eq!(
        rows(&page)[0]["context"],
        json!({
            "context_type": "api",
            "api_authentication_method": "oauth",
            "oauth_app_name": "App 900",
            "client_ip_address": "198.51.100.7",
            "user_agent": "planner/1",
        })
    );
    // Actions of a batch have the same origin.
    let made = world.post(
        "ada",
        "/tasks",
        json!({"workspace": workspace, "name": "Gone"}),
    );
    let action = json!({"relative_path": format!("/tasks/{}", made.gid()), "method": "delete"});
    let body = json!({"data": {"actions": [action]}}).to_string();
    let request = world.request("ada", "POST", "/batch", body);
    assert_eq!(
        world
            .run(world.api.handle_from(&request, caller.into()))
            .status,
        200
    );
    let page = world.get("robot", &target(&world, "event_type=task_deleted"));
    let context = &rows(&page)[1]["context"];
    assert_eq!(
        (
            &context["user_agent"],
            &context["api_authentication_method"]
        ),
        (&json!("planner/1"), &json!("personal_access_token"))
    );
}

#[test]
fn one_workspace_learns_nothing_of_another() {
    let world = World::new(Kind::Memory);
    let basalt = world.gid("basalt").to_string();
    let count = |world: &World| rows(&world.get("robot", &target(world, ""))).len();
    let before = count(&world);
    for _ in 0..3 {
        let made = world.post(
            "bob",
            "/tasks",
            json!({"workspace": basalt, "name": "Gone"}),
        );
        let path = format!("/tasks/{}", made.gid());
        world.send(world.request("bob", "DELETE", &path, String::new()));
    }
    assert_eq!(count(&world), before);
    act(&world);
    assert_eq!(count(&world), before + 1);
}
