mod value_types;

use super::{GIVEN_MAX, NAMED_MAX};
use crate::decision_scene::{DecisionScene, node};
use crate::operation::Decision;
use serde_json::{Map, Value, json};
use workgraph_core::Gid;
use workgraph_core::access::Role;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::custom_field_values::stored_values;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{CustomFieldType, Type, rel};
use workgraph_core::model::resources::{custom_field, enum_option};
use workgraph_core::rules::{custom_field_rules, membership_rules};
use workgraph_core::storage::{ChangeAction, ChangeRecord, ListPosition};

/// A task in a project with a custom field.
struct FieldScene {
    scene: DecisionScene,
    task: Gid,
    field: Gid,
    options: Vec<Gid>,
}

impl FieldScene {
    fn new(kind: CustomFieldType) -> Self {
        Self::with(kind, |_| ())
    }

    /// Returns the scene with further properties of the field.
    fn with(kind: CustomFieldType, set: impl FnOnce(&mut Draft)) -> Self {
        let mut scene = DecisionScene::new();
        let [task] = scene.tasks();
        let (garden, acme) = (scene.garden, scene.acme);
        let (field, options) = scene.given(|fixture| {
            let (field, options) = fixture.with(|work| {
                let mut draft = work.draft(Type::CustomField, Some(acme));
                draft.set(custom_field::NAME, "Size");
                draft.set(custom_field::SUBTYPE, kind.name());
                set(&mut draft);
                let field = custom_field_rules::create_custom_field(work, &draft, acme);
                let mut option = |name: &str, enabled: bool| {
                    let last = ListPosition::Last;
                    custom_field_rules::add_option(work, field, acme, last, |draft| {
                        draft.set(enum_option::NAME, name);
                        draft.set(enum_option::ENABLED, enabled);
                    })
                };
                let options = [
                    option("Big", true),
                    option("Small", true),
                    option("Old", false),
                ];
                (field, options.to_vec())
            });
            fixture.field_on(field, garden, acme);
            (field, options)
        });
        Self {
            scene,
            task,
            field,
            options,
        }
    }

    fn write(&self, value: Value) -> Result<Decision, DomainError> {
        let values = json!({"custom_fields": {self.field.to_string(): value}});
        self.scene
            .decide(self.scene.ann, "updateTask", self.task, values)
    }

    /// Returns the value that is stored after a body has been written.
    fn stored(&self, value: Value) -> Option<String> {
        let decision = self.write(value).unwrap();
        let values = node(&decision, self.task).raw("custom_fields")?;
        let mut values = stored_values(values);
        values
            .find(|(field, _)| *field == self.field)
            .map(|(_, value)| value.to_owned())
    }

    fn refused(&self, value: Value) -> String {
        self.write(value).map(|_| ()).unwrap_err().message
    }

    /// Stores a value that the task has before the test.
    fn given(&mut self, kind: CustomFieldType, value: &str) {
        let (garden, ann, field) = (self.scene.garden, self.scene.ann, self.field);
        self.task = self.scene.given(|fixture| {
            let task = fixture.task_in(fixture.section_in(garden), "Task", ann);
            fixture.value(task, field, kind, value);
            task
        });
    }

    /// Takes the field off the project.
    fn take_field_off(&mut self) {
        let (field, garden) = (self.field, self.scene.garden);
        let off = |fixture: &mut workgraph_testkit::Fixture| {
            fixture.with(|work| work.unlink(field, rel::FIELD_ON, garden))
        };
        self.scene.given(off);
    }
}

#[test]
fn a_body_writes_a_limited_number_of_fields() {
    let mut scene = DecisionScene::new();
    let [task] = scene.tasks();
    let refused = |count: usize| {
        let fields = (1..=count).map(|gid| (gid.to_string(), Value::Null));
        let body = json!({"custom_fields": Map::from_iter(fields)});
        scene.refused(scene.ann, "updateTask", task, body)
    };
    assert!(refused(GIVEN_MAX + 1).contains("Too many"));
    assert!(refused(GIVEN_MAX).contains("is not on given object"));
}

