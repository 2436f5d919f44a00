//! The OpenAPI document as the pages need it: tags, operations and records, with their addresses.
use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::csrf::origin;
use crate::pages::paths;

/// Operation of the document on one of its paths.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationView<'d> {
    /// Method in upper case.
    pub(super) method: &'static str,
    pub(super) path: &'d str,
    pub(super) id: &'d str,
    /// OpenAPI object of the operation.
    pub(super) object: &'d Value,
}

/// Tag, with the path of its page and its operations.
#[derive(Debug)]
pub(super) struct TagView<'d> {
    pub(super) name: &'d str,
    /// Path of the tag's page.
    pub(super) path: String,
    pub(super) operations: Vec<OperationView<'d>>,
}

/// The OpenAPI document.
#[derive(Debug)]
pub(super) struct DocumentView<'d> {
    document: &'d Value,
    tags: Vec<TagView<'d>>,
    /// Path of the page that shows a record.
    record_pages: BTreeMap<&'d str, String>,
}

/// Returns the text at a key, or an empty one.
pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the text at a key as HTML; text between backticks becomes code.
pub(super) fn prose(value: &Value, key: &str) -> Markup {
    words(text(value, key))
}

/// Returns a text as HTML; text between backticks becomes code. An unpaired backtick stays.
pub(super) fn words(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    let last = parts.len().saturating_sub(1);
    html! {
        @for (number, part) in parts.iter().enumerate() {
            @if number % 2 == 0 { (part) }
            @else if number < last { code { (part) } }
            @else { "`" (part) }
        }
    }
}

pub(super) fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool) == Some(true)
}

pub(super) fn items<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// Returns the members at a key, in order.
pub(super) fn members<'v>(
    value: &'v Value,
    key: &str,
) -> impl Iterator<Item = (&'v str, &'v Value)> + use<'v> {
    let object: Option<&Map<_, _>> = value.get(key).and_then(Value::as_object);
    object
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
}

/// Returns the name of the schema that a reference points to.
pub(super) fn reference(schema: &Value) -> Option<&str> {
    text(schema, "$ref").strip_prefix("#/components/schemas/")
}

/// Returns the path of a tag's page.
fn page_path(tag: &str) -> String {
    let word = tag.to_lowercase().replace(' ', "_");
    format!("{}/{word}", paths::REFERENCE)
}

impl<'d> DocumentView<'d> {
    pub(super) fn new(document: &'d Value) -> Self {
        let mut tags: Vec<TagView<'d>> = items(document, "tags")
            .map(|tag| text(tag, "name"))
            .map(|name| TagView {
                name,
                path: page_path(name),
                operations: Vec::new(),
            })
            .collect();
        for (path, methods) in members(document, "paths") {
            for method in ["GET", "POST", "PUT", "DELETE"] {
                let Some(object) = methods.get(method.to_ascii_lowercase()) else {
                    continue;
                };
                let operation = OperationView {
                    method,
                    path,
                    id: text(object, "operationId"),
                    object,
                };
                let tag = items(object, "tags").next().and_then(Value::as_str);
                if let Some(tag) = tags.iter_mut().find(|t| Some(t.name) == tag) {
                    tag.operations.push(operation);
                }
            }
        }
        for tag in &mut tags {
            tag.operations.sort_by_key(|o| flag(o.object, "deprecated"));
        }
        let mut view = Self {
            document,
            tags,
            record_pages: BTreeMap::new(),
        };
        view.record_pages = view.assign_records();
        view
    }

