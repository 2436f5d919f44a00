//! Records of plain families as path parameters, and what the samples of their rows have beside the required inputs.
use super::sample::Tenant;
use crate::world::World;
use serde_json::{Map, Value, json};
use workgraph_operations::operation::Operation;

/// Path parameters with the part of the record's name that is the same for all tenants.
pub(super) const RECORDS: &[(&str, &str)] = &[
    ("time_tracking_category_gid", "category"),
    ("time_tracking_entry_gid", "time"),
];

/// Returns the name of a tenant's record that fits a path parameter.
pub(super) fn record(tenant: &Tenant, parameter: &str) -> String {
    let known = RECORDS.iter().find(|(name, _)| *name == parameter);
    let (_, name) = known.unwrap_or_else(|| panic!("no sample for {parameter}"));
    format!("{}_{name}", tenant.workspace)
}

/// Returns the names of all records of a tenant.
pub(super) fn records(workspace: &str) -> impl Iterator<Item = String> {
    RECORDS
        .iter()
        .map(move |(_, name)| format!("{workspace}_{name}"))
}

/// Returns the value of a required field of a record, if the field is one of records only.
pub(super) fn required(name: &str) -> Option<Value> {
    Some(match name {
        "duration_minutes" => json!(30),
        _ => return None,
    })
}

/// Adds to the sample of a row what the row does not require.
pub(super) fn complete(
    world: &World,
    tenant: &Tenant,
    row: &Operation,
    query: &mut Vec<(&'static str, String)>,
    body: &mut Map<String, Value>,
) {
    let workspace = || world.gid(tenant.workspace).to_string();
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    match row.id {
        "getTimeTrackingEntries" => query.push(("workspace", workspace())),
        "updateTimeTrackingCategory" => drop(put("name", json!("Probe"))),
        "updateTimeTrackingEntry" => drop(put("duration_minutes", json!(15))),
        _ => {}
    }
}
