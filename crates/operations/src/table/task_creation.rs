//! Creation of tasks: the nodes that a task is created in, and the checks.
pub(super) mod inputs;

use self::inputs::{CreateTask, PROJECTS, ProjectPlacement};
use super::default_section::default_section_of_new_task;
use super::likes;
use super::named_users::named_member;
use super::subtask_depth::require_subtask_depth;
use super::task_fields::{assign, own_list, write};
use super::{task_custom_type, task_external, task_values};
use crate::operation::Decision;
use crate::request_context::{RequestContext, parse_gid};
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::custom_field::FIELDS_MAX;
use workgraph_core::model::resources::task;
use workgraph_core::model::validate::{CheckedInputs, InputValue};
use workgraph_core::rules::sharing::follow_task;
use workgraph_core::rules::{auto_id_rules, custom_field_rules, rich_texts, story_rules};
use workgraph_core::storage::change_builder::ChangeBuilder;
use workgraph_core::storage::{ChangeAction, ListPosition, NodeRef, ReadQuery, ReadView};

pub(super) fn create_needs(
    call: &RequestContext<'_>,
    input: &CreateTask,
) -> Result<ReadQuery, DomainError> {
    let (inputs, spots) = (&input.fields, &input.placements);
    let near = NodeRef::Gid(input.workspace_source);
    let mut want = call.read_query();
    want.add_ref(near.clone());
    if let Some(parent) = &input.parent {
        let at = want.add_ref(parent.node);
        want.ancestors.push(at);
    }
    for spot in spots {
        want = match spot.section {
            Some(section) => want
                .node(spot.project)
                .edge(section, rel::SECTION_OF, spot.project),
            None => want.incoming_edges(spot.project, rel::SECTION_OF, 1),
        };
        if inputs.has("custom_fields") {
            want = want.incoming_edges(spot.project, rel::FIELD_ON, FIELDS_MAX);
        }
    }
    for tag in &input.tags {
        want.add_ref(tag.node);
    }
    for follower in &input.followers {
        want = want.edges(follower.node.clone(), rel::WORKSPACES);
    }
    add_node_refs(call, want, inputs, &near)
}

/// Adds the nodes that both create and update refer to: the assignee with their list, and links in the notes.
pub(super) fn add_node_refs(
    call: &RequestContext<'_>,
    mut want: ReadQuery,
    inputs: &CheckedInputs,
    near: &NodeRef,
) -> Result<ReadQuery, DomainError> {
    if let Some(InputValue::Ref(assignee)) = inputs.get("assignee") {
        let assignee = call.parse_user_ref("assignee", assignee)?;
        let list = NodeRef::TaskList {
            user: Box::new(assignee.clone()),
            within_workspace_of: Box::new(near.clone()),
        };
        want = want
            .edges(assignee, rel::WORKSPACES)
            .incoming_edges(list, rel::SECTION_OF, 1);
    }
    if let Some(InputValue::Ref(section)) = inputs.get("assignee_section") {
        want.add_ref(parse_gid("assignee_section", section)?);
    }
    for linked in rich_texts::referenced(inputs, task::HTML_NOTES) {
        want.add_ref(linked);
    }
    want = task_custom_type::needs(want, inputs, Some(near))?;
    task_values::add_node_refs(call, want, inputs)
}