#[test]
fn a_body_names_a_limited_number_of_objects() {
    let people = FieldScene::new(CustomFieldType::People);
    let (ann, few) = (people.scene.ann, NAMED_MAX);
    assert!(
        people
            .refused(json!(vec![ann; few + 1]))
            .contains("Too many values")
    );
    let for_one_field = people.refused(json!(vec![ann; few]));
    assert!(
        for_one_field.starts_with("people_value: Too many"),
        "{for_one_field}"
    );
}

#[test]
fn a_free_workspace_has_no_values() {
    let mut scene = DecisionScene::new();
    let ann = scene.ann;
    let task = scene.given(|fixture| {
        let free =
            fixture.with(|work| membership_rules::create_workspace(work, "Free", false, true));
        fixture.add_workspace_member(ann, free, Role::Admin);
        fixture.task(free, "Water", ann)
    });
    let refused = scene.refused(
        ann,
        "updateTask",
        task,
        json!({"custom_fields": {"7": "a"}}),
    );
    assert_eq!(refused, super::PREMIUM);
    let nothing = scene.decide(ann, "updateTask", task, json!({"custom_fields": {}}));
    assert!(nothing.unwrap().changes.is_empty());
}

#[test]
fn only_the_fields_of_its_projects_have_values() {
    let mut text = FieldScene::new(CustomFieldType::Text);
    assert_eq!(text.stored(json!("red")).as_deref(), Some("\"red\""));
    text.take_field_off();
    assert!(
        text.refused(json!("red"))
            .contains("is not on given object")
    );
}

#[test]
fn a_value_that_lost_its_field_is_only_cleared() {
    let mut text = FieldScene::new(CustomFieldType::Text);
    text.given(CustomFieldType::Text, "\"red\"");
    text.take_field_off();
    assert!(
        text.refused(json!("blue"))
            .contains("is not on given object")
    );
    assert_eq!(text.stored(json!(null)), None);
}

#[test]
fn nobody_writes_a_field_that_they_do_not_see() {
    let private = FieldScene::with(CustomFieldType::Text, |field| {
        field.set(custom_field::PRIVACY, "private");
    });
    let body = json!({"custom_fields": {private.field.to_string(): "red"}});
    let refused = private
        .scene
        .refused(private.scene.bob, "updateTask", private.task, body);
    assert!(
        refused.contains("You do not have access to this custom field"),
        "{refused}"
    );
}

#[test]
fn a_computed_field_is_not_written() {
    let formula = FieldScene::with(CustomFieldType::Number, |field| {
        field.set(custom_field::IS_FORMULA, true);
    });
    assert!(
        formula
            .refused(json!(7))
            .contains("Cannot write this property")
    );
    let id = FieldScene::with(CustomFieldType::Text, |field| {
        field.set(custom_field::ID_PREFIX, "BUG");
    });
    assert!(
        id.refused(json!("BUG-7"))
            .contains("Cannot write this property")
    );
}

#[test]
fn a_goal_has_values_of_its_own_fields() {
    let mut text = FieldScene::new(CustomFieldType::Text);
    let (acme, ann, field) = (text.scene.acme, text.scene.ann, text.field);
    let new = json!({"name": "Grow", "workspace": acme});
    let goal = text
        .scene
        .done(ann, "createGoal", acme, new)
        .subject
        .unwrap();
    let red = json!({"custom_fields": {field.to_string(): "red"}});
    let refused = text.scene.refused(ann, "updateGoal", goal, red.clone());
    assert!(refused.contains("is not on given object"));
    text.scene
        .given(|fixture| fixture.field_on(field, goal, acme));
    let written = text.scene.decide(ann, "updateGoal", goal, red).unwrap();
    let changed = |record: &ChangeRecord| match record.action {
        ChangeAction::Changed { added, .. } => added == Some(field),
        _ => false,
    };
    assert!(written.changes.change_records.iter().any(changed));
    assert_eq!(written.changes.index_updates.len(), 1);
}
