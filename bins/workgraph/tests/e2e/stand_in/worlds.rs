//! Worlds see nothing of each other.
use super::client::StandIn;
use serde_json::{Value, json};

#[test]
fn a_world_has_its_own_data_tokens_and_addresses() {
    let stand_in = StandIn::start("stand-in-worlds");
    let (one, other) = (stand_in.world(json!({})), stand_in.world(json!({})));
    let task = one.task("Mine");
    assert_eq!(
        other
            .ask("GET", &format!("/tasks/{task}"), Value::Null)
            .status,
        404
    );
    // A token belongs to one world.
    let bearer = format!("Bearer {}", one.token);
    let headers = [("Authorization", bearer.as_str())];
    for (path, status) in [(&*one.path, 200), (&*other.path, 401), ("/w/0", 401)] {
        let reply = stand_in.send("GET", &format!("{path}/api/1.0/users/me"), &headers, "");
        assert_eq!(reply.status, status, "{path}");
    }
    // At the root, the token that was made with a world leads there.
    let path = format!("/api/1.0/tasks/{task}");
    assert_eq!(stand_in.send("GET", &path, &headers, "").status, 200);
    // Links lead into the world.
    for n in 0..3 {
        one.data(
            "POST",
            "/tasks",
            json!({"name": format!("{n}"), "workspace": one.workspace(), "assignee": "me"}),
        );
    }
    let list = format!("/tasks?assignee=me&workspace={}&limit=2", one.workspace());
    let page = one.ask("GET", &list, Value::Null).json();
    let next = page["next_page"]["uri"].as_str().unwrap();
    assert!(
        next.contains(&format!("{}/api/1.0/tasks", one.path)),
        "{next}"
    );
    assert_eq!(
        stand_in
            .send("GET", "/w/99/api/1.0/users/me", &headers, "")
            .status,
        404
    );
}

#[test]
fn a_copy_begins_with_everything_and_then_goes_its_own_way() {
    let stand_in = StandIn::start("stand-in-copies");
    let first = stand_in.world(json!({}));
    let task = first.task("Shared");
    first.advance("3h");
    let copy = stand_in.world(json!({"from": first.made["id"]}));
    let path = format!("/tasks/{task}");
    assert_eq!(copy.data("GET", &path, Value::Null)["name"], "Shared");
    assert_eq!(
        copy.control("GET", "/-/clock", Value::Null)["now"],
        first.control("GET", "/-/clock", Value::Null)["now"]
    );
    copy.data("PUT", &path, json!({"name": "Copied"}));
    copy.task("New");
    assert_eq!(first.data("GET", &path, Value::Null)["name"], "Shared");
    let id = copy.made["id"].as_str().unwrap();
    stand_in.control("DELETE", &format!("/-/worlds/{id}"), Value::Null);
    assert_eq!(copy.ask("GET", &path, Value::Null).status, 404);
    assert_eq!(first.data("GET", &path, Value::Null)["name"], "Shared");
}

#[test]
fn settings_of_a_world_are_its_own() {
    let stand_in = StandIn::start("stand-in-settings");
    let narrow = stand_in.world(json!({"settings": {"limits.standard_paid": 3}}));
    let wide = stand_in.world(json!({}));
    let statuses = |world: &super::client::World<'_>| {
        (0..5)
            .map(|_| world.ask("GET", "/users/me", Value::Null).status)
            .collect::<Vec<_>>()
    };
    assert_eq!(statuses(&narrow), [200, 200, 200, 429, 429]);
    assert_eq!(statuses(&wide), [200; 5]);
    let empty = stand_in.world(json!({"from": "empty"}));
    assert_eq!(empty.made["users"].as_array().unwrap().len(), 1);
}

#[test]
fn page_tokens_of_one_world_are_none_in_another() {
    let stand_in = StandIn::start("stand-in-page-tokens");
    let (one, other) = (stand_in.world(json!({})), stand_in.world(json!({})));
    let list = format!("/workspaces/{}/users?limit=1", one.workspace());
    let page = one.ask("GET", &list, Value::Null).json();
    let offset = page["next_page"]["offset"].as_str().unwrap();
    let next = format!("{list}&offset={offset}");
    assert_eq!(one.ask("GET", &next, Value::Null).status, 200);
    assert_eq!(other.ask("GET", &next, Value::Null).status, 400);
}

/// Number of worlds whose stores are open at the same time.
const OPEN_STORES_MAX: usize = 64;

/// Returns the databases that a process has open.
fn open_databases(process: u32) -> usize {
    let files = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    files
        .filter_map(|file| std::fs::read_link(file.ok()?.path()).ok())
        .filter(|path| path.ends_with("workgraph.db") && path.components().any(is_worlds))
        .count()
}

fn is_worlds(part: std::path::Component<'_>) -> bool {
    part.as_os_str() == "worlds"
}

#[test]
fn many_worlds_are_links_of_one_database_which_stays_as_it_was() {
    let stand_in = StandIn::start("stand-in-links");
    let folder = stand_in.folder().data().join("worlds/initial-1");
    let first = stand_in.world(json!({}));
    let database = || std::fs::read(folder.join("workgraph.db")).unwrap();
    let before = database();
    let mut worlds = vec![(first.task("of 0"), first)];
    for number in 1..OPEN_STORES_MAX + 8 {
        // Some are copies of a world that was changed.
        let from = match number % 3 {
            0 => worlds[number - 1].1.made["id"].clone(),
            _ => json!("demo"),
        };
        let world = stand_in.world(json!({ "from": from }));
        assert_eq!(world.made["copied"], "linked");
        worlds.push((world.task(&format!("of {number}")), world));
    }
    for (number, (task, world)) in worlds.iter().enumerate() {
        let own = world.data("GET", &format!("/tasks/{task}"), Value::Null);
        assert_eq!(own["name"], format!("of {number}"));
        let open = open_databases(stand_in.process());
        assert!((1..=OPEN_STORES_MAX).contains(&open), "{open}");
    }
    assert!(database() == before);
}

/// Returns the number of threads of a process.
fn threads(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/task"))
        .unwrap()
        .count()
}

#[test]
fn a_deleted_world_leaves_no_thread_and_no_file() {
    let stand_in = StandIn::start("stand-in-deletions");
    let delete = |id: &Value| {
        stand_in.control(
            "DELETE",
            &format!("/-/worlds/{}", id.as_str().unwrap()),
            Value::Null,
        );
    };
    delete(&stand_in.world(json!({})).made["id"]);
    let before = threads(stand_in.process());
    for _ in 0..10 {
        let world = stand_in.world(json!({}));
        world.task("Short-lived");
        delete(&world.made["id"]);
    }
    // Threads end a moment after their world.
    let has_ended = (0..1_000).any(|_| {
        crate::common::pause(10);
        threads(stand_in.process()) <= before
    });
    assert!(
        has_ended,
        "{} threads, {before} before",
        threads(stand_in.process())
    );
    let left = std::fs::read_dir(stand_in.folder().data().join("worlds")).unwrap();
    let left: Vec<String> = left
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        left.iter().all(|name| name.starts_with("initial-")),
        "{left:?}"
    );
}
