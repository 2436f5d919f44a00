//! The responses of operations, and the errors that all of them share.
use super::schemas::Schemas;
use crate::operation::{Operation, ResponseKind};
use serde_json::{Map, Value, json};
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::resource;

/// Errors that every operation may return: status, name of the component, meaning.
const ERRORS: &[(u16, &str, &str)] = &[
    (
        400,
        "BadRequest",
        "The request is malformed; the message names the parameter.",
    ),
    (401, "Unauthorized", "There is no valid token."),
    (402, "PaymentRequired", "The workspace has no paid plan."),
    (403, "Forbidden", "The token or its user may not do this."),
    (
        404,
        "NotFound",
        "There is no such object, or its path is wrong.",
    ),
    (
        412,
        "SyncTokenOld",
        "The sync token is missing or too old; the body has a new one.",
    ),
    (413, "TooLarge", "The body is too large."),
    (
        414,
        "AddressTooLong",
        "The address of the request is too long.",
    ),
    (
        415,
        "UnsupportedMediaType",
        "The body is of a media type that is not understood.",
    ),
    (
        422,
        "Unprocessable",
        "The request is well formed, but can't be carried out.",
    ),
    (429, "TooManyRequests", "A rate limit refuses the request."),
    (
        431,
        "HeadersTooLarge",
        "The headers of the request are too large, or too many.",
    ),
    (
        500,
        "ServerError",
        "The server failed; the phrase finds the reason in its log.",
    ),
    (
        503,
        "Unavailable",
        "The server is too busy, or its database can't be reached; nothing was changed.",
    ),
    (
        504,
        "Timeout",
        "The work took longer than a request may take.",
    ),
];

/// Returns the error responses, as components.
pub(super) fn errors() -> Value {
    let each = ERRORS.iter().map(|(status, name, meaning)| {
        let mut response = json!({
            "description": meaning,
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Errors" } } },
        });
        if let (Value::Object(response), 429) = (&mut response, *status) {
            let wait = json!({
                "description": "Seconds until the request is admitted.",
                "schema": { "type": "integer", "minimum": 1 },
            });
            response.insert("headers".to_owned(), json!({ "Retry-After": wait }));
        }
        ((*name).to_owned(), response)
    });
    Value::Object(each.collect())
}

/// Returns the responses of an operation.
pub(super) fn of(operation: &Operation, schemas: &mut Schemas) -> Value {
    let (status, meaning) = match operation.response {
        ResponseKind::Created(_) => ("201", "The record that was created."),
        ResponseKind::Record(_) => ("200", "The record."),
        ResponseKind::List(_) | ResponseKind::Records(_) | ResponseKind::Names => {
            ("200", "The records.")
        }
        ResponseKind::Empty => ("200", "Done; the data is empty."),
        ResponseKind::Counts => ("200", "The counts that were asked for."),
        ResponseKind::Outcomes => ("200", "The outcome of each action, in their order."),
        ResponseKind::Events => ("200", "The events, with the token to go on from."),
        ResponseKind::AuditLog => ("200", "Entries of the audit log."),
    };
    let mut success = json!({
        "description": meaning,
        "content": { "application/json": { "schema": body(operation, schemas) } },
    });
    if let (Value::Object(success), "201") = (&mut success, status) {
        let address =
            json!({ "description": "Address of the record.", "schema": { "type": "string" } });
        success.insert("headers".to_owned(), json!({ "Location": address }));
    }
    let mut out = Map::new();
    out.insert(status.to_owned(), success);
    for (status, name, _) in ERRORS {
        let applies = match status {
            402 => operation.paid_only.is_some() || operation.no_guests || operation.writes(),
            412 => operation.response == ResponseKind::Events,
            413 | 415 | 422 => operation.writes() || operation.response == ResponseKind::Outcomes,
            _ => true,
        };
        if applies {
            let component = format!("#/components/responses/{name}");
            out.insert(status.to_string(), json!({ "$ref": component }));
        }
    }
    Value::Object(out)
}

fn body(operation: &Operation, schemas: &mut Schemas) -> Value {
    let mut parts = Map::new();
    let mut required = vec!["data"];
    let data = match operation.response {
        ResponseKind::Record(ty) | ResponseKind::Created(ty) => record(ty, schemas),
        ResponseKind::List(ty) | ResponseKind::Records(ty) => {
            parts.insert("next_page".to_owned(), next_page());
            json!({ "type": "array", "items": record(ty, schemas) })
        }
        ResponseKind::Names => json!({ "type": "array", "items": {
            "type": "object",
            "required": ["gid"],
            "properties": {
                "gid": { "type": "string" },
                "resource_type": { "type": "string" },
                "name": { "type": ["string", "null"] },
            },
        }}),
        ResponseKind::Empty => json!({ "type": "object", "maxProperties": 0 }),
        ResponseKind::Counts => {
            json!({ "type": "object", "additionalProperties": { "type": "integer", "minimum": 0 } })
        }
        ResponseKind::Outcomes => json!({ "type": "array", "items": {
            "type": "object",
            "properties": {
                "status_code": { "type": "integer" },
                "headers": { "type": "object", "additionalProperties": { "type": "string" } },
                "body": { "type": "object" },
            },
        }}),
        ResponseKind::Events => {
            parts.insert("sync".to_owned(), json!({ "type": "string" }));
            parts.insert("has_more".to_owned(), json!({ "type": "boolean" }));
            required.extend(["sync", "has_more"]);
            json!({ "type": "array", "items": record(Type::Event, schemas) })
        }
        ResponseKind::AuditLog => {
            parts.insert("next_page".to_owned(), next_page());
            json!({ "type": "array", "items": { "type": "object", "required": ["gid"] } })
        }
    };
    let mut properties = Map::new();
    properties.insert("data".to_owned(), data);
    properties.extend(parts);
    json!({ "type": "object", "required": required, "properties": properties })
}

/// Returns the schema of a record of a type, or of one of its variants in the same replies.
fn record(ty: Type, schemas: &mut Schemas) -> Value {
    let variants = resource(ty).variants;
    if variants.is_empty() {
        return schemas.record(ty);
    }
    let all = std::iter::once(&ty).chain(variants);
    let all: Vec<Value> = all.map(|ty| schemas.record(*ty)).collect();
    json!({ "anyOf": all })
}

fn next_page() -> Value {
    json!({
        "type": ["object", "null"],
        "required": ["offset", "path", "uri"],
        "properties": {
            "offset": { "type": "string" },
            "path": { "type": "string" },
            "uri": { "type": "string" },
        },
    })
}
