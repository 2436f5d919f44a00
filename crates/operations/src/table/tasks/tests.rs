use crate::decision_scene::DecisionScene;
use serde_json::json;
use workgraph_core::model::resources::task;

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
