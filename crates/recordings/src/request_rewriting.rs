//! Rewrites recorded requests for the other server.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::api_address::decoded;
use crate::field_kind::{FieldKind, kind_of};
use crate::identifier_mapping::IdentifierMapping;
use crate::recording::RecordedRequest;
use crate::rich_text::translate_tags;

/// Characters that are percent-coded in a segment or a value that was replaced.
const CODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b',');

/// Returns a request with the known identifiers replaced. Segments, values and bodies without one stay the same byte for
/// byte.
pub(crate) fn rewrite(request: &RecordedRequest, mapping: &IdentifierMapping) -> RecordedRequest {
    let body = request.body.as_ref();
    RecordedRequest {
        method: request.method.clone(),
        target: rewrite_target(&request.target, mapping),
        content_type: request.content_type.clone(),
        body: body.map(|body| rewrite_body(request, body, mapping)),
    }
}

fn rewrite_target(target: &str, mapping: &IdentifierMapping) -> String {
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let segment = |text: &str| replaced(text, mapping.of(&decoded(text)));
    let path = path.split('/').map(segment).collect::<Vec<_>>().join("/");
    match query {
        Some(query) => format!("{path}?{}", rewrite_query(query, mapping)),
        None => path,
    }
}

/// Returns the percent-coded replacement of a text, or the text itself if there is none.
fn replaced(text: &str, new: Option<&str>) -> String {
    new.filter(|new| *new != decoded(text))
        .map_or_else(|| text.to_owned(), coded)
}

fn coded(text: &str) -> String {
    utf8_percent_encode(text, CODED).to_string()
}

fn rewrite_query(query: &str, mapping: &IdentifierMapping) -> String {
    let pair = |pair: &str| match pair.split_once('=') {
        // The gid of a custom field is part of a name: `custom_fields.12.value`.
        Some((name, value)) => {
            let new = rewrite_query_value(&decoded(name), value, mapping);
            format!("{}={new}", mapping.translate(name))
        }
        None => pair.to_owned(),
    };
    query.split('&').map(pair).collect::<Vec<_>>().join("&")
}

fn rewrite_query_value(name: &str, value: &str, mapping: &IdentifierMapping) -> String {
    let is_option = name.starts_with("opt_") || name == "limit";
    if is_option || kind_of(name) == FieldKind::FreeText {
        return value.to_owned();
    }
    let plain = decoded(value);
    if let Some(new) = mapping.of(&plain) {
        return replaced(value, Some(new));
    }
    let member = |member| mapping.of(member).unwrap_or(member);
    let members = plain.split(',').map(member).collect::<Vec<_>>().join(",");
    replaced(value, Some(&members))
}

fn rewrite_body(request: &RecordedRequest, body: &str, mapping: &IdentifierMapping) -> String {
    let kind = request.content_type.as_deref().unwrap_or("");
    if request.is_form() {
        return rewrite_query(body, mapping);
    }
    if kind.starts_with("multipart/") {
        let line = |line: &str| {
            let text = line.trim_end_matches('\r');
            line.replacen(text, mapping.of(text).unwrap_or(text), 1)
        };
        return body.split('\n').map(line).collect::<Vec<_>>().join("\n");
    }
    let Ok(recorded) = serde_json::from_str::<Value>(body) else {
        return body.to_owned();
    };
    let rewritten = rewrite_json("", &recorded, mapping);
    if rewritten == recorded {
        body.to_owned()
    } else {
        rewritten.to_string()
    }
}

fn rewrite_json(field: &str, value: &Value, mapping: &IdentifierMapping) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| {
                let new_name = mapping.of(name).unwrap_or(name).to_owned();
                (new_name, rewrite_json(name, value, mapping))
            })
            .collect(),
        Value::Array(members) => members
            .iter()
            .map(|member| rewrite_json(field, member, mapping))
            .collect(),
        Value::String(text) => Value::String(match kind_of(field) {
            FieldKind::FreeText => text.clone(),
            FieldKind::RichText => translate_tags(text, mapping),
            // An action of a batch names its path.
            _ if field == "relative_path" => rewrite_target(text, mapping),
            _ => mapping.of(text).unwrap_or(text).to_owned(),
        }),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
