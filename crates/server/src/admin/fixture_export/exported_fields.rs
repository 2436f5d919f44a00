//! Fields that an export writes unchanged, and fields that it writes in another way.
use crate::admin::fixture_export::fixture_labels::{FixtureLabels, plain};
use crate::admin::fixture_export::world_reader::Record;
use serde_json::{Map, Value};
use workgraph_core::model::registry::{FieldDef, ValueType, Writability};
use workgraph_core::model::resources::resource;
use workgraph_core::rich_text;
use workgraph_core::{Gid, Type};

/// Fields that a client may write but an export writes in another way, by type.
const OTHERWISE: &[(Type, &[&str])] = &[
    (
        Type::Task,
        &[
            "name",
            "notes",
            "html_notes",
            "completed",
            "due_at",
            "due_on",
            "start_at",
            "start_on",
            "custom_fields",
            "followers",
            "tags",
            "projects",
            "memberships",
            "parent",
            "workspace",
            "liked",
            "hearted",
            "external",
            "assignee_section",
            "custom_type",
            "custom_type_status_option",
        ],
    ),
    (
        Type::Project,
        &[
            "name",
            "notes",
            "html_notes",
            "due_date",
            "public",
            "owner",
            "team",
            "workspace",
            "followers",
            "custom_fields",
            "current_status",
        ],
    ),
    (Type::Tag, &["name", "workspace", "followers"]),
    (
        Type::Team,
        &[
            "name",
            "description",
            "html_description",
            "organization",
            "visibility",
        ],
    ),
    (Type::Story, &["text", "html_text", "liked", "hearted"]),
    (Type::CustomField, &["name", "workspace", "enum_options"]),
];

/// Returns the declarations of a type's fields that an export writes unchanged.
fn exported(ty: Type) -> impl Iterator<Item = &'static FieldDef> {
    let otherwise = OTHERWISE.iter().find(|(other, _)| *other == ty);
    let otherwise = otherwise.map(|(_, names)| *names).unwrap_or_default();
    let is_written = |field: &&FieldDef| {
        matches!(
            field.write,
            Writability::Always | Writability::OnCreate | Writability::ValueMap
        )
    };
    let fields = resource(ty).fields.iter().filter(is_written);
    fields.filter(|field| !otherwise.contains(&field.name))
}

/// Returns the names of a type's fields that an export writes unchanged, in the form of `opt_fields`.
pub(crate) fn field_names(ty: Type) -> String {
    let names: Vec<&str> = exported(ty).map(|field| field.name).collect();
    names.join(",")
}

/// Returns the fields of a record that differ from the fields of a new object.
pub(crate) fn written(ty: Type, record: &Record, labels: &FixtureLabels) -> Map<String, Value> {
    let mut out = Map::new();
    for field in exported(ty) {
        let value = record.fields.get(field.name).unwrap_or(&Value::Null);
        let default: Value = serde_json::from_str(field.default).unwrap_or_default();
        if value.is_null() || *value == default {
            continue;
        }
        if let Some(value) = fixture_value(field, value, labels) {
            out.insert(field.name.to_owned(), value);
        }
    }
    out
}

fn fixture_value(field: &FieldDef, value: &Value, labels: &FixtureLabels) -> Option<Value> {
    Some(match (field.value_type, value) {
        (ValueType::One(_), linked) => {
            let gid = linked.get("gid").and_then(Value::as_str)?;
            labels.reference(Gid::parse(gid)?)?
        }
        (ValueType::Date, Value::String(text)) => labels.day(text),
        (ValueType::Time, Value::String(text)) => labels.time(text),
        (_, Value::String(text)) => plain(text),
        (_, other) => other.clone(),
    })
}

/// Text of a record as a field.
#[derive(Debug, PartialEq)]
pub(crate) struct TextField {
    pub(crate) name: &'static str,
    pub(crate) value: Value,
    /// True if it links to other objects, so that it can be written only once they exist.
    pub(crate) is_linking: bool,
}

