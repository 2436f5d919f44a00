//! Jobs: reading them, and the operations that start one.
mod inputs;

use self::inputs::{DuplicateProject, DuplicateTask};
use super::projects::places_allowed;
use super::template_copies::{copy_team, original_team, original_workspace};
use crate::operation::rows::create;
use crate::operation::steps::Steps;
use crate::operation::{Decision, Operation, get};
use crate::request_context::RequestContext;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::date_shift::DateShift;
use workgraph_core::jobs::duplication::{self, CopyKind, CopyOptions, Duplication};
use workgraph_core::jobs::template_snapshot::TemplateData;
use workgraph_core::jobs::{self, JobKind};
use workgraph_core::model::registry::{NAME_MAX, Type, rel};
use workgraph_core::model::resources::{job, project};
use workgraph_core::rules::{auto_id_rules, custom_field_rules, membership_rules};
use workgraph_core::storage::{ListPosition, ReadQuery, ReadView};

/// Operations that read or start jobs: a part of [`TABLES`](super::TABLES).
pub static JOBS: &[Operation] = &[
    get("getJob", "/jobs/{job_gid}", Type::Job)
        .scope("jobs:read")
        .time_dependent(),
    create(
        "duplicateTask",
        "/tasks/{task_gid}/duplicate",
        Type::Job,
        &Steps::new(task_needs, duplicate_task),
    )
    .scope("tasks:write"),
    create(
        "duplicateProject",
        "/projects/{project_gid}/duplicate",
        Type::Job,
        &Steps::new(project_needs, duplicate_project),
    )
    .scope("projects:write"),
];

/// Maximum number of custom types that a copy of a project takes over.
const CUSTOM_TYPES_MAX: usize = 1_000;

fn task_needs(call: &RequestContext<'_>, input: &DuplicateTask) -> Result<ReadQuery, DomainError> {
    let want = jobs::start_needs(call.read_query(), call.job_requester());
    Ok(duplication::root(want, &input.task.node_ref()))
}

fn duplicate_task(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DuplicateTask,
) -> Result<Decision, DomainError> {
    let old = call.named_node(view, &input.task, Level::Viewer)?;
    let workspace = old.workspace.unwrap_or(old.gid);
    let names = input.parts.get()?;
    let parts = names.iter().fold(CopyOptions::default(), |p, n| p.with(n));
    let name = match input.name.get()? {
        Some(name) => name.clone(),
        None => {
            let name = format!("Duplicate of {}", old.title());
            name.chars().take(NAME_MAX as usize).collect()
        }
    };
    places_allowed(view, workspace, "tasks")?;
    let mut work = call.change_builder();
    let (new, plot) = duplication::copy_root(&mut work, view, parts, old, &name);
    let gid = jobs::start(
        &mut work,
        view,
        call.job_requester(),
        workspace,
        "duplicate_task",
        JobKind::Duplicate(plot),
        |draft| draft.set(job::NEW_TASK, new),
    )?;
    work.link(old.gid, rel::COPIED, gid, ListPosition::Rank(1), Some(new));
    Ok(Decision::about(work.changes, gid))
}

fn project_needs(
    call: &RequestContext<'_>,
    input: &DuplicateProject,
) -> Result<ReadQuery, DomainError> {
    let old = input.project.node_ref();
    let mut want = jobs::start_needs(call.read_query(), call.job_requester())
        .edges(old.clone(), rel::MEMBERS)
        .edges(old.clone(), rel::PROJECT_FOLLOWERS)
        .edges(old.clone(), rel::TEAM)
        .incoming_edges(old.clone(), rel::CUSTOM_TYPE_ON, CUSTOM_TYPES_MAX)
        .follow(old, custom_field_rules::settings())
        .node(original_team(&input.project, rel::TEAM))
        .node(original_workspace(&input.project));
    if let Some(team) = &input.team {
        want.add_ref(team.node);
    }
    Ok(want)
}

fn duplicate_project(
    call: &RequestContext<'_>,
    view: &ReadView,
    input: &DuplicateProject,
) -> Result<Decision, DomainError> {
    let old = call.named_node(view, &input.project, Level::Viewer)?;
    let workspace = old.workspace.unwrap_or(old.gid);
    let names = input.parts.get()?;
    let has = |name: &str| names.contains(&name);
    let tasks = names.iter().filter_map(|n| n.strip_prefix("task_"));
    let own = has("allocations").then_some("allocations");
    let parts = tasks
        .chain(own)
        .fold(CopyOptions::default(), CopyOptions::with);
    let schedule = input.schedule(has("task_dates"))?;
    let anchor = schedule.map(|schedule| schedule.anchor);
    let name = input.name.get()?;
    places_allowed(view, workspace, "projects")?;
    let original = (&input.project, rel::TEAM);
    let team = copy_team(call, view, workspace, input.team.as_ref(), original)?;

    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Project, Some(workspace));
    draft.set(project::NAME, name.as_str());
    draft.set(project::OWNER, call.user_gid());
    for field in [project::COLOR, project::ICON, project::DEFAULT_VIEW] {
        draft.take(field, old);
    }
    draft.take(project::PRIVACY, old);
    draft.set(project::NUMBERED_BY, auto_id_rules::copied(view, old));
    if has("permissions") {
        for field in [
            project::DEFAULT_ACCESS,
            project::CUSTOMIZE_ACCESS,
            project::SHARE_ACCESS,
        ] {
            draft.take(field, old);
        }
    }
    if has("notes") {
        draft.take(project::NOTES, old);
        draft.take(project::HTML_NOTES, old);
    }
    if has("task_dates") && anchor.is_none() {
        draft.take(project::START_ON, old);
        draft.take(project::DUE_ON, old);
    }
    let new = membership_rules::create_empty_project(&mut work, draft, call.user_gid());
    custom_field_rules::copy_settings(&mut work, view, old.gid, (new, Type::Project), workspace);
    for edge in view.sources(old.gid, rel::CUSTOM_TYPE_ON) {
        if view.level(edge.src) > Level::None {
            let first = ListPosition::Rank(0);
            work.link(edge.src, rel::CUSTOM_TYPE_ON, new, first, None);
        }
    }
    if let Some(team) = team {
        work.link(new, rel::TEAM, team, ListPosition::Rank(0), None);
    }
    if has("members") {
        for edge in view.links(old.gid, rel::MEMBERS) {
            if edge.dst != call.user_gid() {
                let level = Level::from_rank(edge.rank);
                membership_rules::join_project(&mut work, edge.dst, new, workspace, level);
            }
        }
        for edge in view.links(old.gid, rel::PROJECT_FOLLOWERS) {
            if edge.dst != call.user_gid() {
                work.link(
                    new,
                    rel::PROJECT_FOLLOWERS,
                    edge.dst,
                    ListPosition::Rank(0),
                    None,
                );
            }
        }
    }
    let plot = Duplication {
        source: old.gid,
        copy: new,
        kind: CopyKind::Project,
        roles: Vec::new(),
        template: TemplateData::default(),
        parts,
        shift: DateShift {
            days: 0,
            skip_weekends: schedule.is_some_and(|schedule| schedule.skip_weekends),
        },
        anchor,
        copied: 0,
        phase: Duplication::of_project(anchor),
    };
    let gid = jobs::start(
        &mut work,
        view,
        call.job_requester(),
        workspace,
        "duplicate_project",
        JobKind::Duplicate(plot),
        |draft| draft.set(job::NEW_PROJECT, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}

#[cfg(test)]
mod tests;
