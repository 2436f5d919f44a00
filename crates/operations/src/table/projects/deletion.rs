//! Deletion of a project, with the tasks that nothing else lists.
use crate::operation::Decision;
use crate::operation::inputs::{InputDef, InputReader, Named, OperationInput, path};
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::cleanup::{delete_project, deletion_needs};
use workgraph_core::storage::{ReadQuery, ReadView};

pub(super) struct DeleteProject {
    project: Named<Gid>,
}

impl OperationInput for DeleteProject {
    const INPUTS: &'static [&'static InputDef] = &[&path::PROJECT.def];
    fn read(inputs: &InputReader<'_>) -> Result<Self, DomainError> {
        Ok(Self {
            project: inputs.required(&path::PROJECT)?,
        })
    }
}

pub(super) fn needs(
    call: &RequestContext<'_>,
    input: &DeleteProject,
) -> Result<ReadQuery, DomainError> {
    Ok(deletion_needs(call.read_query(), input.project.node_ref()))
}

/// Deletes a project. A user who may delete it may do so even if others wrote the tasks.
pub(super) fn delete(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DeleteProject,
) -> Result<Decision, DomainError> {
    let project = call.named_node(view, &input.project, Level::Admin)?;
    let mut work = call.change_builder();
    delete_project(&mut work, view, project.gid, call.user_gid());
    Ok(Decision::of(work.changes))
}

#[cfg(test)]
mod tests;
