//! Records of plain families as path parameters, and what the samples of their rows have beside the required inputs.
use super::sample::Tenant;
use crate::world::World;
use serde_json::{Map, Value, json};
use workgraph_operations::operation::Operation;

/// Path parameters with the part of the record's name that is the same for all tenants.
pub(super) const RECORDS: &[(&str, &str)] = &[
    ("time_tracking_category_gid", "category"),
    ("time_tracking_entry_gid", "time"),
    ("project_brief_gid", "brief"),
    ("ooo_entry_gid", "ooo"),
    ("allocation_gid", "allocation"),
    ("rate_gid", "rate"),
    ("budget_gid", "budget"),
    ("timesheet_approval_status_gid", "week"),
    ("custom_type_gid", "custom_type"),
    ("access_request_gid", "access"),
    ("agent_gid", "agent"),
    ("role_gid", "role"),
    ("rule_trigger_gid", "trigger"),
    ("goal_gid", "goal"),
    ("goal_relationship_gid", "goal_relationship"),
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
pub(super) fn required(world: &World, tenant: &Tenant, name: &str) -> Option<Value> {
    Some(match name {
        "start_date" => json!("2026-03-02"),
        "end_date" => json!("2026-03-08"),
        "rate" => json!(80),
        "budget_type" => json!("time"),
        "approval_status" => json!("submitted"),
        "assignee" => json!(world.gid(tenant.member).to_string()),
        "duration_minutes" => json!(30),
        "action_data" => json!({"probe": 1}),
        "description" => json!("Probe"),
        "base_role_type" => json!("member"),
        "current_number_value" => json!(3),
        "supporting_resource" => json!(world.gid(tenant.project).to_string()),
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
    let [workspace, project, member] =
        [tenant.workspace, tenant.project, tenant.member].map(|name| world.gid(name).to_string());
    let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
    match row.id {
        "getTimeTrackingEntries" => query.push(("workspace", workspace)),
        "getAllocations" | "getRates" => query.push(("parent", project)),
        "createAllocation" => drop(put("parent", json!(project))),
        "createRate" => {
            put("parent", json!(project));
            put("resource", json!(member));
        }
        "triggerRule" => {
            // A task in the project of the trigger.
            let task = if tenant.workspace == "orchid" {
                "water"
            } else {
                "blast"
            };
            put("resource", json!(world.gid(task).to_string()));
        }
        "createAccessRequest" => drop(put("target", json!(closed_project(world, tenant)))),
        "updateProjectBrief" => drop(put("title", json!("Probe"))),
        "updateOooEntry" | "updateAllocation" => drop(put("end_date", json!("2026-04-09"))),
        "createBudget" => drop(put("parent", json!(project))),
        "updateBudget" => drop(put("total", json!({"enabled": true}))),
        "updateRate" => drop(put("rate", json!(1.5))),
        "updateRole" | "updateTimeTrackingCategory" => drop(put("name", json!("Probe"))),
        "getGoals" => query.push(("workspace", workspace)),
        "createGoal" | "updateGoal" => drop(put("name", json!("Probe"))),
        "createGoalMetric" => drop(put("target_number_value", json!(12))),
        "createStoryForGoal" => drop(put("text", json!("Probe"))),
        "updateGoalRelationship" => drop(put("contribution_weight", json!(0.5))),
        "removeSupportingRelationship" => {
            let supporter = match tenant.workspace {
                "orchid" => "moss",
                _ => "quarry",
            };
            put(
                "supporting_resource",
                json!(world.gid(supporter).to_string()),
            );
        }
        "updateTimeTrackingEntry" => drop(put("duration_minutes", json!(15))),
        _ => {}
    }
}

/// Creates a project that its tenant's admin does not see; returns its gid.
fn closed_project(world: &World, tenant: &Tenant) -> String {
    // A team that the member belongs to, in every scene.
    let team = if tenant.workspace == "orchid" {
        "gardeners"
    } else {
        tenant.team
    };
    let data = json!({"name": "Closed", "workspace": world.gid(tenant.workspace).to_string(),
        "team": world.gid(team).to_string(), "privacy_setting": "private"});
    let made = world.post(tenant.member, "/projects", data);
    assert_eq!(made.status, 201, "{}", made.text);
    made.gid()
}
