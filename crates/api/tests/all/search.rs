//! Search and typeahead: each parameter finds its matches, refuses values that it cannot read, and shows no user an
//! object that they may not see.
mod effort;
mod former_members;
mod graph;
mod hidden_facts;
mod typeahead_effort;
mod walks;

use crate::world::{BASALT_WORDS, KINDS, Kind, ORCHID_WORDS, World, is_orchid};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use workgraph_operations::operation::Operation;
use workgraph_operations::table::search::SEARCH;

/// Returns a world in which two tasks differ in every searchable property. They are named `plain` and `full`, and they
/// alone have the word "zinnia".
fn world(kind: Kind) -> World {
    let mut world = World::new(kind);
    let gid = |world: &World, name: &str| world.gid(name).to_string();
    let create = |world: &World, reader: &str, body: Value| {
        let made = world.post(reader, "/tasks", body);
        assert_eq!(made.status, 201, "{}", made.text);
        made.gid()
    };
    let plain = create(
        &world,
        "moe",
        json!({"projects": [gid(&world, "garden")], "name": "Zinnia, plain"}),
    );
    world.advance(2 * 24 * 3600);
    let full = create(
        &world,
        "mel",
        json!({
            "projects": [gid(&world, "herbs")], "name": "Full one", "notes": "of the zinnia",
            "assignee": gid(&world, "ada"), "followers": [gid(&world, "vic")],
            "resource_subtype": "approval", "due_at": "2026-03-02T12:00:00Z", "start_on": "2026-03-01",
        }),
    );
    let ask = |reader: &str, method: &str, path: String, body: Value| {
        let done = world.call(reader, method, &path, &body);
        assert_eq!(done.status / 100, 2, "{path}: {}", done.text);
    };
    let thirsty = gid(&world, "thirsty");
    ask(
        "ada",
        "POST",
        format!("/tasks/{full}/addTag"),
        json!({"tag": thirsty}),
    );
    ask(
        "mel",
        "POST",
        format!("/tasks/{full}/setParent"),
        json!({"parent": gid(&world, "water")}),
    );
    ask(
        "ada",
        "POST",
        format!("/tasks/{full}/addDependencies"),
        json!({"dependencies": [plain]}),
    );
    ask(
        "gus",
        "POST",
        format!("/tasks/{full}/stories"),
        json!({"text": "Seen"}),
    );
    let link =
        json!({"resource_subtype": "external", "url": "https://files.test/1", "name": "Bulb"});
    ask("ada", "POST", format!("/tasks/{full}/attachments"), link);
    world.advance(24 * 3600);
    ask(
        "ada",
        "PUT",
        format!("/tasks/{full}"),
        json!({"liked": true}),
    );
    ask(
        "ada",
        "PUT",
        format!("/tasks/{full}"),
        json!({"completed": true}),
    );
    for (name, gid) in [("plain", plain), ("full", full)] {
        world
            .names
            .insert(name.to_owned(), workgraph_core::Gid::parse(&gid).unwrap());
    }
    world
}

fn row(id: &str) -> &'static Operation {
    SEARCH.iter().find(|row| row.id == id).unwrap()
}

/// Returns the names of the two tasks that a search finds.
fn found(world: &World, reader: &str, query: &str) -> Vec<&'static str> {
    let orchid = world.gid("orchid");
    let answer = world.get(
        reader,
        &format!("/workspaces/{orchid}/tasks/search?{query}"),
    );
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    let names = [("plain", world.gid("plain")), ("full", world.gid("full"))];
    let gids = answer.gids();
    gids.iter()
        .filter_map(|gid| names.iter().find(|(_, g)| g.to_string() == *gid))
        .map(|(name, _)| *name)
        .collect()
}

