//! Links of a task: projects, sections, tags, followers, dependencies, its parent.
use super::default_section::default_section_of_added_task;
use super::list_position::InsertPosition;
use super::my_tasks;
use super::named_users::{leaver, named_member};
use super::subtasks::{parent_needs, set_parent};
use super::task_link_inputs::{
    AddProject, InsertTarget, InsertTask, RemoveProject, TaskAndFollowers, TaskAndTag,
};
use crate::operation::rows::action;
use crate::operation::steps::Steps;
use crate::operation::{Decision, Operation};
use crate::request_context::{RequestContext, require_level};
use workgraph_core::Gid;
use workgraph_core::access::{Level, follower_level};
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::node::Node;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::task::PROJECTS_MAX;
use workgraph_core::model::resources::{section, story};
use workgraph_core::rules::auto_id_rules;
use workgraph_core::rules::sharing::follow_task;
use workgraph_core::rules::story_rules::add_system_story;
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{ChangeAction, LinkSelector, ListPosition, ReadQuery, ReadView};

/// Operations on the links of a task: a part of [`TABLES`](super::TABLES).
pub static TASK_LINKS: &[Operation] = &[
    action(
        "addTaskForSection",
        "/sections/{section_gid}/addTask",
        &Steps::new(section_needs, add_to_section),
    )
    .alias_paths(&["/user_task_lists/{user_task_list_gid}/tasks/insert"])
    .scope("tasks:write"),
    action(
        "addProjectForTask",
        "/tasks/{task_gid}/addProject",
        &Steps::new(project_needs, add_project),
    )
    .scope("tasks:write"),
    action(
        "removeProjectForTask",
        "/tasks/{task_gid}/removeProject",
        &Steps::new(unproject_needs, remove_project),
    )
    .scope("tasks:write"),
    action(
        "addTagForTask",
        "/tasks/{task_gid}/addTag",
        &Steps::new(tag_needs, add_tag),
    )
    .scope("tasks:write"),
    action(
        "removeTagForTask",
        "/tasks/{task_gid}/removeTag",
        &Steps::new(tag_needs, remove_tag),
    )
    .scope("tasks:write"),
    action(
        "addFollowersForTask",
        "/tasks/{task_gid}/addFollowers",
        &Steps::new(follower_needs, add_followers),
    )
    .scope("tasks:write")
    .responds_with(Type::Task),
    action(
        "removeFollowerForTask",
        "/tasks/{task_gid}/removeFollowers",
        &Steps::new(follower_needs, remove_followers),
    )
    .scope("tasks:write")
    .responds_with(Type::Task),
    action(
        "setParentForTask",
        "/tasks/{task_gid}/setParent",
        &Steps::new(parent_needs, set_parent),
    )
    .scope("tasks:write")
    .responds_with(Type::Task),
];

fn section_needs(call: &RequestContext<'_>, input: &InsertTask) -> Result<ReadQuery, DomainError> {
    let section = match &input.target {
        InsertTarget::Section(section) => section.node_ref(),
        InsertTarget::TaskList(list) => return my_tasks::needs(call, list, input),
    };
    let on = input.task.node;
    let container = section.clone().of(LinkSelector::Key("project"));
    let mut want = call
        .read_query()
        .node(section.clone())
        .node(container)
        .edges(on, rel::SECTION)
        .edges(on, rel::MY_TASKS);
    if let Some(neighbour) = input.position.neighbour() {
        want = want.edge(neighbour, rel::SECTION, section.clone()).edge(
            neighbour,
            rel::MY_TASKS,
            section,
        );
    }
    Ok(want)
}

