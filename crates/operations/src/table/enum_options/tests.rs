use crate::decision_scene::{DecisionScene, node, written};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::registry::{CustomFieldType, rel};
use workgraph_core::model::resources::custom_field::OPTIONS_MAX;
use workgraph_core::model::resources::enum_option;
use workgraph_core::storage::ListPosition;

/// Stores a field with these options.
fn field(scene: &mut DecisionScene, name: &str, options: &[&str]) -> (Gid, Vec<Gid>) {
    let acme = scene.acme;
    scene.given(|fixture| fixture.custom_field(acme, name, CustomFieldType::Enum, options))
}

/// Returns the reason why a new field with options is refused.
fn refused(kind: &str, options: Value) -> String {
    let scene = DecisionScene::new();
    let body = json!({"workspace": scene.acme, "name": "Size", "resource_subtype": kind,
        "enum_options": options});
    scene.refused(scene.ann, "createCustomField", scene.acme, body)
}

#[test]
fn only_enum_fields_have_options() {
    let mut scene = DecisionScene::new();
    let acme = scene.acme;
    let kind = CustomFieldType::Text;
    let (text, _) = scene.given(|fixture| fixture.custom_field(acme, "Note", kind, &[]));
    let (size, _) = field(&mut scene, "Size", &["Low"]);
    let high = json!({"name": "High"});
    let create = "createEnumOptionForCustomField";
    let refused = scene.refused(scene.ann, create, text, high.clone());
    assert_eq!(refused, "custom_field: A text field has no options");
    let made = scene.done(scene.ann, create, size, high);
    let option = made.subject.unwrap();
    assert_eq!(written(&made, rel::OPTION_OF), [(option, size)]);
    let name = node(&made, option).get(enum_option::NAME);
    assert_eq!(name.as_deref(), Some("High"));
}

#[test]
fn a_new_field_of_another_type_has_no_options() {
    let text = refused("text", json!([{"name": "Low"}]));
    assert_eq!(
        text,
        "enum_options: Only enum and multi_enum fields have options"
    );
    let scene = DecisionScene::new();
    let define = |kind, options| {
        let body = json!({"workspace": scene.acme, "name": "Size", "resource_subtype": kind,
            "enum_options": options});
        let made = scene.decide(scene.ann, "createCustomField", scene.acme, body);
        written(&made.unwrap(), rel::OPTION_OF).len()
    };
    assert_eq!(define("text", json!([])), 0);
    assert_eq!(
        define("multi_enum", json!([{"name": "Low"}, {"name": "High"}])),
        2
    );
}

#[test]
fn the_options_of_a_new_field_have_names() {
    let no_list = refused("enum", json!("Low"));
    assert!(
        no_list.starts_with("enum_options: Value is not an array"),
        "{no_list}"
    );
    let no_object = refused("enum", json!([{"name": "Low"}, "High"]));
    assert!(
        no_object.contains("[1]: Not an object with a name"),
        "{no_object}"
    );
    let unnamed = refused("enum", json!([{"name": "Low"}, {"color": "red"}]));
    assert_eq!(unnamed, "enum_options: [1]: name: Missing input");
    let empty = refused("enum", json!([{"name": " "}]));
    assert_eq!(empty, "enum_options: [0]: name: Cannot be empty");
}

#[test]
fn a_new_field_has_an_enabled_option() {
    let off = |name: &str| json!({"name": name, "enabled": false});
    let refused = refused("enum", json!([off("Low"), off("High")]));
    assert_eq!(refused, "enum_options: At least one option must be enabled");
    let scene = DecisionScene::new();
    let body = json!({"workspace": scene.acme, "name": "Size", "resource_subtype": "enum",
        "enum_options": [off("Low"), {"name": "High"}]});
    scene.made(scene.ann, "createCustomField", scene.acme, body);
}

#[test]
fn a_field_has_a_limited_number_of_options() {
    let mut scene = DecisionScene::new();
    let create = "createEnumOptionForCustomField";
    let almost = vec!["Low"; OPTIONS_MAX - 1];
    let (size, _) = field(&mut scene, "Size", &almost);
    scene.done(scene.ann, create, size, json!({"name": "High"}));
    let more = scene.refused(scene.ann, create, size, json!({"name": "Huge"}));
    assert!(
        more.contains("Too many: a custom field has at most"),
        "{more}"
    );
    let named: Vec<Value> = (0..=OPTIONS_MAX)
        .map(|at| json!({"name": at.to_string()}))
        .collect();
    let many = refused("enum", json!(named));
    assert!(
        many.contains("Too many: a custom field has at most"),
        "{many}"
    );
}

