//! Custom fields that refer to objects: a reader finds, and may change, only the references that the reader sees.
use super::scene::scene;
use crate::world::{KINDS, Kind, World};
use serde_json::{Value, json};

/// Sets the references of the shared task.
fn refers(world: &World, caller: &str, value: Value) {
    let data = json!({"custom_fields": {world.gid("m_reference").to_string(): value}});
    let at = format!("/tasks/{}", world.gid("shared"));
    let set = world.call(caller, "PUT", &at, &data);
    assert_eq!(set.status, 200, "{}", set.text);
}

/// S105. In conditions of a search, too.
#[test]
fn a_search_by_a_reference_finds_only_what_its_reader_sees() {
    for kind in KINDS {
        let world = scene(kind);
        let finds = |reader: &str, test: &str| {
            let (orchid, field) = (world.gid("orchid"), world.gid("m_reference"));
            let at = format!("/workspaces/{orchid}/tasks/search?custom_fields.{field}.{test}");
            let found = world.get(reader, &at);
            assert_eq!(found.status, 200, "{}", found.text);
            found.gids().contains(&world.gid("shared").to_string())
        };
        let (hidden, child) = (world.gid("h_task"), world.gid("child"));
        assert!(finds("ada", &format!("value={hidden}")));
        assert!(!finds("moe", &format!("value={hidden}")));
        assert!(finds("moe", &format!("value={child}")));
        assert!(finds("moe", "is_set=true") && !finds("moe", "is_set=false"));
        refers(&world, "ada", json!([hidden]));
        for (reader, is_set) in [("ada", true), ("moe", false)] {
            assert_eq!(finds(reader, "is_set=true"), is_set, "{reader}");
            assert_eq!(finds(reader, "is_set=false"), !is_set, "{reader}");
        }
    }
}

/// S105. A reader who writes back what they read removes nothing that they could not see.
#[test]
fn what_a_reader_writes_back_keeps_the_links_that_the_reader_could_not_see() {
    let world = scene(Kind::Memory);
    let record = |reader: &str, place: &str, fields: &str| {
        let record = world.get(reader, &format!("{place}?opt_fields={fields}"));
        assert_eq!(record.status, 200, "{}", record.text);
        record.json["data"].clone()
    };
    let task = format!("/tasks/{}", world.gid("shared"));
    let project = format!("/projects/{}", world.gid("meadow"));
    for place in [&task, &project] {
        let before = record("ada", place, "html_notes");
        for field in ["html_notes", "notes"] {
            let seen = record("moe", place, field)[field].clone();
            assert!(seen.as_str().unwrap().contains("Private Link"), "{seen}");
            let back = world.call("moe", "PUT", place, &json!({ field: seen }));
            assert_eq!(back.status, 200, "{}", back.text);
            assert_eq!(
                record("ada", place, "html_notes"),
                before,
                "{place} {field}"
            );
        }
    }
    let references = |reader: &str| {
        let shown = record(reader, &task, "custom_fields.reference_value.name");
        let field = world.gid("m_reference").to_string();
        let fields = shown["custom_fields"].as_array().unwrap();
        let field = fields.iter().find(|shown| shown["gid"] == field).unwrap();
        let objects = field["reference_value"].as_array().unwrap().iter();
        let names = objects.map(|object| object["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(references("moe"), ["Child"]);
    refers(&world, "moe", json!([world.gid("child")]));
    assert_eq!(references("ada"), ["HIDDEN-task", "Child"]);
    refers(&world, "moe", Value::Null);
    assert_eq!(references("ada"), ["HIDDEN-task"]);
}