    /// Assigns each record to the page of the tag whose operations return it most often; records that no operation returns
    /// get a separate page.
    fn assign_records(&self) -> BTreeMap<&'d str, String> {
        let written: BTreeSet<&str> = self
            .tags
            .iter()
            .flat_map(|tag| &tag.operations)
            .flat_map(|operation| {
                let mut names = Vec::new();
                if let Some(body) = operation.object.get("requestBody") {
                    collect_references(body, &mut names);
                }
                names
            })
            .collect();
        let mut answers: BTreeMap<&'d str, Vec<usize>> = BTreeMap::new();
        for (number, tag) in self.tags.iter().enumerate() {
            for operation in &tag.operations {
                let mut names = Vec::new();
                for (status, response) in members(operation.object, "responses") {
                    if status.starts_with('2') {
                        collect_references(response, &mut names);
                    }
                }
                for name in names {
                    let counts = answers
                        .entry(name)
                        .or_insert_with(|| vec![0; self.tags.len()]);
                    if let Some(count) = counts.get_mut(number) {
                        *count += 1;
                    }
                }
            }
        }
        let page = |name: &'d str| {
            let counts = answers.get(name)?;
            let most = counts.iter().copied().max()?;
            let number = counts.iter().position(|count| *count == most)?;
            Some(self.tags.get(number)?.path.clone())
        };
        self.schemas()
            .filter(|(name, _)| !written.contains(name))
            .map(|(name, _)| {
                (
                    name,
                    page(name).unwrap_or_else(|| paths::REFERENCE_RECORDS.to_owned()),
                )
            })
            .collect()
    }

    pub(super) fn tags(&self) -> &[TagView<'d>] {
        &self.tags
    }

    fn schemas(&self) -> impl Iterator<Item = (&'d str, &'d Value)> + use<'d> {
        members(self.components(), "schemas")
    }

    fn components(&self) -> &'d Value {
        self.document.get("components").unwrap_or(&Value::Null)
    }

    pub(super) fn schema(&self, name: &str) -> Option<&'d Value> {
        self.components().get("schemas")?.get(name)
    }

    /// Returns the value of a parameter, resolving a reference to a shared one.
    pub(super) fn parameter(&self, parameter: &'d Value) -> &'d Value {
        self.follow(parameter, "#/components/parameters/", "parameters")
    }

    /// Returns the value of a response, resolving a reference to a shared one.
    pub(super) fn response(&self, response: &'d Value) -> &'d Value {
        self.follow(response, "#/components/responses/", "responses")
    }

    fn follow(&self, value: &'d Value, prefix: &str, part: &str) -> &'d Value {
        let name = text(value, "$ref").strip_prefix(prefix);
        let found = name.and_then(|name| self.components().get(part)?.get(name));
        found.unwrap_or(value)
    }

    /// Returns the parameters that many operations share.
    pub(super) fn shared_parameters(&self) -> impl Iterator<Item = (&'d str, &'d Value)> + use<'d> {
        members(self.components(), "parameters")
    }

    /// Returns the scopes with their descriptions.
    pub(super) fn scopes(&self) -> Vec<(&'d str, &'d str)> {
        let scopes = self
            .components()
            .pointer("/securitySchemes/oauth2/flows/authorizationCode")
            .unwrap_or(&Value::Null);
        let all = members(scopes, "scopes");
        all.map(|(name, text)| (name, text.as_str().unwrap_or_default()))
            .collect()
    }

    /// Returns the description of the service.
    pub(super) fn about(&self) -> &'d str {
        self.document
            .get("info")
            .map_or("", |info| text(info, "description"))
    }

    /// Returns the base URL of the API.
    pub(super) fn server(&self) -> &'d str {
        items(self.document, "servers")
            .next()
            .map_or("", |server| text(server, "url"))
    }

    /// Returns the path of the base URL.
    pub(super) fn api_path(&self) -> &'d str {
        let server = self.server();
        server.get(origin(server).len()..).unwrap_or_default()
    }

    /// Returns the address of a record, if a page shows it.
    pub(super) fn record_address(&self, name: &str) -> Option<String> {
        let page = self.record_pages.get(name)?;
        Some(format!("{page}#record-{name}"))
    }

    /// Returns the records shown by the page at a path.
    pub(super) fn records_of(&self, page: &str) -> Vec<(&'d str, &'d Value)> {
        let here = |name: &str| self.record_pages.get(name).is_some_and(|p| p == page);
        self.schemas().filter(|(name, _)| here(name)).collect()
    }
}

/// Adds the names of the schemas that a value references, without following them.
fn collect_references<'v>(value: &'v Value, names: &mut Vec<&'v str>) {
    if let Some(name) = reference(value) {
        names.push(name);
    }
    match value {
        Value::Object(object) => object.values().for_each(|v| collect_references(v, names)),
        Value::Array(items) => items.iter().for_each(|v| collect_references(v, names)),
        _ => {}
    }
}
