//! Depth of subtasks below a task.
use workgraph_core::Gid;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::rel;
use workgraph_core::storage::ReadView;

/// Maximum number of levels of subtasks below a task.
pub(super) const SUBTASK_LEVELS_MAX: usize = 5;

/// Checks that a task may have a subtask with `height` levels below it.
pub(super) fn require_subtask_depth(
    view: &ReadView,
    parent: Gid,
    height: usize,
) -> Result<(), DomainError> {
    let mut at = parent;
    for _ in height..SUBTASK_LEVELS_MAX {
        match view.links(at, rel::PARENT).first() {
            Some(edge) => at = edge.dst,
            None => return Ok(()),
        }
    }
    Err(DomainError::field(
        "parent",
        format_args!("Too deep: tasks have at most {SUBTASK_LEVELS_MAX} levels of subtasks"),
    ))
}

#[cfg(test)]
mod tests;
