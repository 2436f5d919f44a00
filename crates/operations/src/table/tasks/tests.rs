use crate::decision_scene::{DecisionScene, node, stories, written};
use crate::operation::ListRequest;
use serde_json::json;
use workgraph_core::Gid;
use workgraph_core::model::registry::{CustomFieldType, rel};
use workgraph_core::model::resources::task;
use workgraph_core::storage::RowFilter;
use workgraph_wire::messages::TASK_FILTERS;

#[test]
fn only_the_given_fields_of_a_task_change() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let edited = scene.decide(scene.ann, "updateTask", water, json!({"notes": "Daily"}));
    let changes = edited.unwrap().changes;
    let node = changes
        .node_writes
        .iter()
        .find(|write| write.node.gid == water);
    let node = &node.unwrap().node;
    assert_eq!(node.get(task::NAME).as_deref(), Some("Task 0"));
    assert_eq!(node.version, 2);
}

#[test]
fn a_task_that_is_as_the_body_says_does_not_change() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let same = scene.decide(scene.ann, "updateTask", water, json!({"name": "Task 0"}));
    assert!(same.unwrap().changes.is_empty());
}

#[test]
fn a_task_that_changes_has_the_time_of_the_change() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let ann = scene.ann;
    let stale = scene.given(|fixture| fixture.subtask(water, "Sow", ann));
    let changed = scene.decide(ann, "updateTask", stale, json!({"notes": "Daily"}));
    let changed = changed.unwrap();
    assert!(node(&changed, stale).get(task::MODIFIED_AT).is_some());
    assert_eq!(stories(&changed), ["notes_changed"]);
}

#[test]
fn a_new_assignee_follows_the_task_once() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (ann, bob) = (scene.ann, scene.bob);
    let assign = |user: Gid| scene.done(ann, "updateTask", water, json!({"assignee": user}));
    let assigned = assign(bob);
    assert_eq!(written(&assigned, rel::FOLLOWERS), [(water, bob)]);
    assert_eq!(stories(&assigned), ["assigned"]);
    assign(ann);
    let again = assign(bob);
    assert!(written(&again, rel::FOLLOWERS).is_empty());
    assert_eq!(node(&again, water).get(task::ASSIGNEE), Some(bob));
}

#[test]
fn a_changed_value_has_a_story_and_a_place_in_the_index() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let size = scene.given(|fixture| {
        let (size, _) = fixture.custom_field(acme, "Size", CustomFieldType::Text, &[]);
        fixture.field_on(size, garden, acme);
        size
    });
    let body = json!({"custom_fields": {size.to_string(): "big"}});
    let changed = scene.done(ann, "updateTask", water, body.clone());
    assert_eq!(stories(&changed), ["text_custom_field_changed"]);
    let [entry] = &changed.changes.index_updates[..] else {
        panic!("one value changed");
    };
    assert_eq!((entry.node, entry.field), (water, size));
    let same = scene.decide(ann, "updateTask", water, body);
    assert!(same.unwrap().changes.is_empty());
}

/// Returns the list of tasks of a query string, or the message of its refusal.
fn listed(scene: &DecisionScene, query: &str) -> Result<ListRequest, String> {
    let list = scene.described(scene.ann, "getTasks", query);
    list.map_err(|error| error.message)
}

#[test]
fn tasks_are_listed_of_one_container_or_of_one_assignee() {
    let scene = DecisionScene::new();
    let (garden, acme, bob) = (scene.garden, scene.acme, scene.bob);
    let anchor = |query: String| listed(&scene, &query).map(|list| list.anchor);
    assert_eq!(anchor(format!("project={garden}")), Ok("project"));
    assert_eq!(
        anchor(format!("workspace={acme}&assignee={bob}")),
        Ok("assignee")
    );
    let two = anchor(format!("project={garden}&section={garden}"));
    assert_eq!(two, Err(TASK_FILTERS.to_owned()));
    let both = anchor(format!("project={garden}&assignee={bob}&workspace={acme}"));
    assert_eq!(both, Err(TASK_FILTERS.to_owned()));
    let nowhere = anchor(format!("assignee={bob}"));
    assert_eq!(nowhere, Err("workspace: Missing input".to_owned()));
    let of_all = anchor(format!("workspace={acme}"));
    assert_eq!(of_all, Err("assignee: Missing input".to_owned()));
}

#[test]
fn tasks_of_nobody_are_listed_in_a_workspace_only() {
    let scene = DecisionScene::new();
    let (garden, acme) = (scene.garden, scene.acme);
    let of_nobody = |name: &str| listed(&scene, &format!("workspace={acme}&{name}=null"));
    let unset = |list: ListRequest| matches!(list.page.filters[..], [RowFilter::Unset("assignee")]);
    assert!(unset(of_nobody("assignee").unwrap()));
    assert!(unset(of_nobody("assignee.any").unwrap()));
    let in_project = listed(&scene, &format!("project={garden}&assignee=null"));
    assert!(in_project.map(|_| ()).unwrap_err().starts_with("assignee:"));
    assert!(listed(&scene, &format!("project={garden}&assignee.any=null")).is_ok());
}
