use crate::decision_scene::{DecisionScene, node, with};
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::CustomFieldType;
use workgraph_core::model::resources::custom_field::{self, PRECISION_MAX};
use workgraph_core::rules::auto_id_rules::PREFIX_MAX;

/// Returns the body of a new field of this type, with more properties.
fn new_field(scene: &DecisionScene, kind: &str, more: Value) -> Value {
    with(
        json!({"workspace": scene.acme, "name": "Height", "resource_subtype": kind}),
        more,
    )
}

/// Returns the reason why a new field is refused.
fn refused(kind: &str, more: Value) -> String {
    let scene = DecisionScene::new();
    let body = new_field(&scene, kind, more);
    scene.refused(scene.ann, "createCustomField", scene.acme, body)
}

/// Returns a new field.
fn defined(kind: &str, more: Value) -> Node {
    let scene = DecisionScene::new();
    let body = new_field(&scene, kind, more);
    let made = scene.done(scene.ann, "createCustomField", scene.acme, body);
    node(&made, made.subject.unwrap()).clone()
}

/// Stores a field and returns it.
fn field(scene: &DecisionScene, kind: &str, more: Value) -> Gid {
    let body = new_field(scene, kind, more);
    scene.made(scene.ann, "createCustomField", scene.acme, body)
}

#[test]
fn a_custom_field_has_a_type_and_a_name() {
    let scene = DecisionScene::new();
    let create = |body| scene.refused(scene.ann, "createCustomField", scene.acme, body);
    let acme = scene.acme;
    let without_type = create(json!({"workspace": acme, "name": "Height"}));
    assert_eq!(without_type, "resource_subtype: Missing input");
    let without_name = create(json!({"workspace": acme, "resource_subtype": "text"}));
    assert_eq!(without_name, "name: Missing input");
    assert_eq!(
        refused("text", json!({"name": " "})),
        "name: Cannot be empty"
    );
    let trimmed = defined("text", json!({"name": " Width "}));
    assert_eq!(trimmed.get(custom_field::NAME).as_deref(), Some("Width"));
}

#[test]
fn a_custom_field_has_no_name_of_a_built_in_field() {
    let taken = refused("text", json!({"name": "Due Date"}));
    assert!(
        taken.contains("Due Date is the name of a built-in field"),
        "{taken}"
    );
    defined("text", json!({"name": "Due Dates"}));
}

#[test]
fn guests_view_only_members_and_free_workspaces_make_no_custom_fields() {
    let mut scene = DecisionScene::new();
    let (gil, vic) = (scene.guest(), scene.view_only_member());
    let free = scene.free_workspace();
    let in_free = new_field(&scene, "text", json!({"workspace": free}));
    let premium = scene.refused(scene.ann, "createCustomField", free, in_free);
    assert_eq!(premium, super::PREMIUM);
    let body = new_field(&scene, "text", json!({}));
    let refused = |by| scene.refused(by, "createCustomField", by, body.clone());
    assert_eq!(refused(gil), super::PREMIUM);
    assert_eq!(
        refused(vic),
        "You do not have permission to change this workspace."
    );
    scene.made(scene.bob, "createCustomField", gil, body.clone());
}

#[test]
fn apps_own_no_custom_fields() {
    let owned = refused("text", json!({"owned_by_app": true}));
    assert!(
        owned.contains("This app may not own custom fields"),
        "{owned}"
    );
    defined("text", json!({"owned_by_app": false}));
}

#[test]
fn only_text_fields_that_are_no_formulas_have_automatic_ids() {
    let prefix = |more| with(json!({"id_prefix": "BUG"}), more);
    let number = refused("number", prefix(json!({})));
    assert_eq!(number, "id_prefix: Only text fields have one");
    let formula = refused("text", prefix(json!({"is_formula_field": true})));
    assert_eq!(formula, "id_prefix: Only text fields have one");
    let text = defined("text", prefix(json!({})));
    assert_eq!(text.get(custom_field::ID_PREFIX).as_deref(), Some("BUG"));
}

