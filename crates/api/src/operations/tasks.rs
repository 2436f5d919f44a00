//! Tasks: listing, creating, changing and deleting them.
use super::task_creation::{create_needs, create_task, refer};
use super::task_fields::{assign, like, write};
use super::{task_external, task_values};
use crate::call::Call;
use crate::driver::page;
use crate::operation::{
    Decision, Listed, Lists, Operation, create, delete, get, page as list, page_of, update,
};
use workgraph_core::access::Level;
use workgraph_core::check::Given;
use workgraph_core::draft::Draft;
use workgraph_core::fault::Fault;
use workgraph_core::graph::{Filter, Give, Listing, Place, Ref, View, Want};
use workgraph_core::registry::{Dir, Type, rel};
use workgraph_core::resources::task;
use workgraph_core::rules::{fields, stories};
use workgraph_core::values;
use workgraph_core::{Gid, tasks_of_container};

/// The rows.
pub static TASKS: &[Operation] = &[
    page_of("getTasks", "/tasks", Type::Task, tasks)
        .scope("tasks:read")
        .filters(SINCE),
    create(
        "createTask",
        "/tasks",
        Type::Task,
        create_needs,
        create_task,
    )
    .also(&["/workspaces/{workspace_gid}/tasks"])
    .scope("tasks:write"),
    get("getTask", "/tasks/{task_gid}", Type::Task).scope("tasks:read"),
    update("updateTask", "/tasks/{task_gid}", Type::Task, needs, change).scope("tasks:write"),
    delete("deleteTask", "/tasks/{task_gid}", Level::Editor).scope("tasks:delete"),
    list(
        "getTasksForProject",
        "/projects/{project_gid}/tasks",
        Type::Task,
        Lists::Tasks,
    )
    .scope("tasks:read")
    .filters(SINCE),
    list(
        "getTasksForSection",
        "/sections/{section_gid}/tasks",
        Type::Task,
        Lists::Tasks,
    )
    .scope("tasks:read")
    .filters(SINCE),
    list(
        "getTasksForTag",
        "/tags/{tag_gid}/tasks",
        Type::Task,
        OF_TAG,
    )
    .scope("tasks:read")
    .filters(SINCE),
    list(
        "getTasksForUserTaskList",
        "/user_task_lists/{user_task_list_gid}/tasks",
        Type::Task,
        Lists::Tasks,
    )
    .scope("tasks:read")
    .filters(SINCE),
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
        create_needs,
        create_task,
    )
    .scope("tasks:write"),
];

/// The filters of lists of tasks.
const SINCE: &[&str] = &["completed_since", "modified_since"];

const OF_TAG: Lists = Lists::Edges {
    rel: rel::TAGS,
    dir: Dir::In,
    give: Give::Far,
    open: false,
};
const SUBTASKS: Lists = Lists::Edges {
    rel: rel::PARENT,
    dir: Dir::In,
    give: Give::Far,
    open: true,
};

/// The most levels of subtasks below a task.
pub const DEPTH_MAX: usize = 5;

fn tasks(call: &Call<'_>) -> Result<Listed, Fault> {
    static CONTAINERS: [(&str, Type); 4] = [
        ("project", Type::Project),
        ("section", Type::Section),
        ("tag", Type::Tag),
        ("user_task_list", Type::UserTaskList),
    ];
    let mut want = call.want();
    let mut chosen = Vec::new();
    for (name, ty) in &CONTAINERS {
        if let Some(gid) = call.query_gid(name)? {
            chosen.push((*name, ty, gid));
        }
    }
    let workspace = call.query_gid("workspace")?;
    if chosen.is_empty()
        && [call.query("assignee")?, call.query("assignee.any")?].contains(&Some("null"))
    {
        return unassigned(call, workspace.ok_or_else(|| Fault::missing("workspace"))?);
    }
    let assignee = call.query_user("assignee")?;
    match (chosen.as_slice(), assignee, workspace) {
        ([(name, ty, gid)], None, _) => {
            let anchor = want.add(*gid);
            let (from, open) = match ty {
                Type::Project => (tasks_of_container(anchor, false), true),
                Type::UserTaskList => (tasks_of_container(anchor, true), false),
                Type::Section => (
                    Listing::Edges {
                        anchor,
                        rel: rel::SECTION,
                        dir: Dir::In,
                        give: Give::Far,
                    },
                    true,
                ),
                _ => (
                    Listing::Edges {
                        anchor,
                        rel: rel::TAGS,
                        dir: Dir::In,
                        give: Give::Far,
                    },
                    false,
                ),
            };
            Ok(Listed {
                want,
                page: page(from, open),
                computed: false,
                anchor: name,
                anchor_types: std::slice::from_ref(*ty),
            })
        }
        ([], Some(assignee), Some(workspace)) => {
            let list = Ref::TaskList {
                user: Box::new(assignee),
                near: Box::new(Ref::Gid(workspace)),
            };
            let anchor = want.add(list);
            let page = page(tasks_of_container(anchor, true), false);
            Ok(Listed {
                want,
                page,
                computed: true,
                anchor: "assignee",
                anchor_types: &[Type::UserTaskList],
            })
        }
        ([], Some(_), None) | ([], None, None) => Err(Fault::missing("workspace")),
        ([], None, Some(_)) => Err(Fault::missing("assignee")),
        _ => Err(Fault::invalid(workgraph_wire::message::TASK_FILTERS)),
    }
}

