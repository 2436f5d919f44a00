//! Default records: the fields that are sent without `opt_fields`.
use crate::world::{KINDS, Kind, World, all_scopes_but};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use workgraph_api::ApiSettings;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_testkit::Fixture;

/// Returns the world with additional nodes.
fn with(more: impl FnOnce(&mut Fixture, &mut BTreeMap<String, Gid>)) -> World {
    World::build(Kind::Memory, ApiSettings::default(), more)
}

/// Returns the names of a record's fields, sorted.
fn keys(record: &Value) -> Vec<&str> {
    let fields = record.as_object().into_iter().flatten();
    let mut names: Vec<&str> = fields.map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names
}

/// S142. In lists, memberships name their parent.
#[test]
fn memberships_in_lists_say_what_they_are_of() {
    let world = with(|f, names| {
        f.share(
            names["garden"],
            names["orchid"],
            names["commons"],
            Level::Editor,
        );
    });
    let (garden, commons) = (world.gid("garden"), world.gid("commons"));
    let by_member = format!("/memberships?member={commons}&resource_subtype=project_membership");
    let by_parent = format!("/memberships?parent={garden}");
    let of_project = format!("/projects/{garden}/project_memberships");
    for target in [by_member, by_parent, of_project] {
        let list = world.get("ada", &target);
        let items = list.json["data"].as_array();
        let items = items.unwrap_or_else(|| panic!("{target}: {}", list.text));
        assert!(!items.is_empty(), "{target}");
        for item in items {
            let expected = [
                "access_level",
                "gid",
                "member",
                "parent",
                "resource_subtype",
                "resource_type",
            ];
            assert_eq!(keys(item), expected, "{target}");
            assert_eq!(item["parent"]["gid"], garden.to_string(), "{target}");
            assert_eq!(item["parent"]["name"], "Garden", "{target}");
            assert_eq!(item["resource_subtype"], "project_membership", "{target}");
        }
    }
    let one = world.get(
        "ada",
        &format!("/project_memberships/{}", world.gid("gus_in_garden")),
    );
    assert_eq!(one.json["data"]["project"], one.json["data"]["parent"]);
    assert_eq!(one.json["data"]["project"]["gid"], garden.to_string());
}

/// S142. A project's icon, brief, template and the user who completed it; a user's and a team's custom fields; the
/// portfolio of a job.
#[test]
fn default_records_have_every_field_that_is_not_opt_in() {
    let world = World::new(Kind::Memory);
    for (target, names) in [
        (
            format!("/projects/{}", world.gid("garden")),
            &[
                "icon",
                "completed_by",
                "project_brief",
                "created_from_template",
            ][..],
        ),
        (format!("/users/{}", world.gid("mel")), &["custom_fields"]),
        (
            format!("/teams/{}", world.gid("commons")),
            &["custom_field_settings"],
        ),
        (
            format!("/jobs/{}", world.gid("ada_job")),
            &["new_portfolio"],
        ),
    ] {
        let record = world.get("ada", &target);
        for name in names {
            let value = record.json["data"].get(*name);
            let none = value.is_some_and(|v| v.is_null() || *v == json!([]));
            assert!(none, "{target} {name}: {}", record.text);
        }
    }
}

/// S142. The list of a workspace's custom fields is one of full records.
#[test]
fn custom_fields_of_a_workspace_are_listed_in_full() {
    for kind in KINDS {
        let world = World::new(kind);
        let vigor = world.gid("vigor");
        let mut full = world.get("ada", &format!("/custom_fields/{vigor}")).json["data"].take();
        let list = world.get(
            "ada",
            &format!("/workspaces/{}/custom_fields", world.gid("orchid")),
        );
        let mut items = list.json["data"].as_array().unwrap().clone();
        let at = items
            .iter()
            .position(|item| item["gid"] == vigor.to_string());
        assert_eq!(items[at.unwrap()].take(), full.take());
        let named = format!(
            "/workspaces/{}/custom_fields?opt_fields=name&limit=1",
            world.gid("orchid")
        );
        let named = world.get("ada", &named);
        assert_eq!(keys(&named.json["data"][0]), ["gid", "name"]);
    }
}

