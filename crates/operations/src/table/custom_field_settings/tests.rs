use crate::decision_scene::{DecisionScene, node, with, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::model::registry::{CustomFieldType, Type, rel};
use workgraph_core::model::resources::custom_field::FIELDS_MAX;
use workgraph_core::model::resources::{custom_field, custom_field_setting};
use workgraph_core::rules::auto_id_rules;
use workgraph_core::storage::ListPosition;

const ADD: &str = "addCustomFieldSettingForProject";
const REMOVE: &str = "removeCustomFieldSettingForProject";

/// Stores a field of a workspace.
fn field_in(scene: &mut DecisionScene, workspace: Gid, name: &str) -> Gid {
    let kind = CustomFieldType::Text;
    let made = scene.given(|fixture| fixture.custom_field(workspace, name, kind, &[]));
    made.0
}

/// Stores fields of the project, and returns each with its setting.
fn fields<const N: usize>(scene: &mut DecisionScene) -> [(Gid, Gid); N] {
    let (acme, garden) = (scene.acme, scene.garden);
    std::array::from_fn(|at| {
        let field = field_in(scene, acme, &format!("Field {at}"));
        let setting = scene.given(|fixture| fixture.field_on(field, garden, acme));
        (field, setting)
    })
}

/// Stores a field with automatic ids.
fn numbering(scene: &DecisionScene) -> Gid {
    let body = json!({"workspace": scene.acme, "name": "Id", "resource_subtype": "text",
        "id_prefix": "BUG"});
    scene.made(scene.ann, "createCustomField", scene.acme, body)
}

/// Stores a field that only the admin sees.
fn hidden_field(scene: &DecisionScene) -> Gid {
    let body = json!({"workspace": scene.acme, "name": "Hidden", "resource_subtype": "text",
        "privacy_setting": "private"});
    scene.made(scene.ann, "createCustomField", scene.acme, body)
}

/// Returns a body that adds the field.
fn add(field: Gid) -> Value {
    json!({"custom_field": field})
}

#[test]
fn a_project_says_who_adds_and_removes_its_fields() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let field = field_in(&mut scene, acme, "Height");
    let added = scene.done(scene.bob, ADD, scene.garden, add(field));
    assert_eq!(written(&added, rel::FIELD_ON), [(field, scene.garden)]);
    let admins = json!({"minimum_access_level_for_customization": "admin"});
    scene.done(scene.ann, "updateProject", scene.garden, admins);
    for operation in [ADD, REMOVE] {
        let refused = scene.refused(scene.bob, operation, scene.garden, add(field));
        assert!(refused.contains("administer this project"), "{refused}");
        scene
            .decide(scene.ann, operation, scene.garden, add(field))
            .unwrap();
    }
}

#[test]
fn a_field_and_its_project_are_in_one_workspace() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let other = scene.second_workspace();
    let (here, there) = (
        field_in(&mut scene, acme, "Height"),
        field_in(&mut scene, other, "Width"),
    );
    let refused = scene.refused(ann, ADD, scene.garden, add(there));
    assert!(
        refused.contains("Not a custom field of the project's workspace"),
        "{refused}"
    );
    scene.done(ann, ADD, scene.garden, add(here));
}

#[test]
fn a_field_that_the_project_has_moves_and_gets_its_importance() {
    let mut scene = DecisionScene::new();
    let [(first, of_first), (second, of_second)] = fields(&mut scene);
    let garden = scene.garden;
    let decide = |body| scene.decide(scene.ann, ADD, garden, body).unwrap();
    assert!(decide(add(first)).changes.is_empty());
    let beside_itself = decide(json!({"custom_field": first, "insert_after": of_first}));
    assert!(beside_itself.changes.is_empty());
    let moved = decide(json!({"custom_field": first, "insert_after": of_second}));
    assert_eq!(moved.subject, Some(of_first));
    assert_eq!(
        moved.changes.edge_writes[0].position,
        ListPosition::After(second)
    );
    let important = decide(json!({"custom_field": first, "is_important": true}));
    assert!(written(&important, rel::FIELD_ON).is_empty());
    assert!(node(&important, of_first).get(custom_field_setting::IS_IMPORTANT));
}

#[test]
fn a_field_stands_beside_a_setting_of_the_project() {
    let mut scene = DecisionScene::new();
    let (acme, ann) = (scene.acme, scene.ann);
    let [(first, of_first)] = fields(&mut scene);
    let field = field_in(&mut scene, acme, "Height");
    let elsewhere = scene.given(|fixture| {
        let meadow = fixture.project(acme, "Meadow", ann);
        fixture.field_on(first, meadow, acme)
    });
    let before = |setting: Gid| json!({"custom_field": field, "insert_before": setting});
    let refused = scene.refused(ann, ADD, scene.garden, before(elsewhere));
    assert!(
        refused.contains("insert_before: Unknown object"),
        "{refused}"
    );
    let added = scene.done(ann, ADD, scene.garden, before(of_first));
    let position = added.changes.edge_writes[0].position;
    assert_eq!(position, ListPosition::Before(first));
}

#[test]
fn a_field_without_a_neighbour_is_first_or_last() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let field = field_in(&mut scene, acme, "Height");
    let position = |more| {
        let added = scene.decide(scene.ann, ADD, scene.garden, with(add(field), more));
        added.unwrap().changes.edge_writes[0].position
    };
    assert_eq!(position(json!({})), ListPosition::Last);
    assert_eq!(position(json!({"insert_before": null})), ListPosition::Last);
    assert_eq!(position(json!({"insert_after": null})), ListPosition::First);
}