#[test]
fn an_option_has_a_name() {
    let mut scene = DecisionScene::new();
    let (size, options) = field(&mut scene, "Size", &["Low"]);
    let create = |body| scene.refused(scene.ann, "createEnumOptionForCustomField", size, body);
    assert_eq!(create(json!({"color": "red"})), "name: Missing input");
    assert_eq!(create(json!({"name": " "})), "name: Cannot be empty");
    let rename = |name: &str| {
        scene.decide(
            scene.ann,
            "updateEnumOption",
            options[0],
            json!({"name": name}),
        )
    };
    assert_eq!(rename("").unwrap_err().message, "name: Cannot be empty");
    let renamed = rename("Small").unwrap();
    let name = node(&renamed, options[0]).get(enum_option::NAME);
    assert_eq!(name.as_deref(), Some("Small"));
}

#[test]
fn a_new_option_stands_beside_one_of_its_field() {
    let mut scene = DecisionScene::new();
    let (size, options) = field(&mut scene, "Size", &["Low"]);
    let (_, others) = field(&mut scene, "Weight", &["Light"]);
    let create = |before: Gid| {
        let body = json!({"name": "High", "insert_before": before});
        scene.decide(scene.ann, "createEnumOptionForCustomField", size, body)
    };
    let refused = create(others[0]).unwrap_err().message;
    assert!(
        refused.contains("insert_before: Unknown object"),
        "{refused}"
    );
    let made = create(options[0]).unwrap();
    let position = made.changes.edge_writes[0].position;
    assert_eq!(position, ListPosition::Before(options[0]));
}

#[test]
fn an_option_is_moved_within_its_field() {
    let mut scene = DecisionScene::new();
    let (size, options) = field(&mut scene, "Size", &["Low", "High"]);
    let (_, others) = field(&mut scene, "Weight", &["Light"]);
    let (low, high, light) = (options[0], options[1], others[0]);
    let insert = |body| scene.decide(scene.ann, "insertEnumOptionForCustomField", size, body);
    let refused = |body| insert(body).unwrap_err().message;
    let foreign = refused(json!({"enum_option": light, "after_enum_option": low}));
    assert!(foreign.contains("enum_option: Unknown object"), "{foreign}");
    let beside = refused(json!({"enum_option": low, "after_enum_option": light}));
    assert!(
        beside.contains("after_enum_option: Unknown object"),
        "{beside}"
    );
    let nowhere = refused(json!({"enum_option": low}));
    assert!(nowhere.contains("You must specify one of"), "{nowhere}");
    let moved = insert(json!({"enum_option": low, "after_enum_option": high})).unwrap();
    assert_eq!(written(&moved, rel::OPTION_OF), [(low, size)]);
    let stays = insert(json!({"enum_option": low, "after_enum_option": low}));
    assert!(stays.unwrap().changes.is_empty());
}

#[test]
fn only_an_editor_of_a_field_changes_its_options() {
    let mut scene = DecisionScene::new();
    let (size, options) = field(&mut scene, "Size", &["Low"]);
    let (low, bob) = (options[0], scene.bob);
    let body = json!({"name": "Small"});
    scene
        .decide(bob, "updateEnumOption", low, body.clone())
        .unwrap();
    let usual = json!({"default_access_level": "user"});
    scene.done(scene.ann, "updateCustomField", size, usual);
    let refused = scene.refused(bob, "updateEnumOption", low, body.clone());
    assert!(refused.contains("permission to change this"), "{refused}");
    let create = scene.refused(bob, "createEnumOptionForCustomField", size, body);
    assert_eq!(
        create,
        "You do not have permission to change this custom field."
    );
}

#[test]
fn the_last_enabled_option_stays_enabled() {
    let mut scene = DecisionScene::new();
    let (_, options) = field(&mut scene, "Size", &["Low", "High"]);
    let off = json!({"enabled": false});
    scene.done(scene.ann, "updateEnumOption", options[0], off.clone());
    let last = scene.refused(scene.ann, "updateEnumOption", options[1], off.clone());
    assert!(last.contains("The last enabled option"), "{last}");
    scene.done(
        scene.ann,
        "updateEnumOption",
        options[0],
        json!({"enabled": true}),
    );
    let disabled = scene.done(scene.ann, "updateEnumOption", options[1], off);
    assert!(!node(&disabled, options[1]).get(enum_option::ENABLED));
}
