use crate::decision_scene::DecisionScene;
use serde_json::json;

#[test]
fn the_last_section_of_a_project_stays() {
    let mut scene = DecisionScene::new();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let first = scene.given(|fixture| fixture.section_in(garden));
    let refused = scene.refused(ann, "deleteSection", first, json!({}));
    assert!(refused.contains("The last section of a project cannot be deleted"));
    scene.given(|fixture| fixture.section(garden, acme, "Later"));
    let decision = scene.decide(ann, "deleteSection", first, json!({}));
    assert_eq!(decision.unwrap().changes.trashed, [first]);
}

#[test]
fn a_section_with_tasks_stays() {
    let mut scene = DecisionScene::new();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let later = scene.given(|fixture| fixture.section(garden, acme, "Later"));
    scene.given(|fixture| fixture.task_in(later, "Water", ann));
    let refused = scene.refused(ann, "deleteSection", later, json!({}));
    assert!(refused.contains("Only empty sections can be deleted"));
}
