use super::SUBTASK_LEVELS_MAX;
use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::Gid;
use workgraph_core::model::registry::rel;

/// Stores a chain of tasks, each the parent of the next; returns the last one.
fn chain(scene: &mut DecisionScene, levels: usize) -> Gid {
    let [mut task] = scene.tasks();
    let ann = scene.ann;
    for _ in 0..levels {
        task = scene.given(|fixture| fixture.subtask(task, "Subtask", ann));
    }
    task
}

#[test]
fn a_new_subtask_is_not_too_deep() {
    let mut scene = DecisionScene::new();
    let deepest = chain(&mut scene, SUBTASK_LEVELS_MAX);
    let above = chain(&mut scene, SUBTASK_LEVELS_MAX - 1);
    let below = |parent: Gid| json!({"name": "Subtask", "parent": parent});
    let refused = scene.refused(scene.ann, "createTask", deepest, below(deepest));
    assert!(refused.contains("parent: Too deep"));
    let made = scene.decide(scene.ann, "createTask", above, below(above));
    let made = made.unwrap();
    assert_eq!(
        written(&made, rel::PARENT),
        [(made.subject.unwrap(), above)]
    );
}

#[test]
fn a_moved_task_takes_the_levels_below_it_along() {
    let mut scene = DecisionScene::new();
    let [moved, below] = scene.tasks();
    let parent = chain(&mut scene, SUBTASK_LEVELS_MAX - 1);
    let body = json!({"parent": parent});
    let alone = scene
        .decide(scene.ann, "setParentForTask", moved, body.clone())
        .unwrap();
    assert_eq!(written(&alone, rel::PARENT), [(moved, parent)]);
    scene.link(below, rel::PARENT, moved);
    let refused = scene.refused(scene.ann, "setParentForTask", moved, body);
    assert!(refused.contains("parent: Too deep"));
}
