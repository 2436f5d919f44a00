use super::DEPENDENCIES_MAX;
use crate::decision_scene::{DecisionScene, stories, written};
use serde_json::json;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::rel;
use workgraph_core::storage::ListPosition;

#[test]
fn tasks_do_not_wait_for_each_other_over_others() {
    let mut scene = DecisionScene::new();
    let [first, second, third] = scene.tasks();
    scene.link(second, rel::DEPENDS, first);
    scene.link(third, rel::DEPENDS, second);
    let waits_for = |task| json!({"dependencies": [task]});
    let ring = scene.refused(scene.ann, "addDependenciesForTask", first, waits_for(third));
    assert!(
        ring.contains("Would make tasks wait for each other"),
        "{ring}"
    );
    let decision = scene.decide(scene.ann, "addDependenciesForTask", third, waits_for(first));
    assert_eq!(written(&decision.unwrap(), rel::DEPENDS), [(third, first)]);
}

#[test]
fn a_dependency_that_exists_changes_nothing() {
    let mut scene = DecisionScene::new();
    let [first, second] = scene.tasks();
    scene.link(second, rel::DEPENDS, first);
    let body = json!({"dependencies": [first]});
    let decision = scene.decide(scene.ann, "addDependenciesForTask", second, body);
    assert!(decision.unwrap().changes.is_empty());
}

#[test]
fn a_task_depends_on_another_one_of_its_workspace() {
    let mut scene = DecisionScene::new();
    let [water, sow] = scene.tasks();
    let (ann, club) = (scene.ann, scene.second_workspace());
    let elsewhere = scene.given(|fixture| fixture.task(club, "Weed", ann));
    let waits_for = |task: Gid| json!({"dependencies": [task, task]});
    let refused = |task| scene.refused(ann, "addDependenciesForTask", water, waits_for(task));
    assert!(refused(water).contains("A task cannot depend on itself"));
    assert!(refused(elsewhere).contains("Not a task of the same workspace"));
    let decision = scene
        .decide(ann, "addDependenciesForTask", water, waits_for(sow))
        .unwrap();
    assert_eq!(written(&decision, rel::DEPENDS), [(water, sow)]);
    assert_eq!(stories(&decision), ["dependency_added"]);
}

#[test]
fn a_dependent_waits_for_the_task() {
    let mut scene = DecisionScene::new();
    let [water, sow] = scene.tasks();
    let body = json!({"dependents": [water]});
    let decision = scene.done(scene.ann, "addDependentsForTask", sow, body.clone());
    assert_eq!(written(&decision, rel::DEPENDS), [(water, sow)]);
    assert_eq!(stories(&decision), ["dependent_added"]);
    let back = json!({"dependents": [sow]});
    let ring = scene.refused(scene.ann, "addDependentsForTask", water, back);
    assert!(ring.contains("Would make tasks wait for each other"));
    let removed = scene
        .decide(scene.ann, "removeDependentsForTask", sow, body)
        .unwrap();
    assert_eq!(removed.changes.edge_removals, [(water, rel::DEPENDS, sow)]);
}

#[test]
fn a_task_has_a_limited_number_of_dependencies_and_dependents() {
    let mut scene = DecisionScene::new();
    let (garden, ann) = (scene.garden, scene.ann);
    let [busy, one, other] = scene.tasks();
    scene.given(|fixture| {
        let section = fixture.section_in(garden);
        for at in 1..DEPENDENCIES_MAX {
            let task = fixture.task_in(section, &format!("Step {at}"), ann);
            fixture.link(task, rel::DEPENDS, busy, ListPosition::Rank(0), None);
        }
    });
    let both = json!({"dependencies": [one, other]});
    let refused = scene.refused(ann, "addDependenciesForTask", busy, both);
    assert!(refused.contains(&format!("Too many for {busy}")));
    scene.done(
        ann,
        "addDependenciesForTask",
        busy,
        json!({"dependencies": [one]}),
    );
    let from_there = json!({"dependencies": [busy]});
    let refused = scene.refused(ann, "addDependenciesForTask", other, from_there);
    assert!(refused.contains(&format!("Too many for {busy}")));
}

#[test]
fn only_a_dependency_that_exists_is_removed() {
    let mut scene = DecisionScene::new();
    let [water, sow] = scene.tasks();
    let remove = json!({"dependencies": [sow]});
    let decision = scene.decide(
        scene.ann,
        "removeDependenciesForTask",
        water,
        remove.clone(),
    );
    assert!(decision.unwrap().changes.is_empty());
    scene.link(water, rel::DEPENDS, sow);
    let decision = scene
        .decide(scene.ann, "removeDependenciesForTask", water, remove)
        .unwrap();
    assert_eq!(decision.changes.edge_removals, [(water, rel::DEPENDS, sow)]);
}

#[test]
fn only_editors_of_the_waiting_task_change_what_it_waits_for() {
    let mut scene = DecisionScene::new();
    let (acme, ann, bob) = (scene.acme, scene.ann, scene.bob);
    let [own] = scene.tasks();
    let [seen, edited] = [Level::Viewer, Level::Editor].map(|level| {
        scene.given(|fixture| {
            let attic = fixture.private_project(acme, "Attic", ann);
            fixture.share(attic, acme, bob, level);
            let section = fixture.section_in(attic);
            fixture.task_in(section, "Tidy", ann)
        })
    });
    for operation in ["addDependentsForTask", "removeDependentsForTask"] {
        let waits = |task: Gid| json!({"dependents": [task]});
        let refused = scene.refused(bob, operation, own, waits(seen));
        assert!(refused.contains("do not have permission to change this task"));
        scene.decide(bob, operation, own, waits(edited)).unwrap();
    }
    // A task may wait for one that the caller only sees.
    let for_it = json!({"dependencies": [seen]});
    scene
        .decide(bob, "addDependenciesForTask", own, for_it)
        .unwrap();
}
