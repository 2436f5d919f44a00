//! Custom fields: how definitions, options and settings come to be, and what a changed value says.
use super::stories::tell;
use crate::access::Level;
use crate::draft::Draft;
use crate::gid::Gid;
use crate::graph::{Action, Guard, Place, View};
use crate::index::Entry;
use crate::node::{Node, entries};
use crate::plan::{self, Names, Plan};
use crate::registry::{Kind, Type, rel};
use crate::resources::{custom_field, custom_field_setting, enum_option, story, task};
use crate::values;
use crate::work::Work;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The unique name of a custom field in the library of a workspace; taken, it reads as the error
/// `name: Already taken: ...`.
fn alias(workspace: Gid, name: &str) -> String {
    format!("name:{name} (in workspace {workspace})")
}

/// The unique name that a custom field takes. Those of a single project take none, and those that are private
/// neither: an error of who gives another field the same name would tell of them.
#[must_use]
pub fn taken(workspace: Gid, field: &Draft) -> Option<String> {
    let private = field.get(custom_field::PRIVACY).as_deref() == Some("private");
    let name = field.get(custom_field::NAME).unwrap_or_default();
    (field.get(custom_field::IS_GLOBAL) && !private).then(|| alias(workspace, &name))
}

/// A new custom field; those of the library take their name.
pub fn found_field(work: &mut Work<'_>, draft: &Draft, home: Gid) -> Gid {
    let gid = work.create(draft, Some(home));
    let taken = taken(home, draft);
    work.changes.aliases.extend(taken.map(|name| (name, gid)));
    if let Some(prefix) = draft.get(custom_field::ID_PREFIX) {
        let alias = crate::graph::alias::id_prefix(home, &prefix);
        work.changes.aliases.push((alias, gid));
    }
    gid
}

/// A new option of a field; `fill` gives it what the client said.
pub fn add_option(
    work: &mut Work<'_>,
    field: Gid,
    home: Gid,
    place: Place,
    fill: impl FnOnce(&mut Draft),
) -> Gid {
    let mut draft = work.draft(Type::EnumOption, Some(home));
    fill(&mut draft);
    draft.set(enum_option::CUSTOM_FIELD, field);
    let gid = work.create(&draft, Some(field));
    work.link(gid, rel::OPTION_OF, field, place, None);
    gid
}

/// Gives the tasks of a project or task list a custom field they don't have yet; returns the setting.
pub fn add_setting(
    work: &mut Work<'_>,
    field: Gid,
    (container, ty): (Gid, Type),
    home: Gid,
    important: bool,
    place: Place,
) -> Gid {
    let mut draft = work.draft(Type::CustomFieldSetting, Some(home));
    draft.set(custom_field_setting::PARENT, container);
    draft.set(custom_field_setting::CUSTOM_FIELD, field);
    draft.set(custom_field_setting::IS_IMPORTANT, important);
    let gid = work.create(&draft, Some(container));
    work.needs_live(field);
    work.needs_live(container);
    work.needs_unlinked(field, rel::FIELD_ON, container);
    let most = custom_field::FIELDS_MAX as u64 - 1;
    let room = Guard::AtMost(container, rel::FIELD_ON, most);
    work.changes.guards.push(room);
    work.link(field, rel::FIELD_ON, container, place, Some(gid));
    work.gained(container, ty, "custom_field_settings", gid);
    gid
}

/// A value that changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueChange {
    /// The field.
    pub field: Gid,
    /// What was stored.
    pub before: Option<String>,
    /// What is stored now.
    pub after: Option<String>,
}