#[test]
fn a_prefix_has_some_letters_and_digits_and_a_letter_first() {
    let long = "B".repeat(PREFIX_MAX);
    for prefix in ["7B", "B-7", "", &format!("{long}B")] {
        let refused = refused("text", json!({"id_prefix": prefix}));
        assert!(
            refused.contains("letters and digits that begin with a letter"),
            "{refused}"
        );
    }
    defined("text", json!({"id_prefix": long}));
    defined("text", json!({"id_prefix": "B7"}));
}

#[test]
fn only_number_fields_have_a_format_and_some_decimals() {
    let with_format = json!({"format": "percentage"});
    let format = refused("text", with_format.clone());
    assert_eq!(format, "format: Only number fields have one");
    let precision = refused("text", json!({"precision": 1}));
    assert_eq!(precision, "precision: Only number fields have one");
    defined("number", with_format);
    let most = defined("number", json!({"precision": PRECISION_MAX}));
    assert_eq!(most.get(custom_field::PRECISION), PRECISION_MAX);
    let more = refused("number", json!({"precision": PRECISION_MAX + 1}));
    assert!(
        more.starts_with("precision: Must be between 0 and"),
        "{more}"
    );
}

#[test]
fn an_identifier_has_no_decimals() {
    let body = |format: &str| json!({"format": format, "precision": 2});
    let decimals = |field: Node| field.get(custom_field::PRECISION);
    let identifier = json!({"format": "identifier"});
    assert_eq!(decimals(defined("number", identifier)), 0);
    let refused = refused("number", body("identifier"));
    assert!(
        refused.starts_with("precision: Identifiers are whole"),
        "{refused}"
    );
    assert_eq!(decimals(defined("number", body("percentage"))), 2);
}

#[test]
fn a_field_has_a_currency_if_and_only_if_its_format_is_one() {
    let none = refused("number", json!({"format": "currency"}));
    assert_eq!(none, "currency_code: Missing input");
    let body = |format: &str, code: &str| json!({"format": format, "currency_code": code});
    let small = refused("number", body("currency", "eur"));
    assert!(
        small.starts_with("currency_code: Not an ISO 4217 code"),
        "{small}"
    );
    let euros = defined("number", body("currency", "EUR"));
    assert_eq!(euros.get(custom_field::CURRENCY).as_deref(), Some("EUR"));
    let other = refused("number", body("percentage", "EUR"));
    assert_eq!(
        other,
        "currency_code: Only fields with format currency have one"
    );
}

#[test]
fn a_field_has_a_label_if_and_only_if_its_format_is_custom() {
    let none = refused("number", json!({"format": "custom"}));
    assert_eq!(none, "custom_label: Missing input");
    let metres = |format: &str| json!({"format": format, "custom_label": "m"});
    let length = defined("number", metres("custom"));
    assert_eq!(length.get(custom_field::LABEL).as_deref(), Some("m"));
    let position = length.get(custom_field::LABEL_POSITION);
    assert_eq!(position.as_deref(), Some("suffix"));
    let other = refused("number", metres("none"));
    assert_eq!(
        other,
        "custom_label: Only fields with format custom have one"
    );
}

