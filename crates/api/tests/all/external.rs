//! External data: the data that apps store with tasks, and their ids of the tasks.
use crate::world::{Answer, KINDS, Kind, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use workgraph_api::ApiSettings;
use workgraph_core::access::Role;
use workgraph_core::rules::membership_rules;
use workgraph_core::storage::{ChangeAction, ReadQuery, ViewerKey};

/// The tokens of two apps, for the same user and with the same scopes.
const ONE: &str = "ada[tasks:read,tasks:write,tasks:delete,stories:read,webhooks:write]";
const TWO: &str = "ada[tasks:read,tasks:write,tasks:delete,stories:read,webhooks:write]@2";

fn put(world: &World, token: &str, target: &str, data: Value) -> Answer {
    world.call(token, "PUT", target, &data)
}

/// Returns the `external` of a task that a token gets; `None` if the field is absent.
fn shown(world: &World, token: &str, task: &str) -> Option<Value> {
    // Sent more than once, so that a reply can come from the cache.
    let mut answers = [(); 3].map(|()| world.get(token, &format!("/tasks/{task}")));
    for answer in &answers {
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.text, answers[0].text);
    }
    answers[0].json["data"].get_mut("external").map(Value::take)
}

/// S145. In every way in which a record of a task is sent; the same user by another app, or by none, sees nothing of
/// it.
#[test]
fn what_an_app_keeps_with_a_task_is_seen_by_that_app_alone() {
    for kind in KINDS {
        let world = World::new(kind);
        let task = world.gid("water").to_string();
        let target = format!("/tasks/{task}");
        let kept = json!({"gid": "SECRET-1", "data": "SECRET-DATA"});
        let answer = put(&world, ONE, &target, json!({"external": kept}));
        assert_eq!(answer.json["data"]["external"], kept, "{}", answer.text);
        assert_eq!(shown(&world, ONE, &task), Some(kept.clone()));
        assert_eq!(
            shown(&world, "mel[tasks:read]", &task),
            Some(kept.clone()),
            "a user of the app"
        );
        let garden = world.gid("garden");
        for token in ["ada", TWO, "mel[tasks:read]@2", "robot"] {
            assert_eq!(shown(&world, token, &task), None, "{token}");
            for list in [
                format!("/tasks/{task}?opt_fields=external"),
                format!("/tasks/{task}?opt_fields=external.data,name"),
                format!("/projects/{garden}/tasks?opt_fields=external"),
                format!(
                    "/tasks/{}/subtasks?opt_fields=parent.external",
                    world.gid("water")
                ),
            ] {
                let answer = world.get(token, &list);
                assert_eq!(answer.status, 200, "{token} {list}: {}", answer.text);
                assert!(
                    !answer.text.contains("SECRET"),
                    "{token} {list}: {}",
                    answer.text
                );
            }
        }
        // If it is named in `opt_fields`, it is null where there is nothing.
        for token in ["ada", TWO] {
            let named = world.get(token, &format!("{target}?opt_fields=external"));
            assert_eq!(named.json["data"], json!({"gid": task, "external": null}));
        }
        let below = format!("/tasks/{task}/subtasks?opt_fields=parent.external");
        assert_eq!(
            world.get(ONE, &below).json["data"][0]["parent"]["external"],
            kept
        );
        let rake = world.gid("rake");
        let other = world.get(
            ONE,
            &format!("/tasks/{rake}?opt_fields=external,approval_status"),
        );
        assert_eq!(
            other.json["data"],
            json!({"gid": rake.to_string(), "external": null})
        );
        // Two apps, each with its own data.
        put(
            &world,
            TWO,
            &target,
            json!({"external": {"gid": "SECRET-1"}}),
        );
        assert_eq!(shown(&world, TWO, &task), Some(json!({"gid": "SECRET-1"})));
        assert_eq!(shown(&world, ONE, &task), Some(kept));
        put(&world, ONE, &target, json!({"external": null}));
        assert_eq!(shown(&world, ONE, &task), None);
        assert_eq!(shown(&world, TWO, &task), Some(json!({"gid": "SECRET-1"})));
    }
}

