use super::FieldScene;
use crate::decision_scene::saved;
use serde_json::{Value, json};
use workgraph_core::Gid;
use workgraph_core::access::{Level, Role, follower_rank};
use workgraph_core::model::custom_field_values::stored_values;
use workgraph_core::model::registry::{CustomFieldType, rel};
use workgraph_core::model::resources::custom_field;
use workgraph_core::storage::ListPosition;

#[test]
fn an_empty_text_clears_a_field_of_any_type() {
    let mut number = FieldScene::new(CustomFieldType::Number);
    number.given(CustomFieldType::Number, "7");
    assert_eq!(number.stored(json!("")), None);
    let mut people = FieldScene::new(CustomFieldType::People);
    let ann = people.scene.ann;
    people.given(CustomFieldType::People, &format!("[\"{ann}\"]"));
    assert_eq!(people.stored(json!([])), None);
}

#[test]
fn a_number_keeps_the_decimals_of_its_field() {
    let number = FieldScene::with(CustomFieldType::Number, |field| {
        field.set(custom_field::PRECISION, 2_i64);
    });
    assert_eq!(number.stored(json!(1.005)).as_deref(), Some("1.01"));
    assert!(number.refused(json!("many")).contains("Not a number"));
}

#[test]
fn an_equal_number_changes_nothing() {
    let mut number = FieldScene::with(CustomFieldType::Number, |field| {
        field.set(custom_field::PRECISION, 2_i64);
    });
    number.given(CustomFieldType::Number, "7.0");
    assert!(number.write(json!(7)).unwrap().changes.is_empty());
    assert_eq!(number.stored(json!(8)).as_deref(), Some("8"));
}

#[test]
fn a_value_is_an_option_of_its_field() {
    let size = FieldScene::new(CustomFieldType::Enum);
    let big = size.options[0];
    assert_eq!(size.stored(json!(big)), Some(format!("\"{big}\"")));
    let mut color = FieldScene::new(CustomFieldType::Enum);
    let acme = color.scene.acme;
    let kind = CustomFieldType::Enum;
    let (_, others) = color
        .scene
        .given(|fixture| fixture.custom_field(acme, "Color", kind, &["Red"]));
    assert!(
        color
            .refused(json!(others[0]))
            .contains("enum_value: Unknown object")
    );
}

#[test]
fn a_disabled_option_is_only_kept() {
    let mut size = FieldScene::new(CustomFieldType::MultiEnum);
    let (big, old) = (size.options[0], size.options[2]);
    assert!(
        size.refused(json!([big, old]))
            .contains("[1]: The option is disabled")
    );
    size.given(CustomFieldType::MultiEnum, &format!("[\"{old}\"]"));
    let both = size.stored(json!([old, big]));
    assert_eq!(both, Some(format!("[\"{old}\",\"{big}\"]")));
}

#[test]
fn an_option_is_chosen_once() {
    let size = FieldScene::new(CustomFieldType::MultiEnum);
    let [big, small, _] = size.options[..] else {
        panic!("three options")
    };
    let chosen = size.stored(json!([big, small, big]));
    assert_eq!(chosen, Some(format!("[\"{big}\",\"{small}\"]")));
}

#[test]
fn a_person_belongs_to_the_workspace() {
    let mut people = FieldScene::new(CustomFieldType::People);
    let bob = people.scene.bob;
    let club = people.scene.second_workspace();
    let eve = people
        .scene
        .given(|fixture| fixture.member(club, "Eve", Role::Member));
    let refused = people.refused(json!([bob, eve]));
    assert!(
        refused.contains("people_value: [1]: Not a user in Workspace"),
        "{refused}"
    );
    assert_eq!(people.stored(json!([bob])), Some(format!("[\"{bob}\"]")));
}

