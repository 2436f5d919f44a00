//! The OpenAPI 3.1 document of the API, computed from the operation table, the typed inputs and the registry of types.
//!
//! Only the texts about the service as a whole are written by hand, so the document cannot differ from the behaviour of the
//! server: a field of a record is the [`FieldDef`] that projection reads, an input is the [`InputDef`] that validation reads.
//!
//! [`FieldDef`]: workgraph_core::model::registry::FieldDef
//! [`InputDef`]: crate::operation::inputs::InputDef
mod examples;
mod operations;
mod responses;
mod schemas;
mod tags;

use crate::operation::Operation;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The path of the API below the base URL of the server.
const API_PATH: &str = "/api/1.0";

/// Texts and addresses of the document that are not in the tables.
#[derive(Clone, Copy, Debug)]
pub struct DocumentInfo<'a> {
    /// URL of the server, without a path.
    pub root_url: &'a str,
    /// Version of the server.
    pub version: &'a str,
}

/// Returns the OpenAPI document of the operations in these tables.
#[must_use]
pub fn document(tables: &[&'static [Operation]], info: DocumentInfo<'_>) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    let mut names = BTreeSet::new();
    let mut schemas = schemas::Schemas::default();
    let examples = examples::Examples::read();
    for operation in tables.iter().copied().flatten() {
        names.insert(tags::tag(operation));
        let method = operation.method.name().to_ascii_lowercase();
        let all = std::iter::once(&operation.path).chain(operation.alias_paths);
        for (number, path) in all.enumerate() {
            let mut described = operations::describe(operation, path, number, &mut schemas);
            examples.add_to(operation.id, &mut described);
            let item = paths.entry((*path).to_owned()).or_insert_with(|| json!({}));
            if let Value::Object(item) = item {
                item.insert(method.clone(), described);
            }
        }
    }
    let tags: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
    let scopes: Map<String, Value> = crate::SCOPES
        .iter()
        .map(|scope| (scope.name.to_owned(), json!(scope.description)))
        .collect();
    let base = info.root_url;
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Workgraph",
            "version": info.version,
            "description": "Tasks, projects and everything around them. Records name only the fields that are asked for \
                with `opt_fields`; each may be followed into the records that it links to, as in `assignee.name`.",
        },
        "servers": [{ "url": format!("{base}{API_PATH}") }],
        "tags": tags,
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas.into_components(),
            "responses": responses::errors(),
            "parameters": operations::shared_parameters(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A personal access token, or the access token of an app.",
                },
                "oauth2": {
                    "type": "oauth2",
                    "flows": {
                        "authorizationCode": {
                            "authorizationUrl": format!("{base}/-/oauth_authorize"),
                            "tokenUrl": format!("{base}/-/oauth_token"),
                            "refreshUrl": format!("{base}/-/oauth_token"),
                            "scopes": scopes,
                        },
                    },
                },
            },
        },
    })
}

#[cfg(test)]
mod tests;
