use crate::decision_scene::{DecisionScene, node, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::section;
use workgraph_core::storage::ListPosition;

#[test]
fn the_last_section_of_a_project_stays() {
    let mut scene = DecisionScene::new();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let first = scene.given(|fixture| fixture.section_in(garden));
    let refused = scene.refused(ann, "deleteSection", first, json!({}));
    assert!(refused.contains("The last section of a project cannot be deleted"));
    scene.given(|fixture| fixture.section(garden, acme, "Later"));
    let decision = scene.decide(ann, "deleteSection", first, json!({}));
    assert_eq!(decision.unwrap().changes.trashed, [first]);
}

#[test]
fn a_section_with_tasks_stays() {
    let mut scene = DecisionScene::new();
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    let later = scene.given(|fixture| fixture.section(garden, acme, "Later"));
    scene.given(|fixture| fixture.task_in(later, "Water", ann));
    let refused = scene.refused(ann, "deleteSection", later, json!({}));
    assert!(refused.contains("Only empty sections can be deleted"));
}

#[test]
fn a_section_with_tasks_of_a_task_list_stays() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let (eve, list, first) = scene.member("Eve");
    let acme = scene.acme;
    scene.given(|fixture| fixture.section(list, acme, "Later"));
    scene.done(eve, "updateTask", water, json!({"assignee": eve}));
    let refused = scene.refused(eve, "deleteSection", first, json!({}));
    assert!(refused.contains("Only empty sections can be deleted"));
    scene.done(eve, "updateTask", water, json!({"assignee": null}));
    let decision = scene
        .decide(eve, "deleteSection", first, json!({}))
        .unwrap();
    assert_eq!(decision.changes.trashed, [first]);
}

/// Stores a further section of the garden, and one of another project.
fn two_sections(scene: &mut DecisionScene) -> (Gid, Gid) {
    let (garden, acme, ann) = (scene.garden, scene.acme, scene.ann);
    scene.given(|fixture| {
        let kitchen = fixture.project(acme, "Kitchen", ann);
        (
            fixture.section(garden, acme, "Later"),
            fixture.section_in(kitchen),
        )
    })
}

#[test]
fn a_section_has_a_name() {
    let mut scene = DecisionScene::new();
    let (garden, ann) = (scene.garden, scene.ann);
    let (later, _) = two_sections(&mut scene);
    let (blank, named) = (json!({"name": " "}), json!({"name": "Soon"}));
    let refused = scene.refused(ann, "createSectionForProject", garden, blank.clone());
    assert_eq!(refused, "name: Cannot be empty");
    assert_eq!(
        scene.refused(ann, "updateSection", later, blank),
        "name: Cannot be empty"
    );
    let renamed = scene.decide(ann, "updateSection", later, named).unwrap();
    assert_eq!(
        node(&renamed, later).get(section::NAME).as_deref(),
        Some("Soon")
    );
    let same = scene.decide(ann, "updateSection", later, json!({"name": "Later"}));
    assert!(same.unwrap().changes.is_empty());
}

#[test]
fn a_new_section_comes_last_or_beside_one_of_the_project() {
    let mut scene = DecisionScene::new();
    let (garden, ann) = (scene.garden, scene.ann);
    let (later, elsewhere) = two_sections(&mut scene);
    let create = |place: Value| scene.decide(ann, "createSectionForProject", garden, place);
    let position = |place| create(place).unwrap().changes.edge_writes[0].position;
    assert_eq!(position(json!({"name": "Soon"})), ListPosition::Last);
    let before = json!({"name": "Soon", "insert_before": later});
    assert_eq!(position(before), ListPosition::Before(later));
    let wrong = create(json!({"name": "Soon", "insert_after": elsewhere}));
    let wrong = wrong.map(|_| ()).unwrap_err().message;
    assert!(wrong.contains("insert_after: Not a section of this project"));
}

#[test]
fn a_section_moves_within_its_project() {
    let mut scene = DecisionScene::new();
    let (garden, ann) = (scene.garden, scene.ann);
    let first = scene.given(|fixture| fixture.section_in(garden));
    let (later, elsewhere) = two_sections(&mut scene);
    let refused = |body| scene.refused(ann, "insertSectionForProject", garden, body);
    let moved = refused(json!({"section": elsewhere, "before_section": first}));
    assert!(moved.contains("section: Not a section of this project"));
    let beside = refused(json!({"section": later, "before_section": elsewhere}));
    assert!(beside.contains("before_section: Not a section of this project"));
    let nowhere = refused(json!({"section": later}));
    assert!(nowhere.contains("specify one of before_section or after_section"));
    let body = json!({"section": later, "before_section": first});
    let moved = scene
        .decide(ann, "insertSectionForProject", garden, body)
        .unwrap();
    assert_eq!(written(&moved, rel::SECTION_OF), [(later, garden)]);
    assert_eq!(
        moved.changes.edge_writes[0].position,
        ListPosition::Before(first)
    );
}

#[test]
fn a_section_beside_itself_stays_where_it_is() {
    let mut scene = DecisionScene::new();
    let (garden, ann) = (scene.garden, scene.ann);
    let (later, _) = two_sections(&mut scene);
    let body = json!({"section": later, "after_section": later});
    let decision = scene.decide(ann, "insertSectionForProject", garden, body);
    assert!(decision.unwrap().changes.is_empty());
}

#[test]
fn a_new_name_moves_no_section() {
    let mut scene = DecisionScene::new();
    let garden = scene.garden;
    let section = scene.given(|fixture| fixture.section_in(garden));
    for place in ["insert_before", "insert_after"] {
        let body = json!({"name": "Beds", place: section});
        let refused = scene.refused(scene.ann, "updateSection", section, body);
        assert_eq!(refused, format!("{place}: Cannot write this property"));
    }
    let body = json!({"name": "Beds", "insert_before": null});
    scene
        .decide(scene.ann, "updateSection", section, body)
        .unwrap();
}