/// S142. D28: a like has its type, and a custom field that comes with a value has its description.
#[test]
fn likes_have_their_type_and_values_the_description_of_their_field() {
    let world = with(|f, names| {
        f.field_on(names["vigor"], names["garden"], names["orchid"]);
    });
    let (water, vigor) = (world.gid("water"), world.gid("vigor"));
    let described = world.call(
        "ada",
        "PUT",
        &format!("/custom_fields/{vigor}"),
        &json!({"description": "How it grows"}),
    );
    assert_eq!(described.status, 200, "{}", described.text);
    assert!(
        described.json["data"].get("description").is_none(),
        "a definition alone has it when it is named"
    );
    let liked = world.call(
        "ada",
        "PUT",
        &format!("/tasks/{water}"),
        &json!({"liked": true}),
    );
    for list in ["likes", "hearts"] {
        let like = &liked.json["data"][list][0];
        assert_eq!(keys(like), ["gid", "resource_type", "user"]);
        assert_eq!(like["resource_type"], "like");
    }
    let value = &liked.json["data"]["custom_fields"][0];
    assert_eq!(value["description"], "How it grows");
    let some = world.get(
        "ada",
        &format!("/tasks/{water}?opt_fields=likes.resource_type,custom_fields.name"),
    );
    assert_eq!(
        keys(&some.json["data"]["likes"][0]),
        ["gid", "resource_type"]
    );
    assert_eq!(
        keys(&some.json["data"]["custom_fields"][0]),
        ["gid", "name"]
    );
}

/// S143. Templates are found by the start of a word, if the caller may see them.
#[test]
fn typeahead_finds_project_templates() {
    for kind in KINDS {
        let world = World::new(kind);
        let orchid = world.gid("orchid");
        let list = format!("/project_templates?workspace={orchid}");
        let all = world.get("ada", &list).json["data"].take();
        let template = &all[0];
        let name = template["name"].as_str().unwrap();
        let start: String = name.chars().take(3).collect();
        let find = |token: &str, query: &str| {
            let target = format!(
                "/workspaces/{orchid}/typeahead?resource_type=project_template&query={query}"
            );
            world.get(token, &target)
        };
        let found = find("ada", &start);
        assert_eq!(found.json["data"], json!([template]), "{}", found.text);
        assert_eq!(find("ada", "Zzzz").json["data"], json!([]));
        assert_eq!(
            find("gus", &start).json["data"],
            json!([]),
            "it is not shared with them"
        );
        let gid = template["gid"].as_str().unwrap();
        let gone = world.call(
            "ada",
            "DELETE",
            &format!("/project_templates/{gid}"),
            &Value::Null,
        );
        assert_eq!(gone.status, 200, "{}", gone.text);
        assert_eq!(find("ada", &start).json["data"], json!([]));
    }
}

/// S144. The team of a project, and the privacy that depends on it, are deprecated.
#[test]
fn writing_what_is_to_go_is_answered_with_the_change() {
    let world = with(|f, names| {
        let (garden, mel) = (names["garden"], names["mel"]);
        f.share(garden, names["orchid"], mel, Level::Admin);
    });
    let (orchid, commons) = (
        world.gid("orchid").to_string(),
        world.gid("commons").to_string(),
    );
    let change_header = |method: &str, target: &str, data: Value| {
        let answer = world.call("mel", method, target, &data);
        assert!(answer.status < 300, "{method} {target}: {}", answer.text);
        let mut headers = answer
            .headers
            .into_iter()
            .filter(|(name, _)| *name == "Asana-Change");
        let found = headers.next().map(|(_, value)| value);
        assert_eq!(headers.next(), None, "one header says everything");
        found
    };
    let line = format!(
        "name=project_team;info={}/memberships;affected=true",
        crate::world::BASE
    );
    let create = json!({"name": "Pond", "workspace": orchid, "team": commons});
    assert_eq!(
        change_header("POST", "/projects", create.clone()),
        Some(line.clone())
    );
    let both = json!({"name": "Pond", "team": commons, "privacy_setting": "private_to_team"});
    assert_eq!(
        change_header("POST", &format!("/workspaces/{orchid}/projects"), both),
        Some(line.clone())
    );
    let by_path = json!({"name": "Pond"});
    assert_eq!(
        change_header("POST", &format!("/teams/{commons}/projects"), by_path),
        None
    );
    let garden = format!("/projects/{}", world.gid("garden"));
    for (data, expected) in [
        (json!({"privacy_setting": "private_to_team"}), Some(&line)),
        (json!({"privacy_setting": "private"}), None),
        (json!({"team": commons}), Some(&line)),
        (json!({"name": "Garden"}), None),
    ] {
        assert_eq!(
            change_header("PUT", &garden, data.clone()).as_ref(),
            expected,
            "{data}"
        );
    }
    assert_eq!(change_header("GET", &garden, Value::Null), None);
    let wrong = world.call("mel", "PUT", &garden, &json!({"team": "5"}));
    assert_eq!(wrong.status, 400);
    assert!(
        wrong
            .headers
            .iter()
            .all(|(name, _)| *name != "Asana-Change")
    );
    // An action of a batch has the headers of its request.
    let action =
        json!({"actions": [{"method": "post", "relative_path": "/projects", "data": create}]});
    let batch = world.post("mel", "/batch", action);
    assert_eq!(
        batch.json["data"][0]["headers"]["asana-change"], line,
        "{}",
        batch.text
    );
}

