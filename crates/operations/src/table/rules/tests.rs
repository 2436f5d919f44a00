use super::DATA_MAX;
use crate::decision_scene::{DecisionScene, stories};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::resources::project;
use workgraph_core::rules::rule_trigger_rules::create_trigger;

/// Stores a trigger of a rule in the garden.
fn trigger(scene: &mut DecisionScene) -> Gid {
    let (garden, acme) = (scene.garden, scene.acme);
    scene.given(|fixture| {
        let mut draft = Draft::new(
            workgraph_core::model::registry::Type::Project,
            garden,
            Some(acme),
        );
        draft.set(project::NAME, "Garden");
        fixture.with(|work| create_trigger(work, &draft.finish(), "Rain"))
    })
}

fn run(task: Gid, data: Value) -> Value {
    json!({"resource": task, "action_data": data})
}

#[test]
fn a_rule_runs_on_a_task_of_its_project() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let rain = trigger(&mut scene);
    let (acme, ann) = (scene.acme, scene.ann);
    let loose = scene.given(|fixture| fixture.task(acme, "Weed", ann));
    let refused = scene.refused(ann, "triggerRule", rain, run(loose, json!({"mm": 7})));
    assert!(refused.contains("resource: Not in the project of the rule trigger"));
    let ran = scene
        .decide(ann, "triggerRule", rain, run(water, json!({"mm": 7})))
        .unwrap();
    assert_eq!(stories(&ran), ["rule_triggered"]);
    assert_eq!(ran.subject, Some(rain));
}

#[test]
fn the_data_of_a_run_is_an_object_of_limited_size() {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    let rain = trigger(&mut scene);
    let of_length = |length: usize| json!({"a": "x".repeat(length - r#"{"a":""}"#.len())});
    let refused = |data| scene.refused(scene.ann, "triggerRule", rain, run(water, data));
    assert!(refused(json!("rain")).contains("action_data: Not an object"));
    assert!(refused(of_length(DATA_MAX + 1)).contains("action_data: Too long"));
    let most = run(water, of_length(DATA_MAX));
    let ran = scene.decide(scene.ann, "triggerRule", rain, most).unwrap();
    assert_eq!(stories(&ran).len(), 1);
}