/// Adds the task to a section, at the top if no position is given, and removes it from other sections of the project.
fn add_to_section(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &InsertTask,
) -> Result<Decision, DomainError> {
    let section = match &input.target {
        InsertTarget::Section(section) => section,
        InsertTarget::TaskList(list) => return my_tasks::insert(call, view, list, input),
    };
    let section = call.named_node(view, section, Level::Editor)?;
    let on = call.named_node(view, &input.task, Level::Editor)?;
    let container = section
        .get(section::PROJECT)
        .and_then(|g| view.node(g))
        .ok_or_else(|| DomainError::not_found("section", section.gid))?;
    let anchor = input.position;
    let mut work = call.change_builder();
    if container.ty == Type::UserTaskList {
        if view
            .links(on.gid, rel::MY_TASKS)
            .iter()
            .all(|e| e.aux != Some(container.gid))
        {
            return Err(DomainError::field(
                "task",
                "Not assigned to the owner of this task list",
            ));
        }
        check_neighbour(view, rel::MY_TASKS, section.gid, anchor, on.gid)?;
        for edge in view
            .links(on.gid, rel::MY_TASKS)
            .iter()
            .filter(|e| e.dst != section.gid)
        {
            work.unlink(on.gid, rel::MY_TASKS, edge.dst);
        }
        work.link(
            on.gid,
            rel::MY_TASKS,
            section.gid,
            anchor.list_position(ListPosition::First),
            Some(container.gid),
        );
        return Ok(Decision::of(work.changes));
    }
    put(
        view,
        &mut work,
        on,
        container,
        section.gid,
        anchor,
        ListPosition::First,
    )?;
    Ok(Decision::of(work.changes))
}

/// Checks that a neighbour is in the same section, and is not the task itself.
fn check_neighbour(
    view: &ReadView,
    rel: workgraph_core::model::registry::Relation,
    section: Gid,
    anchor: InsertPosition,
    on: Gid,
) -> Result<(), DomainError> {
    match anchor.neighbour() {
        Some(gid) if gid == on => Err(DomainError::invalid(
            "A task cannot be placed next to itself",
        )),
        Some(gid) if view.link(gid, rel, section).is_none() => Err(DomainError::invalid(format!(
            "The task to insert next to is not in this section: {gid}"
        ))),
        _ => Ok(()),
    }
}

/// Puts a task into a section of a project, and removes it from the project's other sections.
fn put(
    view: &ReadView,
    work: &mut ChangeBuilder<'_>,
    on: &Node,
    project: &Node,
    section: Gid,
    anchor: InsertPosition,
    otherwise: ListPosition,
) -> Result<(), DomainError> {
    if on.workspace != project.workspace {
        return Err(DomainError::field(
            "project",
            "Not a project of the task's workspace",
        ));
    }
    check_neighbour(view, rel::SECTION, section, anchor, on.gid)?;
    let sections = view.links(on.gid, rel::SECTION);
    let before = sections.iter().find(|e| e.aux == Some(project.gid));
    if before.is_none() && sections.len() >= PROJECTS_MAX {
        return Err(DomainError::field(
            "project",
            format_args!("A task can be in at most {PROJECTS_MAX} projects"),
        ));
    }
    if let Some(edge) = before.filter(|e| e.dst != section) {
        work.unlink(on.gid, rel::SECTION, edge.dst);
    }
    work.link(
        on.gid,
        rel::SECTION,
        section,
        anchor.list_position(otherwise),
        Some(project.gid),
    );
    match before {
        None => {
            auto_id_rules::number(work, Some(project), on.gid);
            work.add_change_record(
                on.gid,
                Type::Task,
                ChangeAction::Added {
                    parent: Some(project.gid),
                },
            );
            add_system_story(work, on.gid, on.workspace, "added_to_project", |d| {
                d.set(story::PROJECT, project.gid)
            });
        }
        Some(edge) if edge.dst != section => {
            let (old, new) = (edge.dst, section);
            work.add_change_record(
                on.gid,
                Type::Task,
                ChangeAction::Added { parent: Some(new) },
            );
            add_system_story(work, on.gid, on.workspace, "section_changed", |d| {
                d.set(story::OLD_SECTION, old);
                d.set(story::NEW_SECTION, new);
                d.set(story::PROJECT, project.gid);
            });
        }
        Some(_) => {}
    }
    Ok(())
}

