//! An operation of the document as HTML.
use maud::{Markup, html};
use serde_json::Value;

use super::schema::{description, field_list, fields, type_name};
use super::view::{DocumentView, OperationView, flag, items, members, prose, text};
use crate::pages::paths;

/// Returns an operation, collapsed.
pub(super) fn operation(view: &DocumentView<'_>, operation: &OperationView<'_>) -> Markup {
    let object = operation.object;
    html! {
        details.card.operation #(operation.id) data-find data-method=(operation.method) data-path=(operation.path) {
            summary {
                h3 { (signature(operation)) }
                " " span.title { (prose(object, "summary")) }
                (marks(object))
            }
            @if !text(object, "description").is_empty() { p { (prose(object, "description")) } }
            (facts(operation))
            (parameters(view, object))
            (body(view, object))
            (example_of(object.get("requestBody"), "request", &format!("Example of a body of {}", operation.id)))
            (responses(view, operation))
        }
    }
}

/// Returns the method and the path.
pub(super) fn signature(operation: &OperationView<'_>) -> Markup {
    html! { span.method { (operation.method) } " " code { (operation.path) } }
}

/// Returns the labels of an operation: for old clients only, or for paid plans only.
pub(super) fn marks(object: &Value) -> Markup {
    html! {
        @if flag(object, "deprecated") { " " span.tag.off { "Old path" } }
        @if flag(object, "x-paid-plan") { " " span.tag { "Paid plan" } }
    }
}

/// Returns the scope that a token needs; none for full permissions.
fn scope(object: &Value) -> Option<&str> {
    let mut all = items(object, "security").flat_map(|security| items(security, "oauth2"));
    all.next().and_then(Value::as_str)
}

/// Returns further names that a search finds an operation by, besides the ones shown in the overview.
pub(super) fn search_words(view: &DocumentView<'_>, operation: &OperationView<'_>) -> String {
    let mut words = vec![operation.id];
    words.extend(scope(operation.object));
    let own = items(operation.object, "parameters").filter(|p| p.get("$ref").is_none());
    words.extend(own.map(|parameter| text(parameter, "name")));
    for (_, schema) in bodies(operation.object) {
        words.extend(fields(view, schema).iter().map(|field| field.name));
    }
    words.join(" ")
}

fn facts(operation: &OperationView<'_>) -> Markup {
    let object = operation.object;
    let slot = match operation.method {
        "GET" => "reads",
        _ => "writes",
    };
    html! {
        dl {
            dt { "Name" } dd { code { (operation.id) } }
            dt { "Scope" }
            dd { @match scope(object) { Some(scope) => code { (scope) }, None => "full permissions" } }
            dt { "Limits" }
            dd { "the " (text(object, "x-quota")) " quota; a slot of the " (slot) }
            dt { "Cost" } dd { (text(object, "x-cost")) }
            dt { "In a batch" }
            dd { @if flag(object, "x-allowed-in-batch") { "allowed" } @else { "not allowed" } }
            dt { "Plan" }
            dd { @if flag(object, "x-paid-plan") { "paid; others are answered with 402" } @else { "any" } }
        }
    }
}

fn parameters(view: &DocumentView<'_>, object: &Value) -> Markup {
    let own: Vec<&Value> = items(object, "parameters")
        .filter(|p| p.get("$ref").is_none())
        .collect();
    let shared: Vec<&Value> = items(object, "parameters")
        .filter(|p| p.get("$ref").is_some())
        .map(|p| view.parameter(p))
        .collect();
    html! {
        h4 { "Parameters" }
        @if !own.is_empty() {
            dl.fields {
                @for parameter in own {
                    @let required = flag(parameter, "required");
                    dt { code data-in=(text(parameter, "in")) data-required[required] { (text(parameter, "name")) } }
                    dd {
                        @if required { span.tag.must { "Required" } " " }
                        span.type { "in the " (text(parameter, "in")) ", " (type_name(view, parameter.get("schema").unwrap_or(&Value::Null))) }
                        " " span.says { (prose(parameter, "description")) }
                    }
                }
            }
        }
        p.soft {
            "Shared parameters: "
            @for (number, parameter) in shared.iter().enumerate() {
                @let name = text(parameter, "name");
                @if number > 0 { ", " }
                a href={ (paths::REFERENCE) "#parameter-" (name) } { code data-in=(text(parameter, "in")) { (name) } }
            }
            "."
        }
    }
}

