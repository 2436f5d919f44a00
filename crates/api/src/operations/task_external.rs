//! What an app keeps with a task: data, and the id it calls the task by.
use crate::call::Call;
use serde_json::Value;
use workgraph_core::Gid;
use workgraph_core::check::{self, Given, Inputs};
use workgraph_core::draft::Draft;
use workgraph_core::external::{DATA_MAX, External, ID_MAX};
use workgraph_core::fault::Fault;
use workgraph_core::graph::alias;
use workgraph_core::resources::task;
use workgraph_core::work::Work;

const FIELD: &str = "external";

/// Writes what the body says of `external`: a part that is not there stays, null takes one away, or both.
pub(super) fn write(
    call: &Call<'_>,
    work: &mut Work<'_>,
    draft: &mut Draft,
    before: Option<&str>,
    inputs: &Inputs,
    home: Gid,
) -> Result<(), Fault> {
    let (app, given) = match (inputs.get(FIELD), call.grant.app) {
        (None, _) | (Some(Given::Null), None) => return Ok(()),
        (Some(_), None) => {
            return Err(Fault::field(
                FIELD,
                "Cannot write this property with a token of no app; only apps keep data with tasks",
            ));
        }
        (Some(given), Some(app)) => (app, given),
    };
    let held = External::read(before, app);
    let mut kept = held.clone();
    match given {
        Given::Json(Value::Object(map)) => {
            if let Some(part) = map.get("gid") {
                kept.set_id(part_of("gid", part, ID_MAX)?.as_deref());
            }
            if let Some(part) = map.get("data") {
                kept.set_data(part_of("data", part, DATA_MAX)?.as_deref());
            }
        }
        Given::Null => kept = External::default(),
        _ => {
            return Err(Fault::field(
                FIELD,
                "Value is not a JSON object; it is {gid, data}",
            ));
        }
    }
    if kept.id().is_some_and(|id| id.is_empty()) {
        return Err(Fault::field("external: gid", "Cannot be empty"));
    }
    // Its name is given even if it is the one it had: what an older version wrote has none yet.
    if let Some(id) = held.id().filter(|id| kept.id().as_ref() != Some(id)) {
        let name = alias::external(app, home, &id);
        work.changes.unnamed.push((name, draft.gid));
    }
    if let Some(id) = kept.id() {
        let name = alias::external(app, home, &id);
        work.changes.aliases.push((name, draft.gid));
    }
    draft.set(task::EXTERNAL, kept.write(before, app));
    Ok(())
}

/// A part of it, or null.
fn part_of(name: &str, value: &Value, max: u32) -> Result<Option<String>, Fault> {
    if value.is_null() {
        return Ok(None);
    }
    check::text(&format!("{FIELD}: {name}"), value, max).map(Some)
}