/// Text of a record, and whether all of it can be written.
#[derive(Debug, PartialEq)]
pub(crate) struct ExportedText {
    /// Text, ready to write; `None` for an empty text.
    pub(crate) field: Option<TextField>,
    /// True if the formatting of the text is lost because it links to objects that are not part of the fixture.
    pub(crate) is_reduced: bool,
}

/// Returns a text of a record, given the names of its plain and its rich form. The plain form is used if it says everything.
pub(crate) fn text_field(
    record: &Record,
    (plain_name, html_name): (&'static str, &'static str),
    labels: &FixtureLabels,
) -> ExportedText {
    let text = record.fields.get(plain_name).and_then(Value::as_str);
    let text = text.unwrap_or_default();
    let rich = record.html.as_deref();
    let rich = rich.filter(|html| **html != rich_text::from_text(text));
    let is_linking = rich.is_some_and(|html| !rich_text::links(html).is_empty());
    let html = rich.and_then(|html| labels.html(html));
    let is_reduced = rich.is_some() && html.is_none();
    let field = match html {
        Some(html) => Some(TextField {
            name: html_name,
            value: html.into(),
            is_linking,
        }),
        None if text.is_empty() => None,
        None => Some(TextField {
            name: plain_name,
            value: plain(text),
            is_linking: false,
        }),
    };
    ExportedText { field, is_reduced }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use workgraph_core::model::time::Time;

    #[test]
    fn what_is_written_in_another_way_is_a_field_and_all_other_values_can_be_written() {
        for (ty, names) in OTHERWISE {
            for field in exported(*ty) {
                let is_simple = !matches!(
                    field.value_type,
                    ValueType::Many(_)
                        | ValueType::Group(_)
                        | ValueType::Items(_)
                        | ValueType::Html
                );
                assert!(is_simple, "{ty:?}: {}", field.name);
            }
            for name in *names {
                let is_field = resource(*ty).field(name).is_some();
                // Inputs of operations that no record has.
                let is_input = matches!(*name, "workspace" | "custom_fields");
                assert!(is_field || is_input, "{ty:?}: {name}");
            }
        }
    }

    #[test]
    fn only_what_differs_from_a_new_object_is_written() {
        let mut labels = FixtureLabels::new(Time::parse("2026-03-02T09:30:00.000Z").unwrap());
        let ann = Gid::new(7).unwrap();
        labels.add(ann, "Ann", "person");
        let record = Record {
            gid: Gid::new(8).unwrap(),
            fields: json!({"resource_subtype": "milestone", "approval_status": null, "assignee": {"gid": "7"},
                "notes": "Call <Ben>"}),
            html: Some("<body>Call &lt;Ben&gt;</body>".to_owned()),
            creator: None,
            has_external: false,
        };
        let fields = written(Type::Task, &record, &labels);
        let expected = json!({"assignee": "@Ann", "resource_subtype": "milestone"});
        assert_eq!(Value::from(fields), expected);
        let forms = ("notes", "html_notes");
        let text = text_field(&record, forms, &labels).field.unwrap();
        assert_eq!((text.name, text.value), ("notes", "Call <Ben>".into()));
        let html = "<body><strong>Call</strong> <a data-asana-gid=\"7\"/></body>";
        let rich = Record {
            html: Some(html.to_owned()),
            ..record
        };
        let named = html.replace('7', "@Ann");
        let text = text_field(&rich, forms, &labels).field.unwrap();
        assert_eq!((text.name, text.value), ("html_notes", named.into()));
        assert!(text.is_linking);
        let unknown = Record {
            html: Some(html.replace('7', "9")),
            ..rich
        };
        let text = text_field(&unknown, forms, &labels);
        assert!(text.is_reduced);
        assert_eq!(text.field.unwrap().name, "notes");
    }
}
