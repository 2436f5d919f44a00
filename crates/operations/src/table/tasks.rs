//! Tasks: listing, creating, changing and deleting them.
mod inputs;

use self::inputs::{ASSIGNEE, Assignee, ListTasks, UpdateTask, WORKSPACE};
use super::likes;
use super::list_filters::{COMPLETED_SINCE, MODIFIED_SINCE};
use super::task_creation::inputs::CreateTask;
use super::task_creation::{add_node_refs, create_needs, create_task};
use super::task_fields::{assign, own_list, write};
use super::{task_external, task_values};
use crate::operation::inputs::{Input, Named};
use crate::operation::rows::{computed_list, create, update};
use crate::operation::steps::{Description, Steps};
use crate::operation::{Decision, ListDefinition, ListRequest, Operation, delete, get, list};
use crate::request_context::RequestContext;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::draft::Draft;
use workgraph_core::model::registry::{Direction, Type, rel};
use workgraph_core::model::resources::task;
use workgraph_core::model::validate::InputValue;
use workgraph_core::rules::sharing::follow_task;
use workgraph_core::rules::{custom_field_rules, story_rules};
use workgraph_core::storage::{
    EdgeEnd, ListSource, NodeRef, PageQuery, ReadQuery, ReadView, RowFilter,
};
use workgraph_core::{Gid, tasks_of_container};

/// Operations on tasks: a part of [`TABLES`](super::TABLES).
pub static TASKS: &[Operation] = &[
    computed_list("getTasks", "/tasks", Type::Task, &Description::new(tasks))
        .scope("tasks:read")
        .filtered_by(SINCE),
    create("createTask", "/tasks", Type::Task, CREATE)
        .alias_paths(&["/workspaces/{workspace_gid}/tasks"])
        .scope("tasks:write"),
    get("getTask", "/tasks/{task_gid}", Type::Task).scope("tasks:read"),
    update(
        "updateTask",
        "/tasks/{task_gid}",
        Type::Task,
        &Steps::new(needs, change),
    )
    .scope("tasks:write"),
    delete("deleteTask", "/tasks/{task_gid}", Level::Editor).scope("tasks:delete"),
    list(
        "getTasksForProject",
        "/projects/{project_gid}/tasks",
        Type::Task,
        ListDefinition::Tasks,
    )
    .scope("tasks:read")
    .filtered_by(SINCE),
    list(
        "getTasksForSection",
        "/sections/{section_gid}/tasks",
        Type::Task,
        ListDefinition::Tasks,
    )
    .scope("tasks:read")
    .filtered_by(SINCE),
    list(
        "getTasksForTag",
        "/tags/{tag_gid}/tasks",
        Type::Task,
        OF_TAG,
    )
    .scope("tasks:read")
    .filtered_by(SINCE),
    list(
        "getTasksForUserTaskList",
        "/user_task_lists/{user_task_list_gid}/tasks",
        Type::Task,
        ListDefinition::Tasks,
    )
    .scope("tasks:read")
    .filtered_by(SINCE),
    list(
        "getSubtasksForTask",
        "/tasks/{task_gid}/subtasks",
        Type::Task,
        SUBTASKS,
    )
    .scope("tasks:read"),
    create(
        "createSubtaskForTask",
        "/tasks/{task_gid}/subtasks",
        Type::Task,
        CREATE,
    )
    .scope("tasks:write"),
];

const CREATE: &Steps<CreateTask, Decision> = &Steps::new(create_needs, create_task);
/// Time filters of lists of tasks.
const SINCE: &[&Input<RowFilter>] = &[&COMPLETED_SINCE, &MODIFIED_SINCE];

const OF_TAG: ListDefinition = ListDefinition::Edges {
    rel: rel::TAGS,
    dir: Direction::In,
    give: EdgeEnd::OtherEnd,
    open: false,
};
const SUBTASKS: ListDefinition = ListDefinition::Edges {
    rel: rel::PARENT,
    dir: Direction::In,
    give: EdgeEnd::OtherEnd,
    open: true,
};

fn tasks(call: &RequestContext<'_>, input: &ListTasks) -> Result<ListRequest, DomainError> {
    let containers = input.containers.as_slice();
    match (containers, &input.assignee, &input.workspace) {
        ([container], None, workspace) => {
            let listed = in_container(call, container);
            Ok(match workspace {
                Some(workspace) => listed.with_reference(workspace),
                None => listed,
            })
        }
        ([], Some(Assignee::Nobody), Some(workspace)) => Ok(unassigned(call, workspace)),
        ([], Some(Assignee::User(user)), Some(workspace)) => {
            let mut want = call.read_query();
            let list = NodeRef::TaskList {
                user: Box::new(user.clone()),
                within_workspace_of: Box::new(workspace.node_ref()),
            };
            let anchor = want.add_ref(list);
            let page = PageQuery::of(tasks_of_container(anchor, true), false, 0);
            Ok(ListRequest {
                query: want,
                page,
                computed: true,
                anchor: ASSIGNEE.def.name,
                anchor_types: &[Type::UserTaskList],
                referenced: Vec::new(),
            })
        }
        ([], _, None) => Err(DomainError::missing(WORKSPACE.def.name)),
        ([], None, Some(_)) => Err(DomainError::missing(ASSIGNEE.def.name)),
        _ => Err(DomainError::invalid(workgraph_wire::messages::TASK_FILTERS)),
    }
}