#[test]
fn a_reference_field_says_which_types_it_accepts() {
    let restrictions = |types: Value| json!({"input_restrictions": types});
    let none = refused("reference", json!({}));
    assert_eq!(none, "input_restrictions: Missing input");
    let empty = refused("reference", restrictions(json!([])));
    assert!(
        empty.contains("Must be a list of at least one of"),
        "{empty}"
    );
    let unknown = refused("reference", restrictions(json!(["task", "tag"])));
    assert!(
        unknown.contains("Must be a list of at least one of"),
        "{unknown}"
    );
    let text = refused("text", restrictions(json!(["task"])));
    assert!(text.contains("Only reference fields have them"), "{text}");
    let field = defined("reference", restrictions(json!(["task", "goal"])));
    assert_eq!(field.raw("input_restrictions"), Some(r#"["task","goal"]"#));
}

#[test]
fn a_field_of_the_library_has_a_name_that_no_other_has() {
    let scene = DecisionScene::new();
    let aliases = |body| {
        let body = new_field(&scene, "text", body);
        let made = scene.decide(scene.ann, "createCustomField", scene.acme, body);
        made.unwrap().changes.add_aliases.len()
    };
    assert_eq!(aliases(json!({})), 1);
    assert_eq!(aliases(json!({"privacy_setting": "private"})), 0);
    assert_eq!(aliases(json!({"id_prefix": "BUG"})), 2, "name and prefix");
}

#[test]
fn a_field_with_another_name_gives_up_the_one_before() {
    let scene = DecisionScene::new();
    let field = field(&scene, "text", json!({}));
    let change = |body| {
        scene
            .decide(scene.ann, "updateCustomField", field, body)
            .unwrap()
    };
    let renamed = change(json!({"name": "Width"})).changes;
    assert!(renamed.remove_aliases[0].0.contains("Height"));
    assert!(renamed.add_aliases[0].0.contains("Width"));
    let hidden = change(json!({"privacy_setting": "private"})).changes;
    assert_eq!(
        (hidden.remove_aliases.len(), hidden.add_aliases.len()),
        (1, 0)
    );
    let described = change(json!({"description": "In metres"})).changes;
    assert!(described.remove_aliases.is_empty() && described.add_aliases.is_empty());
}

#[test]
fn an_update_may_repeat_what_never_changes() {
    let scene = DecisionScene::new();
    let field = field(&scene, "text", json!({"id_prefix": "BUG"}));
    let change = |body| scene.decide(scene.ann, "updateCustomField", field, body);
    let same = json!({"workspace": scene.acme, "resource_subtype": "text", "type": "text",
        "id_prefix": "BUG", "is_formula_field": false});
    assert!(change(same).unwrap().changes.is_empty());
    for (name, value) in [
        ("workspace", json!(scene.garden)),
        ("resource_subtype", json!("number")),
        ("type", json!("number")),
        ("id_prefix", json!("TASK")),
        ("is_formula_field", json!(true)),
    ] {
        let refused = change(json!({name: value})).unwrap_err().message;
        assert_eq!(refused, format!("{name}: Cannot write this property"));
    }
}

#[test]
fn an_update_may_repeat_the_options_but_not_change_them() {
    let mut scene = DecisionScene::new();
    let (acme, names) = (scene.acme, ["Low", "High"]);
    let (field, options) =
        scene.given(|fixture| fixture.custom_field(acme, "Size", CustomFieldType::Enum, &names));
    let (low, high) = (options[0], options[1]);
    let change = |options| {
        let body = json!({"enum_options": options});
        scene.decide(scene.ann, "updateCustomField", field, body)
    };
    let same = json!([{"gid": low.to_string(), "name": "Low"}, high]);
    assert!(change(same).unwrap().changes.is_empty());
    for other in [
        json!([high, low]),
        json!([low]),
        json!([{"gid": low.to_string(), "name": "Small"}, high]),
    ] {
        let refused = change(other).unwrap_err().message;
        assert!(
            refused.contains("enum_options: Cannot write this property"),
            "{refused}"
        );
    }
}

#[test]
fn only_admins_of_a_field_change_who_sees_it() {
    let scene = DecisionScene::new();
    let field = field(&scene, "text", json!({}));
    let hide = json!({"privacy_setting": "private"});
    let refused = scene.refused(scene.bob, "updateCustomField", field, hide.clone());
    assert!(
        refused.contains("administer this custom field"),
        "{refused}"
    );
    let renamed = json!({"name": "Width"});
    scene.done(scene.bob, "updateCustomField", field, renamed);
    let hidden = scene.done(scene.ann, "updateCustomField", field, hide);
    let privacy = node(&hidden, field).get(custom_field::PRIVACY);
    assert_eq!(privacy.as_deref(), Some("private"));
}

#[test]
fn a_definition_has_no_values() {
    for (value, name) in [
        (json!({"number_value": 5}), "number_value"),
        (json!({"text_value": "five"}), "text_value"),
        (
            json!({"custom_label_position": "prefix"}),
            "custom_label_position",
        ),
    ] {
        let refused = refused("number", value);
        assert!(refused.starts_with(name), "{refused}");
    }
    defined(
        "number",
        json!({"number_value": null, "multi_enum_values": []}),
    );
    defined(
        "number",
        json!({"currency_code": null, "custom_label": null}),
    );
}
