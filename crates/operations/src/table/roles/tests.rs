use crate::decision_scene::{DecisionScene, subject};
use serde_json::{Value, json};
use workgraph_core::model::resources::role;

fn new_role(scene: &DecisionScene) -> Value {
    json!({
        "workspace": scene.acme,
        "name": "Gardener",
        "description": "Waters the plants",
        "base_role_type": "member",
    })
}

#[test]
fn only_admins_keep_roles() {
    let scene = DecisionScene::new();
    let refused = scene.refused(scene.bob, "createRole", scene.acme, new_role(&scene));
    assert!(
        refused.contains("do not have permission to administer"),
        "{refused}"
    );
    let created = scene.done(scene.ann, "createRole", scene.acme, new_role(&scene));
    assert_eq!(subject(&created).title(), "Gardener");
    let refused = scene.refused(scene.bob, "deleteRole", subject(&created).gid, json!({}));
    assert!(
        refused.contains("do not have access to this role"),
        "{refused}"
    );
}

#[test]
fn only_a_change_of_a_role_sets_its_time() {
    let mut scene = DecisionScene::new();
    let created = scene.done(scene.ann, "createRole", scene.acme, new_role(&scene));
    let role = subject(&created);
    let now = role.get(role::CREATED_AT);
    assert_eq!(role.get(role::MODIFIED_AT), now);
    scene.edit(role.gid, |draft| draft.clear(role::MODIFIED_AT));
    let update =
        |name: &str| scene.decide(scene.ann, "updateRole", role.gid, json!({"name": name}));
    assert!(update("Gardener").unwrap().changes.is_empty());
    assert_eq!(
        subject(&update("Digger").unwrap()).get(role::MODIFIED_AT),
        now
    );
}

#[test]
fn a_role_has_a_name() {
    let scene = DecisionScene::new();
    let blank = json!({"name": " ", "workspace": scene.acme});
    let refused = scene.refused(scene.ann, "createRole", scene.acme, blank);
    assert_eq!(refused, "name: Cannot be empty");
}
