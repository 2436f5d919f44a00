use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::model::registry::rel;

#[test]
fn tasks_do_not_wait_for_each_other_over_others() {
    let mut scene = DecisionScene::new();
    let [first, second, third] = scene.tasks();
    scene.link(second, rel::DEPENDS, first);
    scene.link(third, rel::DEPENDS, second);
    let waits_for = |task| json!({"dependencies": [task]});
    let ring = scene.refused(scene.ann, "addDependenciesForTask", first, waits_for(third));
    assert!(
        ring.contains("Would make tasks wait for each other"),
        "{ring}"
    );
    let decision = scene.decide(scene.ann, "addDependenciesForTask", third, waits_for(first));
    assert_eq!(written(&decision.unwrap(), rel::DEPENDS), [(third, first)]);
}

#[test]
fn a_dependency_that_exists_changes_nothing() {
    let mut scene = DecisionScene::new();
    let [first, second] = scene.tasks();
    scene.link(second, rel::DEPENDS, first);
    let body = json!({"dependencies": [first]});
    let decision = scene.decide(scene.ann, "addDependenciesForTask", second, body);
    assert!(decision.unwrap().changes.is_empty());
}
