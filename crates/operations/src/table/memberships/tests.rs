use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::model::registry::rel;

#[test]
fn a_member_of_the_workspace_joins_a_project_once() {
    let scene = DecisionScene::new();
    let body = json!({"parent": scene.garden, "member": scene.bob, "access_level": "editor"});
    let joined = scene.done(scene.ann, "createMembership", scene.garden, body.clone());
    assert_eq!(written(&joined, rel::MEMBERS), [(scene.garden, scene.bob)]);
    let again = scene.decide(scene.ann, "createMembership", scene.garden, body);
    let again = again.unwrap();
    assert!(again.changes.is_empty());
    assert_eq!(again.subject, joined.subject);
}

#[test]
fn nobody_from_outside_the_workspace_joins() {
    let mut scene = DecisionScene::new();
    let eve = scene.given(|fixture| fixture.user("Eve", "eve@example.org"));
    let body = json!({"parent": scene.garden, "member": eve});
    let refused = scene.refused(scene.ann, "createMembership", scene.garden, body);
    assert!(refused.starts_with("member:"), "{refused}");
}

#[test]
fn an_editor_makes_nobody_an_admin() {
    let scene = DecisionScene::new();
    let as_editor = json!({"parent": scene.garden, "member": scene.bob, "access_level": "editor"});
    scene.done(scene.ann, "createMembership", scene.garden, as_editor);
    let as_admin = json!({"parent": scene.garden, "member": "me", "access_level": "admin"});
    let refused = scene.refused(scene.bob, "createMembership", scene.garden, as_admin);
    assert!(!refused.is_empty());
}
