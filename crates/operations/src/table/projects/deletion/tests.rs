use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::model::registry::rel;

#[test]
fn only_an_admin_deletes_a_project() {
    let scene = DecisionScene::new();
    let delete = |by| scene.decide(by, "deleteProject", scene.garden, json!({}));
    let refused = delete(scene.bob).unwrap_err().message;
    assert_eq!(
        refused,
        "You do not have permission to administer this project."
    );
    assert_eq!(delete(scene.ann).unwrap().changes.trashed, [scene.garden]);
}

#[test]
fn the_sections_of_a_deleted_project_wait_for_their_cleanup() {
    let mut scene = DecisionScene::new();
    let (garden, acme) = (scene.garden, scene.acme);
    let sections = scene.given(|fixture| {
        let later = fixture.section(garden, acme, "Later");
        [fixture.section_in(garden), later]
    });
    let deleted = scene.done(scene.ann, "deleteProject", garden, json!({}));
    let queued = written(&deleted, rel::ENDED);
    assert_eq!(
        queued
            .iter()
            .map(|(section, _)| *section)
            .collect::<Vec<_>>(),
        sections
    );
    let by = deleted.changes.edge_writes.iter().map(|edge| edge.aux);
    assert!(by.eq([Some(scene.ann); 2]), "on behalf of who deleted it");
}
