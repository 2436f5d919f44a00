use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::access::Level;
use workgraph_core::model::registry::rel;

#[test]
fn a_user_likes_an_object_once_until_they_take_it_back() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let bob = scene.bob;
    let like = |liked: bool| scene.done(bob, "updateTask", water, json!({"liked": liked}));
    assert!(like(false).changes.is_empty());
    assert_eq!(written(&like(true), rel::LIKES), [(water, bob)]);
    assert!(like(true).changes.is_empty());
    assert_eq!(
        like(false).changes.edge_removals,
        [(water, rel::LIKES, bob)]
    );
}

#[test]
fn a_viewer_of_a_task_likes_it() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let tidy = scene.given(|fixture| {
        let attic = fixture.private_project(acme, "Attic", ann);
        fixture.share(attic, acme, bob, Level::Viewer);
        let section = fixture.section_in(attic);
        fixture.task_in(section, "Tidy", ann)
    });
    let both = json!({"liked": true, "name": "Clean"});
    let refused = scene.refused(bob, "updateTask", tidy, both);
    assert!(refused.contains("do not have permission to change this task"));
    let liked = scene.decide(bob, "updateTask", tidy, json!({"liked": true}));
    assert_eq!(written(&liked.unwrap(), rel::LIKES), [(tidy, bob)]);
}

#[test]
fn a_commenter_of_a_goal_likes_it() {
    let scene = DecisionScene::new();
    let (acme, bob) = (scene.acme, scene.bob);
    let new = json!({"name": "Grow", "workspace": acme});
    let goal = scene
        .done(scene.ann, "createGoal", acme, new)
        .subject
        .unwrap();
    let both = json!({"liked": true, "name": "Shrink"});
    let refused = scene.refused(bob, "updateGoal", goal, both);
    assert!(refused.contains("do not have permission to change this goal"));
    let liked = scene.decide(bob, "updateGoal", goal, json!({"liked": true}));
    assert_eq!(written(&liked.unwrap(), rel::STORY_LIKES), [(goal, bob)]);
}