/// S145. A part that is not sent stays, null removes it; a change that only an app sees is no event for others.
#[test]
fn parts_of_external_are_written_by_themselves() {
    let world = World::new(Kind::Sqlite);
    let target = format!("/tasks/{}", world.gid("water"));
    let external = |data: Value| {
        let answer = put(&world, ONE, &target, json!({"external": data}));
        (answer.status, answer.json["data"]["external"].clone())
    };
    assert_eq!(
        external(json!({"gid": "a", "data": "x"})),
        (200, json!({"gid": "a", "data": "x"}))
    );
    assert_eq!(
        external(json!({"data": "y"})),
        (200, json!({"gid": "a", "data": "y"}))
    );
    assert_eq!(
        external(json!({"gid": "b"})),
        (200, json!({"gid": "b", "data": "y"}))
    );
    assert_eq!(external(json!({"data": null})), (200, json!({"gid": "b"})));
    assert_eq!(
        world.get(ONE, "/tasks/external:a").status,
        404,
        "its name went with its id"
    );
    assert_eq!(world.get(ONE, "/tasks/external:b").status, 200);
    for (data, message) in [
        (json!("b"), "external: Value is not a JSON object: b"),
        (json!({"gid": ""}), "external: gid: Cannot be empty"),
        (json!({"gid": 5}), "external: gid: Not a string: 5"),
        (
            json!({"gid": "x".repeat(1025)}),
            "external: gid: Too long: 1025 characters; at most 1024 are kept",
        ),
        (
            json!({"data": "x".repeat(32_769)}),
            "external: data: Too long: 32769 characters; at most 32768 are kept",
        ),
    ] {
        let answer = put(&world, ONE, &target, json!({"external": data}));
        assert_eq!((answer.status, answer.message()), (400, message));
    }
    let refused = put(&world, "ada", &target, json!({"external": {"gid": "b"}}));
    assert_eq!(refused.status, 400);
    assert!(
        refused
            .message()
            .starts_with("external: Cannot write this property with a token of no app"),
        "{}",
        refused.text
    );
    assert_eq!(
        put(&world, "ada", &target, json!({"external": null})).status,
        200,
        "nothing to take away"
    );
    assert_eq!(world.get(ONE, "/tasks/external:b").status, 200);
    let entries = world.run(world.graph.journal_entries(0, 1_000)).unwrap();
    let facts = entries.iter().flat_map(|event| &event.change_records);
    let mut fields = facts.filter_map(|fact| match fact.action {
        ChangeAction::Changed { field, .. } => Some(field),
        _ => None,
    });
    assert!(
        fields.all(|field| field != "external"),
        "nobody is told of it"
    );
}

/// S146. In the path of every operation on a task, and wherever query and body accept one.
#[test]
fn a_task_is_named_by_the_id_that_an_app_gave_it() {
    for kind in KINDS {
        let world = World::new(kind);
        let orchid = world.gid("orchid").to_string();
        let make = |id: &str| {
            let data = json!({"name": id, "workspace": orchid, "external": {"gid": id}});
            let made = world.post(ONE, "/tasks", data);
            assert_eq!(made.status, 201, "{}", made.text);
            made.gid()
        };
        let (a, b, c) = (make("a 1"), make("b"), make("c"));
        let got = world.get(ONE, "/tasks/external:a%201");
        assert_eq!((got.status, got.gid()), (200, a.clone()), "{}", got.text);
        assert_eq!(
            world.get("moe[tasks:read]", "/tasks/external:a%201").status,
            403,
            "as by its gid"
        );
        let renamed = put(&world, ONE, "/tasks/external:b", json!({"name": "Bee"}));
        assert_eq!(renamed.json["data"]["gid"], b);
        let parent = world.post(
            ONE,
            "/tasks/external:c/setParent",
            json!({"parent": "external:a 1"}),
        );
        assert_eq!(parent.json["data"]["parent"]["gid"], a, "{}", parent.text);
        assert_eq!(
            world.get(ONE, "/tasks/external:a%201/subtasks").gids(),
            std::slice::from_ref(&c)
        );
        let below = json!({"name": "Below", "parent": {"gid": "external:b"}});
        let below = world.post(ONE, "/tasks", below);
        assert_eq!(below.json["data"]["parent"]["gid"], b, "{}", below.text);
        for list in [json!(["external:b", c]), json!("external:b,external:c")] {
            let added = world.post(
                ONE,
                "/tasks/external:a%201/addDependencies",
                json!({"dependencies": list}),
            );
            assert_eq!(added.status, 200, "{}", added.text);
            let found: BTreeSet<String> = world
                .get(ONE, "/tasks/external:a%201/dependencies")
                .gids()
                .into_iter()
                .collect();
            assert_eq!(found, BTreeSet::from([b.clone(), c.clone()]));
            world.post(
                ONE,
                "/tasks/external:a%201/removeDependencies",
                json!({"dependencies": list}),
            );
        }
        let beds = world.gid("beds");
        for id in ["external:b", "external:a 1"] {
            let added = world.post(
                ONE,
                &format!("/sections/{beds}/addTask"),
                json!({"task": id}),
            );
            assert_eq!(added.status, 200, "{}", added.text);
        }
        let moved = world.post(
            ONE,
            &format!("/sections/{beds}/addTask"),
            json!({"task": "external:a 1", "insert_after": "external:b"}),
        );
        assert_eq!(moved.status, 200, "{}", moved.text);
        let first: Vec<String> = world.get("ada", &format!("/sections/{beds}/tasks")).gids();
        assert_eq!(first[..2], [b.clone(), a.clone()]);
        let watched = world.get("ada[default]", "/events?resource=external:b");
        assert_eq!(
            watched.status, 412,
            "a first call, as by the gid: {}",
            watched.text
        );
        let action = json!({"actions": [{"method": "get", "relative_path": "/tasks/external:b"}]});
        let batch = world.post(ONE, "/batch", action);
        assert_eq!(
            batch.json["data"][0]["body"]["data"]["gid"], b,
            "{}",
            batch.text
        );
        let gone = world.call(ONE, "DELETE", "/tasks/external:b", &Value::Null);
        assert_eq!(gone.status, 200, "{}", gone.text);
        let unknown = world.get(ONE, "/tasks/external:b");
        assert_eq!(
            (unknown.status, unknown.message()),
            (404, "task: Unknown object: external:b")
        );
        assert_ne!(make("b"), b, "a deleted task holds no id");
    }
}

