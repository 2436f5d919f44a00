use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::Gid;
use workgraph_core::access::Role;
use workgraph_core::model::registry::rel;
use workgraph_core::storage::ListPosition;

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

#[test]
fn a_parent_is_of_the_same_workspace() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let (ann, club) = (scene.ann, scene.second_workspace());
    let elsewhere = scene.given(|fixture| fixture.task(club, "Weed", ann));
    let refused = scene.refused(ann, "setParentForTask", task, json!({"parent": elsewhere}));
    assert!(refused.contains("parent: Not a task of the same workspace"));
}

#[test]
fn a_subtask_is_placed_next_to_another_one_of_its_parent() {
    let mut scene = DecisionScene::new();
    let [task, parent, sibling, stranger] = scene.tasks();
    scene.link(sibling, rel::PARENT, parent);
    scene.link(task, rel::PARENT, parent);
    let after = |neighbour: Gid| json!({"parent": parent, "insert_after": neighbour});
    let refused = |neighbour| scene.refused(scene.ann, "setParentForTask", task, after(neighbour));
    assert!(refused(stranger).contains("to insert next to is not a subtask of this parent"));
    assert!(refused(task).contains("to insert next to is not a subtask of this parent"));
    let placed = scene.decide(scene.ann, "setParentForTask", task, after(sibling));
    let position = placed.unwrap().changes.edge_writes[0].position;
    assert_eq!(position, ListPosition::After(sibling));
}

#[test]
fn a_subtask_that_stays_with_its_parent_only_moves() {
    let mut scene = DecisionScene::new();
    let [task, parent] = scene.tasks();
    scene.link(task, rel::PARENT, parent);
    let body = json!({"parent": parent});
    let moved = scene
        .decide(scene.ann, "setParentForTask", task, body)
        .unwrap();
    assert_eq!(written(&moved, rel::PARENT), [(task, parent)]);
    assert!(moved.changes.edge_removals.is_empty());
    assert!(moved.changes.change_records.is_empty());
}

#[test]
fn a_place_is_on_one_side_even_without_a_parent() {
    let mut scene = DecisionScene::new();
    let [task, other] = scene.tasks();
    let acme = scene.acme;
    let guest = scene.given(|fixture| fixture.member(acme, "Gus", Role::Guest));
    let body = json!({"parent": null, "insert_before": other, "insert_after": other});
    let two = scene.refused(scene.ann, "setParentForTask", task, body.clone());
    assert!(two.contains("only provide one of insert_before or insert_after"));
    let access = scene.refused(guest, "setParentForTask", task, body);
    assert!(
        access.contains("do not have access to this task"),
        "access comes first"
    );
}