#[test]
fn a_guest_repeats_people_whom_they_do_not_know() {
    let mut people = FieldScene::new(CustomFieldType::People);
    let (acme, bob) = (people.scene.acme, people.scene.bob);
    people.given(CustomFieldType::People, &format!("[\"{bob}\"]"));
    let (task, field) = (people.task, people.field);
    let guest = people
        .scene
        .given(|fixture| fixture.member(acme, "Gus", Role::Guest));
    people.scene.given(|fixture| {
        fixture.link(
            task,
            rel::FOLLOWERS,
            guest,
            ListPosition::Rank(follower_rank(Some(Level::Editor))),
            None,
        )
    });
    let write = |value: Value| {
        let values = json!({"custom_fields": {field.to_string(): value}});
        people.scene.decide(guest, "updateTask", task, values)
    };
    assert!(write(json!([bob])).unwrap().changes.is_empty());
    let added = write(json!([bob, people.scene.ann]))
        .map(|_| ())
        .unwrap_err();
    assert!(
        added.message.contains("people_value: [1]: Unknown object"),
        "{added}"
    );
}

#[test]
fn a_reference_leads_to_another_object_that_the_field_accepts() {
    let mut next = FieldScene::with(CustomFieldType::Reference, |field| {
        field.set_raw("input_restrictions", "[]", json!(["task"]).to_string());
    });
    let [other] = next.scene.tasks();
    let ann = next.scene.ann;
    let club = next.scene.second_workspace();
    let elsewhere = next.scene.given(|fixture| fixture.task(club, "Water", ann));
    assert!(
        next.refused(json!([next.scene.garden]))
            .contains("takes no project")
    );
    assert!(
        next.refused(json!([next.task]))
            .contains("Not another object")
    );
    assert!(
        next.refused(json!([elsewhere]))
            .contains("Not another object")
    );
    assert_eq!(next.stored(json!([other])), Some(format!("[\"{other}\"]")));
}

#[test]
fn a_caller_removes_no_references_that_the_caller_does_not_see() {
    let mut next = FieldScene::with(CustomFieldType::Reference, |field| {
        field.set_raw("input_restrictions", "[]", json!(["task"]).to_string());
    });
    let [one, two] = next.scene.tasks();
    let (acme, ann) = (next.scene.acme, next.scene.ann);
    let hidden = next
        .scene
        .given(|fixture| fixture.task(acme, "Hidden", ann));
    let all = format!("[\"{one}\",\"{hidden}\"]");
    next.given(CustomFieldType::Reference, &all);
    let stored = |caller: Gid, value: Value| {
        let values = json!({"custom_fields": {next.field.to_string(): value}});
        let decision = next.scene.decide(caller, "updateTask", next.task, values);
        let decision = decision.unwrap();
        let task = saved(&decision, next.task)?;
        let values = task.raw("custom_fields").unwrap_or("{}");
        let value = stored_values(values).find(|(field, _)| *field == next.field);
        Some(value.map(|(_, value)| value.to_owned()))
    };
    let bob = next.scene.bob;
    assert_eq!(stored(bob, json!([one])), None, "nothing has changed");
    let more = format!("[\"{one}\",\"{two}\",\"{hidden}\"]");
    assert_eq!(stored(bob, json!([one, two])), Some(Some(more)));
    for cleared in [json!([]), Value::Null, json!("")] {
        let rest = format!("[\"{hidden}\"]");
        assert_eq!(stored(bob, cleared.clone()), Some(Some(rest)));
        assert_eq!(stored(ann, cleared), Some(None), "who sees all clears all");
    }
}

#[test]
fn a_date_is_a_day_or_an_instant_with_its_day() {
    let date = FieldScene::new(CustomFieldType::Date);
    let day = date.stored(json!({"date": "2026-03-01"}));
    assert_eq!(
        day.as_deref(),
        Some(r#"{"date":"2026-03-01","date_time":null}"#)
    );
    let instant = date
        .stored(json!({"date_time": "2026-03-01T23:30:00-01:00"}))
        .unwrap();
    assert!(
        instant.starts_with(r#"{"date":"2026-03-02","date_time":"2026-03-02T00:30"#),
        "{instant}"
    );
    assert_eq!(date.stored(json!("2026-03-01")), day);
    let other_day = json!({"date": "2026-03-01", "date_time": "2026-03-02T00:30:00Z"});
    assert!(
        date.refused(other_day)
            .contains("date is not the day of date_time")
    );
    assert!(
        date.refused(json!({}))
            .contains("Not a JSON object with date or date_time")
    );
    assert!(
        date.refused(json!(7))
            .contains("Not a JSON object with date or date_time")
    );
}
