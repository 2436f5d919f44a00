use crate::decision_scene::{DecisionScene, node, stories, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::task;
use workgraph_core::storage::ListPosition;

const INSERT: &str = "addTaskForSection";

#[test]
fn an_inserted_task_is_assigned_to_the_owner_of_the_list() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (eve, list, first) = scene.member("Eve");
    let inserted = scene.done(eve, INSERT, list, json!({"task": water}));
    assert_eq!(node(&inserted, water).get(task::ASSIGNEE), Some(eve));
    assert_eq!(written(&inserted, rel::MY_TASKS), [(water, first)]);
    assert_eq!(written(&inserted, rel::FOLLOWERS), [(water, eve)]);
    assert_eq!(stories(&inserted), ["assigned"]);
    let again = scene
        .decide(eve, INSERT, list, json!({"task": water}))
        .unwrap();
    assert_eq!(written(&again, rel::MY_TASKS), [(water, first)]);
    assert!(again.changes.node_writes.is_empty());
    assert!(written(&again, rel::FOLLOWERS).is_empty());
}

#[test]
fn only_the_owner_inserts_into_a_list() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (_, list, _) = scene.member("Eve");
    let refused = scene.refused(scene.ann, INSERT, list, json!({"task": water}));
    assert!(
        refused.contains("do not have permission to change this"),
        "{refused}"
    );
}

#[test]
fn a_list_takes_tasks_of_its_workspace() {
    let mut scene = DecisionScene::new();
    let (eve, list, _) = scene.member("Eve");
    let club = scene.second_workspace();
    let weed = scene.given(|fixture| {
        fixture.add_workspace_member(eve, club, workgraph_core::access::Role::Member);
        fixture.task(club, "Weed", eve)
    });
    let refused = scene.refused(eve, INSERT, list, json!({"task": weed}));
    assert!(
        refused.contains("task: Not a task of the list's workspace"),
        "{refused}"
    );
}

#[test]
fn a_task_goes_to_the_section_of_its_neighbour_in_the_list() {
    let mut scene = DecisionScene::new();
    let [water, sow, weed] = scene.tasks();
    let (eve, list, first) = scene.member("Eve");
    let acme = scene.acme;
    let later = scene.given(|fixture| fixture.section(list, acme, "Later"));
    let to_later = json!({"assignee": eve, "assignee_section": later});
    scene.done(eve, "updateTask", sow, to_later);
    scene.done(eve, INSERT, list, json!({"task": water}));
    scene.done(
        scene.ann,
        "updateTask",
        weed,
        json!({"assignee": scene.bob}),
    );
    let after = |neighbour: Gid| -> Value { json!({"task": water, "insert_after": neighbour}) };
    let refused = |neighbour| scene.refused(eve, INSERT, list, after(neighbour));
    assert!(refused(water).contains("A task cannot be placed next to itself"));
    assert!(refused(weed).contains("to insert next to is not in this list"));
    let moved = scene.decide(eve, INSERT, list, after(sow)).unwrap();
    assert_eq!(written(&moved, rel::MY_TASKS), [(water, later)]);
    assert_eq!(moved.changes.edge_removals, [(water, rel::MY_TASKS, first)]);
    assert_eq!(
        moved.changes.edge_writes[0].position,
        ListPosition::After(sow)
    );
}

#[test]
fn an_owner_who_has_the_task_already_does_not_follow_it_for_that() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (eve, list, first) = scene.member("Eve");
    scene.done(eve, INSERT, list, json!({"task": water}));
    let leave = json!({"followers": [eve]});
    scene.done(eve, "removeFollowerForTask", water, leave);
    let moved = scene
        .decide(eve, INSERT, list, json!({"task": water}))
        .unwrap();
    assert_eq!(written(&moved, rel::MY_TASKS), [(water, first)]);
    assert!(written(&moved, rel::FOLLOWERS).is_empty());
}
