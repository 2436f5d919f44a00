//! Instantiation of project templates and task templates.
mod inputs;

use self::inputs::{InstantiateProject, InstantiateTask, RequestedDate};
use super::named_users::member_of;
use super::projects::places_allowed;
use super::template_copies::{copy_team, full_copy, original_team, original_workspace};
use crate::operation::Decision;
use crate::operation::steps::Steps;
use crate::request_context::RequestContext;
use workgraph_core::Gid;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::duplication::CopyKind;
use workgraph_core::jobs::template_instantiation::TemplateInstantiation;
use workgraph_core::jobs::template_snapshot::{START, TemplateData};
use workgraph_core::jobs::{self, JobKind, template_instantiation};
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{job, project, project_template};
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::clip;
use workgraph_core::rules::{auto_id_rules, custom_field_rules, membership_rules};
use workgraph_core::storage::{LinkSelector, ListPosition, NodeRef, ReadQuery, ReadView};

pub(super) const PROJECT: &Steps<InstantiateProject, Decision> =
    &Steps::new(project_needs, instantiate_project);
pub(super) const TASK: &Steps<InstantiateTask, Decision> =
    &Steps::new(task_needs, instantiate_task);

fn project_needs(
    call: &RequestContext<'_>,
    input: &InstantiateProject,
) -> Result<ReadQuery, DomainError> {
    let mut want = jobs::start_needs(call.read_query(), call.job_requester())
        .follow(input.template.node_ref(), custom_field_rules::settings())
        .node(original_team(&input.template, rel::TEMPLATE_TEAM))
        .node(original_workspace(&input.template));
    if let Some(team) = &input.team {
        want.add_ref(team.node);
    }
    for role in &input.roles {
        want = want.edges(role.user.clone(), rel::WORKSPACES);
    }
    Ok(want)
}

/// Returns the day in the body for the start of the project.
fn start_day(dates: &[RequestedDate], frozen: &TemplateData) -> Result<Option<Date>, DomainError> {
    let mut day = None;
    for date in dates {
        if date.gid != START || frozen.requested_dates() == "[]" {
            let gid = clip(&date.gid);
            return Err(DomainError::reference_not_found(&date.field, gid));
        }
        day = Some(*date.day.get()?);
    }
    Ok(day)
}

fn instantiate_project(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &InstantiateProject,
) -> Result<Decision, DomainError> {
    let old = call.named_node(view, &input.template, Level::Viewer)?;
    let workspace = old.workspace.unwrap_or(old.gid);
    let name = input.name.get()?;
    let frozen = TemplateData::of(old)?;
    let strict = *input.is_strict.get()?;
    let today = Date::of(call.now);
    let shift = frozen.shift(start_day(input.dates.get()?, &frozen)?, today, strict)?;
    let mut roles = Vec::new();
    for requested in &input.roles {
        let field = &requested.field;
        let role = frozen.role(&requested.gid);
        let role =
            role.ok_or_else(|| DomainError::reference_not_found(field, clip(&requested.gid)))?;
        let user = member_of(call, view, field, &requested.user, workspace)?;
        if roles.iter().any(|(known, _)| *known == role) {
            let reason = format_args!("Twice: {}; give each role once", clip(&requested.gid));
            return Err(DomainError::field(field, reason));
        }
        roles.push((role, user));
    }
    let privacy = *input.privacy.get()?;
    places_allowed(view, workspace, "projects")?;
    let original = (&input.template, rel::TEMPLATE_TEAM);
    let team = copy_team(call, view, workspace, input.team.as_ref(), original)?;
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Project, Some(workspace));
    draft.set(project::NAME, name.as_str());
    draft.set(project::OWNER, call.user_gid());
    draft.set(project::PRIVACY, privacy);
    draft.set(project::CREATED_FROM_TEMPLATE, old.gid);
    let notes = old.get(project_template::DESCRIPTION);
    draft.set(project::NOTES, notes.as_deref().unwrap_or(""));
    let html = old.get(project_template::HTML_DESCRIPTION);
    draft.set(
        project::HTML_NOTES,
        html.as_deref().unwrap_or("<body></body>"),
    );
    draft.set(project::COLOR, old.get(project_template::COLOR).as_deref());
    draft.set(project::NUMBERED_BY, auto_id_rules::copied(view, old));
    let new = membership_rules::create_empty_project(&mut work, draft, call.user_gid());
    custom_field_rules::copy_settings(&mut work, view, old.gid, (new, Type::Project), workspace);
    if let Some(team) = team {
        work.link(new, rel::TEAM, team, ListPosition::Rank(0), None);
    }
    let mut plot = full_copy(CopyKind::TemplateToProject, old.gid, new);
    (plot.shift, plot.roles) = (shift, roles);
    let gid = jobs::start(
        &mut work,
        view,
        call.job_requester(),
        workspace,
        "instantiate_project",
        JobKind::Duplicate(plot),
        |draft| draft.set(job::NEW_PROJECT, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}

/// Returns a reference to the project of a task template.
fn project_of(template: Gid) -> NodeRef {
    NodeRef::Gid(template).of(LinkSelector::Key("project"))
}

fn task_needs(
    call: &RequestContext<'_>,
    input: &InstantiateTask,
) -> Result<ReadQuery, DomainError> {
    let template = input.template.node;
    let want = jobs::start_needs(call.read_query(), call.job_requester()).node(template);
    Ok(want.incoming_edges(project_of(template), rel::SECTION_OF, 1))
}

fn instantiate_task(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &InstantiateTask,
) -> Result<Decision, DomainError> {
    let old = call.named_node(view, &input.template, Level::Viewer)?;
    let workspace = old.workspace.unwrap_or(old.gid);
    let project = project_of(input.template.node);
    let types = &[Type::Project];
    let at = call.resolve_ref(view, "project", &project, types, Level::Editor)?;
    let recipe = template_instantiation::recipe(old)?;
    let name = match input.name.get()? {
        Some(name) => name.clone(),
        None => template_instantiation::titled(&recipe).to_owned(),
    };
    let mut work = call.change_builder();
    let tasks = template_instantiation::create_tasks(&mut work, &recipe, workspace, at.gid, &name);
    let new = *tasks
        .first()
        .ok_or_else(|| DomainError::not_found("task template", old.gid))?;
    if let Some(section) = view.sources(at.gid, rel::SECTION_OF).first() {
        work.link(
            new,
            rel::SECTION,
            section.src,
            ListPosition::Last,
            Some(at.gid),
        );
        auto_id_rules::number(&mut work, Some(at), new);
    }
    let plot = TemplateInstantiation {
        template: old.gid,
        tasks,
        tasks_done: 0,
    };
    let gid = jobs::start(
        &mut work,
        view,
        call.job_requester(),
        workspace,
        "instantiate_task",
        JobKind::InstantiateTemplate(plot),
        |draft| draft.set(job::NEW_TASK, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}

#[cfg(test)]
mod tests;