fn project_needs(call: &RequestContext<'_>, input: &AddProject) -> Result<ReadQuery, DomainError> {
    let (on, project) = (input.task.node, input.project.node);
    let mut want =
        call.read_query()
            .edges(on, rel::SECTION)
            .incoming_edges(project, rel::SECTION_OF, 1000);
    if let Some(section) = input.section {
        want = want.edge(section, rel::SECTION_OF, project);
    }
    if let Some(neighbour) = input.position.neighbour() {
        want = want.edges(neighbour, rel::SECTION);
    }
    Ok(want)
}

/// Adds the task to a project: without a position, at the end of the project or of the named section.
fn add_project(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &AddProject,
) -> Result<Decision, DomainError> {
    let on = call.named_node(view, &input.task, Level::Editor)?;
    let project = call.named_node(view, &input.project, Level::Editor)?;
    let anchor = input.position;
    let sections = view.sources(project.gid, rel::SECTION_OF);
    let named = match input.section {
        Some(gid) if view.link(gid, rel::SECTION_OF, project.gid).is_none() => {
            return Err(DomainError::field(
                "section",
                format_args!("Not a section of this project: {gid}"),
            ));
        }
        other => other,
    };
    let section = match (named, anchor) {
        (Some(section), _) => Some(section),
        (None, InsertPosition::Before(gid) | InsertPosition::After(gid)) => view
            .links(gid, rel::SECTION)
            .iter()
            .find(|e| e.aux == Some(project.gid))
            .map(|e| e.dst),
        (None, InsertPosition::First) => sections.first().map(|e| e.src),
        (None, InsertPosition::Last | InsertPosition::None) => {
            default_section_of_added_task(view, project.gid)
        }
    };
    let Some(section) = section else {
        return Err(DomainError::invalid(
            "The task to insert next to is not in this project",
        ));
    };
    let mut work = call.change_builder();
    put(
        view,
        &mut work,
        on,
        project,
        section,
        anchor,
        ListPosition::Last,
    )?;
    Ok(Decision::of(work.changes))
}

fn unproject_needs(
    call: &RequestContext<'_>,
    input: &RemoveProject,
) -> Result<ReadQuery, DomainError> {
    let query = call.read_query().edges(input.task.node, rel::SECTION);
    Ok(query.node(input.project.node))
}

fn remove_project(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &RemoveProject,
) -> Result<Decision, DomainError> {
    let on = call.named_node(view, &input.task, Level::Editor)?;
    let project = call.named_node(view, &input.project, Level::Editor)?;
    let mut work = call.change_builder();
    if let Some(edge) = view
        .links(on.gid, rel::SECTION)
        .iter()
        .find(|e| e.aux == Some(project.gid))
    {
        work.unlink(on.gid, rel::SECTION, edge.dst);
        work.add_change_record(
            on.gid,
            Type::Task,
            ChangeAction::Removed {
                parent: project.gid,
            },
        );
        add_system_story(
            &mut work,
            on.gid,
            on.workspace,
            "removed_from_project",
            |d| {
                d.set(story::PROJECT, project.gid);
            },
        );
    }
    Ok(Decision::of(work.changes))
}

fn tag_needs(call: &RequestContext<'_>, input: &TaskAndTag) -> Result<ReadQuery, DomainError> {
    let query = call.read_query();
    Ok(query.edge(input.task.node, rel::TAGS, input.tag.node))
}

/// Returns the task and the tag of the request, with true if they are linked.
fn tagged<'v>(
    call: &RequestContext<'_>,
    view: &'v ReadView,
    input: &TaskAndTag,
) -> Result<(&'v Node, &'v Node, bool), DomainError> {
    let on = call.named_node(view, &input.task, Level::Editor)?;
    let gid = input.tag.node;
    let linked = view.link(on.gid, rel::TAGS, gid).is_some();
    let tag = match view.node(gid).filter(|_| linked) {
        // A user who sees the task sees its tags.
        Some(tag) => tag,
        None => call.named_node(view, &input.tag, Level::Viewer)?,
    };
    if tag.workspace != on.workspace {
        return Err(DomainError::field(
            "tag",
            "Not a tag of the task's workspace",
        ));
    }
    Ok((on, tag, linked))
}