/// Every parameter of a search of tasks with a value, and the tasks of the two that it finds.
const EACH: &[(&str, &str, &[&str])] = &[
    ("text", "zinnia", &["full", "plain"]),
    ("text", "zinnia+plain", &["plain"]),
    ("resource_subtype", "approval", &["full"]),
    ("resource_subtype", "default_task", &["plain"]),
    ("resource_subtype", "custom", &[]),
    ("assignee.any", "ada@orchid.test,{moe}", &["full"]),
    ("assignee.not", "me", &["plain"]),
    ("projects.any", "{garden}", &["plain"]),
    ("projects.not", "{garden}", &["full"]),
    ("projects.all", "{garden},{herbs}", &[]),
    ("sections.any", "{herb_bed}", &["full"]),
    ("sections.not", "{herb_bed}", &["plain"]),
    ("sections.all", "{beds}", &["plain"]),
    ("tags.any", "{thirsty}", &["full"]),
    ("tags.not", "{thirsty}", &["plain"]),
    ("tags.all", "{thirsty}", &["full"]),
    ("teams.any", "{gardeners}", &["full"]),
    ("followers.any", "{vic}", &["full"]),
    ("followers.not", "{vic}", &["plain"]),
    ("created_by.any", "{mel}", &["full"]),
    ("created_by.not", "{mel}", &["plain"]),
    ("assigned_by.any", "{mel}", &["full"]),
    ("assigned_by.not", "{mel}", &["plain"]),
    ("liked_by.not", "{ada}", &["plain"]),
    ("commented_on_by.not", "{gus}", &["plain"]),
    ("due_on.before", "2026-03-03", &["full"]),
    ("due_on.before", "2026-03-02", &[]),
    ("due_on.after", "2026-03-01", &["full"]),
    ("due_on.after", "2026-03-02", &[]),
    ("due_on", "2026-03-02", &["full"]),
    ("due_on", "null", &["plain"]),
    ("due_at.before", "2026-03-02T12:00:00.001Z", &["full"]),
    ("due_at.before", "2026-03-02T12:00:00Z", &[]),
    ("due_at.after", "2026-03-02T14:00:00%2B02:00", &[]),
    ("due_at.after", "2026-03-02T11:59:59.999Z", &["full"]),
    ("start_on.before", "2026-03-02", &["full"]),
    ("start_on.after", "2026-03-01", &[]),
    ("start_on", "2026-03-01", &["full"]),
    ("start_on", "null", &["plain"]),
    ("created_on.before", "2026-01-16", &["plain"]),
    ("created_on.after", "2026-01-15", &["full"]),
    ("created_on", "2026-01-17", &["full"]),
    ("created_at.before", "2026-01-15T09:30:00.000Z", &[]),
    ("created_at.before", "2026-01-15T09:30:01.000Z", &["plain"]),
    ("created_at.after", "2026-01-15T09:30:01.000Z", &["full"]),
    ("completed_on.before", "2026-01-19", &["full"]),
    ("completed_on.after", "2026-01-18", &[]),
    ("completed_on", "2026-01-18", &["full"]),
    ("completed_on", "null", &["plain"]),
    ("completed_at.before", "2026-01-18", &[]),
    ("completed_at.after", "2026-01-18", &["full"]),
    ("modified_on.before", "2026-01-18", &["plain"]),
    ("modified_on.after", "2026-01-17", &["full"]),
    ("modified_on", "2026-01-18", &["full"]),
    ("modified_at.before", "2026-01-18", &["plain"]),
    ("modified_at.after", "now", &[]),
    ("is_blocking", "true", &["plain"]),
    ("is_blocking", "false", &["full"]),
    ("is_blocked", "True", &["full"]),
    ("is_blocked", "false", &["plain"]),
    ("has_attachment", "true", &["full"]),
    ("has_attachment", "false", &["plain"]),
    ("completed", "true", &["full"]),
    ("completed", "0", &["plain"]),
    ("is_subtask", "true", &["full"]),
    ("is_subtask", "false", &["plain"]),
];

#[test]
fn each_parameter_of_a_search_of_tasks_finds_what_it_says() {
    let shown: BTreeSet<&str> = EACH.iter().map(|(name, ..)| *name).collect();
    for name in row("searchTasksForWorkspace").optional_query() {
        assert!(
            shown.contains(name) || ["portfolios.any", "sort_by", "sort_ascending"].contains(&name),
            "{name} is not shown"
        );
    }
    for kind in KINDS {
        let world = world(kind);
        for (name, value, expected) in EACH {
            let mut value = (*value).to_owned();
            for (name, gid) in &world.names {
                value = value.replace(&format!("{{{name}}}"), &gid.to_string());
            }
            // Ada sees all; the last modified comes first.
            let both = found(&world, "ada", &format!("{name}={value}"));
            assert_eq!(both, *expected, "{name}={value}");
        }
    }
}

#[test]
fn each_order_sorts_in_both_directions_and_what_has_no_value_comes_last() {
    let world = world(Kind::Sqlite);
    for (by, up, down) in [
        ("modified_at", ["plain", "full"], ["full", "plain"]),
        ("created_at", ["plain", "full"], ["full", "plain"]),
        ("due_date", ["full", "plain"], ["full", "plain"]),
        ("completed_at", ["full", "plain"], ["full", "plain"]),
        ("likes", ["full", "plain"], ["full", "plain"]),
        ("relevance", ["full", "plain"], ["plain", "full"]),
    ] {
        let sorted = |ascending| {
            let query = format!("text=zinnia&sort_by={by}&sort_ascending={ascending}");
            found(&world, "ada", &query)
        };
        assert_eq!(sorted("true"), up, "{by}");
        assert_eq!(sorted("False"), down, "{by}");
    }
}