/// S142. Names of fields for which the token lacks the scope still give 403.
#[test]
fn what_stands_in_a_default_record_needs_no_other_scope() {
    let world = World::new(Kind::Memory);
    let token = format!("ada[{}]", all_scopes_but("project_templates:read"));
    let garden = world.gid("garden");
    assert_eq!(
        world.get(&token, &format!("/projects/{garden}")).status,
        200
    );
}

/// S147. Typed clients recognize jobs and exports by these words.
#[test]
fn jobs_that_export_are_called_as_in_the_catalogue() {
    let world = World::new(Kind::Memory);
    let parent = world.gid("garden").to_string();
    let graph = world.post("ada", "/exports/graph", json!({"parent": parent}));
    let graph = &graph.json["data"];
    assert_eq!(graph["resource_subtype"], "graph_export_request", "{graph}");
    assert_eq!(graph["new_graph_export"]["resource_type"], "graph_export");
    let parts = json!([{"resource_type": "task"}]);
    let data =
        json!({"workspace": world.gid("orchid").to_string(), "export_request_parameters": parts});
    let all = world.post("ada", "/exports/resource", data);
    let all = &all.json["data"];
    assert_eq!(all["resource_subtype"], "export_request", "{all}");
    assert_eq!(
        all["new_resource_export"]["resource_type"],
        "export_request"
    );
}

/// S147. A job that an earlier version started goes on under the word that it has.
#[test]
fn a_job_of_an_earlier_version_keeps_its_word() {
    let world = with(|f, names| {
        let job = names["ada_job"];
        f.with(|work| {
            let put = work
                .changes
                .node_writes
                .iter_mut()
                .find(|put| put.node.gid == job);
            let node = &mut put.unwrap().node;
            let word = r#""resource_subtype":"resource_export""#;
            node.body = node.body.replacen('{', &format!("{{{word},"), 1).into();
            node.head = format!("{{\"gid\":\"{job}\",\"resource_type\":\"job\",{word}}}").into();
        });
    });
    let job = world.get("ada", &format!("/jobs/{}", world.gid("ada_job")));
    assert_eq!(job.status, 200, "{}", job.text);
    assert_eq!(job.json["data"]["resource_subtype"], "resource_export");
}

/// S148. A reader who cannot see the original of a copied task learns only that the task is a copy.
#[test]
fn a_copied_task_says_what_it_was_copied_from() {
    for kind in KINDS {
        let world = World::new(kind);
        let original = world.gid("lichen").to_string();
        let data = json!({"name": "Copy", "include": "notes"});
        let job = world.post("ada", &format!("/tasks/{original}/duplicate"), data);
        let copy = job.json["data"]["new_task"]["gid"]
            .as_str()
            .unwrap()
            .to_owned();
        world.work();
        let followed = json!({"followers": [world.gid("mel").to_string()]});
        let followed = world.post("ada", &format!("/tasks/{copy}/addFollowers"), followed);
        assert_eq!(followed.status, 200, "{}", followed.text);
        let fields = "resource_subtype,text,duplicated_from.name,created_by.gid";
        let change_header = |token: &str| {
            let stories = world.get(token, &format!("/tasks/{copy}/stories?opt_fields={fields}"));
            let stories = stories.json["data"].as_array().unwrap().clone();
            let mut found = stories
                .into_iter()
                .filter(|story| story["resource_subtype"] == "duplicated");
            let story = found.next().unwrap();
            assert_eq!(found.next(), None);
            assert_eq!(story["created_by"]["gid"], world.gid("ada").to_string());
            (story["text"].clone(), story["duplicated_from"].clone())
        };
        let name = "Scrape the lichen";
        let seen = json!({"gid": original, "name": name});
        assert_eq!(
            change_header("ada"),
            (json!(format!("duplicated from {name}")), seen)
        );
        assert_eq!(
            change_header("mel"),
            (json!("duplicated from a private task"), Value::Null)
        );
        let before = world.get("ada", &format!("/tasks/{original}/stories"));
        assert!(!before.text.contains("duplicated"), "{}", before.text);
    }
}
