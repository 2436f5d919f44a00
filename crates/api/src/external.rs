//! Tasks by what an app calls them: `external:` and the id it gave a task, wherever the gid of one is taken.
//!
//! They are looked up before an operation sees its inputs, and their gids put there instead.
use crate::driver::load;
use crate::fault::Failure;
use crate::operation::parameter_type;
use crate::pipeline::Api;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use workgraph_auth::Grant;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::check::{REFS_MAX, clip};
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Ref, ViewerKey, Want};
use workgraph_core::registry::Type;
use workgraph_core::resources::resource;
use workgraph_wire::Query;

/// What stands before the id.
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
/// Body fields that can name several.
const SEVERAL: &[&str] = &["dependencies", "dependents"];

/// The parameters of a path, by name.
type Parameters = Vec<(&'static str, String)>;

/// What a request names things by.
pub(crate) struct Inputs<'i, 'p> {
    pub(crate) parameters: &'i mut Cow<'p, Parameters>,
    pub(crate) query: &'i mut Query,
    pub(crate) data: &'i mut Map<String, Value>,
}

impl Inputs<'_, '_> {
    /// Whether any of them is an id of an app.
    pub(crate) fn name_tasks(&self) -> bool {
        self.parameters
            .iter()
            .any(|(name, text)| is_path(name, text))
            || self.query.iter().any(|(name, text)| is_query(name, text))
            || self
                .data
                .iter()
                .any(|(name, value)| is_body(name) && has(value))
    }

    /// Puts the gids of tasks in the place of their ids.
    ///
    /// # Errors
    /// When the token is of no app, or an id is not that of one task: 404 in the path, else 400.
    pub(crate) async fn resolve(
        self,
        api: &Api,
        grant: &Grant,
        viewer: ViewerKey,
    ) -> Result<(), Failure> {
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
            return Err(Fault::invalid(wrong).into());
        }
        let Some(app) = grant.app else {
            let noun = resource(Type::Task).noun;
            let shown = ids.keys().next().map(|text| clip(text)).unwrap_or_default();
            let wrong = format!(
                "Not a recognized ID: {shown}; ids of apps are known to tokens of the app that gave them"
            );
            return Err(Fault::field(noun, wrong).into());
        };
        let mut want = Want {
            app: Some(app),
            reach: grant.reach.clone(),
            ..Want::of(viewer)
        };
        for text in ids.keys() {
            let id = text.strip_prefix(PREFIX).unwrap_or_default().to_owned();
            want.add(Ref::External { app, id });
        }
        let view = load(api, &want).await?;
        for (found, (_, gid)) in ids.values_mut().zip(&view.found) {
            // A task out of sight is like none, where that is the setting; its gid is in no error then.
            let shown = |gid: &Gid| !api.settings.hide_forbidden || view.level(*gid) > Level::None;
            *found = gid.filter(shown);
        }
        self.put(&ids)
    }

    /// Puts what was found.
    fn put(self, ids: &BTreeMap<String, Option<Gid>>) -> Result<(), Failure> {
        let found = |text: &str| ids.get(text).copied().flatten();
        for (name, text) in self.parameters.to_mut() {
            if is_path(name, text) {
                let gid = found(text)
                    .ok_or_else(|| Fault::unknown(resource(Type::Task).noun, clip(text)))?;
                *text = gid.to_string();
            }
        }
        self.query.replace(|name, text| {
            if !is_query(name, text) {
                return Ok(None);
            }
            let gid = found(text).ok_or_else(|| Fault::unknown_ref(name, clip(text)))?;
            Ok::<_, Failure>(Some(gid.to_string()))
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
                return Err(Fault::unknown_ref(name, text).into());
            }
        }
        Ok(())
    }
}

fn is_path(name: &str, text: &str) -> bool {
    text.starts_with(PREFIX) && parameter_type(name) == Some(Type::Task)
}

fn is_query(name: &str, text: &str) -> bool {
    text.starts_with(PREFIX) && QUERY.contains(&name)
}

fn is_body(name: &str) -> bool {
    ONE.contains(&name) || SEVERAL.contains(&name)
}

/// Whether there is an id in a value that names something: a text, an object with a gid, or a list of them.
fn has(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(PREFIX),
        Value::Array(items) => items.iter().any(has),
        Value::Object(map) => map.get("gid").is_some_and(has),
        _ => false,
    }
}

/// Visits the ids in a value. Where several things can be named, a text may have several, separated by commas.
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
            // What stands in a list is one name each.
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
