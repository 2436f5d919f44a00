use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::Gid;
use workgraph_core::model::registry::rel;

fn goal(scene: &DecisionScene, name: &str) -> Gid {
    let body = json!({"name": name, "workspace": scene.acme});
    scene
        .done(scene.ann, "createGoal", scene.acme, body)
        .subject
        .unwrap()
}

#[test]
fn a_goal_does_not_support_a_goal_that_supports_it() {
    let scene = DecisionScene::new();
    let (year, quarter) = (goal(&scene, "Year"), goal(&scene, "Quarter"));
    let by = |supporter: Gid| json!({"supporting_resource": supporter});
    let added = scene.done(scene.ann, "addSupportingRelationship", year, by(quarter));
    assert_eq!(written(&added, rel::SUPPORTS), [(quarter, year)]);
    let ring = scene.refused(scene.ann, "addSupportingRelationship", quarter, by(year));
    assert!(ring.contains("cannot support itself, or a goal that supports it"));
}
