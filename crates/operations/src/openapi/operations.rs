//! The operation objects: parameters, request body, responses and the required rights of a token.
use super::responses;
use super::schemas::{Schemas, input_schema, written_fields};
use super::tags::tag;
use crate::method::Method;
use crate::operation::inputs::{InputDef, InputPlace, InputType};
use crate::operation::{Operation, ResponseKind};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Largest page, and the default size of a page, for requests with pages.
const LIMIT_MAX: u16 = 100;

/// Returns the operation object of a row at one of its paths: the row's own, which comes first, or one for old clients.
pub(super) fn describe(
    operation: &'static Operation,
    path: &str,
    number: usize,
    schemas: &mut Schemas,
) -> Value {
    let mut out = Map::new();
    let id = match number {
        0 => operation.id.to_owned(),
        other => format!("{}{}", operation.id, other + 1),
    };
    out.insert("operationId".to_owned(), json!(id));
    out.insert("summary".to_owned(), json!(summary(operation.id)));
    out.insert("tags".to_owned(), json!([tag(operation)]));
    if number > 0 {
        out.insert("deprecated".to_owned(), json!(true));
    }
    let notes = notes(operation);
    if !notes.is_empty() {
        out.insert("description".to_owned(), json!(notes.join(" ")));
    }
    out.insert("parameters".to_owned(), parameters(operation, path));
    if let Some(body) = request_body(operation, path, schemas) {
        out.insert("requestBody".to_owned(), body);
    }
    out.insert("responses".to_owned(), responses::of(operation, schemas));
    let security = match operation.scope {
        Some(scope) => json!([{ "token": [] }, { "oauth2": [scope] }]),
        None => json!([{ "token": [] }]),
    };
    out.insert("security".to_owned(), security);
    let quota = if operation.search {
        "search"
    } else {
        "standard"
    };
    out.insert("x-quota".to_owned(), json!(quota));
    out.insert("x-cost".to_owned(), json!(cost(operation)));
    out.insert(
        "x-allowed-in-batch".to_owned(),
        json!(!operation.not_in_batch),
    );
    if operation.paid_only.is_some() {
        out.insert("x-paid-plan".to_owned(), json!(true));
    }
    Value::Object(out)
}

/// Returns the parameters that many operations share, as components.
pub(super) fn shared_parameters() -> Value {
    let words = json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "opt_fields": {
            "name": "opt_fields", "in": "query", "style": "form", "explode": false, "schema": words,
            "description": "Fields to send instead of the usual ones, each with a path through links, as in `assignee.name`.",
        },
        "opt_expand": {
            "name": "opt_expand", "in": "query", "style": "form", "explode": false, "schema": words,
            "description": "What to send as full records: `this` or `.` is the record itself, `assignee` a link, `(this|subtasks+)` \
                alternatives, where `+` repeats a link downwards. `opt_fields` wins where both are given.",
        },
        "opt_pretty": {
            "name": "opt_pretty", "in": "query", "schema": { "type": "boolean" },
            "description": "Sends JSON that is indented for people.",
        },
        "limit": {
            "name": "limit", "in": "query",
            "schema": { "type": "integer", "minimum": 1, "maximum": LIMIT_MAX },
            "description": "The number of records in a page.",
        },
        "offset": {
            "name": "offset", "in": "query", "schema": { "type": "string" },
            "description": "The token of the next page, as `next_page.offset` of the last one had it.",
        },
    })
}

/// Returns an operation id as a sentence: `getTask` is "Get task".
fn summary(id: &str) -> String {
    let mut out = String::new();
    for letter in id.chars() {
        if letter.is_ascii_uppercase() {
            out.push(' ');
        }
        out.push(letter.to_ascii_lowercase());
    }
    capitalised(&out)
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// Returns the sentences about the limits of an operation.
fn notes(operation: &Operation) -> Vec<&'static str> {
    let mut out = Vec::new();
    if operation.paid_only.is_some() {
        out.push("Workspaces without a paid plan are answered with 402.");
    }
    if operation.no_guests {
        out.push("Guests of the workspace may not use it.");
    }
    if operation.search {
        out.push("Counts against the search quota.");
    }
    if operation.not_in_batch {
        out.push("Not allowed as an action of a batch.");
    }
    out
}

/// Returns the cost of a request in credits, in words.
fn cost(operation: &Operation) -> &'static str {
    match operation.response {
        ResponseKind::Record(_) | ResponseKind::Created(_) => {
            "2, and 1 for each link followed and each field named in opt_fields"
        }
        ResponseKind::List(_) | ResponseKind::Records(_) | ResponseKind::Names => {
            "1, and for each object 1, with 1 for each link followed and each field named in opt_fields"
        }
        ResponseKind::Events => {
            "1, and for each event 1, with 1 for each link followed and each field named in opt_fields, and 1 for every ten \
             commits looked at"
        }
        ResponseKind::Counts => {
            "1, and 10 for each count asked for, and 1 for every ten tasks walked through"
        }
        ResponseKind::Outcomes => "the costs of its actions together",
        ResponseKind::AuditLog => "1, and 1 for each entry",
        ResponseKind::Empty => "1",
    }
}

