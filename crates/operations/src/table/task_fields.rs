//! Writing a task's own fields: texts, dates, completion, its assignee.
use super::task_custom_type;
use crate::request_context::{RequestContext, parse_gid};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{section, task, workspace};
use workgraph_core::model::schedule::{Patch, Schedule, SchedulePatch, apply_schedule};
use workgraph_core::model::time::{Date, Time};
use workgraph_core::model::validate::{CheckedInputs, InputValue};
use workgraph_core::rules::rich_texts;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{ListPosition, NodeRef, ReadView, alias};

/// Writes the body's own fields into a draft: texts, dates, completion. A new task will be in these projects.
pub(super) fn write(
    call: &RequestContext<'_>,
    view: &ReadView,
    draft: &mut Draft,
    inputs: &CheckedInputs,
    projects: &[Gid],
) -> Result<(), DomainError> {
    inputs.fill(&task::TASK, draft);
    rich_texts::write(
        draft,
        inputs,
        task::NOTES,
        task::HTML_NOTES,
        &task::TASK,
        view,
        call.base_url(),
    )?;
    task_custom_type::write(call, view, draft, inputs, projects)?;
    let is = |d: &Draft, subtype: &str| d.get(task::SUBTYPE).as_deref() == Some(subtype);
    let current = Schedule {
        start_on: draft.before(task::START_ON),
        start_at: draft.before(task::START_AT),
        due_on: draft.before(task::DUE_ON),
        due_at: draft.before(task::DUE_AT),
    };
    let day = |name: &str| change_of(inputs, name, |raw| Date::parse(raw).ok());
    let instant = |name: &str| change_of(inputs, name, |raw| Time::parse(raw).ok());
    let change = SchedulePatch {
        start_on: day("start_on"),
        start_at: instant("start_at"),
        due_on: day("due_on"),
        due_at: instant("due_at"),
    };
    let dates = apply_schedule(current, change, is(draft, "milestone"))
        .map_err(|e| DomainError::invalid(e.to_string()))?;
    draft.set(task::START_ON, dates.start_on);
    draft.set(task::START_AT, dates.start_at);
    draft.set(task::DUE_ON, dates.due_on);
    draft.set(task::DUE_AT, dates.due_at);
    complete(call, draft, inputs, is(draft, "approval"))
}

fn change_of<T>(inputs: &CheckedInputs, name: &str, parse: impl Fn(&str) -> Option<T>) -> Patch<T> {
    match inputs.get(name) {
        None => Patch::Absent,
        Some(InputValue::Stored(raw)) => {
            parse(raw.trim_matches('"')).map_or(Patch::Null, Patch::Set)
        }
        Some(_) => Patch::Null,
    }
}

/// Keeps `completed` and `approval_status` consistent; the user and the time of completion follow both.
fn complete(
    call: &RequestContext<'_>,
    draft: &mut Draft,
    inputs: &CheckedInputs,
    approval: bool,
) -> Result<(), DomainError> {
    if approval {
        let status = draft
            .get(task::APPROVAL_STATUS)
            .map(std::borrow::Cow::into_owned);
        match status {
            Some(status) if inputs.has("approval_status") => {
                draft.set(task::COMPLETED, status != "pending")
            }
            Some(_) if !draft.changed(task::COMPLETED) => {}
            _ => {
                let status = if draft.get(task::COMPLETED) {
                    "approved"
                } else {
                    "pending"
                };
                draft.set(task::APPROVAL_STATUS, status);
            }
        }
    } else {
        if inputs
            .get("approval_status")
            .is_some_and(|g| *g != InputValue::Null)
        {
            return Err(DomainError::field(
                "approval_status",
                "Only tasks with resource_subtype approval have one",
            ));
        }
        draft.set(task::APPROVAL_STATUS, None);
    }
    if draft.changed(task::COMPLETED) {
        let done = draft.get(task::COMPLETED);
        draft.set(task::COMPLETED_AT, done.then_some(call.now));
        draft.set(task::COMPLETED_BY, done.then_some(call.user_gid()));
    }
    Ok(())
}

