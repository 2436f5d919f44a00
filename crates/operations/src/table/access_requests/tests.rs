use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::Gid;
use workgraph_core::model::registry::rel;

/// Returns a private project of the admin, and the member's request of access to it.
fn requested(scene: &mut DecisionScene) -> (Gid, Gid) {
    let (acme, ann) = (scene.acme, scene.ann);
    let secret = scene.given(|fixture| fixture.private_project(acme, "Secret", ann));
    let body = json!({"target": secret});
    let asked = scene.done(scene.bob, "createAccessRequest", secret, body);
    (secret, asked.subject.unwrap())
}

#[test]
fn a_request_of_access_is_made_once() {
    let mut scene = DecisionScene::new();
    let (secret, request) = requested(&mut scene);
    let body = json!({"target": secret});
    let again = scene.decide(scene.bob, "createAccessRequest", secret, body);
    assert_eq!(again.unwrap().subject, Some(request));
}

#[test]
fn an_approved_request_shares_the_project() {
    let mut scene = DecisionScene::new();
    let (secret, request) = requested(&mut scene);
    let approved = scene.decide(scene.ann, "approveAccessRequest", request, json!({}));
    let members = written(&approved.unwrap(), rel::MEMBERS);
    assert_eq!(members, [(secret, scene.bob)]);
}

#[test]
fn who_asks_for_access_does_not_approve_it() {
    let mut scene = DecisionScene::new();
    let (_, request) = requested(&mut scene);
    let approved = scene.decide(scene.bob, "approveAccessRequest", request, json!({}));
    assert!(approved.is_err());
}