fn is_paged(operation: &Operation) -> bool {
    matches!(
        operation.response,
        ResponseKind::List(_) | ResponseKind::Records(_) | ResponseKind::AuditLog
    ) && !operation.search
}

fn parameters(operation: &Operation, path: &str) -> Value {
    let mut out: Vec<Value> = Vec::new();
    let mut declared: Vec<&InputDef> = operation.declared_inputs().collect();
    declared.dedup_by_key(|input| (input.name, input.place as u8));
    for input in declared.iter().filter(|i| i.place != InputPlace::Body) {
        if input.place == InputPlace::Path && !path.contains(&format!("{{{}}}", input.name)) {
            continue;
        }
        out.push(parameter(input));
    }
    // A path for old clients may have a parameter that the row has in the body.
    let segments = path.split('/');
    for name in segments.filter_map(|s| s.strip_prefix('{')?.strip_suffix('}')) {
        if !out.iter().any(|p| p.get("name").is_some_and(|n| n == name)) {
            let noun = name.trim_end_matches("_gid").replace('_', " ");
            let doc = format!("The gid of the {noun}.");
            out.push(json!({
                "name": name, "in": "path", "required": true, "description": doc,
                "schema": { "type": "string" },
            }));
        }
    }
    let reference = |name: &str| json!({ "$ref": format!("#/components/parameters/{name}") });
    let named = |name: &str| declared.iter().any(|input| input.name == name);
    if is_paged(operation) || named("limit") {
        out.retain(|p| p.get("name").is_none_or(|n| n != "limit" && n != "offset"));
        out.push(reference("limit"));
    }
    if is_paged(operation) {
        out.push(reference("offset"));
    }
    if operation.response != ResponseKind::AuditLog {
        out.extend(["opt_fields", "opt_expand"].map(reference));
    }
    out.push(reference("opt_pretty"));
    Value::Array(out)
}

fn parameter(input: &InputDef) -> Value {
    let place = match input.place {
        InputPlace::Path => "path",
        InputPlace::Query | InputPlace::Body => "query",
    };
    let mut out = json!({
        "name": input.name,
        "in": place,
        "required": input.required,
        "description": input.doc,
        "schema": input_schema(input),
    });
    if let (Value::Object(out), InputType::Nodes(_) | InputType::Words(_)) = (&mut out, input.ty) {
        out.insert("style".to_owned(), json!("form"));
        out.insert("explode".to_owned(), json!(false));
    }
    out
}

fn request_body(operation: &Operation, path: &str, schemas: &mut Schemas) -> Option<Value> {
    if matches!(operation.method, Method::Get | Method::Delete) {
        return None;
    }
    let (mut properties, mut files) = (Map::new(), Map::new());
    let mut required: Vec<&str> = Vec::new();
    let mut written = BTreeSet::new();
    let mut records: Vec<Value> = Vec::new();
    let declared = operation.declared_inputs();
    for input in declared.filter(|input| input.place == InputPlace::Body) {
        if let InputType::Record(fields) = input.ty {
            records.push(schemas.written(fields));
            required.extend(fields.required);
            written.extend(written_fields(fields));
        } else if !path.contains(&format!("{{{}}}", input.name)) {
            let mut schema = input_schema(input);
            if let Value::Object(schema) = &mut schema {
                schema.insert("description".to_owned(), json!(input.doc));
            }
            let group = match input.ty {
                InputType::File => &mut files,
                _ => &mut properties,
            };
            group.insert(input.name.to_owned(), schema);
            required.extend(input.required_fields());
        }
    }
    // The record also describes the fields that the operation itself reads from it.
    properties.retain(|name, _| !written.contains(name.as_str()));
    let mut content = Map::new();
    if !files.is_empty() {
        files.extend(properties.clone());
        let schema = json!({ "type": "object", "required": required, "properties": files });
        content.insert(
            "multipart/form-data".to_owned(),
            json!({ "schema": schema }),
        );
    }
    let mut data = json!({ "type": "object", "properties": properties });
    if let (Value::Object(data), false) = (&mut data, records.is_empty()) {
        data.insert("allOf".to_owned(), Value::Array(records));
    }
    if let (Value::Object(data), false) = (&mut data, required.is_empty()) {
        data.insert("required".to_owned(), json!(required));
    }
    let schema = json!({
        "type": "object",
        "required": if required.is_empty() { json!([]) } else { json!(["data"]) },
        "properties": { "data": data },
    });
    content.insert("application/json".to_owned(), json!({ "schema": schema }));
    // An action without required input needs no body.
    let is_needed = !required.is_empty() || operation.response != ResponseKind::Empty;
    Some(json!({ "required": is_needed, "content": content }))
}
