//! Insertion of a task into the caller's own task list, as clients did before lists had sections.
use super::task_creation::add_node_refs;
use super::task_fields::assign;
use super::task_link_inputs::InsertTask;
use crate::operation::Decision;
use crate::operation::inputs::Named;
use crate::request_context::RequestContext;
use serde_json::{Map, Value};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::task;
use workgraph_core::model::validate;
use workgraph_core::model::validate::CheckedInputs;
use workgraph_core::rules::sharing::follow_task;
use workgraph_core::rules::story_rules;
use workgraph_core::storage::{ListPosition, ReadQuery, ReadView};

/// Returns the inputs that assign a task to the caller.
fn own_assignment(call: &RequestContext<'_>) -> Result<CheckedInputs, DomainError> {
    let me = Value::String(call.user_gid().to_string());
    let data = Map::from_iter([("assignee".to_owned(), me)]);
    validate::check_inputs(&task::TASK, &data, false)
}

pub(super) fn needs(
    call: &RequestContext<'_>,
    list: &Named<Gid>,
    input: &InsertTask,
) -> Result<ReadQuery, DomainError> {
    let on = input.task.node_ref();
    let mut want = call
        .read_query()
        .incoming_edges(list.node, rel::SECTION_OF, 1)
        .edges(on.clone(), rel::MY_TASKS)
        .edge(on.clone(), rel::FOLLOWERS, call.user_gid());
    if let Some(neighbour) = input.position.neighbour() {
        want = want.edges(neighbour, rel::MY_TASKS);
    }
    add_node_refs(call, want, &own_assignment(call)?, &on)
}

/// Assigns the task to the owner of the list, since only the owner may change it. Without a position the task goes to the top of
/// the first section, otherwise to the section of its neighbour.
pub(super) fn insert(
    call: &RequestContext<'_>,
    view: &ReadView,
    list: &Named<Gid>,
    input: &InsertTask,
) -> Result<Decision, DomainError> {
    let list = call.named_node(view, list, Level::Editor)?;
    let on = call.named_node(view, &input.task, Level::Editor)?;
    if on.workspace != list.workspace {
        return Err(DomainError::field(
            "task",
            "Not a task of the list's workspace",
        ));
    }
    let workspace = on.workspace.unwrap_or(on.gid);
    let anchor = input.position;
    let section = match anchor.neighbour() {
        Some(gid) if gid == on.gid => {
            return Err(DomainError::invalid(
                "A task cannot be placed next to itself",
            ));
        }
        Some(gid) => {
            let mut edges = view.links(gid, rel::MY_TASKS).iter();
            let edge = edges.find(|edge| edge.aux == Some(list.gid));
            let edge = edge.ok_or_else(|| {
                DomainError::invalid(format!(
                    "The task to insert next to is not in this list: {gid}"
                ))
            })?;
            edge.dst
        }
        None => match view.sources(list.gid, rel::SECTION_OF).first() {
            Some(edge) => edge.src,
            None => return Err(DomainError::not_found("section", list.gid)),
        },
    };
    let mut work = call.change_builder();
    let mut draft = Draft::edit(on);
    let assignee = assign(
        call,
        view,
        &mut work,
        &mut draft,
        &own_assignment(call)?,
        workspace,
    )?;
    let assignee = assignee.filter(|_| draft.changed(task::ASSIGNEE));
    // The position from the assignment is not the requested one.
    let moved = |src, rel| src == on.gid && rel == rel::MY_TASKS;
    work.changes
        .edge_writes
        .retain(|link| !moved(link.src, link.rel));
    let edges = view.links(on.gid, rel::MY_TASKS).iter();
    for edge in edges.filter(|edge| edge.dst != section) {
        work.unlink(on.gid, rel::MY_TASKS, edge.dst);
    }
    let position = anchor.list_position(ListPosition::First);
    work.link(on.gid, rel::MY_TASKS, section, position, Some(list.gid));
    if assignee.is_some() && view.link(on.gid, rel::FOLLOWERS, call.user_gid()).is_none() {
        follow_task(&mut work, on.gid, call.user_gid(), Level::Editor);
        work.record_added(on.gid, Type::Task, "followers", call.user_gid());
    }
    let written = draft.clone();
    if draft.changed_keys().next().is_some() {
        draft.set(task::MODIFIED_AT, work.now);
    }
    if work.save(&draft) {
        story_rules::add_task_stories(&mut work, &written);
    }
    Ok(Decision::of(work.changes))
}

#[cfg(test)]
mod tests;
