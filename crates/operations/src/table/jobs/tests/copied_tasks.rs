use crate::decision_scene::{DecisionScene, saved, subject, written};
use crate::operation::Decision;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::job;
use workgraph_core::storage::ListPosition;

fn copied(scene: &DecisionScene, task: Gid, body: Value) -> Decision {
    scene
        .decide(scene.bob, "duplicateTask", task, body)
        .unwrap()
}

/// Returns the new task of a decision.
fn copy(decision: &Decision) -> Gid {
    subject(decision).get(job::NEW_TASK).unwrap()
}

#[test]
fn a_copy_of_a_task_has_the_name_of_the_body_or_of_the_task() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let name_of = |body| {
        let decision = copied(&scene, task, body);
        assert_eq!(
            written(&decision, rel::COPIED),
            [(task, subject(&decision).gid)]
        );
        saved(&decision, copy(&decision)).unwrap().title()
    };
    assert_eq!(name_of(json!({})), "Duplicate of Task 0");
    assert_eq!(name_of(json!({"name": "Copy"})), "Copy");
}

#[test]
fn a_copy_of_a_task_goes_only_into_projects_that_the_caller_changes() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let [task] = scene.tasks();
    let seen = scene.given(|fixture| {
        let seen = fixture.private_project(acme, "Seen", ann);
        fixture.share(seen, acme, bob, Level::Commenter);
        let section = fixture.section_in(seen);
        fixture.link(task, rel::SECTION, section, ListPosition::Last, Some(seen));
        seen
    });
    let everywhere = copied(&scene, task, json!({"include": "projects"}));
    let places = everywhere.changes.edge_writes.iter();
    let places: Vec<_> = places.filter(|edge| edge.rel == rel::SECTION).collect();
    assert!(
        matches!(*places, [place] if place.aux == Some(scene.garden)),
        "{seen}"
    );
    let nowhere = copied(&scene, task, json!({}));
    assert!(written(&nowhere, rel::SECTION).is_empty());
}

#[test]
fn a_copy_of_a_subtask_stays_below_its_parent_if_the_body_includes_it() {
    let mut scene = DecisionScene::new();
    let [task, parent] = scene.tasks();
    scene.link(task, rel::PARENT, parent);
    let below = copied(&scene, task, json!({"include": "parent"}));
    assert_eq!(written(&below, rel::PARENT), [(copy(&below), parent)]);
    let free = copied(&scene, task, json!({}));
    assert!(written(&free, rel::PARENT).is_empty());
}

#[test]
fn who_copies_a_task_follows_the_copy() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    scene.link(task, rel::FOLLOWERS, scene.ann);
    let alone = copied(&scene, task, json!({}));
    assert_eq!(written(&alone, rel::FOLLOWERS), [(copy(&alone), scene.bob)]);
    let with_followers = copied(&scene, task, json!({"include": "followers"}));
    let new = copy(&with_followers);
    let followers = [(new, scene.ann), (new, scene.bob)];
    assert_eq!(written(&with_followers, rel::FOLLOWERS), followers);
}