/// Puts values into a stored object; gives the new object and what changed.
#[must_use]
pub fn merge(
    object: Option<&str>,
    given: Vec<(Gid, Option<String>)>,
) -> (String, Vec<ValueChange>) {
    let held = object.map(values::stored).into_iter().flatten();
    let mut all: BTreeMap<Gid, String> = held.map(|(f, v)| (f, v.to_owned())).collect();
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

/// Writes what changed about a task's values into the index, so that search finds the new ones.
pub fn index(work: &mut Work<'_>, task: Gid, view: &View, changes: &[ValueChange]) {
    for change in changes {
        let Some(field) = view.node(change.field) else {
            continue;
        };
        let kind = custom_field::kind(field);
        let value = change.after.as_deref();
        work.changes.values.push(Entry {
            node: task,
            field: change.field,
            keys: value.map(|v| values::keys(kind, v)).unwrap_or_default(),
        });
    }
}

/// Tells of each changed value by its field, where saving the task only told that there are some.
pub fn facts(work: &mut Work<'_>, task: Gid, changes: &[ValueChange]) {
    let name = task::CUSTOM_FIELDS.def.name;
    let facts = &mut work.changes.facts;
    facts.retain(|f| {
        f.gid != task || !matches!(f.action, Action::Changed { field, .. } if field == name)
    });
    for change in changes {
        work.gained(task, Type::Task, name, change.field);
    }
}

/// Gives the draft of a copy the values of a task, as far as the view has their fields.
pub fn copy_values(work: &mut Work<'_>, draft: &mut Draft, view: &View, old: &Node) {
    let Some(object) = old.raw(task::CUSTOM_FIELDS.def.name) else {
        return;
    };
    let held = values::stored(object).filter(|(field, _)| view.node(*field).is_some());
    let given = held.map(|(field, value)| (field, Some(value.to_owned())));
    let (object, changes) = merge(None, given.collect());
    draft.set(task::CUSTOM_FIELDS, object);
    index(work, draft.gid, view, &changes);
}

/// What must be read of a project so that its settings can be copied.
#[must_use]
pub fn settings() -> Arc<Plan> {
    static PLAN: OnceLock<Arc<Plan>> = OnceLock::new();
    Arc::clone(PLAN.get_or_init(|| {
        let names = "custom_field_settings.(is_important|custom_field)";
        plan::asked(Type::Project, &Names::parse(names).unwrap_or_default()).plan
    }))
}

/// Gives the tasks of a new project or template the custom fields of another, as far as the viewer sees them.
pub fn copy_settings(work: &mut Work<'_>, view: &View, old: Gid, to: (Gid, Type), home: Gid) {
    for edge in view.sources(old, rel::FIELD_ON) {
        let setting = edge.aux.and_then(|g| view.node(g));
        if let Some(setting) = setting.filter(|_| view.level(edge.src) > Level::None) {
            let important = setting.get(custom_field_setting::IS_IMPORTANT);
            add_setting(work, edge.src, to, home, important, Place::Last);
        }
    }
}

/// Writes the stories of changed values on a task.
pub fn tell_changes(work: &mut Work<'_>, task: &Node, view: &View, changes: &[ValueChange]) {
    for change in changes {
        let Some(field) = view.node(change.field) else {
            continue;
        };
        let kind = custom_field::kind(field);
        let subtype = format!("{}_custom_field_changed", kind.word());
        tell(work, task.gid, task.home, &subtype, |draft| {
            draft.set(story::CUSTOM_FIELD, change.field);
            put(draft, kind, change);
        });
    }
}

/// The values before and after, in the story's fields for the type.
fn put(draft: &mut Draft, kind: Kind, change: &ValueChange) {
    let (old, new) = (change.before.as_deref(), change.after.as_deref());
    let raw = |value: Option<&str>| value.unwrap_or("null").to_owned();
    let list = |value: Option<&str>| value.unwrap_or("[]").to_owned();
    let one = |value: Option<&str>| value.and_then(|v| values::gids(v).next());
    match kind {
        Kind::Text => {
            let text = |value: Option<&str>| value.map(|v| crate::node::decode(v).into_owned());
            draft.set(story::OLD_TEXT, text(old).as_deref());
            draft.set(story::NEW_TEXT, text(new).as_deref());
        }
        Kind::Number => {
            draft.set(story::OLD_NUMBER, raw(old));
            draft.set(story::NEW_NUMBER, raw(new));
        }
        Kind::Enum => {
            draft.set(story::OLD_ENUM, one(old));
            draft.set(story::NEW_ENUM, one(new));
        }
        Kind::MultiEnum => {
            draft.set(story::OLD_MULTI_ENUM, list(old));
            draft.set(story::NEW_MULTI_ENUM, list(new));
        }
        Kind::Date => {
            draft.set(story::OLD_DATE, old.map_or_else(|| raw(None), dates));
            draft.set(story::NEW_DATE, new.map_or_else(|| raw(None), dates));
        }
        Kind::People => {
            draft.set(story::OLD_PEOPLE, list(old));
            draft.set(story::NEW_PEOPLE, list(new));
        }
        Kind::Reference => draft.set(story::NEW_REFERENCE, list(new)),
    }
}

/// A stored date in the form of a story's dates.
fn dates(value: &str) -> String {
    let part = |name: &str| {
        let found = entries(value).find(|(key, _)| *key == name);
        found.map_or("null", |(_, v)| v)
    };
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
