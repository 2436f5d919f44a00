//! Custom fields: creation of definitions, options and settings, and the records of changed values.
use super::story_rules::add_system_story;
use crate::access::Level;
use crate::model::custom_field_values;
use crate::model::draft::Draft;
use crate::model::gid::Gid;
use crate::model::json_members::member;
use crate::model::node::Node;
use crate::model::registry::{CustomFieldType, Type, rel};
use crate::model::resources::{custom_field, custom_field_setting, enum_option, story, task};
use crate::plan;
use crate::plan::{FieldPaths, Plan};
use crate::storage::change_builder::ChangeBuilder;
use crate::storage::custom_field_index::ValueIndexEntry;
use crate::storage::{ChangeAction, Guard, ListPosition, ReadView};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Returns the unique alias of a custom field in the library of a workspace. If it is taken, it is
/// part of the error `name: Already taken: ...`.
fn alias(workspace: Gid, name: &str) -> String {
    format!("name:{name} (in workspace {workspace})")
}

/// Returns the unique alias of a custom field, if it needs one. Fields of a single project do not need one, and private
/// fields must not have one: an error for another field of the same name would reveal that they exist.
#[must_use]
pub fn library_alias(workspace: Gid, field: &Draft) -> Option<String> {
    let private = field.get(custom_field::PRIVACY).as_deref() == Some("private");
    let name = field.get(custom_field::NAME).unwrap_or_default();
    (field.get(custom_field::IS_GLOBAL) && !private).then(|| alias(workspace, &name))
}

/// Creates a custom field; a field of the library gets its alias.
pub fn create_custom_field(work: &mut ChangeBuilder<'_>, draft: &Draft, workspace: Gid) -> Gid {
    let gid = work.create(draft, Some(workspace));
    let taken = library_alias(workspace, draft);
    work.changes
        .add_aliases
        .extend(taken.map(|name| (name, gid)));
    if let Some(prefix) = draft.get(custom_field::ID_PREFIX) {
        let alias = crate::storage::alias::id_prefix(workspace, &prefix);
        work.changes.add_aliases.push((alias, gid));
    }
    gid
}

/// Adds an option to a field; `fill` sets the fields from the client.
pub fn add_option(
    work: &mut ChangeBuilder<'_>,
    field: Gid,
    workspace: Gid,
    position: ListPosition,
    fill: impl FnOnce(&mut Draft),
) -> Gid {
    let mut draft = work.draft(Type::EnumOption, Some(workspace));
    fill(&mut draft);
    draft.set(enum_option::CUSTOM_FIELD, field);
    let gid = work.create(&draft, Some(field));
    work.link(gid, rel::OPTION_OF, field, position, None);
    gid
}

/// Adds a custom field to a project or task list that does not have it yet; returns the setting.
pub fn add_setting(
    work: &mut ChangeBuilder<'_>,
    field: Gid,
    (container, ty): (Gid, Type),
    workspace: Gid,
    important: bool,
    position: ListPosition,
) -> Gid {
    let mut draft = work.draft(Type::CustomFieldSetting, Some(workspace));
    draft.set(custom_field_setting::PARENT, container);
    draft.set(custom_field_setting::CUSTOM_FIELD, field);
    draft.set(custom_field_setting::IS_IMPORTANT, important);
    let gid = work.create(&draft, Some(container));
    work.require_live(field);
    work.require_live(container);
    work.require_unlinked(field, rel::FIELD_ON, container);
    let most = custom_field::FIELDS_MAX as u64 - 1;
    let room = Guard::AtMost(container, rel::FIELD_ON, most);
    work.changes.guards.push(room);
    work.link(field, rel::FIELD_ON, container, position, Some(gid));
    work.record_added(container, ty, "custom_field_settings", gid);
    gid
}

/// Change of a custom field's value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueChange {
    /// Custom field of the value.
    pub field: Gid,
    /// Stored value before the change.
    pub before: Option<String>,
    /// Stored value after the change.
    pub after: Option<String>,
}

/// Puts values into a stored object; returns the new object and the changes.
#[must_use]
pub fn merge(
    object: Option<&str>,
    given: Vec<(Gid, Option<String>)>,
) -> (String, Vec<ValueChange>) {
    let stored = object
        .map(custom_field_values::stored_values)
        .into_iter()
        .flatten();
    let mut all: BTreeMap<Gid, String> = stored.map(|(f, v)| (f, v.to_owned())).collect();
    let mut changes = Vec::new();
    for (field, after) in given {
        let before = match &after {
            Some(value) => all.insert(field, value.clone()),
            None => all.remove(&field),
        };
        if before != after {
            changes.push(ValueChange {
                field,
                before,
                after,
            });
        }
    }
    if all.is_empty() {
        return ("null".to_owned(), changes);
    }
    let mut object = String::new();
    for (field, value) in all {
        object.push(if object.is_empty() { '{' } else { ',' });
        object.push_str(&format!("\"{field}\":{value}"));
    }
    object.push('}');
    (object, changes)
}

/// Writes the changed values of a task into the value index, so that search finds the new values.
pub fn index_value_changes(
    work: &mut ChangeBuilder<'_>,
    task: Gid,
    view: &ReadView,
    changes: &[ValueChange],
) {
    for change in changes {
        let Some(field) = view.node(change.field) else {
            continue;
        };
        let kind = custom_field::kind(field);
        let value = change.after.as_deref();
        work.changes.index_updates.push(ValueIndexEntry {
            node: task,
            field: change.field,
            keys: value
                .map(|v| custom_field_values::keys(kind, v))
                .unwrap_or_default(),
        });
    }
}

