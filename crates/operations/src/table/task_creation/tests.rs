use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::model::registry::rel;

#[test]
fn a_task_goes_into_the_first_section_of_its_project() {
    let mut scene = DecisionScene::new();
    let garden = scene.garden;
    let first = scene.given(|fixture| fixture.section_in(garden));
    let body = json!({"name": "Water", "projects": [garden]});
    let made = scene.decide(scene.ann, "createTask", garden, body).unwrap();
    let task = made.subject.unwrap();
    assert_eq!(written(&made, rel::SECTION), [(task, first)]);
}

#[test]
fn a_new_task_and_its_project_have_one_workspace() {
    let mut scene = DecisionScene::new();
    let (ann, garden) = (scene.ann, scene.garden);
    let other = scene.given(|fixture| {
        let other = fixture.workspace("Other");
        fixture.add_workspace_member(ann, other, workgraph_core::access::Role::Member);
        other
    });
    let body = json!({"name": "Water", "workspace": other, "projects": [garden]});
    assert!(!scene.refused(ann, "createTask", garden, body).is_empty());
}

#[test]
fn who_assigns_a_new_task_to_another_lets_them_follow_it() {
    let scene = DecisionScene::new();
    let body = json!({"name": "Water", "projects": [scene.garden], "assignee": scene.bob});
    let made = scene
        .decide(scene.ann, "createTask", scene.garden, body)
        .unwrap();
    let task = made.subject.unwrap();
    assert!(written(&made, rel::FOLLOWERS).contains(&(task, scene.bob)));
}