/// Returns the schemas of request bodies, with their media types. JSON is inside `data`.
fn bodies(object: &Value) -> Vec<(&str, &Value)> {
    let content = object.get("requestBody").unwrap_or(&Value::Null);
    members(content, "content")
        .filter_map(|(media, body)| {
            let schema = body.get("schema")?;
            Some((media, schema.pointer("/properties/data").unwrap_or(schema)))
        })
        .collect()
}

fn body(view: &DocumentView<'_>, object: &Value) -> Markup {
    html! {
        @for (media, schema) in bodies(object) {
            @let all = fields(view, schema);
            h4 { "Body" }
            p.soft data-media=(media) {
                code { (media) }
                @if media == "application/json" {
                    @if all.is_empty() { ", an object" } @else { ", an object whose " code { "data" } " has these fields:" }
                }
            }
            @if !all.is_empty() {
                dl.fields {
                    @for field in all {
                        dt { code data-in="body" data-media=(media) data-kind=[kind(field.schema)] data-required[field.is_required] { (field.name) } }
                        dd {
                            @if field.is_required { span.tag.must { "Required" } " " }
                            (description(view, field.schema, 0))
                        }
                    }
                }
            }
        }
    }
}

/// Returns the example of a body or reply, if the document has one.
fn example<'d>(content: &'d Value, media: &str) -> Option<&'d Value> {
    let content = content.get("content")?.get(media)?;
    let named = || {
        content
            .get("examples")?
            .as_object()?
            .values()
            .next()?
            .get("value")
    };
    content.get("example").or_else(named)
}

/// Returns an example as readable JSON. `part` tells the script which part of a request or reply the example shows.
fn example_of(content: Option<&Value>, part: &str, label: &str) -> Markup {
    let example = content.and_then(|content| example(content, "application/json"));
    let written = example.and_then(|value| serde_json::to_string_pretty(value).ok());
    html! {
        @if let Some(json) = written {
            p.soft { "Example" }
            pre data-example=(part) tabindex="0" role="region" aria-label=(label) { (json) }
        }
    }
}

/// Returns the kind of a field for the script: `file`, or its JSON type; `None` for a text.
fn kind(schema: &Value) -> Option<&str> {
    if text(schema, "format") == "binary" {
        return Some("file");
    }
    Some(text(schema, "type")).filter(|name| !name.is_empty() && *name != "string")
}

fn responses(view: &DocumentView<'_>, operation: &OperationView<'_>) -> Markup {
    let object = operation.object;
    let all = || members(object, "responses");
    html! {
        @for (status, response) in all().filter(|(status, _)| status.starts_with('2')) {
            h4 { "Reply" }
            p { strong { (status) } " " (prose(response, "description")) }
            @if let Some(schema) = response.pointer("/content/application~1json/schema") {
                dl.fields {
                    @for (name, part) in members(schema, "properties") {
                        dt { code { (name) } }
                        dd { (description(view, part, 2)) }
                    }
                }
            }
            (example_of(Some(response), "response", &format!("Example of a reply of {}", operation.id)))
        }
        h4 { "Errors" }
        ul.errors {
            @for (status, response) in all().filter(|(status, _)| !status.starts_with('2')) {
                li { a href={ (paths::REFERENCE) "#error-" (status) } { (status) } " " (prose(view.response(response), "description")) }
            }
        }
    }
}

/// Returns a record, collapsed.
pub(super) fn record(view: &DocumentView<'_>, name: &str, schema: &Value) -> Markup {
    html! {
        details.card.record #{ "record-" (name) } data-find {
            summary { h3 { (name) } }
            (field_list(view, schema, 0))
        }
    }
}
