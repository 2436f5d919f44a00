use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::model::registry::rel;

#[test]
fn a_move_within_a_project_leaves_the_section_before() {
    let mut scene = DecisionScene::new();
    let (garden, acme) = (scene.garden, scene.acme);
    let [task] = scene.tasks();
    let (first, later) = scene.given(|fixture| {
        let later = fixture.section(garden, acme, "Later");
        (fixture.section_in(garden), later)
    });
    let body = json!({"project": garden, "section": later});
    let moved = scene
        .decide(scene.ann, "addProjectForTask", task, body)
        .unwrap();
    assert_eq!(written(&moved, rel::SECTION), [(task, later)]);
    assert_eq!(moved.changes.edge_removals, [(task, rel::SECTION, first)]);
}

#[test]
fn a_follower_belongs_to_the_workspace() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let eve = scene.given(|fixture| fixture.user("Eve", "eve@example.org"));
    let follow = |user| json!({"followers": [user]});
    let refused = scene.refused(scene.ann, "addFollowersForTask", task, follow(eve));
    assert!(!refused.is_empty());
    let followed = scene.decide(scene.ann, "addFollowersForTask", task, follow(scene.bob));
    assert_eq!(
        written(&followed.unwrap(), rel::FOLLOWERS),
        [(task, scene.bob)]
    );
}

#[test]
fn a_tag_is_added_once() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let [task] = scene.tasks();
    let tag = scene.given(|fixture| fixture.tag(acme, "thirsty"));
    let added = scene.done(scene.ann, "addTagForTask", task, json!({"tag": tag}));
    assert_eq!(written(&added, rel::TAGS), [(task, tag)]);
    let again = scene.decide(scene.ann, "addTagForTask", task, json!({"tag": tag}));
    assert!(again.unwrap().changes.is_empty());
}
