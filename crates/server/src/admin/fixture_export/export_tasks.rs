//! Tasks of an exported fixture, with their subtasks.
use crate::admin::fixture_export::export_state::ExportState;
use crate::admin::fixture_export::export_texts::{add_name, add_text};
use crate::admin::fixture_export::exported_fields::written;
use crate::admin::fixture_export::exported_requests::{ExportedRequest, RequestPhase};
use crate::admin::fixture_export::fixture_labels::plain;
use crate::admin::fixture_export::workspace_content::WorkspaceContent;
use crate::admin::fixture_export::world_reader::Record;
use serde_json::{Map, Value};
use workgraph_core::{Gid, Type};

/// Returns a task with its subtasks in the form of a fixture; `usual` is the person who creates it by default.
pub(crate) fn task_json(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
    task: Gid,
    usual: Gid,
) -> Map<String, Value> {
    let Some(record) = content.tasks.get(&task) else {
        return Map::new();
    };
    let actor = content.actors.get(&task).copied().unwrap_or(usual);
    let mut out = task_fields(state, content, (record, actor));
    add_name(state, record, &mut out);
    if actor != usual
        && let Some(label) = state.labels.label(actor)
    {
        out.insert("as".to_owned(), label.into());
    }
    let subtasks: Vec<Value> = content
        .subtasks_of(task)
        .iter()
        .map(|below| task_json(state, content, *below, actor).into())
        .collect();
    if !subtasks.is_empty() {
        out.insert("subtasks".to_owned(), subtasks.into());
    }
    out
}

/// Returns the fields of a task that a request can write when it creates it.
fn task_fields(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
    (record, actor): (&Record, Gid),
) -> Map<String, Value> {
    let mut out = written(Type::Task, record, &state.labels);
    let subtype = record.text("/resource_subtype").unwrap_or_default();
    if subtype == "custom" {
        state.leave_out("custom type of a task", 1);
        out.remove("resource_subtype");
    }
    if record.flag("/completed") && subtype != "approval" {
        out.insert("completed".to_owned(), true.into());
    }
    for (at, on) in [("due_at", "due_on"), ("start_at", "start_on")] {
        let text = |name: &str| record.fields.get(name).and_then(Value::as_str);
        if let Some(time) = text(at) {
            out.insert(at.to_owned(), state.labels.time(time));
        } else if let Some(day) = text(on) {
            out.insert(on.to_owned(), state.labels.day(day));
        }
    }
    let assignee = record.gid_at("/assignee/gid");
    if let Some(assignee) = assignee
        && !content.has_member(&state.people, assignee)
    {
        state.leave_out("assignee who left the workspace", 1);
        out.remove("assignee");
    }
    let followers = record.gids("/followers", "/gid");
    let known = state.people.sorted(&followers);
    state.leave_out(
        "follower who left the workspace",
        followers.len().saturating_sub(known.len()),
    );
    let others: Vec<Gid> = known
        .into_iter()
        .filter(|gid| *gid != actor && Some(*gid) != assignee)
        .filter(|gid| content.has_member(&state.people, *gid))
        .collect();
    let others = state.references(&others, "follower who left the workspace");
    if !others.is_empty() {
        out.insert("followers".to_owned(), others.into());
    }
    state.leave_out("data of an app at a task", usize::from(record.has_external));
    add_text(state, (record, actor), Type::Task, &mut out);
    out
}

/// Adds the requests that create a task that is in no project, and its subtasks.
pub(crate) fn add_loose_task(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
    task: Gid,
    parent: Option<Gid>,
) {
    let (Some(record), Some(actor)) = (content.tasks.get(&task), content.actors.get(&task)) else {
        state.leave_out("task in a workspace without members", 1);
        return;
    };
    let name = plain(record.text("/name").unwrap_or_default());
    let mut fields = task_fields(state, content, (record, *actor));
    fields.insert("name".to_owned(), name);
    let request = match parent.and_then(|parent| state.labels.reference(parent)) {
        Some(parent) => ExportedRequest::of("createSubtaskForTask").at("task_gid", parent),
        None => {
            let workspace = state.labels.reference(content.reader.workspace);
            ExportedRequest::of("createTask").field("workspace", workspace.unwrap_or_default())
        }
    };
    let label = state.labels.label(task).unwrap_or_default();
    let request = request
        .with(fields)
        .called(label)
        .sent_by(state.sender(*actor));
    state.requests.add(RequestPhase::LooseTasks, request);
    for below in content.subtasks_of(task) {
        add_loose_task(state, content, *below, Some(task));
    }
}
