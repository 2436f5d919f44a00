use crate::decision_scene::{DecisionScene, subject, written};
use serde_json::{Value, json};
use workgraph_core::model::registry::rel;
use workgraph_core::model::resources::capacity;
use workgraph_core::storage::alias;

fn rate_of_bob(scene: &DecisionScene, rate: impl Into<Value>) -> Value {
    json!({"parent": scene.garden, "resource": scene.bob, "rate": rate.into()})
}

#[test]
fn only_the_admins_of_a_project_keep_its_rates() {
    let scene = DecisionScene::new();
    let refused = scene.refused(
        scene.bob,
        "createRate",
        scene.garden,
        rate_of_bob(&scene, 30),
    );
    assert!(
        refused.contains("do not have permission to administer"),
        "{refused}"
    );
    let created = scene.done(
        scene.ann,
        "createRate",
        scene.garden,
        rate_of_bob(&scene, 30),
    );
    let rate = subject(&created);
    assert_eq!(written(&created, rel::RATE_OF), [(rate.gid, scene.garden)]);
    assert_eq!(rate.get(capacity::RATE_CREATED_BY), Some(scene.ann));
    let refused = scene.refused(scene.bob, "updateRate", rate.gid, json!({"rate": 40}));
    assert!(refused.contains("do not have access"), "{refused}");
}

#[test]
fn a_rate_is_not_negative() {
    let scene = DecisionScene::new();
    let refused = scene.refused(
        scene.ann,
        "createRate",
        scene.garden,
        rate_of_bob(&scene, -1),
    );
    assert!(
        refused.contains("rate: Not a number that is not negative: -1"),
        "{refused}"
    );
    let created = scene.done(
        scene.ann,
        "createRate",
        scene.garden,
        rate_of_bob(&scene, 0),
    );
    let rate = subject(&created).gid;
    let refused = scene.refused(scene.ann, "updateRate", rate, json!({"rate": "much"}));
    assert!(
        refused.contains("rate: Not a number that is not negative"),
        "{refused}"
    );
    let refused = scene.refused(scene.ann, "updateRate", rate, json!({"rate": null}));
    assert!(refused.contains("rate: Missing input"), "{refused}");
}

#[test]
fn a_user_has_one_rate_on_a_project() {
    let scene = DecisionScene::new();
    let created = scene.done(
        scene.ann,
        "createRate",
        scene.garden,
        rate_of_bob(&scene, 30),
    );
    let rate = subject(&created).gid;
    let unique = (alias::rate(scene.garden, scene.bob), rate);
    assert_eq!(created.changes.add_aliases, std::slice::from_ref(&unique));
    let changed = scene.done(scene.ann, "updateRate", rate, json!({"rate": 40}));
    assert!(changed.changes.add_aliases.is_empty());
    let deleted = scene.done(scene.ann, "deleteRate", rate, json!({}));
    assert_eq!(deleted.changes.remove_aliases, [unique]);
    let again = scene.done(
        scene.ann,
        "createRate",
        scene.garden,
        rate_of_bob(&scene, 30),
    );
    assert_eq!(again.changes.add_aliases.len(), 1);
}
