use crate::decision_scene::{DecisionScene, node};
use serde_json::json;
use workgraph_core::model::resources::time_tracking::CATEGORY_IS_ARCHIVED;

#[test]
fn only_admins_of_the_workspace_keep_its_categories() {
    let scene = DecisionScene::new();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let new = json!({"name": "Digging", "workspace": acme});
    let refused = scene.refused(bob, "createTimeTrackingCategory", acme, new.clone());
    assert!(
        refused.contains("do not have permission to administer this workspace"),
        "{refused}"
    );
    let made = scene.done(ann, "createTimeTrackingCategory", acme, new);
    let digging = made.subject.unwrap();
    let archived = json!({"is_archived": true});
    let refused = scene.refused(bob, "updateTimeTrackingCategory", digging, archived.clone());
    assert!(refused.contains("do not have permission to change this time tracking category"));
    let changed = scene
        .decide(ann, "updateTimeTrackingCategory", digging, archived)
        .unwrap();
    assert!(node(&changed, digging).get(CATEGORY_IS_ARCHIVED));
}

#[test]
fn a_category_has_a_name() {
    let scene = DecisionScene::new();
    let blank = json!({"name": " ", "workspace": scene.acme});
    let refused = scene.refused(scene.ann, "createTimeTrackingCategory", scene.acme, blank);
    assert_eq!(refused, "name: Cannot be empty");
}
