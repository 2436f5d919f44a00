//! Operations that move a task to a parent, or away from one.
use super::subtask_depth::{SUBTASK_LEVELS_MAX, require_subtask_depth};
use super::task_link_inputs::SetParent;
use crate::operation::Decision;
use crate::request_context::RequestContext;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::storage::{ChangeAction, ListPosition, ReadQuery, ReadView};

pub(super) fn parent_needs(
    call: &RequestContext<'_>,
    input: &SetParent,
) -> Result<ReadQuery, DomainError> {
    let on = input.task.node;
    let mut want = call.read_query().edges(on, rel::PARENT);
    if let Some(parent) = &input.parent {
        let at = want.add_ref(parent.node);
        want.ancestors.push(at);
        let moved = want.add_ref(on);
        want.heights.push(moved);
        if let Some(neighbour) = input.position.get()?.neighbour() {
            want = want.edge(neighbour, rel::PARENT, parent.node);
        }
    }
    Ok(want)
}

pub(super) fn set_parent(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &SetParent,
) -> Result<Decision, DomainError> {
    let on = call.named_node(view, &input.task, Level::Editor)?;
    let anchor = input.position.get()?;
    let mut work = call.change_builder();
    let old_parent = view.links(on.gid, rel::PARENT).first().map(|e| e.dst);
    let Some(parent) = &input.parent else {
        if let Some(old) = old_parent {
            work.unlink(on.gid, rel::PARENT, old);
            work.add_change_record(on.gid, Type::Task, ChangeAction::Removed { parent: old });
        }
        return Ok(Decision::about(work.changes, on.gid));
    };
    let parent = call.named_node(view, parent, Level::Editor)?;
    if parent.workspace != on.workspace {
        return Err(DomainError::field(
            "parent",
            "Not a task of the same workspace",
        ));
    }
    let mut up = Some(parent.gid);
    for _ in 0..=SUBTASK_LEVELS_MAX {
        if up == Some(on.gid) {
            return Err(DomainError::field(
                "parent",
                "A task cannot be a subtask of itself or of its own subtasks",
            ));
        }
        up = up
            .and_then(|g| view.links(g, rel::PARENT).first())
            .map(|e| e.dst);
    }
    require_subtask_depth(view, parent.gid, view.subtask_depth(on.gid))?;
    if let Some(gid) = anchor.neighbour()
        && (gid == on.gid || view.link(gid, rel::PARENT, parent.gid).is_none())
    {
        return Err(DomainError::invalid(format!(
            "The task to insert next to is not a subtask of this parent: {gid}"
        )));
    }
    if let Some(old) = old_parent.filter(|old| *old != parent.gid) {
        work.unlink(on.gid, rel::PARENT, old);
        work.add_change_record(on.gid, Type::Task, ChangeAction::Removed { parent: old });
    }
    work.link(
        on.gid,
        rel::PARENT,
        parent.gid,
        anchor.list_position(ListPosition::Last),
        None,
    );
    if old_parent != Some(parent.gid) {
        work.add_change_record(
            on.gid,
            Type::Task,
            ChangeAction::Added {
                parent: Some(parent.gid),
            },
        );
    }
    Ok(Decision::about(work.changes, on.gid))
}

#[cfg(test)]
mod tests;
