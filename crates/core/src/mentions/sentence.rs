//! The sentences of system stories, from what the stories keep: a subtype, gids and values.
use crate::gid::Gid;
use crate::graph::View;
use crate::node::{Node, decode, entries};
use crate::registry::{Field, Kind, One, Source};
use crate::resources::story;
use crate::values::{self, Look};
use std::borrow::Cow;

/// A sentence that names one object.
struct Naming {
    subtype: &'static str,
    before: &'static str,
    object: Field<One>,
    /// What the object is called if its name is not shown.
    noun: &'static str,
    after: &'static str,
}

const fn naming(
    subtype: &'static str,
    before: &'static str,
    object: Field<One>,
    noun: &'static str,
) -> Naming {
    Naming {
        subtype,
        before,
        object,
        noun,
        after: "",
    }
}

const NAMING: &[Naming] = &[
    naming("assigned", "assigned to", story::ASSIGNEE, "user"),
    naming("added_to_project", "added to", story::PROJECT, "project"),
    naming(
        "removed_from_project",
        "removed from",
        story::PROJECT,
        "project",
    ),
    naming("section_changed", "moved to", story::NEW_SECTION, "section"),
    naming("added_to_tag", "added to", story::TAG, "tag"),
    naming("removed_from_tag", "removed from", story::TAG, "tag"),
    naming(
        "dependency_added",
        "marked as blocked by",
        story::DEPENDENCY,
        "task",
    ),
    naming(
        "dependent_added",
        "marked as blocking",
        story::DEPENDENCY,
        "task",
    ),
    naming(
        "duplicated",
        "duplicated from",
        story::DUPLICATED_FROM,
        "task",
    ),
    Naming {
        after: " as a collaborator",
        ..naming("follower_added", "added", story::FOLLOWER, "user")
    },
];

/// Subtypes whose sentence is always the same.
const FIXED: &[(&str, &str)] = &[
    ("notes_changed", "changed the description"),
    ("unassigned", "unassigned"),
    ("marked_complete", "marked this task complete"),
    ("marked_incomplete", "marked this task incomplete"),
];

/// The end of the subtypes of changed custom fields, behind the field's type.
const VALUE: &str = "_custom_field_changed";

/// The objects that the sentence of a story names.
pub(super) fn about(node: &Node) -> Vec<Gid> {
    let subtype = subtype(node);
    if let Some(naming) = NAMING.iter().find(|n| n.subtype == subtype) {
        return node.get(naming.object).into_iter().collect();
    }
    let Some(kind) = subtype.strip_suffix(VALUE).and_then(Kind::parse) else {
        return Vec::new();
    };
    let value = value(node, kind);
    let linked = value.iter().flat_map(|v| values::linked(kind, v));
    node.get(story::CUSTOM_FIELD)
        .into_iter()
        .chain(linked)
        .collect()
}

/// The sentence of a story for the viewer.
pub(super) fn of(node: &Node, view: &View) -> String {
    let subtype = subtype(node);
    if let Some((_, sentence)) = FIXED.iter().find(|(of, _)| *of == subtype) {
        return (*sentence).to_owned();
    }
    if let Some(naming) = NAMING.iter().find(|n| n.subtype == subtype) {
        let name = called(view, node.get(naming.object), naming.noun);
        return format!("{} {name}{}", naming.before, naming.after);
    }
    if let Some(kind) = subtype.strip_suffix(VALUE).and_then(Kind::parse) {
        return changed(node, kind, view);
    }
    let word = |field: Field<str>| node.get(field).unwrap_or_default();
    match &*subtype {
        "name_changed" => format!("changed the name to \"{}\"", word(story::NEW_NAME)),
        "approval_status_changed" => {
            format!(
                "changed the approval status to {}",
                word(story::NEW_APPROVAL)
            )
        }
        "resource_subtype_changed" => format!("changed the type to {}", word(story::NEW_SUBTYPE)),
        "due_date_changed" => moved(node, "due_on", "due date"),
        "start_date_changed" => moved(node, "start_on", "start date"),
        _ => "changed this task".to_owned(),
    }
}

fn subtype(node: &Node) -> Cow<'_, str> {
    node.get(story::SUBTYPE).unwrap_or_default()
}

/// The name of an object, or of what kind it is.
fn called(view: &View, gid: Option<Gid>, noun: &str) -> String {
    match gid.map(|gid| (view.visible(gid), view.node(gid))) {
        Some((Some(node), _)) => node.title(),
        Some((None, Some(_))) => format!("a private {noun}"),
        Some((None, None)) | None => format!("a deleted {noun}"),
    }
}

/// That a date of the task changed.
fn moved(node: &Node, part: &str, noun: &str) -> String {
    let dates = node.raw(key(&story::NEW_DATES)).unwrap_or_default();
    let day = entries(dates).find(|(name, _)| *name == part);
    match day.map(|(_, day)| day).filter(|day| *day != "null") {
        Some(day) => format!("changed the {noun} to {}", decode(day)),
        None => format!("removed the {noun}"),
    }
}

/// That the value of a custom field changed.
fn changed(node: &Node, kind: Kind, view: &View) -> String {
    let gid = node.get(story::CUSTOM_FIELD);
    let name = called(view, gid, "custom field");
    let Some(field) = gid.and_then(|gid| view.visible(gid)) else {
        // Not even whether it has a value now.
        return format!("changed {name}");
    };
    let Some(value) = value(node, kind) else {
        return if is_cleared(node, kind) {
            format!("cleared {name}")
        } else {
            format!("changed {name}")
        };
    };
    let mut shown = Vec::new();
    let title = |gid| view.visible(gid).and_then(values::title);
    values::display(&Look::of(field), Some(&value), title, &mut shown);
    match String::from_utf8(shown).unwrap_or_default() {
        // All that it names is out of sight.
        shown if shown == "null" => format!("changed {name}"),
        shown => format!("changed {name} to \"{}\"", decode(&shown)),
    }
}

/// Whether a story that keeps no value tells that there is none. References were once told in the sentence
/// alone, which was stored then.
fn is_cleared(node: &Node, kind: Kind) -> bool {
    let told = node.raw(key(&story::TEXT)).map(decode);
    kind != Kind::Reference || told.is_none_or(|told| told.starts_with("cleared "))
}

/// The value after the change, as tasks store it.
fn value(node: &Node, kind: Kind) -> Option<Cow<'_, str>> {
    let key = match kind {
        Kind::Text => key(&story::NEW_TEXT),
        Kind::Number => key(&story::NEW_NUMBER),
        Kind::Enum => key(&story::NEW_ENUM),
        Kind::MultiEnum => key(&story::NEW_MULTI_ENUM),
        Kind::Date => key(&story::NEW_DATE),
        Kind::People => key(&story::NEW_PEOPLE),
        Kind::Reference => key(&story::NEW_REFERENCE),
    };
    let raw = node.raw(key).filter(|raw| !matches!(*raw, "null" | "[]"))?;
    if kind != Kind::Date {
        return Some(Cow::Borrowed(raw));
    }
    let part = |name: &str| {
        let found = entries(raw).find(|(key, _)| *key == name);
        found.map_or("null", |(_, value)| value)
    };
    let (date, time) = (part("due_on"), part("due_at"));
    Some(format!("{{\"date\":{date},\"date_time\":{time}}}").into())
}

/// The key under which a field is stored.
fn key<K: ?Sized>(field: &Field<K>) -> &'static str {
    match field.def.source {
        Source::Stored(key) | Source::Inline(key) | Source::Gids(key) => key,
        _ => field.def.name,
    }
}