/// Applies the body's assignee: the user must belong to the workspace; the task moves to their list.
pub(super) fn assign<'v>(
    call: &RequestContext<'_>,
    view: &'v ReadView,
    work: &mut ChangeBuilder<'_>,
    draft: &mut Draft,
    inputs: &CheckedInputs,
    workspace: Gid,
) -> Result<Option<&'v Node>, DomainError> {
    let on = draft.gid;
    let is_new = draft.is_new();
    let leave = |work: &mut ChangeBuilder<'_>| leave_lists(view, work, on, is_new, None);
    match inputs.get("assignee") {
        None => {
            let assignee = draft.get(task::ASSIGNEE);
            arrange(call, view, work, (draft, workspace), inputs, assignee)?;
            Ok(None)
        }
        Some(InputValue::Ref(text)) => {
            let name = call.parse_user_ref("assignee", text)?;
            let noun = || match view.node(workspace) {
                Some(node) if node.get(workspace::IS_ORGANIZATION) => "Organization",
                _ => "Workspace",
            };
            // A user who sees the task sees its assignee, and may repeat it in a body.
            let same = view.resolve(&name);
            let same = same.filter(|user| draft.get(task::ASSIGNEE) == Some(*user));
            let user = match same.and_then(|user| view.node(user)) {
                Some(user) => user,
                None => call.resolve_member(view, "assignee", &name, (workspace, noun))?,
            };
            draft.set(task::ASSIGNEE, user.gid);
            if draft.changed(task::ASSIGNEE) {
                draft.set(
                    task::ASSIGNED_BY,
                    Some(call.user_gid()).filter(|me| *me != user.gid),
                );
                leave(work);
                let named = view.resolved_refs.iter().find_map(|(r, gid)| match r {
                    NodeRef::TaskList { user, .. } if **user == name => Some(*gid),
                    _ => None,
                });
                let list = named.unwrap_or_else(|| {
                    let list = alias::task_list(user.gid, workspace);
                    view.resolve(&NodeRef::Alias(list))
                });
                if let Some(list) = list
                    && let Some(edge) = view.sources(list, rel::SECTION_OF).first()
                {
                    work.link(on, rel::MY_TASKS, edge.src, ListPosition::First, Some(list));
                }
            }
            arrange(call, view, work, (draft, workspace), inputs, Some(user.gid))?;
            Ok(Some(user))
        }
        Some(_) => {
            draft.set(task::ASSIGNEE, None);
            draft.set(task::ASSIGNED_BY, None);
            leave(work);
            arrange(call, view, work, (draft, workspace), inputs, None)?;
            Ok(None)
        }
    }
}

/// Returns the caller's task list if the task is assigned to the caller: it gives the task custom fields, too.
pub(super) fn own_list(
    call: &RequestContext<'_>,
    view: &ReadView,
    draft: &Draft,
    workspace: Gid,
) -> Option<Gid> {
    let membership = view.viewer.membership(workspace);
    let list = membership.and_then(|membership| membership.task_list);
    list.filter(|_| draft.get(task::ASSIGNEE) == Some(call.user_gid()))
}

/// Removes a task from the lists that it is in, but for one section. A new task is in none.
fn leave_lists(
    view: &ReadView,
    work: &mut ChangeBuilder<'_>,
    task: Gid,
    is_new: bool,
    kept: Option<Gid>,
) {
    if is_new {
        return;
    }
    let edges = view.links(task, rel::MY_TASKS).iter();
    for edge in edges.filter(|edge| Some(edge.dst) != kept) {
        work.unlink(task, rel::MY_TASKS, edge.dst);
    }
}

/// Moves a task to a section of its assignee's list.
fn arrange(
    call: &RequestContext<'_>,
    view: &ReadView,
    work: &mut ChangeBuilder<'_>,
    (draft, workspace): (&Draft, Gid),
    inputs: &CheckedInputs,
    assignee: Option<Gid>,
) -> Result<(), DomainError> {
    let Some(InputValue::Ref(text)) = inputs.get("assignee_section") else {
        return Ok(());
    };
    let name = NodeRef::Gid(parse_gid("assignee_section", text)?);
    let section = call.resolve_ref(
        view,
        "assignee_section",
        &name,
        &[Type::Section],
        Level::Editor,
    )?;
    let list = section.get(section::PROJECT);
    let membership = view.viewer.membership(workspace);
    let own = membership.and_then(|membership| membership.task_list);
    if assignee != Some(call.user_gid()) || own.is_none() || list != own {
        return Err(DomainError::field(
            "assignee_section",
            "Not a section of the assignee's task list",
        ));
    }
    let on = draft.gid;
    work.changes
        .edge_writes
        .retain(|l| !(l.src == on && l.rel == rel::MY_TASKS));
    leave_lists(view, work, on, draft.is_new(), Some(section.gid));
    work.link(on, rel::MY_TASKS, section.gid, ListPosition::Last, list);
    Ok(())
}

#[cfg(test)]
mod tests;
