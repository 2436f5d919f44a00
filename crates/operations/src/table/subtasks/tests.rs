use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::model::registry::rel;

#[test]
fn a_task_is_no_subtask_of_its_own_subtasks() {
    let mut scene = DecisionScene::new();
    let [top, middle, bottom] = scene.tasks();
    scene.link(middle, rel::PARENT, top);
    scene.link(bottom, rel::PARENT, middle);
    let refused = scene.refused(
        scene.ann,
        "setParentForTask",
        top,
        json!({"parent": bottom}),
    );
    assert!(refused.contains("cannot be a subtask of itself or of its own subtasks"));
}

#[test]
fn a_new_parent_takes_the_place_of_the_one_before() {
    let mut scene = DecisionScene::new();
    let [task, before, after] = scene.tasks();
    scene.link(task, rel::PARENT, before);
    let decision = scene.decide(
        scene.ann,
        "setParentForTask",
        task,
        json!({"parent": after}),
    );
    let decision = decision.unwrap();
    assert_eq!(written(&decision, rel::PARENT), [(task, after)]);
    assert_eq!(
        decision.changes.edge_removals,
        [(task, rel::PARENT, before)]
    );
}

#[test]
fn a_task_without_parent_is_moved_out() {
    let mut scene = DecisionScene::new();
    let [task, parent] = scene.tasks();
    scene.link(task, rel::PARENT, parent);
    let decision = scene.decide(scene.ann, "setParentForTask", task, json!({"parent": null}));
    let changes = decision.unwrap().changes;
    assert_eq!(changes.edge_removals, [(task, rel::PARENT, parent)]);
    assert!(changes.edge_writes.is_empty());
}
