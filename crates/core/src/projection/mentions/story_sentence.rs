//! The sentences of system stories, from the stored parts of the stories: a subtype, gids and values.
use crate::model::custom_field_values;
use crate::model::custom_field_values::DisplayFormat;
use crate::model::gid::Gid;
use crate::model::json_members::member;
use crate::model::node::{Node, decode_json_string};
use crate::model::registry::{CustomFieldType, FieldSource, LinkOne, TypedField};
use crate::model::resources::story;
use crate::storage::ReadView;
use std::borrow::Cow;

/// A sentence with the name of one object in it.
struct SentenceTemplate {
    subtype: &'static str,
    before: &'static str,
    object: TypedField<LinkOne>,
    /// Noun that replaces the name of the object if the name is not shown.
    noun: &'static str,
    after: &'static str,
}

const fn naming(
    subtype: &'static str,
    before: &'static str,
    object: TypedField<LinkOne>,
    noun: &'static str,
) -> SentenceTemplate {
    SentenceTemplate {
        subtype,
        before,
        object,
        noun,
        after: "",
    }
}

const NAMING: &[SentenceTemplate] = &[
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
    naming("attachment_added", "attached", story::ATTACHMENT, "file"),
    SentenceTemplate {
        after: " as a collaborator",
        ..naming("follower_added", "added", story::FOLLOWER, "user")
    },
];

/// Subtypes with one fixed sentence.
const FIXED: &[(&str, &str)] = &[
    ("notes_changed", "changed the description"),
    ("unassigned", "unassigned"),
    ("marked_complete", "marked this task complete"),
    ("marked_incomplete", "marked this task incomplete"),
];

/// Suffix of the subtypes of changed custom fields, after the field's type.
const VALUE: &str = "_custom_field_changed";

/// Returns the objects that the sentence of a story names.
pub(super) fn about(node: &Node) -> Vec<Gid> {
    let subtype = subtype(node);
    if let Some(naming) = NAMING.iter().find(|n| n.subtype == subtype) {
        return node.get(naming.object).into_iter().collect();
    }
    let Some(kind) = subtype.strip_suffix(VALUE).and_then(CustomFieldType::parse) else {
        return Vec::new();
    };
    let value = value(node, kind);
    let linked = value
        .iter()
        .flat_map(|v| custom_field_values::linked(kind, v));
    node.get(story::CUSTOM_FIELD)
        .into_iter()
        .chain(linked)
        .collect()
}

/// Returns the sentence of a story for the viewer.
pub(super) fn of(node: &Node, view: &ReadView) -> String {
    let subtype = subtype(node);
    if let Some((_, sentence)) = FIXED.iter().find(|(of, _)| *of == subtype) {
        return (*sentence).to_owned();
    }
    if let Some(naming) = NAMING.iter().find(|n| n.subtype == subtype) {
        let name = called(view, node.get(naming.object), naming.noun);
        return format!("{} {name}{}", naming.before, naming.after);
    }
    if let Some(kind) = subtype.strip_suffix(VALUE).and_then(CustomFieldType::parse) {
        return changed(node, kind, view);
    }
    let word = |field: TypedField<str>| node.get(field).unwrap_or_default();
    match &*subtype {
        "name_changed" => format!("changed the name to \"{}\"", word(story::NEW_NAME)),
        "approval_status_changed" => {
            format!(
                "changed the approval status to {}",
                word(story::NEW_APPROVAL)
            )
        }
        story::RULE_TRIGGERED => word(story::TEXT).into_owned(),
        "resource_subtype_changed" => format!("changed the type to {}", word(story::NEW_SUBTYPE)),
        "due_date_changed" => moved(node, "due_on", "due date"),
        "start_date_changed" => moved(node, "start_on", "start date"),
        _ => "changed this task".to_owned(),
    }
}

fn subtype(node: &Node) -> Cow<'_, str> {
    node.get(story::SUBTYPE).unwrap_or_default()
}

/// Returns the name of an object, or the noun for its type.
fn called(view: &ReadView, gid: Option<Gid>, noun: &str) -> String {
    match gid.map(|gid| (view.visible(gid), view.node(gid))) {
        Some((Some(node), _)) => node.title(),
        Some((None, Some(_))) => format!("a private {noun}"),
        Some((None, None)) | None => format!("a deleted {noun}"),
    }
}

/// Returns the sentence about a changed date of the task.
fn moved(node: &Node, part: &str, noun: &str) -> String {
    let dates = node.raw(key(&story::NEW_DATES)).unwrap_or_default();
    match member(dates, part).filter(|day| *day != "null") {
        Some(day) => format!("changed the {noun} to {}", decode_json_string(day)),
        None => format!("removed the {noun}"),
    }
}

/// Returns the sentence about a changed value of a custom field.
fn changed(node: &Node, kind: CustomFieldType, view: &ReadView) -> String {
    let gid = node.get(story::CUSTOM_FIELD);
    let name = called(view, gid, "custom field");
    let Some(field) = gid.and_then(|gid| view.visible(gid)) else {
        // The sentence must not even reveal whether the field has a value now.
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
    let title = |gid| view.visible(gid).and_then(custom_field_values::title);
    custom_field_values::display(&DisplayFormat::of(field), Some(&value), title, &mut shown);
    match String::from_utf8(shown).unwrap_or_default() {
        // The viewer sees none of the objects in the value.
        shown if shown == "null" => format!("changed {name}"),
        shown => format!("changed {name} to \"{}\"", decode_json_string(&shown)),
    }
}

/// Returns true if a story without a value means that the value was cleared. Earlier versions stored references only in the
/// sentence.
fn is_cleared(node: &Node, kind: CustomFieldType) -> bool {
    let text = node.raw(key(&story::TEXT)).map(decode_json_string);
    kind != CustomFieldType::Reference || text.is_none_or(|text| text.starts_with("cleared "))
}

/// Returns the value after the change, in the stored form of tasks.
fn value(node: &Node, kind: CustomFieldType) -> Option<Cow<'_, str>> {
    let key = match kind {
        CustomFieldType::Text => key(&story::NEW_TEXT),
        CustomFieldType::Number => key(&story::NEW_NUMBER),
        CustomFieldType::Enum => key(&story::NEW_ENUM),
        CustomFieldType::MultiEnum => key(&story::NEW_MULTI_ENUM),
        CustomFieldType::Date => key(&story::NEW_DATE),
        CustomFieldType::People => key(&story::NEW_PEOPLE),
        CustomFieldType::Reference => key(&story::NEW_REFERENCE),
    };
    let raw = node.raw(key).filter(|raw| !matches!(*raw, "null" | "[]"))?;
    if kind != CustomFieldType::Date {
        return Some(Cow::Borrowed(raw));
    }
    let part = |name: &str| member(raw, name).unwrap_or("null");
    let (date, time) = (part("due_on"), part("due_at"));
    Some(format!("{{\"date\":{date},\"date_time\":{time}}}").into())
}

/// Returns the key under which a field is stored.
fn key<K: ?Sized>(field: &TypedField<K>) -> &'static str {
    match field.def.source {
        FieldSource::Stored(key) | FieldSource::Inline(key) | FieldSource::Gids(key) => key,
        _ => field.def.name,
    }
}
