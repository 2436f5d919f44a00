use crate::decision_scene::{DecisionScene, node};
use crate::operation::Decision;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::external_data::ExternalData;
use workgraph_core::storage::alias;

const APP: u64 = 7;

/// Returns a scene of requests by an app, and a task.
fn app_scene() -> (DecisionScene, Gid) {
    let mut scene = DecisionScene::new();
    let [water] = scene.tasks();
    scene.app = Some(APP);
    (scene, water)
}

fn kept(scene: &DecisionScene, task: Gid, external: Value) -> Decision {
    scene.done(scene.ann, "updateTask", task, json!({"external": external}))
}

fn refused(scene: &DecisionScene, task: Gid, external: Value) -> String {
    scene.refused(scene.ann, "updateTask", task, json!({"external": external}))
}

#[test]
fn only_apps_keep_data_with_tasks() {
    let (mut scene, water) = app_scene();
    let data = json!({"gid": "W-1", "data": "blue"});
    let decision = kept(&scene, water, data.clone());
    let stored = node(&decision, water).raw("external").unwrap();
    assert_eq!(
        ExternalData::read(Some(stored), APP).id().as_deref(),
        Some("W-1")
    );
    scene.app = None;
    assert!(refused(&scene, water, data).contains("with a token of no app"));
    let none = scene.decide(scene.ann, "updateTask", water, json!({"external": null}));
    assert!(none.unwrap().changes.is_empty());
}

#[test]
fn an_id_names_the_task_in_its_workspace() {
    let (scene, water) = app_scene();
    let name = |id: &str| (alias::external(APP, scene.acme, id), water);
    let first = kept(&scene, water, json!({"gid": "W-1", "data": "blue"}));
    assert_eq!(first.changes.add_aliases, [name("W-1")]);
    let second = kept(&scene, water, json!({"gid": "W-2"}));
    assert_eq!(second.changes.remove_aliases, [name("W-1")]);
    assert_eq!(second.changes.add_aliases, [name("W-2")]);
}

/// Returns the id and all data that a decision stores with a task; nothing if it stores no data.
fn stored(decision: &Decision, task: Gid) -> (Option<String>, String) {
    let all = node(decision, task).raw("external");
    let id = ExternalData::read(all, APP).id().map(|id| id.into_owned());
    (id, all.unwrap_or_default().to_owned())
}

#[test]
fn an_absent_part_stays_and_null_removes_a_part_or_both() {
    let (scene, water) = app_scene();
    kept(&scene, water, json!({"gid": "W-1", "data": "blue"}));
    let (id, data) = stored(&kept(&scene, water, json!({"data": "green"})), water);
    assert!(id.as_deref() == Some("W-1") && data.contains("green"));
    let (id, data) = stored(&kept(&scene, water, json!({"gid": null})), water);
    assert!(id.is_none() && data.contains("green"));
    let both = json!({"gid": "W-1", "data": null});
    let (id, data) = stored(&kept(&scene, water, both), water);
    assert!(id.as_deref() == Some("W-1") && !data.contains("green"));
    let none = kept(&scene, water, Value::Null);
    assert_eq!(stored(&none, water), (None, String::new()));
    assert_eq!(none.changes.remove_aliases.len(), 1);
}

#[test]
fn an_external_id_is_not_empty() {
    let (scene, water) = app_scene();
    assert!(refused(&scene, water, json!({"gid": ""})).contains("external: gid: Cannot be empty"));
    let data = kept(&scene, water, json!({"data": ""}));
    assert!(data.changes.add_aliases.is_empty());
}

#[test]
fn each_app_keeps_its_own_data() {
    let (mut scene, water) = app_scene();
    kept(&scene, water, json!({"gid": "W-1"}));
    scene.app = Some(APP + 1);
    let other = kept(&scene, water, json!({"gid": "X-1"}));
    assert!(other.changes.remove_aliases.is_empty());
    let stored = node(&other, water).raw("external");
    assert_eq!(ExternalData::read(stored, APP).id().as_deref(), Some("W-1"));
}
