use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::model::registry::rel;

#[test]
fn a_user_is_added_to_a_workspace_once() {
    let scene = DecisionScene::new();
    let body = json!({"user": "eve@example.org"});
    let added = scene.done(scene.ann, "addUserForWorkspace", scene.acme, body.clone());
    let joined = written(&added, rel::WORKSPACES);
    assert!(matches!(*joined, [(_, workspace)] if workspace == scene.acme));
    let again = scene.decide(scene.ann, "addUserForWorkspace", scene.acme, body);
    assert!(written(&again.unwrap(), rel::WORKSPACES).is_empty());
}