fn add_tag(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &TaskAndTag,
) -> Result<Decision, DomainError> {
    let (on, tag, linked) = tagged(call, view, input)?;
    let mut work = call.change_builder();
    if !linked {
        work.link(on.gid, rel::TAGS, tag.gid, ListPosition::Rank(0), None);
        work.add_change_record(
            on.gid,
            Type::Task,
            ChangeAction::Added {
                parent: Some(tag.gid),
            },
        );
        add_system_story(&mut work, on.gid, on.workspace, "added_to_tag", |d| {
            d.set(story::TAG, tag.gid)
        });
    }
    Ok(Decision::of(work.changes))
}

fn remove_tag(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &TaskAndTag,
) -> Result<Decision, DomainError> {
    let (on, tag, linked) = tagged(call, view, input)?;
    let mut work = call.change_builder();
    if linked {
        work.unlink(on.gid, rel::TAGS, tag.gid);
        work.add_change_record(
            on.gid,
            Type::Task,
            ChangeAction::Removed { parent: tag.gid },
        );
        add_system_story(&mut work, on.gid, on.workspace, "removed_from_tag", |d| {
            d.set(story::TAG, tag.gid)
        });
    }
    Ok(Decision::of(work.changes))
}

fn follower_needs(
    call: &RequestContext<'_>,
    input: &TaskAndFollowers,
) -> Result<ReadQuery, DomainError> {
    let on = input.task.node;
    let mut want = call.read_query().node(on);
    for follower in &input.followers {
        let user = follower.node_ref();
        want = want
            .edges(user.clone(), rel::WORKSPACES)
            .edge(on, rel::FOLLOWERS, user);
    }
    Ok(want)
}

fn add_followers(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &TaskAndFollowers,
) -> Result<Decision, DomainError> {
    let on = call.named_node(view, &input.task, Level::Commenter)?;
    let mut work = call.change_builder();
    for named in &input.followers {
        let follower = named_member(call, view, named, on.workspace.unwrap_or(on.gid))?;
        if work.changes.edge_writes.iter().any(|l| l.dst == follower) {
            continue;
        }
        let level = view.level(on.gid);
        if let Some(edge) = view.link(on.gid, rel::FOLLOWERS, follower) {
            // An existing follower may get a higher level.
            let given = level.min(Level::Editor);
            if follower != call.user_gid() && follower_level(edge.rank) < given {
                follow_task(&mut work, on.gid, follower, level);
            }
            continue;
        }
        follow_task(&mut work, on.gid, follower, level);
        work.record_added(on.gid, Type::Task, "followers", follower);
        add_system_story(&mut work, on.gid, on.workspace, "follower_added", |d| {
            d.set(story::FOLLOWER, follower)
        });
    }
    Ok(Decision::about(work.changes, on.gid))
}

fn remove_followers(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &TaskAndFollowers,
) -> Result<Decision, DomainError> {
    let on = call.named_node(view, &input.task, Level::Viewer)?;
    let mut work = call.change_builder();
    for named in &input.followers {
        let (field, name) = (named.input.name, &named.node);
        let follower = leaver(call, view, field, name, on.gid, rel::FOLLOWERS)?;
        if follower != call.user_gid() {
            require_level(view, on, Level::Commenter)?;
        }
        // A request may name a user twice.
        let removed = (on.gid, rel::FOLLOWERS, follower);
        if view.link(on.gid, rel::FOLLOWERS, follower).is_some()
            && !work.changes.edge_removals.contains(&removed)
        {
            work.unlink(on.gid, rel::FOLLOWERS, follower);
            work.record_removed(on.gid, Type::Task, "followers", follower);
        }
    }
    Ok(Decision::about(work.changes, on.gid))
}

#[cfg(test)]
mod tests;
