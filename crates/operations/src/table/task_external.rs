//! External data of a task: the data that an app stores with it, and the app's id of the task.
use crate::request_context::RequestContext;
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::external_data::{DATA_MAX, ExternalData, ID_MAX};
use workgraph_core::model::resources::task;
use workgraph_core::model::validate;
use workgraph_core::model::validate::{CheckedInputs, InputValue};
use workgraph_core::storage::alias;
use workgraph_core::storage::change_builder::ChangeBuilder;

const FIELD: &str = "external";

/// Writes the `external` of the body: an absent part stays, null removes a part, or both.
pub(super) fn write(
    call: &RequestContext<'_>,
    work: &mut ChangeBuilder<'_>,
    draft: &mut Draft,
    before: Option<&str>,
    inputs: &CheckedInputs,
    workspace: Gid,
) -> Result<(), DomainError> {
    let (app, given) = match (inputs.get(FIELD), call.grant.app) {
        (None, _) | (Some(InputValue::Null), None) => return Ok(()),
        (Some(_), None) => {
            return Err(DomainError::field(
                FIELD,
                "Cannot write this property with a token of no app; only apps keep data with tasks",
            ));
        }
        (Some(given), Some(app)) => (app, given),
    };
    let stored = ExternalData::read(before, app);
    let mut kept = stored.clone();
    match given {
        InputValue::Json(Value::Object(map)) => {
            if let Some(part) = map.get("gid") {
                kept.set_id(part_of("gid", part, ID_MAX)?.as_deref());
            }
            if let Some(part) = map.get("data") {
                kept.set_data(part_of("data", part, DATA_MAX)?.as_deref());
            }
        }
        InputValue::Null => kept = ExternalData::default(),
        _ => {
            return Err(DomainError::field(
                FIELD,
                "Value is not a JSON object; it is {gid, data}",
            ));
        }
    }
    if kept.id().is_some_and(|id| id.is_empty()) {
        return Err(DomainError::field("external: gid", "Cannot be empty"));
    }
    // The alias is added even if the id is the same: a task from an older version has no alias yet.
    if let Some(id) = stored.id().filter(|id| kept.id().as_ref() != Some(id)) {
        let name = alias::external(app, workspace, &id);
        work.changes.remove_aliases.push((name, draft.gid));
    }
    if let Some(id) = kept.id() {
        let name = alias::external(app, workspace, &id);
        work.changes.add_aliases.push((name, draft.gid));
    }
    draft.set(task::EXTERNAL, kept.write(before, app));
    Ok(())
}

/// Reads one part; null becomes `None`.
fn part_of(name: &str, value: &Value, max: u32) -> Result<Option<String>, DomainError> {
    if value.is_null() {
        return Ok(None);
    }
    validate::text(&format!("{FIELD}: {name}"), value, max).map(Some)
}

#[cfg(test)]
mod tests;
