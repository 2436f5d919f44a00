//! Jobs: reading them, and the operations that start one.
use super::projects::{places_allowed, team_of};
use crate::operation::{Decision, Operation, create, get};
use crate::request_context::RequestContext;
use serde_json::Value;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::date_shift::{DateAnchor, DateShift};
use workgraph_core::jobs::duplication::{self, CopyKind, CopyOptions, Duplication};
use workgraph_core::jobs::template_snapshot::TemplateData;
use workgraph_core::jobs::{self, JobKind};
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{job, project};
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::{clip, flag, string};
use workgraph_core::rules::{custom_field_rules, membership_rules};
use workgraph_core::storage::{LinkSelector, ListPosition, NodeRef, ReadQuery, ReadView};

/// Operations that read or start jobs.
pub static JOBS: &[Operation] = &[
    get("getJob", "/jobs/{job_gid}", Type::Job)
        .scope("jobs:read")
        .time_dependent(),
    create(
        "duplicateTask",
        "/tasks/{task_gid}/duplicate",
        Type::Job,
        task_needs,
        duplicate_task,
    )
    .scope("tasks:write"),
    create(
        "duplicateProject",
        "/projects/{project_gid}/duplicate",
        Type::Job,
        project_needs,
        duplicate_project,
    )
    .scope("projects:write")
    .body(&["name"]),
];

/// Values of `include`: parts of a project that a copy may have besides its tasks, views and rules.
const OF_PROJECT: &[&str] = &[
    "allocations",
    "forms",
    "members",
    "notes",
    "permissions",
    "task_assignee",
    "task_attachments",
    "task_dates",
    "task_dependencies",
    "task_followers",
    "task_notes",
    "task_projects",
    "task_subtasks",
    "task_tags",
    "task_templates",
    "task_type_default",
];

/// Returns the names in `include`: text separated by commas, or an array.
fn include(call: &RequestContext<'_>, allowed: &[&str]) -> Result<Vec<String>, DomainError> {
    let names = call.text_list("include")?;
    match names.iter().find(|n| !allowed.contains(&n.as_str())) {
        None => Ok(names),
        Some(name) => Err(DomainError::field(
            "include",
            format_args!(
                "Not a recognized value: {}; it is one of {}",
                clip(name),
                allowed.join(", ")
            ),
        )),
    }
}

fn task_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let want = jobs::start_needs(call.read_query(), call.job_requester());
    Ok(duplication::root(want, &call.path_ref("task_gid")?))
}

fn duplicate_task(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let old = call.path_node(view, "task_gid", Level::Viewer)?;
    let home = old.workspace.unwrap_or(old.gid);
    let names = include(call, &CopyOptions::NAMES)?;
    let parts = names.iter().fold(CopyOptions::default(), |p, n| p.with(n));
    let name = match call.field("name") {
        Some(value) => workgraph_core::model::validate::text("name", value, 1024)?,
        None => format!("Duplicate of {}", old.title()),
    };
    places_allowed(view, home, "tasks")?;
    let mut work = call.change_builder();
    let (new, plot) = duplication::copy_root(&mut work, view, parts, old, &name);
    let gid = jobs::start(
        &mut work,
        view,
        call.job_requester(),
        home,
        "duplicate_task",
        JobKind::Duplicate(plot),
        |draft| draft.set(job::NEW_TASK, new),
    )?;
    work.link(old.gid, rel::COPIED, gid, ListPosition::Rank(1), Some(new));
    Ok(Decision::about(work.changes, gid))
}

fn project_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let old = call.path_ref("project_gid")?;
    let mut want = jobs::start_needs(call.read_query(), call.job_requester())
        .edges(old.clone(), rel::MEMBERS)
        .edges(old.clone(), rel::PROJECT_FOLLOWERS)
        .edges(old.clone(), rel::TEAM)
        .follow(old, custom_field_rules::settings())
        .node(team_ref(call)?);
    if let Some(team) = call.body_gid("team")? {
        want.add_ref(team);
    }
    Ok(want)
}