#[test]
fn projects_and_sections_together_are_either() {
    let world = world(Kind::Memory);
    let (garden, bed, beds) = (
        world.gid("garden"),
        world.gid("herb_bed"),
        world.gid("beds"),
    );
    let query = format!("projects.any={garden}&sections.any={bed}&text=zinnia");
    assert_eq!(found(&world, "ada", &query), ["full", "plain"]);
    let query = format!("projects.any={garden}&sections.all={beds}&text=zinnia");
    assert_eq!(found(&world, "ada", &query), ["plain"]);
}

#[test]
fn what_cannot_be_read_is_refused_by_name() {
    let world = world(Kind::Memory);
    let orchid = world.gid("orchid");
    for (path, row) in [
        ("tasks", row("searchTasksForWorkspace")),
        ("projects", row("searchProjectsForWorkspace")),
    ] {
        let others = ["limit", "custom_fields.x.value", "custom_types.x.a.gid"];
        let names = row.optional_query().chain(others);
        for name in names.filter(|name| *name != "text") {
            for value in ["x%20y", "-1"] {
                let target = format!("/workspaces/{orchid}/{path}/search?{name}={value}");
                let answer = world.get("ada", &target);
                assert_eq!(answer.status, 400, "{target}: {}", answer.text);
                assert!(
                    answer.message().starts_with(&format!("{name}: ")),
                    "{target}: {}",
                    answer.text
                );
            }
            let twice = format!("/workspaces/{orchid}/{path}/search?{name}=1&{name}=1");
            assert_eq!(world.get("ada", &twice).status, 400, "{twice}");
        }
        let many = vec!["7"; 101].join(",");
        let many = world.get(
            "ada",
            &format!("/workspaces/{orchid}/{path}/search?teams.any={many}"),
        );
        assert_eq!(many.message(), "teams.any: At most 100 may be named");
        let words: Vec<String> = (0..33).map(|n| format!("w{n}")).collect();
        let words = words.join("+");
        let many = world.get(
            "ada",
            &format!("/workspaces/{orchid}/{path}/search?text={words}"),
        );
        assert_eq!(
            many.message(),
            "text: At most 32 different words are looked for"
        );
    }
}

#[test]
fn what_is_written_is_found_at_once_and_what_is_gone_is_not() {
    for kind in KINDS {
        let world = world(kind);
        let plain = format!("/tasks/{}", world.gid("plain"));
        assert_eq!(found(&world, "ada", "text=dahlia"), [""; 0]);
        world.call("ada", "PUT", &plain, &json!({"name": "Dahlia"}));
        assert_eq!(found(&world, "ada", "text=dahlia"), ["plain"]);
        assert_eq!(
            found(&world, "ada", "text=zinnia"),
            ["full"],
            "no more by the old name"
        );
        // The subtask is deleted with its parent.
        assert_eq!(
            world.call("ada", "DELETE", &plain, &json!(null)).status,
            200
        );
        let water = format!("/tasks/{}", world.gid("water"));
        assert_eq!(
            world.call("ada", "DELETE", &water, &json!(null)).status,
            200
        );
        for query in [
            "text=dahlia",
            "text=zinnia",
            "assignee.any=me",
            "completed=true",
            "limit=100",
        ] {
            assert_eq!(found(&world, "ada", query), [""; 0], "{query}");
        }
    }
}

#[test]
fn each_finds_what_they_may_see() {
    let world = world(Kind::Sqlite);
    for (reader, expected) in [
        ("ada", &["full", "plain"][..]),
        ("moe", &["full", "plain"]),
        ("gus", &["full", "plain"]),
        ("robot", &["full", "plain"]),
    ] {
        // Full is a subtask of a task of the garden, which all of these readers see.
        assert_eq!(found(&world, reader, "text=zinnia"), expected, "{reader}");
    }
    let full = format!("/tasks/{}/setParent", world.gid("full"));
    assert_eq!(
        world.post("ada", &full, json!({"parent": null})).status,
        200
    );
    assert_eq!(
        found(&world, "moe", "text=zinnia"),
        ["plain"],
        "not in the team"
    );
    let orchid = world.gid("orchid");
    for path in [
        "typeahead?resource_type=task&query=full",
        "projects/search?text=moss",
    ] {
        let answer = world.get("moe", &format!("/workspaces/{orchid}/{path}"));
        assert!(answer.gids().is_empty(), "{}", answer.text);
    }
    let hidden = world.get(
        "moe",
        &format!(
            "/workspaces/{}/tasks/search?projects.any={}",
            world.gid("orchid"),
            world.gid("moss")
        ),
    );
    assert_eq!(
        (hidden.status, hidden.message()),
        (403, "You do not have access to this project.")
    );
}