#[test]
fn nobody_adds_a_field_that_they_do_not_see() {
    let scene = DecisionScene::new();
    let hidden = hidden_field(&scene);
    let refused = scene.refused(scene.bob, ADD, scene.garden, add(hidden));
    assert_eq!(refused, "You do not have access to this custom field.");
    scene.done(scene.ann, ADD, scene.garden, add(hidden));
}

#[test]
fn where_forbidden_objects_are_hidden_a_hidden_field_is_not_on_a_project() {
    let mut scene = DecisionScene::new();
    let (acme, bob) = (scene.acme, scene.bob);
    let (hidden, field) = (hidden_field(&scene), field_in(&mut scene, acme, "Height"));
    let setting = scene.made(scene.ann, ADD, scene.garden, add(hidden));
    let beside = with(add(field), json!({"insert_after": setting}));
    let decide =
        |scene: &DecisionScene, operation, body| scene.decide(bob, operation, scene.garden, body);
    decide(&scene, ADD, beside.clone()).unwrap();
    decide(&scene, REMOVE, add(hidden)).unwrap();
    scene.settings.hide_forbidden = true;
    let refused = decide(&scene, ADD, beside).unwrap_err().message;
    assert!(
        refused.contains("insert_after: Unknown object"),
        "{refused}"
    );
    let refused = decide(&scene, REMOVE, add(hidden)).unwrap_err().message;
    assert!(refused.contains("is not on given object"), "{refused}");
}

#[test]
fn a_project_has_a_limited_number_of_fields() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let all: [(Gid, Gid); FIELDS_MAX] = fields(&mut scene);
    let more = field_in(&mut scene, acme, "More");
    let refused = scene.refused(scene.ann, ADD, scene.garden, add(more));
    assert!(
        refused.contains("Too many: a project has at most"),
        "{refused}"
    );
    scene.done(scene.ann, REMOVE, scene.garden, add(all[0].0));
    scene.done(scene.ann, ADD, scene.garden, add(more));
}

#[test]
fn a_field_that_is_made_for_one_project_is_not_in_the_library() {
    let scene = DecisionScene::new();
    let definition = |field: Value| json!({"custom_field": field});
    let refused = scene.refused(
        scene.ann,
        ADD,
        scene.garden,
        definition(json!({"resource_subtype": "text"})),
    );
    assert_eq!(refused, "custom_field: name: Missing input");
    let text = definition(json!({"resource_subtype": "text", "name": "Height"}));
    let made = scene.done(scene.ann, ADD, scene.garden, text);
    let (field, _) = written(&made, rel::FIELD_ON)[0];
    assert!(!node(&made, field).get(custom_field::IS_GLOBAL));
    assert!(made.changes.add_aliases.is_empty());
}

#[test]
fn a_field_with_automatic_ids_numbers_the_tasks_of_projects_alone() {
    let scene = DecisionScene::new();
    let id = numbering(&scene);
    let body = json!({"name": "Beds", "workspace": scene.acme});
    let beds = scene.made(scene.ann, "createPortfolio", scene.acme, body);
    let refused = scene.refused(
        scene.ann,
        "addCustomFieldSettingForPortfolio",
        beds,
        add(id),
    );
    assert!(refused.contains("Only projects can have a field with automatic ids"));
    let added = scene.done(scene.ann, ADD, scene.garden, add(id));
    let numbered_by: Vec<Gid> = auto_id_rules::numbering(node(&added, scene.garden)).collect();
    assert_eq!(numbered_by, [id]);
    let mut nodes = added.changes.node_writes.iter();
    assert!(
        nodes.any(|write| write.node.ty == Type::Job),
        "it numbers existing tasks"
    );
}

#[test]
fn a_removed_field_numbers_no_tasks() {
    let scene = DecisionScene::new();
    let id = numbering(&scene);
    let setting = scene.made(scene.ann, ADD, scene.garden, add(id));
    let removed = scene.done(scene.ann, REMOVE, scene.garden, add(id));
    let changes = &removed.changes;
    assert_eq!(changes.edge_removals, [(id, rel::FIELD_ON, scene.garden)]);
    assert_eq!(changes.trashed, [setting]);
    let garden = node(&removed, scene.garden);
    assert_eq!(auto_id_rules::numbering(garden).count(), 0);
}

#[test]
fn only_a_field_of_the_project_is_removed_from_it() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let field = field_in(&mut scene, acme, "Height");
    let refused = scene.refused(scene.ann, REMOVE, scene.garden, add(field));
    assert!(refused.contains("is not on given object"), "{refused}");
    let [(on_garden, setting)] = fields(&mut scene);
    let removed = scene.done(scene.ann, REMOVE, scene.garden, add(on_garden));
    assert_eq!(removed.changes.trashed, [setting]);
    assert!(
        removed.changes.node_writes.is_empty(),
        "it numbered no tasks"
    );
}

#[test]
fn guests_define_no_custom_fields() {
    let mut scene = DecisionScene::new();
    let guest = scene.guest();
    let (secret, _) = scene.shared_project(guest, Level::Editor);
    let new = json!({"custom_field": {"name": "Soil", "resource_subtype": "text"}});
    let refused = scene.refused(guest, ADD, secret, new.clone());
    assert!(refused.contains("not available for free users or guests"));
    let added = scene.done(scene.ann, ADD, secret, new);
    assert_eq!(written(&added, rel::FIELD_ON).len(), 1);
}
