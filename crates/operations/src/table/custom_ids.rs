//! Operations that find tasks by their automatic ids.
use crate::operation::Operation;
use crate::operation::inputs::{
    Input, InputDef, InputPlace, InputReader, InputType, Named, OperationInput, path,
};
use crate::operation::rows::read;
use crate::operation::steps::Steps;
use crate::request_context::{RequestContext, require_level};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::model::validate::clip;
use workgraph_core::rules::auto_id_rules;
use workgraph_core::storage::{NodeRef, ReadQuery, ReadView};

/// Operations that find a task by its automatic id: a part of [`TABLES`](super::TABLES).
pub static CUSTOM_IDS: &[Operation] = &[read(
    "getTaskForCustomID",
    "/workspaces/{workspace_gid}/tasks/custom_id/{custom_id}",
    Type::Task,
    &Steps::new(needs, choose),
)
.scope("tasks:read")];

const CUSTOM_ID: Input<String> = Input::parsed(
    InputPlace::Path,
    "custom_id",
    InputType::Token,
    |input, inputs| Ok(inputs.path_text(input).map(str::to_owned)),
    "The automatic id of the task: the prefix of its project, a hyphen and a number.",
);

/// A workspace, and the automatic id of a task in it.
struct TaskByCustomId {
    workspace: Named<Gid>,
    custom_id: String,
}

impl OperationInput for TaskByCustomId {
    const INPUTS: &'static [&'static InputDef] = &[&path::WORKSPACE.def, &CUSTOM_ID.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            workspace: inputs.required(&path::WORKSPACE)?,
            custom_id: inputs.required(&CUSTOM_ID)?,
        })
    }
}

impl TaskByCustomId {
    /// Returns the custom field and the task of the id, if the text has the form of an id.
    fn field_and_task(&self) -> Option<(NodeRef, NodeRef)> {
        auto_id_rules::field_and_task(self.workspace.node, &self.custom_id)
    }
}

fn needs(call: &RequestContext<'_>, input: &TaskByCustomId) -> Result<ReadQuery, DomainError> {
    let mut want = call.read_query().node(input.workspace.node);
    if let Some((field, task)) = input.field_and_task() {
        want.add_ref(field);
        want.add_ref(task);
    }
    Ok(want)
}

fn choose(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &TaskByCustomId,
) -> Result<Gid, DomainError> {
    call.named_node(view, &input.workspace, Level::Viewer)?;
    let found = input.field_and_task().and_then(|(field, task)| {
        // A caller who does not see the custom field knows none of its values.
        view.visible(view.resolve(&field)?)?;
        view.resolve(&task)
    });
    let task = found.and_then(|gid| view.node(gid));
    let task = task.filter(|task| call.is_visible(view, task));
    let task = task.ok_or_else(|| DomainError::not_found("task", clip(&input.custom_id)))?;
    require_level(view, task, Level::Viewer)?;
    Ok(task.gid)
}

#[cfg(test)]
mod tests;
