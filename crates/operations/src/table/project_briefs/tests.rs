use crate::decision_scene::{DecisionScene, node};
use serde_json::json;
use workgraph_core::model::resources::project;

#[test]
fn a_project_has_one_brief() {
    let scene = DecisionScene::new();
    let create = "createProjectBrief";
    let made = scene.done(scene.ann, create, scene.garden, json!({"text": "Grow"}));
    let brief = made.subject.unwrap();
    let garden = node(&made, scene.garden);
    assert_eq!(garden.get(project::PROJECT_BRIEF), Some(brief));
    let again = scene.refused(scene.ann, create, scene.garden, json!({"text": "Water"}));
    assert_eq!(
        again,
        format!("project: It has a project brief already: {brief}")
    );
}

#[test]
fn a_free_workspace_has_no_briefs() {
    let mut scene = DecisionScene::new();
    let (ann, free) = (scene.ann, scene.free_workspace());
    let balcony = scene.given(|fixture| fixture.project(free, "Balcony", ann));
    let create =
        |project| scene.decide(ann, "createProjectBrief", project, json!({"text": "Grow"}));
    assert_eq!(create(balcony).unwrap_err().message, super::PREMIUM);
    create(scene.garden).unwrap();
}

#[test]
fn a_deleted_brief_makes_room_for_another() {
    let scene = DecisionScene::new();
    let create = "createProjectBrief";
    let brief = scene.made(scene.ann, create, scene.garden, json!({"text": "Grow"}));
    let deleted = scene.done(scene.ann, "deleteProjectBrief", brief, json!({}));
    assert_eq!(deleted.changes.trashed, [brief]);
    let garden = node(&deleted, scene.garden);
    assert_eq!(garden.get(project::PROJECT_BRIEF), None);
    scene.made(scene.ann, create, scene.garden, json!({"text": "Water"}));
}

#[test]
fn a_changed_brief_leaves_its_project_as_it_is() {
    let scene = DecisionScene::new();
    let create = "createProjectBrief";
    let brief = scene.made(scene.ann, create, scene.garden, json!({"text": "Grow"}));
    let body = json!({"text": "Water"});
    let changed = scene.done(scene.ann, "updateProjectBrief", brief, body);
    let nodes = changed.changes.node_writes.iter();
    assert!(nodes.map(|write| write.node.gid).eq([brief]));
    let both = json!({"text": "Water", "html_text": "<body>Water</body>"});
    let refused = scene.refused(scene.ann, "updateProjectBrief", brief, both);
    assert_eq!(refused, "You may only provide one of text or html_text!");
}
