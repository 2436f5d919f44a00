mod tags_and_followers;

use crate::decision_scene::{DecisionScene, stories, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::task::PROJECTS_MAX;
use workgraph_core::storage::ListPosition;
use workgraph_testkit::Fixture;

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

/// Stores a task of a workspace, outside of all projects.
fn loose_task(scene: &mut DecisionScene, workspace: Gid) -> Gid {
    let ann = scene.ann;
    scene.given(|fixture| fixture.task(workspace, "Weed", ann))
}

#[test]
fn a_task_comes_first_into_a_section() {
    let mut scene = DecisionScene::new();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let [water] = scene.tasks();
    let weed = loose_task(&mut scene, acme);
    let (first, later) = scene.given(|fixture| {
        (
            fixture.section_in(garden),
            fixture.section(garden, acme, "Later"),
        )
    });
    let moved = scene
        .decide(ann, "addTaskForSection", later, json!({"task": water}))
        .unwrap();
    assert_eq!(moved.changes.edge_removals, [(water, rel::SECTION, first)]);
    assert_eq!(moved.changes.edge_writes[0].position, ListPosition::First);
    assert_eq!(stories(&moved), ["section_changed"]);
    let same = scene
        .decide(ann, "addTaskForSection", first, json!({"task": water}))
        .unwrap();
    assert_eq!(written(&same, rel::SECTION), [(water, first)]);
    assert!(stories(&same).is_empty());
    let added = scene
        .decide(ann, "addTaskForSection", first, json!({"task": weed}))
        .unwrap();
    assert_eq!(stories(&added), ["added_to_project"]);
}

#[test]
fn a_task_is_placed_next_to_another_one_of_the_section() {
    let mut scene = DecisionScene::new();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let [water, sow] = scene.tasks();
    let weed = loose_task(&mut scene, acme);
    let section = scene.given(|fixture| fixture.section_in(garden));
    let before = |neighbour| json!({"task": water, "insert_before": neighbour});
    let refused = |neighbour| scene.refused(ann, "addTaskForSection", section, before(neighbour));
    assert!(refused(water).contains("cannot be placed next to itself"));
    assert!(refused(weed).contains("to insert next to is not in this section"));
    let placed = scene
        .decide(ann, "addTaskForSection", section, before(sow))
        .unwrap();
    assert_eq!(
        placed.changes.edge_writes[0].position,
        ListPosition::Before(sow)
    );
}

#[test]
fn a_section_of_a_task_list_takes_only_tasks_of_its_owner() {
    let mut scene = DecisionScene::new();
    let [water, sow] = scene.tasks();
    let (eve, list, first) = scene.member("Eve");
    let acme = scene.acme;
    let later = scene.given(|fixture| fixture.section(list, acme, "Later"));
    let insert = |task| scene.decide(eve, "addTaskForSection", later, json!({"task": task}));
    scene.done(
        scene.ann,
        "updateTask",
        water,
        json!({"assignee": scene.bob}),
    );
    let others = insert(water).map(|_| ()).unwrap_err().message;
    assert!(others.contains("Not assigned to the owner of this task list"));
    scene.done(eve, "updateTask", water, json!({"assignee": eve}));
    let moved = insert(water).unwrap();
    assert_eq!(written(&moved, rel::MY_TASKS), [(water, later)]);
    assert_eq!(moved.changes.edge_removals, [(water, rel::MY_TASKS, first)]);
    let beside = json!({"task": water, "insert_after": sow});
    let beside = scene.refused(eve, "addTaskForSection", later, beside);
    assert!(beside.contains("to insert next to is not in this section"));
}

#[test]
fn a_project_takes_tasks_of_its_workspace() {
    let mut scene = DecisionScene::new();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let club = scene.second_workspace();
    let elsewhere = loose_task(&mut scene, club);
    let here = loose_task(&mut scene, acme);
    let into = json!({"project": garden});
    let refused = scene.refused(ann, "addProjectForTask", elsewhere, into.clone());
    assert!(refused.contains("Not a project of the task's workspace"));
    let added = scene.decide(ann, "addProjectForTask", here, into).unwrap();
    assert_eq!(written(&added, rel::SECTION).len(), 1);
}

#[test]
fn a_task_is_in_a_limited_number_of_projects() {
    let mut scene = DecisionScene::new();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let full = loose_task(&mut scene, acme);
    let add_to = |fixture: &mut Fixture, at: usize| {
        let project = fixture.project(acme, &format!("Project {at}"), ann);
        let section = fixture.section_in(project);
        fixture.link(
            full,
            rel::SECTION,
            section,
            ListPosition::Last,
            Some(project),
        );
    };
    scene.given(|fixture| (1..PROJECTS_MAX).for_each(|at| add_to(fixture, at)));
    let into = json!({"project": garden});
    scene.done(ann, "addProjectForTask", full, into.clone());
    let other = scene.given(|fixture| fixture.project(acme, "Kitchen", ann));
    let refused = scene.refused(ann, "addProjectForTask", full, json!({"project": other}));
    assert!(refused.contains("A task can be in at most"));
    let moved = scene.decide(ann, "addProjectForTask", full, into);
    assert!(moved.is_ok(), "a project that it is in already");
}

#[test]
fn a_place_in_a_project_is_one_of_its_own() {
    let mut scene = DecisionScene::new();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let [water] = scene.tasks();
    let weed = loose_task(&mut scene, acme);
    let (first, last) = scene.given(|fixture| {
        (
            fixture.section_in(garden),
            fixture.section(garden, acme, "Later"),
        )
    });
    let kitchen = scene.given(|fixture| fixture.project(acme, "Kitchen", ann));
    let refused = |body| scene.refused(ann, "addProjectForTask", weed, body);
    let section = refused(json!({"project": kitchen, "section": last}));
    assert!(section.contains("section: Not a section of this project"));
    let neighbour = refused(json!({"project": kitchen, "insert_after": water}));
    assert!(neighbour.contains("to insert next to is not in this project"));
    let at = |place: Value| {
        let mut body = json!({"project": garden});
        body.as_object_mut()
            .unwrap()
            .extend(place.as_object().unwrap().clone());
        let added = scene.decide(ann, "addProjectForTask", weed, body).unwrap();
        written(&added, rel::SECTION)[0].1
    };
    assert_eq!(at(json!({"insert_after": water})), first);
    assert_eq!(at(json!({"insert_after": null})), first);
    assert_eq!(at(json!({"insert_before": null})), last);
    assert_eq!(at(json!({})), last);
}

#[test]
fn only_a_project_of_the_task_is_removed() {
    let mut scene = DecisionScene::new();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let [water] = scene.tasks();
    let section = scene.given(|fixture| fixture.section_in(garden));
    let kitchen = scene.given(|fixture| fixture.project(acme, "Kitchen", ann));
    let out_of = |project| {
        scene
            .decide(
                ann,
                "removeProjectForTask",
                water,
                json!({"project": project}),
            )
            .unwrap()
    };
    assert!(out_of(kitchen).changes.is_empty());
    let removed = out_of(garden);
    assert_eq!(
        removed.changes.edge_removals,
        [(water, rel::SECTION, section)]
    );
    assert_eq!(stories(&removed), ["removed_from_project"]);
}
