//! Tests of the checks of request bodies.
use super::*;
use crate::model::resources::{project, task, user};
use serde_json::json;

fn given(resource: &Resource, data: Value, creating: bool) -> Result<CheckedInputs, String> {
    check_inputs(resource, data.as_object().unwrap(), creating).map_err(|f| f.message)
}

#[test]
fn absent_null_and_value_are_three_things() {
    let got = given(&task::TASK, json!({"name": "x", "due_on": null}), true).unwrap();
    assert_eq!(got.get("name"), Some(&InputValue::Stored("\"x\"".into())));
    assert_eq!(got.get("due_on"), Some(&InputValue::Null));
    assert_eq!(got.get("notes"), None);
}

#[test]
fn wrong_values_name_the_field_and_what_is_right() {
    for (field, value, part) in [
        ("name", json!(5), "name: Not a string: 5"),
        ("name", json!("a\u{0}"), "name: "),
        (
            "completed",
            json!("maybe"),
            "completed: Not a boolean: maybe",
        ),
        ("completed", json!(2), "completed: Not a boolean: 2"),
        ("due_on", json!("2026-02-30"), "due_on: "),
        ("due_at", json!("tomorrow"), "due_at: "),
        ("projects", json!(1), "projects: Value is not an array"),
        ("custom_type", json!(true), "custom_type: Not a valid GID"),
        (
            "projects",
            json!([true]),
            "projects: [0]: Not a valid GID type: boolean",
        ),
        (
            "resource_subtype",
            json!("epic"),
            "resource_subtype: Not a recognized value: epic; it is one of default_task",
        ),
    ] {
        let message = given(&task::TASK, json!({ field: value }), true).unwrap_err();
        assert!(message.starts_with(part), "{message}");
    }
}

#[test]
fn what_other_operations_write_is_refused_and_what_the_server_sets_is_ignored() {
    for field in [
        "projects",
        "tags",
        "followers",
        "memberships",
        "parent",
        "workspace",
    ] {
        assert_eq!(
            given(&task::TASK, json!({ field: null }), false).unwrap_err(),
            format!("{field}: Cannot write this property")
        );
    }
    let got = given(
        &task::TASK,
        json!({"gid": "1", "created_at": "x", "num_likes": 3, "nope": {}}),
        false,
    )
    .unwrap();
    assert_eq!(got, CheckedInputs::default());
}

/// S136.
#[test]
fn null_is_absent_of_a_new_thing_and_an_empty_text_is_null() {
    let data = json!({"completed": null, "resource_subtype": "", "assignee": "", "due_on": "", "name": ""});
    let new = given(&task::TASK, data, true).unwrap();
    let names: Vec<_> = new.names().collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert_eq!(new.get("assignee"), Some(&InputValue::Null));
    assert_eq!(new.get("due_on"), Some(&InputValue::Null));
    assert_eq!(new.get("name"), Some(&InputValue::Stored("\"\"".into())));
    for value in [json!(null), json!("")] {
        let refused = given(&task::TASK, json!({ "completed": value }), false).unwrap_err();
        assert!(
            refused.starts_with("completed: Cannot be null"),
            "{refused}"
        );
    }
}

/// S128.
#[test]
fn lists_may_be_text_with_commas() {
    let refs = |value: Value| {
        let got = given(&task::TASK, json!({ "followers": value }), true).unwrap();
        match got.get("followers") {
            Some(InputValue::Refs(refs)) => refs.join("|"),
            other => format!("{other:?}"),
        }
    };
    assert_eq!(refs(json!("1, me,,x@y.org")), "1|me|x@y.org");
    assert_eq!(refs(json!(["1", {"gid": "2"}])), "1|2");
    let many = vec!["1"; REFS_MAX + 1].join(",");
    let refused = given(&task::TASK, json!({ "followers": many }), true).unwrap_err();
    assert!(refused.starts_with("followers: Too many: 201"), "{refused}");
}

/// S137.
#[test]
fn what_has_one_value_takes_no_other() {
    let read = |data: Value| given(&project::PROJECT, data, false);
    let back = json!({"current_status": null, "current_status_update": null});
    assert_eq!(read(back), Ok(CheckedInputs::default()));
    let of_user = |data: Value| given(&user::USER, json!({ "custom_fields": data }), false);
    for nothing in [json!([]), json!({}), Value::Null] {
        assert_eq!(of_user(nothing), Ok(CheckedInputs::default()));
    }
    for (data, message) in [
        (
            json!({"12": "x"}),
            "Custom field with ID 12 is not on given object",
        ),
        (json!("x"), "custom_fields: Value is not a JSON object: x"),
    ] {
        assert_eq!(of_user(data).unwrap_err(), message);
    }
    for (data, message) in [
        (
            json!({"current_status": {"gid": "12", "color": "green"}}),
            "current_status: Cannot write this property",
        ),
        (
            json!({"current_status_update": "12"}),
            "current_status_update: Cannot write this property",
        ),
    ] {
        assert_eq!(read(data).unwrap_err(), message);
    }
}

#[test]
fn long_names_are_refused_by_characters() {
    let name = "é".repeat(1025);
    assert!(
        given(&project::PROJECT, json!({ "name": name }), true)
            .unwrap_err()
            .contains("1025 characters; at most 1024")
    );
    assert!(given(&project::PROJECT, json!({ "name": "é".repeat(1024) }), true).is_ok());
}