/// S146. One task for each id of an app in a workspace; other apps and workspaces have their own.
#[test]
fn an_id_names_one_task_of_an_app() {
    for kind in KINDS {
        let world = World::build(kind, ApiSettings::default(), |f, names| {
            let attic = f.with(|w| membership_rules::create_workspace(w, "Attic", true, false));
            let ada = names["ada"];
            f.add_workspace_member(ada, names["basalt"], Role::Member);
            f.add_workspace_member(ada, attic, Role::Admin);
            names.insert("attic".to_owned(), attic);
        });
        let make = |token: &str, workspace: &str| {
            let data = json!({"name": "x", "workspace": world.gid(workspace).to_string(), "external": {"gid": "k"}});
            world.post(token, "/tasks", data)
        };
        let first = make(ONE, "orchid").gid();
        let again = make(ONE, "orchid");
        assert_eq!(again.status, 400, "{}", again.text);
        assert!(
            again.message().starts_with("external: Already taken: k "),
            "{}",
            again.text
        );
        let other = make("mel[tasks:read,tasks:write]", "orchid");
        assert_eq!(other.status, 400, "of whichever user: {}", other.text);
        assert_ne!(make(TWO, "orchid").gid(), first);
        let moved = put(
            &world,
            ONE,
            &format!("/tasks/{}", world.gid("water")),
            json!({"external": {"gid": "k"}}),
        );
        assert_eq!(moved.status, 400, "{}", moved.text);
        assert_eq!(world.get(ONE, "/tasks/external:k").gid(), first);
        // In another workspace the id is free; then it names one task in each, and so none.
        let second = make(ONE, "basalt").gid();
        assert_ne!(second, first);
        assert_eq!(world.get(ONE, "/tasks/external:k").status, 404);
        let one_home = world.get("mel[tasks:read]", "/tasks/external:k");
        assert_eq!(
            one_home.status, 403,
            "who has one of the workspaces means that one's: {}",
            one_home.text
        );
        assert_eq!(
            make(ONE, "attic").status,
            401,
            "the app is not let in there"
        );
    }
}

