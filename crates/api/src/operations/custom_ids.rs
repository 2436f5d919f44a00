//! Tasks by their automatic ids.
use crate::call::{Call, allowed};
use crate::operation::{Operation, read};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::check::clip;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Ref, View, Want};
use workgraph_core::registry::Type;
use workgraph_core::rules::ids;

/// The rows.
pub static CUSTOM_IDS: &[Operation] = &[read(
    "getTaskForCustomID",
    "/workspaces/{workspace_gid}/tasks/custom_id/{custom_id}",
    Type::Task,
    needs,
    choose,
)
.scope("tasks:read")];

/// The task that the path names, if it names one.
fn named(call: &Call<'_>) -> Result<Option<Ref>, Fault> {
    let workspace = crate::call::gid("workspace", call.parameter("workspace_gid"))?;
    Ok(ids::task(workspace, call.parameter("custom_id")))
}

fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    let mut want = call.want().node(call.path("workspace_gid")?);
    if let Some(task) = named(call)? {
        want.add(task);
    }
    Ok(want)
}

fn choose(call: &Call<'_>, view: &View) -> Result<Gid, Fault> {
    call.target(view, "workspace_gid", Level::Viewer)?;
    let task = named(call)?.and_then(|task| view.resolve(&task));
    let task = task.and_then(|gid| view.node(gid));
    let task = task.filter(|task| call.shows(view, task));
    let task = task.ok_or_else(|| Fault::unknown("task", clip(call.parameter("custom_id"))))?;
    allowed(view, task, Level::Viewer)?;
    Ok(task.gid)
}