/// Returns a reference to the team of the project in the path.
fn team_ref(call: &RequestContext<'_>) -> Result<NodeRef, DomainError> {
    Ok(call
        .path_ref("project_gid")?
        .of(LinkSelector::FirstEdge(rel::TEAM)))
}

/// Reads `schedule_dates`: the day at which the dates of the copies begin or end.
fn schedule(
    call: &RequestContext<'_>,
    dates: bool,
) -> Result<(Option<DateAnchor>, bool), DomainError> {
    let Some(value) = call.field("schedule_dates") else {
        return Ok((None, false));
    };
    let Value::Object(map) = value else {
        return Err(DomainError::field(
            "schedule_dates",
            "Value is not a JSON object; it is {should_skip_weekends, start_on or due_on}",
        ));
    };
    if !dates {
        return Err(DomainError::field(
            "schedule_dates",
            "Needs task_dates in include",
        ));
    }
    let day = |name: &str| -> Result<Option<i32>, DomainError> {
        let field = format!("schedule_dates: {name}");
        let value = map.get(name).filter(|v| !v.is_null());
        let day = |v| match Date::parse(string(&field, v)?) {
            Ok(day) => Ok(day.days()),
            Err(e) => Err(DomainError::field(&field, e)),
        };
        value.map(day).transpose()
    };
    let skips = "schedule_dates: should_skip_weekends";
    let skip = map.get("should_skip_weekends").filter(|v| !v.is_null());
    let skip = flag(skips, skip.ok_or_else(|| DomainError::missing(skips))?)?;
    let anchor = match (day("start_on")?, day("due_on")?) {
        (Some(day), None) => DateAnchor::Start(day),
        (None, Some(day)) => DateAnchor::Due(day),
        (None, None) => return Err(DomainError::missing("schedule_dates: start_on")),
        (Some(_), Some(_)) => {
            return Err(DomainError::field(
                "schedule_dates",
                "You may only provide one of start_on or due_on!",
            ));
        }
    };
    Ok((Some(anchor), skip))
}

fn duplicate_project(call: &RequestContext<'_>, view: &ReadView) -> Result<Decision, DomainError> {
    let old = call.path_node(view, "project_gid", Level::Viewer)?;
    let home = old.workspace.unwrap_or(old.gid);
    let names = include(call, OF_PROJECT)?;
    let has = |name: &str| names.iter().any(|n| n == name);
    let tasks = names.iter().filter_map(|n| n.strip_prefix("task_"));
    let parts = tasks.fold(CopyOptions::default(), CopyOptions::with);
    let (anchor, skip_weekends) = schedule(call, has("task_dates"))?;
    let name = workgraph_core::model::validate::text("name", call.required("name")?, 1024)?;
    places_allowed(view, home, "projects")?;
    let team = match call.body_gid("team")? {
        Some(team) => Some(NodeRef::Gid(team)),
        None => view
            .links(old.gid, rel::TEAM)
            .first()
            .map(|_| team_ref(call))
            .transpose()?,
    };
    let team = team_of(call, view, home, team.as_ref())?;

    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Project, Some(home));
    draft.set(project::NAME, name.as_str());
    draft.set(project::OWNER, call.user_gid());
    for field in [project::COLOR, project::ICON, project::DEFAULT_VIEW] {
        draft.take(field, old);
    }
    draft.take(project::PRIVACY, old);
    draft.take(project::NUMBERED_BY, old);
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
    custom_field_rules::copy_settings(&mut work, view, old.gid, (new, Type::Project), home);
    if let Some(team) = team {
        work.link(new, rel::TEAM, team, ListPosition::Rank(0), None);
    }
    if has("members") {
        for edge in view.links(old.gid, rel::MEMBERS) {
            if edge.dst != call.user_gid() {
                let level = Level::from_rank(edge.rank);
                membership_rules::join_project(&mut work, edge.dst, new, home, level);
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
            skip_weekends,
        },
        anchor,
        copied: 0,
        phase: Duplication::of_project(anchor),
    };
    let gid = jobs::start(
        &mut work,
        view,
        call.job_requester(),
        home,
        "duplicate_project",
        JobKind::Duplicate(plot),
        |draft| draft.set(job::NEW_PROJECT, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}