/// S146. A token of no app knows no ids, an id elsewhere than in the place of a task is no gid, and a task out of sight
/// is as forbidden or as unknown as by its gid.
#[test]
fn ids_of_apps_lead_nobody_further_than_gids() {
    for hide_forbidden in [false, true] {
        let settings = ApiSettings {
            hide_forbidden,
            ..ApiSettings::default()
        };
        let world = World::with(Kind::Memory, settings);
        let lichen = world.gid("lichen").to_string();
        put(
            &world,
            ONE,
            &format!("/tasks/{lichen}"),
            json!({"external": {"gid": "hidden"}}),
        );
        let status = if hide_forbidden { 404 } else { 403 };
        let hidden = world.get("mel[tasks:read]", "/tasks/external:hidden");
        assert_eq!(hidden.status, status, "{}", hidden.text);
        if hide_forbidden {
            assert!(!hidden.text.contains(&lichen), "{}", hidden.text);
            assert_eq!(hidden.message(), "task: Unknown object: external:hidden");
        }
        let known = world.get("ada", "/tasks/external:hidden");
        assert_eq!(known.status, 400);
        assert!(
            known
                .message()
                .starts_with("task: Not a recognized ID: external:hidden"),
            "{}",
            known.text
        );
        assert_eq!(world.get(TWO, "/tasks/external:hidden").status, 404);
        assert_eq!(
            world
                .get("bob[tasks:read]", "/tasks/external:hidden")
                .status,
            404,
            "another tenant"
        );
        for target in [
            "/projects/external:hidden",
            "/users/external:hidden",
            "/tasks/external:",
        ] {
            let refused = world.get("ada[tasks:read,projects:read,users:read]", target);
            assert!(
                matches!(refused.status, 400 | 404),
                "{target}: {}",
                refused.text
            );
        }
        let many: Vec<String> = (0..201).map(|n| format!("external:{n}")).collect();
        let many = world.post(
            ONE,
            &format!("/tasks/{lichen}/addDependencies"),
            json!({"dependencies": many}),
        );
        assert_eq!(many.status, 400);
        assert!(
            many.message().starts_with("Too many ids of tasks"),
            "{}",
            many.text
        );
    }
}

/// S145. Every app sees the data that an earlier version stored for all, until one writes its own.
#[test]
fn what_an_earlier_version_kept_is_seen_by_apps_until_one_writes_its_own() {
    for kind in KINDS {
        let world = World::build(kind, ApiSettings::default(), |f, names| {
            let loose = names["loose"];
            f.with(|work| {
                let put = work
                    .changes
                    .node_writes
                    .iter_mut()
                    .find(|put| put.node.gid == loose);
                let node = &mut put.unwrap().node;
                node.body = node
                    .body
                    .replacen('{', r#"{"external":{"gid":"old","data":"d"},"#, 1)
                    .into();
            });
        });
        let loose = world.gid("loose").to_string();
        let old = json!({"gid": "old", "data": "d"});
        assert_eq!(shown(&world, ONE, &loose), Some(old.clone()));
        assert_eq!(shown(&world, TWO, &loose), Some(old.clone()));
        assert_eq!(shown(&world, "ada", &loose), None);
        put(
            &world,
            "ada",
            &format!("/tasks/{loose}"),
            json!({"name": "Renamed"}),
        );
        assert_eq!(
            shown(&world, ONE, &loose),
            Some(old),
            "another change leaves it alone"
        );
        let taken = put(
            &world,
            ONE,
            &format!("/tasks/{loose}"),
            json!({"external": {"data": "e"}}),
        );
        assert_eq!(
            taken.json["data"]["external"],
            json!({"gid": "old", "data": "e"})
        );
        assert_eq!(shown(&world, TWO, &loose), None);
        assert_eq!(world.get(ONE, "/tasks/external:old").gid(), loose);
    }
}

/// S145. The file of an export belongs to its user, not to an app; a copy is not the app's task.
#[test]
fn exports_and_copies_have_nothing_of_apps() {
    let world = World::new(Kind::Sqlite);
    let task = world.gid("water").to_string();
    put(
        &world,
        ONE,
        &format!("/tasks/{task}"),
        json!({"external": {"gid": "SECRET-2"}}),
    );
    let copied = world.post(
        "ada",
        &format!("/tasks/{task}/duplicate"),
        json!({"name": "Copy"}),
    );
    assert_eq!(copied.status, 201, "{}", copied.text);
    let copy = copied.json["data"]["new_task"]["gid"]
        .as_str()
        .unwrap()
        .to_owned();
    let exported = world.post("ada", "/exports/graph", json!({"parent": task}));
    assert_eq!(exported.status, 201, "{}", exported.text);
    world.work();
    assert_eq!(shown(&world, ONE, &copy), None);
    let key = ViewerKey {
        user: world.gid("ada"),
        service: None,
    };
    let gid = workgraph_core::Gid::parse(&copy).unwrap();
    let view = world
        .run(world.graph.load(&ReadQuery::of(key).node(gid)))
        .unwrap();
    assert!(!view.node(gid).unwrap().body.contains("SECRET"));
    let file = exported.json["data"]["new_graph_export"]["gid"]
        .as_str()
        .unwrap();
    let records = json!(world.files.records(file)).to_string();
    assert!(
        !records.contains("SECRET") && records.contains("Water the roses"),
        "{records}"
    );
}