/// B54. Every filter with every gid of the other tenant, and every word of its names.
#[test]
fn no_byte_of_another_tenant_through_any_filter() {
    let world = World::new(Kind::Sqlite);
    let orchid = world.gid("orchid");
    let foreign = world.names.iter().filter(|(name, _)| !is_orchid(name));
    let foreign: Vec<(&String, String)> =
        foreign.map(|(name, gid)| (name, gid.to_string())).collect();
    let clean = |target: &str, sent: &str| {
        let answer = world.get("ada", target);
        assert!(
            matches!(answer.status, 200 | 400 | 403),
            "{target}: {}",
            answer.text
        );
        for word in BASALT_WORDS {
            assert!(!answer.text.contains(word), "{target}: {}", answer.text);
        }
        for (name, gid) in &foreign {
            let leaks = answer.text.contains(&format!("\"{gid}\"")) && gid != sent;
            assert!(!leaks, "{target}: leaks {name}: {}", answer.text);
        }
        answer
    };
    for (path, row) in [
        ("tasks", row("searchTasksForWorkspace")),
        ("projects", row("searchProjectsForWorkspace")),
    ] {
        let field = format!("custom_fields.{}.is_set", world.gid("grain"));
        let names: Vec<&str> = row.optional_query().collect();
        for name in names.into_iter().chain([field.as_str()]) {
            for (_, gid) in &foreign {
                clean(
                    &format!("/workspaces/{orchid}/{path}/search?{name}={gid}"),
                    gid,
                );
            }
        }
        clean(
            &format!("/workspaces/{orchid}/{path}/search?{field}=true"),
            "",
        );
        for word in BASALT_WORDS {
            let found = clean(
                &format!(
                    "/workspaces/{orchid}/{path}/search?text={}",
                    word.replace(' ', "+")
                ),
                "",
            );
            assert!(found.gids().is_empty(), "{word}: {}", found.text);
        }
    }
    for ty in [
        "actor",
        "custom_field",
        "project",
        "tag",
        "task",
        "team",
        "user",
    ] {
        clean(
            &format!("/workspaces/{orchid}/typeahead?resource_type={ty}&count=100"),
            "",
        );
        for word in BASALT_WORDS {
            let word = word.replace(' ', "+");
            let found = clean(
                &format!("/workspaces/{orchid}/typeahead?resource_type={ty}&query={word}"),
                "",
            );
            assert!(found.gids().is_empty(), "{word}: {}", found.text);
        }
    }
    // The same words find the tenant's own objects.
    assert!(ORCHID_WORDS.iter().any(|word| {
        let target = format!(
            "/workspaces/{orchid}/typeahead?resource_type=project&query={}",
            word.replace(' ', "+")
        );
        !clean(&target, "").gids().is_empty()
    }));
}

/// Searches have a quota of their own.
#[test]
fn the_sixty_first_search_waits_and_the_standard_quota_knows_nothing_of_it() {
    let mut world = World::new(Kind::Memory);
    world.limit();
    let orchid = world.gid("orchid");
    let paths = [
        format!("/workspaces/{orchid}/tasks/search?text=x"),
        format!("/workspaces/{orchid}/projects/search?text=x"),
    ];
    for n in 0..60 {
        assert_eq!(world.get("ada", &paths[n % 2]).status, 200, "search {n}");
    }
    let refused = world.reply(world.request("ada", "GET", &paths[0], String::new()));
    assert_eq!(refused.status, 429);
    let wait: u64 = refused.header("Retry-After").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait));
    let state = world.get(
        "ada",
        &format!("/workspaces/{orchid}/typeahead?resource_type=tag"),
    );
    assert_eq!(state.status, 200, "typeahead is no search");
    for _ in 0..1499 {
        assert_eq!(world.get("ada", "/users/me?opt_fields=name").status, 200);
    }
    assert_eq!(world.get("ada", "/users/me").status, 429, "1,500 others");
    world.advance(wait);
    assert_eq!(world.get("ada", &paths[0]).status, 200);
}