/// Lists the tasks of a project, section, tag or task list.
fn in_container(call: &RequestContext<'_>, container: &Named<Gid>) -> ListRequest {
    let mut want = call.read_query();
    let anchor = want.add_ref(container.node);
    let types = container.input.types();
    let edges = |rel| ListSource::Edges {
        anchor,
        rel,
        dir: Direction::In,
        give: EdgeEnd::OtherEnd,
    };
    let (from, open) = match types.first() {
        Some(Type::Project) => (tasks_of_container(anchor, false), true),
        Some(Type::UserTaskList) => (tasks_of_container(anchor, true), false),
        Some(Type::Section) => (edges(rel::SECTION), true),
        _ => (edges(rel::TAGS), false),
    };
    ListRequest {
        query: want,
        page: PageQuery::of(from, open, 0),
        computed: false,
        anchor: container.input.name,
        anchor_types: types,
        referenced: Vec::new(),
    }
}

/// Lists the tasks of a workspace without an assignee.
fn unassigned(call: &RequestContext<'_>, workspace: &Named<Gid>) -> ListRequest {
    let mut want = call.read_query();
    let (anchor, ty) = (want.add_ref(workspace.node), Type::Task);
    let mut page = PageQuery::of(ListSource::InWorkspace { anchor, ty }, false, 0);
    page.filters.push(RowFilter::Unset("assignee"));
    ListRequest {
        query: want,
        page,
        computed: true,
        anchor: workspace.input.name,
        anchor_types: workspace.input.types(),
        referenced: Vec::new(),
    }
}

fn needs(call: &RequestContext<'_>, input: &UpdateTask) -> Result<ReadQuery, DomainError> {
    let inputs = &input.fields;
    let on = input.task.node_ref();
    let want = call.read_query().node(on.clone());
    let mut want = likes::needs(call, (&on, Type::Task), inputs, want);
    if inputs.has("custom_fields") {
        let at = want.add_ref(on.clone());
        want.custom_fields_of.push(at);
    }
    if inputs.has("assignee") || inputs.has("assignee_section") {
        want = want.edges(on.clone(), rel::MY_TASKS);
    }
    if let Some(InputValue::Ref(assignee)) = inputs.get("assignee") {
        want = want.edge(
            on.clone(),
            rel::FOLLOWERS,
            call.parse_user_ref("assignee", assignee)?,
        );
    }
    add_node_refs(call, want, inputs, &on)
}

fn change(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &UpdateTask,
) -> Result<Decision, DomainError> {
    let node = call.named_node(view, &input.task, Level::Viewer)?;
    let inputs = &input.fields;
    if inputs.names().any(|n| n != "liked") {
        crate::request_context::require_level(view, node, Level::Editor)?;
    }
    let workspace = node.workspace.unwrap_or(node.gid);
    let mut work = call.change_builder();
    let mut draft = Draft::edit(node);
    write(call, view, &mut draft, inputs, &[])?;
    let before = node.raw("external");
    task_external::write(call, &mut work, &mut draft, before, inputs, workspace)?;
    let assignee = assign(call, view, &mut work, &mut draft, inputs, workspace)?;
    let changed = if inputs.has("custom_fields") {
        let sections = view.links(node.gid, rel::SECTION).iter();
        let mut containers: Vec<Gid> = sections.filter_map(|edge| edge.aux).collect();
        containers.extend(own_list(call, view, &draft, workspace));
        let before = node.raw(task::CUSTOM_FIELDS.def.name);
        task_values::write(call, view, &mut draft, inputs, before, &containers)?
    } else {
        Vec::new()
    };
    if let Some(assignee) = assignee
        && draft.changed(task::ASSIGNEE)
        && view.link(node.gid, rel::FOLLOWERS, assignee.gid).is_none()
    {
        follow_task(&mut work, node.gid, assignee.gid, Level::Editor);
        work.record_added(node.gid, Type::Task, "followers", assignee.gid);
    }
    likes::write(call, view, &mut work, &draft, inputs);
    let assigned = draft.clone();
    if draft.changed_keys().next().is_some() {
        draft.set(task::MODIFIED_AT, work.now);
    }
    if work.save(&draft) {
        story_rules::add_task_stories(&mut work, &assigned);
        custom_field_rules::record_value_changes(&mut work, (node.gid, node.ty), &changed);
        custom_field_rules::index_value_changes(&mut work, node.gid, view, &changed);
        custom_field_rules::add_value_stories(&mut work, node, view, &changed);
    }
    Ok(Decision::about(work.changes, node.gid))
}

#[cfg(test)]
mod tests;
