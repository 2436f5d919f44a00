//! Objects of the rows that read records: items of a portfolio, supporting goals, tracked time of a task.

use anyhow::{Context, Result};
use serde_json::json;

use crate::graph_builder::{Graph, gid_of};
use crate::http_client::BenchClient;

/// Items of the portfolio.
const ITEMS: usize = 1_000;
/// Supporting goals of each goal in the tree, which has two levels below its root.
const SUPPORTING: usize = 30;
/// Entries of tracked time on the task.
const ENTRIES: usize = 1_000;

/// Makes a portfolio of projects. Returns the path of a page of its items with nested fields.
pub(crate) fn portfolio(client: &BenchClient, graph: &Graph) -> Result<String> {
    let (workspace, team) = graph.owner();
    let body = json!({"data": {"name": "Benchmark portfolio", "workspace": workspace}});
    let portfolio = gid_of(&client.post("/api/1.0/portfolios", &body)?)?;
    for number in 1..=ITEMS {
        let body = json!({"data": {"name": format!("Item {number}"), "workspace": workspace, "team": team}});
        let project = gid_of(&client.post("/api/1.0/projects", &body)?)?;
        let body = json!({"data": {"item": project}});
        client.post(&format!("/api/1.0/portfolios/{portfolio}/addItem"), &body)?;
    }
    Ok(format!(
        "/api/1.0/portfolios/{portfolio}/items?limit=100&opt_fields=name,owner.name,team.name,members.name,due_on,current_status_update.title"
    ))
}

/// Makes a tree of goals. Returns the path of a page of the goals that support its root, with nested fields.
pub(crate) fn goals(client: &BenchClient, graph: &Graph) -> Result<String> {
    let (workspace, _) = graph.owner();
    let goal = |name: String| {
        let body =
            json!({"data": {"name": name, "workspace": workspace, "is_workspace_level": true}});
        gid_of(&client.post("/api/1.0/goals", &body)?)
    };
    let support = |parent: &str, child: &str| {
        let path = format!("/api/1.0/goals/{parent}/addSupportingRelationship");
        client.post(&path, &json!({"data": {"supporting_resource": child}}))
    };
    let root = goal("Benchmark goal".to_owned())?;
    for first in 1..=SUPPORTING {
        let child = goal(format!("Goal {first}"))?;
        support(&root, &child)?;
        for second in 1..=SUPPORTING {
            support(&child, &goal(format!("Goal {first}.{second}"))?)?;
        }
    }
    Ok(format!(
        "/api/1.0/goal_relationships?supported_goal={root}&limit=100&opt_fields=contribution_weight,supporting_resource.name,supporting_resource.owner.name,supporting_resource.metric"
    ))
}

/// Tracks time on a task. Returns the path of the task with the sum.
pub(crate) fn tracked_time(client: &BenchClient, graph: &Graph) -> Result<String> {
    let task = graph.tasks.first().context("no tasks")?;
    for _ in 0..ENTRIES {
        let body = json!({"data": {"duration_minutes": 5}});
        client.post(
            &format!("/api/1.0/tasks/{task}/time_tracking_entries"),
            &body,
        )?;
    }
    Ok(format!(
        "/api/1.0/tasks/{task}?opt_fields=name,actual_time_minutes"
    ))
}