/// Adds a change record for each changed value, with its field. These records replace the single record that saving the task
/// adds for all values.
pub fn record_value_changes(
    work: &mut ChangeBuilder<'_>,
    (gid, ty): (Gid, Type),
    changes: &[ValueChange],
) {
    let name = task::CUSTOM_FIELDS.def.name;
    let facts = &mut work.changes.change_records;
    facts.retain(|f| {
        f.gid != gid || !matches!(f.action, ChangeAction::Changed { field, .. } if field == name)
    });
    for change in changes {
        work.record_added(gid, ty, name, change.field);
    }
}

/// Puts values into the draft of a new task; returns the changes.
#[must_use]
pub fn new_values(draft: &mut Draft, values: Vec<(Gid, Option<String>)>) -> Vec<ValueChange> {
    let (object, changes) = merge(None, values);
    draft.set(task::CUSTOM_FIELDS, object);
    changes
}

/// Returns the plan for reading a project so that its settings can be copied.
#[must_use]
pub fn settings() -> Arc<Plan> {
    static PLAN: OnceLock<Arc<Plan>> = OnceLock::new();
    Arc::clone(PLAN.get_or_init(|| {
        let names = "custom_field_settings.(is_important|custom_field)";
        plan::resolve_fields(Type::Project, &FieldPaths::parse(names).unwrap_or_default()).plan
    }))
}

/// Copies the custom field settings of a project or template to a new one, for fields that the
/// viewer can see.
pub fn copy_settings(
    work: &mut ChangeBuilder<'_>,
    view: &ReadView,
    old: Gid,
    to: (Gid, Type),
    workspace: Gid,
) {
    for edge in view.sources(old, rel::FIELD_ON) {
        let setting = edge.aux.and_then(|g| view.node(g));
        if let Some(setting) = setting.filter(|_| view.level(edge.src) > Level::None) {
            let important = setting.get(custom_field_setting::IS_IMPORTANT);
            add_setting(work, edge.src, to, workspace, important, ListPosition::Last);
        }
    }
}

/// Writes the stories of changed values on a task.
pub fn add_value_stories(
    work: &mut ChangeBuilder<'_>,
    task: &Node,
    view: &ReadView,
    changes: &[ValueChange],
) {
    for change in changes {
        let Some(field) = view.node(change.field) else {
            continue;
        };
        let kind = custom_field::kind(field);
        let subtype = format!("{}_custom_field_changed", kind.name());
        add_system_story(work, task.gid, task.workspace, &subtype, |draft| {
            draft.set(story::CUSTOM_FIELD, change.field);
            put(draft, kind, change);
        });
    }
}

/// Writes the values before and after into the story's fields for the type.
fn put(draft: &mut Draft, kind: CustomFieldType, change: &ValueChange) {
    let (old, new) = (change.before.as_deref(), change.after.as_deref());
    let raw = |value: Option<&str>| value.unwrap_or("null").to_owned();
    let list = |value: Option<&str>| value.unwrap_or("[]").to_owned();
    let one = |value: Option<&str>| value.and_then(|v| custom_field_values::gids(v).next());
    match kind {
        CustomFieldType::Text => {
            let text = |value: Option<&str>| {
                value.map(|v| crate::model::node::decode_json_string(v).into_owned())
            };
            draft.set(story::OLD_TEXT, text(old).as_deref());
            draft.set(story::NEW_TEXT, text(new).as_deref());
        }
        CustomFieldType::Number => {
            draft.set(story::OLD_NUMBER, raw(old));
            draft.set(story::NEW_NUMBER, raw(new));
        }
        CustomFieldType::Enum => {
            draft.set(story::OLD_ENUM, one(old));
            draft.set(story::NEW_ENUM, one(new));
        }
        CustomFieldType::MultiEnum => {
            draft.set(story::OLD_MULTI_ENUM, list(old));
            draft.set(story::NEW_MULTI_ENUM, list(new));
        }
        CustomFieldType::Date => {
            draft.set(story::OLD_DATE, old.map_or_else(|| raw(None), dates));
            draft.set(story::NEW_DATE, new.map_or_else(|| raw(None), dates));
        }
        CustomFieldType::People => {
            draft.set(story::OLD_PEOPLE, list(old));
            draft.set(story::NEW_PEOPLE, list(new));
        }
        CustomFieldType::Reference => draft.set(story::NEW_REFERENCE, list(new)),
    }
}

/// Returns a stored date in the form of a story's dates.
fn dates(value: &str) -> String {
    let part = |name: &str| member(value, name).unwrap_or("null");
    let (date, time) = (part("date"), part("date_time"));
    format!("{{\"start_on\":null,\"due_at\":{time},\"due_on\":{date}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gid(number: u64) -> Gid {
        Gid::new(number).unwrap()
    }

    #[test]
    fn values_are_merged_by_field_and_only_changes_are_told() {
        let given = vec![
            (gid(9), Some("7".to_owned())),
            (gid(5), None),
            (gid(6), Some("\"x\"".to_owned())),
            (gid(7), None),
        ];
        let (object, changes) = merge(Some(r#"{"5":"\"a\"","6":"x","8":[]}"#), given.clone());
        assert_eq!(object, r#"{"6":"x","8":[],"9":7}"#);
        let fields: Vec<u64> = changes.iter().map(|c| c.field.get()).collect();
        assert_eq!(fields, [9, 5], "what stays or was never there is no change");
        let (object, changes) = merge(Some(r#"{"5":1}"#), vec![(gid(5), None)]);
        assert_eq!((object.as_str(), changes.len()), ("null", 1));
    }

    #[test]
    fn a_date_is_told_as_dates() {
        let stored = r#"{"date":"2031-07-08","date_time":null}"#;
        assert_eq!(
            dates(stored),
            r#"{"start_on":null,"due_at":null,"due_on":"2031-07-08"}"#
        );
    }
}
