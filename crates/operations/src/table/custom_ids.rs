//! Tasks by their automatic ids.
use crate::operation::{Operation, read};
use crate::request_context::{RequestContext, require_level};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::validate::clip;
use workgraph_core::rules::auto_id_rules;
use workgraph_core::storage::{NodeRef, ReadQuery, ReadView};

/// Operations that find a task by its automatic id.
pub static CUSTOM_IDS: &[Operation] = &[read(
    "getTaskForCustomID",
    "/workspaces/{workspace_gid}/tasks/custom_id/{custom_id}",
    Type::Task,
    needs,
    choose,
)
.scope("tasks:read")];

/// Returns the task that the path names, if it names one.
fn named(call: &RequestContext<'_>) -> Result<Option<NodeRef>, DomainError> {
    let workspace =
        crate::request_context::parse_gid("workspace", call.parameter("workspace_gid"))?;
    Ok(auto_id_rules::task(workspace, call.parameter("custom_id")))
}

fn needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let mut want = call.read_query().node(call.path_ref("workspace_gid")?);
    if let Some(task) = named(call)? {
        want.add_ref(task);
    }
    Ok(want)
}

fn choose(call: &RequestContext<'_>, view: &ReadView) -> Result<Gid, DomainError> {
    call.path_node(view, "workspace_gid", Level::Viewer)?;
    let task = named(call)?.and_then(|task| view.resolve(&task));
    let task = task.and_then(|gid| view.node(gid));
    let task = task.filter(|task| call.is_visible(view, task));
    let task =
        task.ok_or_else(|| DomainError::not_found("task", clip(call.parameter("custom_id"))))?;
    require_level(view, task, Level::Viewer)?;
    Ok(task.gid)
}
