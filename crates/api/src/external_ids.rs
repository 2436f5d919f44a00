//! External ids of tasks: `external:` and the id that an app gave the task, accepted wherever a task's gid is
//! accepted.
//!
//! The tasks are looked up before an operation reads its inputs, and their gids replace the external ids.
use crate::error::ApiError;
use crate::execute::load_view::load;
use crate::state::Api;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use workgraph_auth::Grant;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::resources::resource;
use workgraph_core::model::validate::{REFS_MAX, clip};
use workgraph_core::storage::{NodeRef, ReadQuery, ViewerKey};
use workgraph_operations::operation::inputs::path;
use workgraph_operations::request_context::PathParameters;
use workgraph_wire::QueryParams;

/// Prefix of an external id.
const PREFIX: &str = "external:";
/// Query parameters that can name a task.
const QUERY: &[&str] = &["task", "parent", "resource"];
/// Body fields that can name a task.
const ONE: &[&str] = &[
    "task",
    "parent",
    "resource",
    "insert_before",
    "insert_after",
];
/// Body fields that can name several tasks.
const SEVERAL: &[&str] = &["dependencies", "dependents"];

/// Inputs of a request that can name tasks.
pub(crate) struct TaskReferenceInputs<'i, 'p> {
    pub(crate) parameters: &'i mut Cow<'p, PathParameters>,
    pub(crate) query: &'i mut QueryParams,
    pub(crate) data: &'i mut Map<String, Value>,
}

impl TaskReferenceInputs<'_, '_> {
    /// Returns true if any input contains an external id.
    pub(crate) fn has_external_ids(&self) -> bool {
        self.parameters
            .iter()
            .any(|(name, text)| is_path(name, text))
            || self.query.iter().any(|(name, text)| is_query(name, text))
            || self
                .data
                .iter()
                .any(|(name, value)| is_body(name) && has(value))
    }

    /// Replaces external ids with the gids of their tasks.
    ///
    /// # Errors
    /// Fails when the token belongs to no app, or an id does not identify exactly one task: 404 in the path, else 400.
    pub(crate) async fn resolve(
        self,
        api: &Api,
        grant: &Grant,
        viewer: ViewerKey,
    ) -> Result<(), ApiError> {
        let mut ids = BTreeMap::new();
        let paths = self
            .parameters
            .iter()
            .filter(|(name, text)| is_path(name, text));
        ids.extend(paths.map(|(_, text)| (text.clone(), None)));
        let query = self
            .query
            .iter()
            .filter(|(name, text)| is_query(name, text));
        ids.extend(query.map(|(_, text)| (text.to_owned(), None)));
        for (name, value) in self.data.iter_mut().filter(|(name, _)| is_body(name)) {
            each(value, SEVERAL.contains(&name.as_str()), &mut |text| {
                ids.insert(text.clone(), None);
            });
        }
        if ids.is_empty() {
            return Ok(());
        }
        if ids.len() > REFS_MAX {
            let wrong = format!("Too many ids of tasks: at most {REFS_MAX} may be given at once");
            return Err(DomainError::invalid(wrong).into());
        }
        let Some(app) = grant.app else {
            let noun = resource(Type::Task).noun;
            let shown = ids.keys().next().map(|text| clip(text)).unwrap_or_default();
            let wrong = format!(
                "Not a recognized ID: {shown}; ids of apps are known to tokens of the app that gave them"
            );
            return Err(DomainError::field(noun, wrong).into());
        };
        let mut want = ReadQuery {
            app: Some(app),
            allowed_workspaces: grant.allowed_workspaces.clone(),
            ..ReadQuery::of(viewer)
        };
        for text in ids.keys() {
            let id = text.strip_prefix(PREFIX).unwrap_or_default().to_owned();
            want.add_ref(NodeRef::External { app, id });
        }
        let view = load(api, &want).await?;
        for (found, (_, gid)) in ids.values_mut().zip(&view.resolved_refs) {
            // If forbidden records are hidden, a task that the viewer may not see counts as not found, so that no error
            // reveals its gid.
            let shown = |gid: &Gid| !api.settings.hide_forbidden || view.level(*gid) > Level::None;
            *found = gid.filter(shown);
        }
        self.replace_ids(&ids)
    }

    /// Replaces the external ids in the inputs with the gids that were found.
    fn replace_ids(self, ids: &BTreeMap<String, Option<Gid>>) -> Result<(), ApiError> {
        let found = |text: &str| ids.get(text).copied().flatten();
        for (name, text) in self.parameters.to_mut() {
            if is_path(name, text) {
                let gid = found(text)
                    .ok_or_else(|| DomainError::not_found(resource(Type::Task).noun, clip(text)))?;
                *text = gid.to_string();
            }
        }
        self.query.replace(|name, text| {
            if !is_query(name, text) {
                return Ok(None);
            }
            let gid =
                found(text).ok_or_else(|| DomainError::reference_not_found(name, clip(text)))?;
            Ok::<_, ApiError>(Some(gid.to_string()))
        })?;
        for (name, value) in self.data.iter_mut().filter(|(name, _)| is_body(name)) {
            let mut unknown = None;
            each(
                value,
                SEVERAL.contains(&name.as_str()),
                &mut |text| match found(text) {
                    Some(gid) => *text = gid.to_string(),
                    None => unknown = Some(clip(text)),
                },
            );
            if let Some(text) = unknown {
                return Err(DomainError::reference_not_found(name, text).into());
            }
        }
        Ok(())
    }
}

fn is_path(name: &str, text: &str) -> bool {
    text.starts_with(PREFIX)
        && path::declaration(name).is_some_and(|input| input.types() == [Type::Task])
}

fn is_query(name: &str, text: &str) -> bool {
    text.starts_with(PREFIX) && QUERY.contains(&name)
}

fn is_body(name: &str) -> bool {
    ONE.contains(&name) || SEVERAL.contains(&name)
}

/// Returns true if a value that names tasks contains an external id: a text, an object with a gid, or a list of them.
fn has(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(PREFIX),
        Value::Array(items) => items.iter().any(has),
        Value::Object(map) => map.get("gid").is_some_and(has),
        _ => false,
    }
}

/// Visits the external ids in a value. Where several tasks are allowed, a text may contain several ids, separated by
/// commas.
fn each(value: &mut Value, several: bool, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) if several && text.contains(PREFIX) => {
            let parts = text.split(',').map(|part| part.trim().to_owned());
            let mut parts: Vec<String> = parts.collect();
            for part in parts.iter_mut().filter(|part| part.starts_with(PREFIX)) {
                visit(part);
            }
            *text = parts.join(",");
        }
        Value::String(text) if text.starts_with(PREFIX) => visit(text),
        Value::Array(items) => {
            // Each item of a list is one name.
            items.iter_mut().for_each(|item| each(item, false, visit));
        }
        Value::Object(map) => {
            if let Some(gid) = map.get_mut("gid") {
                each(gid, false, visit);
            }
        }
        _ => {}
    }
}
