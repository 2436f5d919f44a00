use super::*;
use crate::decision_scene::{DecisionScene, saved, subject, written};
use serde_json::json;
use workgraph_core::access::Role;

const EXPORT: &str = "createResourceExport";

fn export_of(scene: &DecisionScene, parts: Value) -> Value {
    json!({"workspace": scene.acme, "export_request_parameters": parts})
}

/// Returns the reason why the admin's export of some parts is refused.
fn refused(scene: &DecisionScene, parts: Value) -> String {
    scene.refused(scene.ann, EXPORT, scene.acme, export_of(scene, parts))
}

/// Returns true if the admin may export some parts.
fn starts(scene: &DecisionScene, parts: Value) -> bool {
    let started = scene.decide(scene.ann, EXPORT, scene.acme, export_of(scene, parts));
    started.is_ok_and(|started| written(&started, rel::EXPORTS).len() == 1)
}

/// Returns a part with tasks of some assignees.
fn assigned_to(users: Vec<Gid>) -> Value {
    json!({"resource_type": "task", "filters": {"assignee.any": users}})
}

#[test]
fn a_workspace_has_one_export_at_a_time() {
    let scene = DecisionScene::new();
    let parts = json!([{"resource_type": "task"}]);
    let started = scene.done(
        scene.bob,
        EXPORT,
        scene.acme,
        export_of(&scene, parts.clone()),
    );
    let job = subject(&started);
    assert_eq!(written(&started, rel::EXPORTS), [(job.gid, scene.acme)]);
    assert!(saved(&started, job.get(job::NEW_RESOURCE_EXPORT).unwrap()).is_some());
    assert!(refused(&scene, parts).contains("there can be one at a time"));
}

#[test]
fn guests_export_no_resources() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let gus = scene.given(|fixture| fixture.member(acme, "Gus", Role::Guest));
    let body = export_of(&scene, json!([{"resource_type": "task"}]));
    let refused = scene.refused(gus, EXPORT, acme, body.clone());
    assert!(
        refused.contains("not available for free users"),
        "{refused}"
    );
    assert!(scene.decide(scene.bob, EXPORT, acme, body).is_ok());
}

#[test]
fn filters_name_users_whom_the_caller_knows() {
    let mut scene = DecisionScene::new();
    let eve = scene.given(|fixture| fixture.user("Eve", "eve@example.org"));
    let reason = refused(&scene, json!([assigned_to(vec![scene.bob, eve])]));
    assert!(
        reason.contains("[0]: filters: assignee.any: [1]: Unknown object"),
        "{reason}"
    );
    assert!(starts(&scene, json!([assigned_to(vec![scene.bob])])));
}

#[test]
fn an_export_has_a_limited_number_of_parts() {
    let scene = DecisionScene::new();
    let tasks = |number| vec![json!({"resource_type": "task"}); number].into();
    assert!(refused(&scene, tasks(0)).contains("Must have 1 to"));
    assert!(refused(&scene, tasks(PARTS_MAX + 1)).contains("Must have 1 to"));
    assert!(starts(&scene, tasks(PARTS_MAX)));
}

#[test]
fn a_filter_names_a_limited_number_of_users() {
    let scene = DecisionScene::new();
    let users = |number| json!([assigned_to(vec![scene.bob; number])]);
    assert!(refused(&scene, users(0)).contains("assignee.any: Must have 1 to"));
    assert!(refused(&scene, users(USERS_MAX + 1)).contains("assignee.any: Must have 1 to"));
    assert!(starts(&scene, users(USERS_MAX)));
}

#[test]
fn all_filters_name_a_limited_number_of_users() {
    let scene = DecisionScene::new();
    let full = assigned_to(vec![scene.bob; USERS_MAX]);
    let mut parts = vec![full; ALL_USERS_MAX / USERS_MAX];
    assert!(starts(&scene, json!(parts)));
    parts.push(assigned_to(vec![scene.bob]));
    assert!(refused(&scene, json!(parts)).contains("users in all filters"));
}

#[test]
fn teams_are_exported_without_filters() {
    let scene = DecisionScene::new();
    let since = json!({"created_at.after": "2026-01-01T00:00:00Z"});
    let filtered = json!([{"resource_type": "team", "filters": since}]);
    assert!(refused(&scene, filtered).contains("Teams cannot be filtered"));
    assert!(starts(
        &scene,
        json!([{"resource_type": "team", "filters": {}}])
    ));
    assert!(starts(
        &scene,
        json!([{"resource_type": "task", "filters": since}])
    ));
}

#[test]
fn a_part_has_a_known_type_and_known_filters() {
    let scene = DecisionScene::new();
    let untyped = refused(&scene, json!([{"fields": "name"}]));
    assert!(
        untyped.contains("[0]: resource_type: Missing input"),
        "{untyped}"
    );
    let goals = refused(&scene, json!([{"resource_type": "goal"}]));
    assert!(
        goals.contains("goal; it is one of task, team, message"),
        "{goals}"
    );
    for filter in ["due_on.after", "created_at", "created_at.on"] {
        let part = json!([{"resource_type": "task", "filters": {filter: "2026-01-01"}}]);
        let reason = refused(&scene, part);
        assert!(
            reason.contains(&format!("Not a recognized filter: {filter}")),
            "{reason}"
        );
    }
}

#[test]
fn the_fields_of_a_part_are_paths() {
    let scene = DecisionScene::new();
    let fields = |fields: Value| json!([{"resource_type": "task", "fields": fields}]);
    let reason = refused(&scene, fields(json!("name,(")));
    assert!(reason.contains("[0]: fields: "), "{reason}");
    assert!(starts(&scene, fields(json!("name,assignee.name"))));
    assert!(starts(&scene, fields(json!(["name", "assignee.name"]))));
}

#[test]
fn both_bounds_of_a_time_exclude_it() {
    let bounds = json!({
        "created_at.after": "1970-01-01T00:00:01Z",
        "created_at.before": "1970-01-01T00:00:02Z",
        "modified_at.after": "1970-01-01T00:00:01Z",
    });
    let filters = filters("filters", bounds.as_object().unwrap()).unwrap();
    let expected = [
        ("created_at".to_owned(), 1_001, 1_999),
        ("modified_at".to_owned(), 1_001, i64::MAX),
    ];
    assert_eq!(filters.time_filters, expected);
}

#[test]
fn no_fields_are_those_of_the_full_record() {
    let names = |value: Value| fields_of("fields", &value).unwrap();
    assert_eq!(names(json!([])), None);
    assert_eq!(names(json!(",")), None);
    assert_eq!(
        names(json!(["name", "notes"])),
        Some("name,notes".to_owned())
    );
}

#[test]
fn parts_filters_and_fields_have_their_form() {
    let scene = DecisionScene::new();
    let with = |field: &str| json!([{"resource_type": "task", field: 7}]);
    for (parts, reason) in [
        (
            json!({}),
            "export_request_parameters: Value is not an array",
        ),
        (json!(["task"]), "[0]: Value is not a JSON object"),
        (with("filters"), "[0]: filters: Value is not a JSON object"),
        (with("fields"), "[0]: fields: Value is not an array"),
    ] {
        let refused = refused(&scene, parts);
        assert!(refused.contains(reason), "{refused}");
    }
    let unset = json!([{"resource_type": "task", "filters": null, "fields": null}]);
    assert!(starts(&scene, unset));
}
