//! Worlds that begin with what a fixture describes.
use super::client::{StandIn, World};
use serde_json::{Value, json};

pub(crate) fn fixture() -> Value {
    json!({
        "workspaces": [{"name": "Acme"}, {"name": "Side", "plan": "free", "organization": false}],
        "people": [
            {"name": "Ann", "email": "ann@acme.test", "password": "a long enough password"},
            {"name": "Ben", "email": "ben@acme.test"},
            {"name": "Gus", "email": "gus@side.test", "workspace": "Side", "role": "guest"},
        ],
        "apps": [{
            "name": "Reports", "client_id": "1200000000000001", "client_secret": "chosen-secret",
            "redirect_uris": ["https://reports.test/callback"], "scopes": ["tasks:read", "users:read"],
        }],
        "teams": [{"name": "Product", "members": ["Ben"]}],
        "projects": [{
            "name": "Spring launch", "notes": "Everything by May", "sections": ["To do", "Done"],
            "tasks": [
                {"name": "Write copy", "section": "To do", "assignee": "@Ben", "due_on": {"in_days": 3},
                    "subtasks": [{"name": "Ask Cleo"}]},
                {"name": "Book a room", "section": "Done", "completed": true},
            ],
        }],
        "requests": [
            {"operation": "createTag", "data": {"name": "urgent", "workspace": "@Acme"}, "called": "urgent"},
            {"operation": "addTagForTask", "path": {"task_gid": "@Write copy"}, "data": {"tag": "@urgent"}},
            {"operation": "createStoryForTask", "path": {"task_gid": "@Write copy"}, "data": {"text": "Soon"}, "as": "Ben"},
        ],
    })
}

fn get(world: &World<'_>, token: &str, path: &str) -> Value {
    let bearer = format!("Bearer {token}");
    let path = format!("{}/api/1.0{path}", world.path);
    let reply = world
        .stand_in
        .send("GET", &path, &[("Authorization", &bearer)], "");
    assert_eq!(reply.status, 200, "{path}: {}", reply.text());
    reply.json()["data"].clone()
}

#[test]
fn a_world_begins_with_the_people_apps_and_objects_of_a_fixture() {
    let stand_in = StandIn::start("stand-in-fixtures");
    let world = stand_in.world(json!({"fixture": fixture()}));
    let name = |name: &str| world.made["names"][name].as_str().unwrap().to_owned();
    let task = world.data(
        "GET",
        &format!("/tasks/{}?opt_fields=due_on,assignee.name,tags.name,memberships.section.name,num_subtasks", name("Write copy")),
        Value::Null,
    );
    assert_eq!(task["due_on"], "2026-03-05");
    assert_eq!(task["assignee"]["name"], "Ben");
    assert_eq!(task["tags"][0]["name"], "urgent");
    assert_eq!(task["memberships"][0]["section"]["name"], "To do");
    assert_eq!(task["num_subtasks"], 1);
    assert_eq!(
        world.data(
            "GET",
            &format!("/tasks/{}", name("Book a room")),
            Value::Null
        )["completed"],
        true
    );
    assert_eq!(name("ben@acme.test"), name("Ben"));
    // Each person has a token, and the app the credentials of the test's choice.
    let ben = world.made["users"][1]["token"].as_str().unwrap();
    assert_eq!(get(&world, ben, "/users/me")["name"], "Ben");
    let asked = json!({"app": "Reports", "user": "Ben"});
    let tokens = world.control("POST", "/-/oauth/grant", asked);
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(get(&world, access, "/users/me")["name"], "Ben");
    let asked = json!({"app": "1200000000000001", "client_secret": "chosen-secret"});
    world.control("POST", "/-/oauth/grant", asked);
}

#[test]
fn worlds_of_one_fixture_have_equal_credentials_and_nothing_else_in_common() {
    let stand_in = StandIn::start("stand-in-equal-fixtures");
    let (one, other) = (
        stand_in.world(json!({"fixture": fixture()})),
        stand_in.world(json!({"fixture": fixture()})),
    );
    for field in ["users", "apps", "names"] {
        assert_eq!(one.made[field], other.made[field], "{field}");
    }
    assert_ne!(one.token, other.token);
    let copy = format!(
        "/tasks/{}",
        one.made["names"]["Write copy"].as_str().unwrap()
    );
    one.data("PUT", &copy, json!({"name": "Changed"}));
    assert_eq!(other.data("GET", &copy, Value::Null)["name"], "Write copy");
    // The same people in another fixture have the same tokens.
    let mut smaller = fixture();
    smaller["projects"] = json!([]);
    smaller["requests"] = json!([]);
    let smaller = stand_in.world(json!({"fixture": smaller}));
    let token = |world: &World<'_>| world.made["users"][1]["token"].clone();
    assert_eq!(token(&smaller), token(&one));
    // At the root, the newest world that has a token is meant.
    let headers = format!("Bearer {}", token(&one).as_str().unwrap());
    let shown = stand_in.send(
        "GET",
        "/api/1.0/projects",
        &[("Authorization", &headers)],
        "",
    );
    assert_eq!(shown.json()["data"], json!([]), "{}", shown.text());
}

#[test]
fn what_is_wrong_in_a_fixture_is_said_with_its_place() {
    let stand_in = StandIn::start("stand-in-wrong-fixtures");
    let with = |part: &str, value: Value| {
        let mut wrong = fixture();
        wrong[part] = value;
        wrong
    };
    let task = |task: Value| {
        with(
            "projects",
            json!([{"name": "P", "sections": ["A"], "tasks": [task]}]),
        )
    };
    let request = |request: Value| with("requests", json!([request]));
    for (wrong, named) in [
        (with("people", json!([])), "at least one person"),
        (with("people", json!([{"name": "Ann"}])), "email"),
        (with("colour", json!("red")), "colour"),
        (task(json!({"name": "T", "assignee": "@Nobody"})), "Nobody"),
        (task(json!({"name": "T", "section": "B"})), "P/B"),
        (task(json!({"name": "T", "due_on": "soon"})), "due_on"),
        (request(json!({"operation": "flyTask"})), "flyTask"),
        (request(json!({"operation": "deleteTask"})), "task_gid"),
        (
            request(json!({"operation": "getUsers", "as": "Nia"})),
            "Nia",
        ),
    ] {
        let body = json!({ "fixture": wrong }).to_string();
        let json = [("Content-Type", "application/json")];
        let reply = stand_in.send("POST", "/-/worlds", &json, &body);
        assert_eq!(reply.status, 400, "{named}: {}", reply.text());
        let text = reply.text();
        assert!(
            text.contains(named) && text.contains("fixture"),
            "{named}: {text}"
        );
    }
    let schema = stand_in.send("GET", "/-/fixture-schema", &[], "").json();
    assert_eq!(schema["required"], json!(["people"]), "{schema}");
    // A refused fixture leaves nothing.
    assert_eq!(
        stand_in
            .control("GET", "/-/worlds", Value::Null)
            .as_array()
            .unwrap()
            .len(),
        1
    );
}
