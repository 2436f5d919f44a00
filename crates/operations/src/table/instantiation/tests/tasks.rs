//! Tests of instantiating task templates.
use super::new_node;
use crate::decision_scene::{DecisionScene, written};
use serde_json::json;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{task, task_template};

const TASK: &str = "instantiateTask";

/// Stores a task template of the project.
fn task_template(scene: &mut DecisionScene, project: Gid) -> Gid {
    let acme = scene.acme;
    let recipe = json!({"name": "Sow", "subtasks": [{"name": "Dig"}]});
    scene.given(|fixture| {
        fixture.node(Type::TaskTemplate, Some(acme), |draft, _| {
            draft.set(task_template::PROJECT, project);
            draft.set(task_template::TEMPLATE, recipe.to_string());
        })
    })
}

#[test]
fn a_task_from_a_template_has_its_name_unless_another_is_given() {
    let mut scene = DecisionScene::new();
    let garden = scene.garden;
    let recipe = task_template(&mut scene, garden);
    let name = |body| {
        let made = scene.decide(scene.ann, TASK, recipe, body).unwrap();
        let text = new_node(&made, Type::Task).get(task::NAME);
        text.unwrap().into_owned()
    };
    assert_eq!(name(json!({})), "Sow");
    assert_eq!(name(json!({"name": "Plant"})), "Plant");
}

#[test]
fn a_task_from_a_template_goes_into_the_first_section() {
    let mut scene = DecisionScene::new();
    let (acme, garden) = (scene.acme, scene.garden);
    let (first, bare) = scene.given(|fixture| {
        fixture.section(garden, acme, "Later");
        (
            fixture.section_in(garden),
            fixture.node(Type::Project, Some(acme), |_, _| ()),
        )
    });
    let recipe = task_template(&mut scene, garden);
    let made = scene.done(scene.ann, TASK, recipe, json!({}));
    let sow = new_node(&made, Type::Task).gid;
    assert_eq!(written(&made, rel::SECTION), [(sow, first)]);
    assert!(matches!(written(&made, rel::PARENT)[..], [(_, parent)] if parent == sow));
    let recipe = task_template(&mut scene, bare);
    let made = scene.done(scene.ann, TASK, recipe, json!({}));
    assert!(written(&made, rel::SECTION).is_empty());
}

#[test]
fn a_task_from_a_template_gets_the_numbers_of_its_project() {
    let mut scene = DecisionScene::new();
    let garden = scene.garden;
    let recipe = task_template(&mut scene, garden);
    let number = || {
        let made = scene.decide(scene.ann, TASK, recipe, json!({})).unwrap();
        let fields = written(&made, rel::NUMBERED).into_iter();
        fields.map(|(_, field)| field).collect::<Vec<_>>()
    };
    assert!(number().is_empty());
    let id = json!({"workspace": scene.acme, "name": "Id", "resource_subtype": "text",
        "id_prefix": "BUG"});
    let id = scene.made(scene.ann, "createCustomField", garden, id);
    let add = json!({"custom_field": id});
    scene.done(scene.ann, "addCustomFieldSettingForProject", garden, add);
    assert_eq!(number(), [id]);
}

#[test]
fn only_an_editor_of_the_project_makes_tasks_from_its_templates() {
    let mut scene = DecisionScene::new();
    let (ann, bob) = (scene.ann, scene.bob);
    let (secret, _) = scene.shared_project(bob, Level::Commenter);
    let recipe = task_template(&mut scene, secret);
    let refused = scene.refused(bob, TASK, recipe, json!({}));
    assert_eq!(
        refused,
        "You do not have permission to change this project."
    );
    scene.done(ann, TASK, recipe, json!({}));
}
