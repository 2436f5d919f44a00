//! Tests of parsing actions and writing outcomes.
use super::*;
use serde_json::json;

fn refused(action: Value) -> String {
    BatchAction::read(&action).unwrap_err().to_string()
}

/// S40.
#[test]
fn a_batch_has_one_to_ten_actions() {
    let of = |n: usize| json!({"actions": vec![json!({}); n]});
    let count = |value: Value| actions(value.as_object().unwrap()).map(<[Value]>::len);
    assert_eq!(count(of(1)), Ok(1));
    assert_eq!(count(of(10)), Ok(10));
    assert_eq!(count(of(11)), Err(BatchActionError::TooMany));
    for none in [
        of(0),
        json!({}),
        json!({"actions": {}}),
        json!({"actions": null}),
    ] {
        let refused = count(none).unwrap_err();
        assert_eq!(refused.to_string(), "actions: Missing input");
    }
}

#[test]
fn the_data_and_options_of_a_get_are_its_query() {
    let action = BatchAction::read(&json!({
        "relative_path": "/tasks", "method": "get",
        "data": {"project": 7, "completed_since": "now", "tags.any": ["1", 2], "archived": false, "x": null},
        "options": {"limit": 2, "offset": "a+b", "fields": ["name", "assignee.email"], "pretty": true}
    }))
    .unwrap();
    assert_eq!(action.method, "GET");
    assert_eq!(
        action.query,
        "project=7&completed_since=now&tags.any=1,2&archived=false&limit=2&offset=a%2Bb&opt_fields=name,assignee.email"
    );
    assert_eq!(action.body, None);
    assert!(!action.options.pretty, "only the batch is indented");
}

/// S39.
#[test]
fn the_data_of_a_write_is_its_body() {
    let action = BatchAction::read(&json!({
        "relative_path": "/tasks", "method": "post", "data": {"name": "a"}, "options": {"fields": "name"}
    }))
    .unwrap();
    let body = action.body.unwrap();
    assert_eq!(body.data.get("name"), Some(&json!("a")));
    assert_eq!(body.options.fields, Some(vec!["name".to_owned()]));
    assert_eq!(action.query, "");
}

/// S126.
#[test]
fn output_options_among_the_data_are_options() {
    let data = json!({"name": "a", "opt_fields": "name,,gid"});
    let write = json!({"relative_path": "/tasks", "method": "post", "data": data});
    let body = BatchAction::read(&write).unwrap().body.unwrap();
    assert_eq!(body.options.fields.unwrap(), ["name", "gid"]);
    assert_eq!(Value::Object(body.data), json!({"name": "a"}));
}

/// S39.
#[test]
fn what_is_wrong_with_an_action_is_said() {
    let at = |path: &str| json!({"relative_path": path, "method": "get"});
    for path in ["http://h/tasks", "//h", ""] {
        assert!(
            refused(at(path)).starts_with("relative_path: must be a path"),
            "{path}"
        );
    }
    // A path without its first slash means the same.
    assert_eq!(BatchAction::read(&at("tasks")).unwrap().path, "/tasks");
    assert!(refused(at("-/oauth_token")).starts_with("relative_path: not allowed"));
    assert!(refused(at("/-/oauth_token")).starts_with("relative_path: not allowed"));
    assert!(refused(at("/tasks?limit=1")).starts_with("relative_path: must not have a query"));
    for method in ["GET", "trace", ""] {
        let action = json!({"relative_path": "/tasks", "method": method});
        assert!(
            refused(action).starts_with("method: must be one of"),
            "{method}"
        );
    }
    for (action, message) in [
        (json!({"method": "get"}), "relative_path: Missing input"),
        (json!({"relative_path": "/x"}), "method: Missing input"),
        (
            json!({"relative_path": 1, "method": "get"}),
            "relative_path: must be a string",
        ),
        (
            json!({"relative_path": "/x", "method": 1}),
            "method: must be a string",
        ),
        (
            json!({"relative_path": "/x", "method": "put", "data": [1]}),
            "data: must be an object",
        ),
        (
            json!({"relative_path": "/x", "method": "get", "data": {"a": {}}}),
            "data: a: must be a string, a number, true, false or a list of these",
        ),
        (
            json!({"relative_path": "/x", "method": "get", "options": {"limit": 0}}),
            "options.limit: must be 1 to 100",
        ),
        (
            json!(7),
            "actions: each must be an object with relative_path and method",
        ),
    ] {
        assert_eq!(refused(action), message);
    }
}

#[test]
fn an_outcome_has_the_parts_that_are_asked_for() {
    let headers = [("location".to_owned(), "/tasks/1".to_owned())];
    let shown = |wanted: fn(&str) -> bool| {
        let mut out = Vec::new();
        let one = ActionOutcome {
            status: 201,
            headers: &headers,
            body: b"{\"data\":{}}",
        };
        write_outcome(&mut out, one, wanted);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        shown(|_| true),
        r#"{"status_code":201,"headers":{"location":"/tasks/1"},"body":{"data":{}}}"#
    );
    assert_eq!(shown(|name| name == "body"), r#"{"body":{"data":{}}}"#);
    assert_eq!(shown(|_| false), "{}");
}

#[test]
fn an_empty_array_is_an_empty_object_in_an_action() {
    let action = json!({"relative_path": "/x", "method": "put", "data": [], "options": []});
    let body = BatchAction::read(&action).unwrap().body;
    assert_eq!(body, Some(JsonBody::default()));
    let action = json!({"relative_path": "/x", "method": "get", "data": [], "options": []});
    assert_eq!(BatchAction::read(&action).unwrap().query, "");
}

#[test]
fn paths_to_expand_keep_their_signs_of_repetition() {
    let action = json!({"relative_path": "/x", "method": "get", "options": {"expand": ["(this|subtasks+)"]}});
    assert_eq!(
        BatchAction::read(&action).unwrap().query,
        "opt_expand=(this%7Csubtasks%2B)"
    );
}