/// Lists the tasks of a workspace that nobody is assigned to.
fn unassigned(call: &Call<'_>, workspace: Gid) -> Result<Listed, Fault> {
    let mut want = call.want();
    let (anchor, ty) = (want.add(workspace), Type::Task);
    let mut page = page(Listing::Home { anchor, ty }, false);
    page.filters.push(Filter::Unset("assignee"));
    Ok(Listed {
        want,
        page,
        computed: true,
        anchor: "workspace",
        anchor_types: &[Type::Workspace],
    })
}

/// Whether a task may have a subtask with so many levels below it.
pub(crate) fn shallow(view: &View, parent: Gid, height: usize) -> Result<(), Fault> {
    let mut at = parent;
    for _ in height..DEPTH_MAX {
        match view.links(at, rel::PARENT).first() {
            Some(edge) => at = edge.dst,
            None => return Ok(()),
        }
    }
    Err(Fault::field(
        "parent",
        format_args!("Too deep: tasks have at most {DEPTH_MAX} levels of subtasks"),
    ))
}

fn needs(call: &Call<'_>) -> Result<Want, Fault> {
    let inputs = call.inputs(Type::Task, false)?;
    let on = call.path("task_gid")?;
    let mut want = call.want().node(on.clone());
    if inputs.has("liked") {
        want = want.edge(on.clone(), rel::LIKES, call.me());
    }
    if inputs.has("custom_fields") {
        let at = want.add(on.clone());
        want.fields.push(at);
    }
    if inputs.has("assignee") || inputs.has("assignee_section") {
        want = want.edges(on.clone(), rel::MY_TASKS);
    }
    if let Some(Given::Ref(who)) = inputs.get("assignee") {
        want = want.edge(on.clone(), rel::FOLLOWERS, call.user("assignee", who)?);
    }
    refer(call, want, &inputs, &on)
}

fn change(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let node = call.target(view, "task_gid", Level::Viewer)?;
    let inputs = call.inputs(Type::Task, false)?;
    if inputs.names().any(|n| n != "liked") {
        crate::call::allowed(view, node, Level::Editor)?;
    }
    let home = node.home.unwrap_or(node.gid);
    let mut work = call.work();
    let mut draft = Draft::edit(node);
    write(call, view, &mut draft, &inputs)?;
    let before = node.raw("external");
    task_external::write(call, &mut work, &mut draft, before, &inputs, home)?;
    let projects: Vec<Gid> = values::places(view, node.gid).collect();
    let held = node.raw("custom_fields");
    let changed = task_values::write(call, view, &mut draft, &inputs, held, &projects)?;
    let assignee = assign(call, view, &mut work, &mut draft, &inputs, home)?;
    if let Some(who) = assignee
        && draft.changed(task::ASSIGNEE)
        && view.link(node.gid, rel::FOLLOWERS, who.gid).is_none()
    {
        work.link(node.gid, rel::FOLLOWERS, who.gid, Place::Rank(0), None);
        work.gained(node.gid, Type::Task, "followers", who.gid);
    }
    like(call, view, &mut work, node.gid, &inputs);
    let told = draft.clone();
    if draft.changed_keys().next().is_some() {
        draft.set(task::MODIFIED_AT, work.now);
    }
    if work.save(&draft) {
        stories::of_task(&mut work, &told);
        fields::facts(&mut work, node.gid, &changed);
        fields::index(&mut work, node.gid, view, &changed);
        fields::tell_changes(&mut work, node, view, &changed);
    }
    Ok(Decision::about(work.changes, node.gid))
}
