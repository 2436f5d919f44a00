//! Types and fields of the document as HTML.
use maud::{Markup, html};
use serde_json::Value;

use super::view::{DocumentView, flag, items, members, prose, reference, text};

/// Maximum depth of nested fields that are shown.
const DEPTH: usize = 4;

/// Field of a body or record: its name, its schema, and whether it is required.
pub(super) struct FieldView<'d> {
    pub(super) name: &'d str,
    pub(super) schema: &'d Value,
    pub(super) is_required: bool,
}

/// Returns the fields of a schema, including those of the schemas that it includes.
pub(super) fn fields<'d>(view: &DocumentView<'d>, schema: &'d Value) -> Vec<FieldView<'d>> {
    let required: Vec<&str> = items(schema, "required")
        .filter_map(Value::as_str)
        .collect();
    let included = items(schema, "allOf").filter_map(|part| view.schema(reference(part)?));
    std::iter::once(schema)
        .chain(included)
        .flat_map(|part| members(part, "properties"))
        .map(|(name, schema)| FieldView {
            name,
            schema,
            is_required: required.contains(&name),
        })
        .collect()
}

/// Returns the list of the fields of a record.
pub(super) fn field_list(view: &DocumentView<'_>, schema: &Value, depth: usize) -> Markup {
    html! {
        dl.fields {
            @for (name, field) in members(schema, "properties") {
                dt { code { (name) } }
                dd { (description(view, field, depth)) }
            }
        }
    }
}

/// Returns the type, marks and documentation of a field, with the fields inside it.
pub(super) fn description(view: &DocumentView<'_>, field: &Value, depth: usize) -> Markup {
    let inner = if field.get("properties").is_some() {
        Some(field)
    } else {
        field
            .get("items")
            .filter(|items| items.get("properties").is_some())
    };
    html! {
        span.type { (type_name(view, field)) }
        @if flag(field, "deprecated") { " " span.tag.off { "Deprecated" } }
        @for scope in items(field, "x-scopes").filter_map(Value::as_str) {
            " " span.tag { "Needs " (scope) }
        }
        @if !text(field, "description").is_empty() { " " span.says { (prose(field, "description")) } }
        @if let (Some(inner), true) = (inner, depth < DEPTH) { (field_list(view, inner, depth + 1)) }
    }
}

/// Returns the type of a schema in words, with links to records.
pub(super) fn type_name(view: &DocumentView<'_>, schema: &Value) -> Markup {
    if let Some(name) = reference(schema) {
        return match view.record_address(name) {
            Some(address) => html! { a href=(address) { (name) } },
            None => html! { (name) },
        };
    }
    if let Some(Value::Array(all)) = schema.get("anyOf") {
        return html! {
            @for (number, each) in all.iter().enumerate() {
                @if number > 0 { " or " }
                (type_name(view, each))
            }
        };
    }
    if let Some(Value::Array(words)) = schema.get("enum") {
        return html! {
            "one of "
            @for (number, word) in words.iter().enumerate() {
                @if number > 0 { ", " }
                code { @match word.as_str() { Some(word) => (word), None => "null" } }
            }
        };
    }
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec!["any value"],
    };
    let number = |key: &str| schema.get(key).and_then(Value::as_i64);
    html! {
        @for (place, name) in names.iter().enumerate() {
            @if place > 0 { " or " }
            @match (*name, text(schema, "format")) {
                ("array", _) => {
                    "array"
                    @if let Some(item) = schema.get("items") { " of " (type_name(view, item)) }
                }
                ("string", "date") => "date",
                ("string", "date-time") => "time",
                ("string", "binary") => "file",
                (other, _) => (other),
            }
        }
        @if let Some(max) = number("maxLength") { ", up to " (max) " characters" }
        @if let (Some(least), Some(most)) = (number("minimum"), number("maximum")) { ", " (least) " to " (most) }
    }
}
