use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::model::registry::rel;

#[test]
fn a_request_of_access_is_made_once_and_shares_the_project_when_it_is_approved() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let secret = scene.given(|fixture| fixture.private_project(acme, "Secret", ann));
    let asked = scene.done(
        scene.bob,
        "createAccessRequest",
        secret,
        json!({"target": secret}),
    );
    let request = asked.subject.unwrap();
    let again = scene.decide(
        scene.bob,
        "createAccessRequest",
        secret,
        json!({"target": secret}),
    );
    assert_eq!(again.unwrap().subject, Some(request));
    let approved = scene.decide(ann, "approveAccessRequest", request, json!({}));
    assert_eq!(
        written(&approved.unwrap(), rel::MEMBERS),
        [(secret, scene.bob)]
    );
}

#[test]
fn who_asks_for_access_does_not_approve_it() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let secret = scene.given(|fixture| fixture.private_project(acme, "Secret", ann));
    let asked = scene.done(
        scene.bob,
        "createAccessRequest",
        secret,
        json!({"target": secret}),
    );
    let request = asked.subject.unwrap();
    assert!(
        scene
            .decide(scene.bob, "approveAccessRequest", request, json!({}))
            .is_err()
    );
}