pub(super) fn create_task(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &CreateTask,
) -> Result<Decision, DomainError> {
    let (inputs, spots) = (&input.fields, &input.placements);
    let parent = input.parent.as_ref();
    let parent = parent.map(|parent| call.named_node(view, parent, Level::Editor));
    let parent = parent.transpose()?;
    let mut workspace = match &input.workspace {
        Some(workspace) => Some(call.named_node(view, workspace, Level::Viewer)?.gid),
        None => parent.and_then(|p| p.workspace),
    };
    if let (Some(parent), Some(named)) = (parent, &input.parent)
        && parent.workspace != workspace
    {
        let reason = "Not a task of that workspace";
        return Err(DomainError::field(named.input.name, reason));
    }
    for (i, spot) in spots.iter().enumerate() {
        let field = format!("{}: [{i}]", spot.field);
        let project = call.resolve_ref(
            view,
            &field,
            &NodeRef::Gid(spot.project),
            PROJECTS.def.types(),
            Level::Editor,
        )?;
        if workspace.is_some() && project.workspace != workspace {
            return Err(DomainError::field(
                &field,
                "Not a project of that workspace",
            ));
        }
        workspace = project.workspace;
    }
    let Some(workspace) = workspace else {
        return Err(DomainError::invalid(workgraph_wire::messages::TASK_HOME));
    };
    if view
        .viewer
        .membership(workspace)
        .is_none_or(|s| s.view_only)
        && view.viewer.service_workspace != Some(workspace)
    {
        return Err(DomainError::forbidden(
            "You do not have permission to create tasks in this workspace.",
        ));
    }
    if let Some(parent) = parent {
        require_subtask_depth(view, parent.gid, 0)?;
    }

    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Task, Some(workspace));
    draft.set(task::CREATED_BY, call.user_gid());
    draft.set(task::CREATED_AT, work.now);
    draft.set(task::MODIFIED_AT, work.now);
    let mut containers: Vec<Gid> = spots.iter().map(|spot| spot.project).collect();
    write(call, view, &mut draft, inputs, &containers)?;
    task_external::write(call, &mut work, &mut draft, None, inputs, workspace)?;
    let assignee = assign(call, view, &mut work, &mut draft, inputs, workspace)?;
    if inputs.has("custom_fields") {
        containers.extend(own_list(call, view, &draft, workspace));
    }
    let values = task_values::write(call, view, &mut draft, inputs, None, &containers)?;
    custom_field_rules::index_value_changes(&mut work, draft.gid, view, &values);
    let mut followers = vec![call.user_gid()];
    followers.extend(assignee.map(|user| user.gid));
    for follower in &input.followers {
        followers.push(named_member(call, view, follower, workspace)?);
    }
    let on = draft.gid;
    work.create(
        &draft,
        parent
            .map(|p| p.gid)
            .or_else(|| spots.first().map(|s| s.project)),
    );
    for (i, follower) in followers.iter().enumerate() {
        if !followers.iter().take(i).any(|w| w == follower) {
            follow_task(&mut work, on, *follower, Level::Editor);
        }
    }
    if let Some(parent) = parent {
        work.link(on, rel::PARENT, parent.gid, ListPosition::Last, None);
    }
    let into = |work: &mut ChangeBuilder<'_>, container| {
        let parent = Some(container);
        work.add_change_record(on, Type::Task, ChangeAction::Added { parent });
    };
    for (i, spot) in spots.iter().enumerate() {
        add_to_project(view, &mut work, on, workspace, spot)?;
        // Adding the first project makes no separate event; it is part of the creation.
        if i > 0 || parent.is_some() {
            into(&mut work, spot.project);
        }
    }
    for named in &input.tags {
        let tag = call.named_node(view, named, Level::Viewer)?;
        if tag.workspace != Some(workspace) {
            let reason = "Not a tag of the task's workspace";
            return Err(DomainError::field(named.input.name, reason));
        }
        if !work.writes_edge(on, rel::TAGS, tag.gid) {
            work.link(on, rel::TAGS, tag.gid, ListPosition::Rank(0), None);
            into(&mut work, tag.gid);
        }
    }
    likes::write(call, view, &mut work, &draft, inputs);
    story_rules::add_task_stories(&mut work, &draft);
    Ok(Decision::about(work.changes, on))
}

/// Adds a new task to a project: to the named section, or by default to the end of the first section.
fn add_to_project(
    view: &ReadView,
    work: &mut ChangeBuilder<'_>,
    on: Gid,
    workspace: Gid,
    spot: &ProjectPlacement,
) -> Result<(), DomainError> {
    let section = match spot.section {
        Some(section) if view.link(section, rel::SECTION_OF, spot.project).is_none() => {
            return Err(DomainError::field(
                "memberships",
                format_args!("section: Not a section of this project: {section}"),
            ));
        }
        Some(section) => section,
        None => default_section_of_new_task(view, spot.project)?,
    };
    work.link(
        on,
        rel::SECTION,
        section,
        ListPosition::Last,
        Some(spot.project),
    );
    auto_id_rules::number(work, view.node(spot.project), on);
    story_rules::add_system_story(work, on, Some(workspace), "added_to_project", |d| {
        d.set(
            workgraph_core::model::resources::story::PROJECT,
            spot.project,
        );
    });
    Ok(())
}

#[cfg(test)]
mod tests;
