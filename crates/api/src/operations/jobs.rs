//! Jobs: polling them, and the operations that start one.
use super::projects::{places_allowed, team_of};
use crate::call::Call;
use crate::operation::{Decision, Operation, create, get};
use serde_json::Value;
use workgraph_core::access::Level;
use workgraph_core::check::{clip, flag, string};
use workgraph_core::fault::Fault;
use workgraph_core::graph::{By, Place, Ref, View, Want};
use workgraph_core::jobs::dates::{Anchor, Shift};
use workgraph_core::jobs::duplication::{self, Duplication, Kind, Parts};
use workgraph_core::jobs::freezing::Frozen;
use workgraph_core::jobs::{self, Plot};
use workgraph_core::registry::{Type, rel};
use workgraph_core::resources::{job, project};
use workgraph_core::rules::{fields, membership};
use workgraph_core::time::Date;

/// The rows.
pub static JOBS: &[Operation] = &[
    get("getJob", "/jobs/{job_gid}", Type::Job)
        .scope("jobs:read")
        .timed(),
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

/// What a copy of a project may have besides its tasks, views and rules.
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

/// The names in `include`: text separated by commas, or an array.
fn include(call: &Call<'_>, allowed: &[&str]) -> Result<Vec<String>, Fault> {
    let names = call.list("include")?;
    match names.iter().find(|n| !allowed.contains(&n.as_str())) {
        None => Ok(names),
        Some(name) => Err(Fault::field(
            "include",
            format_args!(
                "Not a recognized value: {}; it is one of {}",
                clip(name),
                allowed.join(", ")
            ),
        )),
    }
}

fn task_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let want = jobs::starting(call.want(), call.starter());
    Ok(duplication::root(want, &call.path("task_gid")?))
}

fn duplicate_task(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let old = call.target(view, "task_gid", Level::Viewer)?;
    let home = old.home.unwrap_or(old.gid);
    let names = include(call, &Parts::NAMES)?;
    let parts = names.iter().fold(Parts::default(), |p, n| p.with(n));
    let name = match call.field("name") {
        Some(value) => workgraph_core::check::text("name", value, 1024)?,
        None => format!("Duplicate of {}", old.title()),
    };
    places_allowed(view, home, "tasks")?;
    let mut work = call.work();
    let (new, plot) = duplication::copy_root(&mut work, view, parts, old, &name);
    let gid = jobs::start(
        &mut work,
        view,
        call.starter(),
        home,
        "duplicate_task",
        Plot::Duplicate(plot),
        |draft| draft.set(job::NEW_TASK, new),
    )?;
    work.link(old.gid, rel::COPIED, gid, Place::Rank(1), Some(new));
    Ok(Decision::about(work.changes, gid))
}

fn project_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let old = call.path("project_gid")?;
    let mut want = jobs::starting(call.want(), call.starter())
        .edges(old.clone(), rel::MEMBERS)
        .edges(old.clone(), rel::PROJECT_FOLLOWERS)
        .edges(old.clone(), rel::TEAM)
        .follow(old, fields::settings())
        .node(team_ref(call)?);
    if let Some(team) = call.body_gid("team")? {
        want.add(team);
    }
    Ok(want)
}

/// The team of the project in the path.
fn team_ref(call: &Call<'_>) -> Result<Ref, Fault> {
    Ok(call.path("project_gid")?.of(By::Edge(rel::TEAM)))
}

/// `schedule_dates`: where the dates of the copies begin or end.
fn schedule(call: &Call<'_>, dates: bool) -> Result<(Option<Anchor>, bool), Fault> {
    let Some(value) = call.field("schedule_dates") else {
        return Ok((None, false));
    };
    let Value::Object(map) = value else {
        return Err(Fault::field(
            "schedule_dates",
            "Value is not a JSON object; it is {should_skip_weekends, start_on or due_on}",
        ));
    };
    if !dates {
        return Err(Fault::field(
            "schedule_dates",
            "Needs task_dates in include",
        ));
    }
    let day = |name: &str| -> Result<Option<i32>, Fault> {
        let field = format!("schedule_dates: {name}");
        let value = map.get(name).filter(|v| !v.is_null());
        let day = |v| match Date::parse(string(&field, v)?) {
            Ok(day) => Ok(day.days()),
            Err(e) => Err(Fault::field(&field, e)),
        };
        value.map(day).transpose()
    };
    let skips = "schedule_dates: should_skip_weekends";
    let skip = map.get("should_skip_weekends").filter(|v| !v.is_null());
    let skip = flag(skips, skip.ok_or_else(|| Fault::missing(skips))?)?;
    let anchor = match (day("start_on")?, day("due_on")?) {
        (Some(day), None) => Anchor::Start(day),
        (None, Some(day)) => Anchor::Due(day),
        (None, None) => return Err(Fault::missing("schedule_dates: start_on")),
        (Some(_), Some(_)) => {
            return Err(Fault::field(
                "schedule_dates",
                "You may only provide one of start_on or due_on!",
            ));
        }
    };
    Ok((Some(anchor), skip))
}

fn duplicate_project(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let old = call.target(view, "project_gid", Level::Viewer)?;
    let home = old.home.unwrap_or(old.gid);
    let names = include(call, OF_PROJECT)?;
    let has = |name: &str| names.iter().any(|n| n == name);
    let tasks = names.iter().filter_map(|n| n.strip_prefix("task_"));
    let parts = tasks.fold(Parts::default(), Parts::with);
    let (anchor, skip_weekends) = schedule(call, has("task_dates"))?;
    let name = workgraph_core::check::text("name", call.required("name")?, 1024)?;
    places_allowed(view, home, "projects")?;
    let team = match call.body_gid("team")? {
        Some(team) => Some(Ref::Gid(team)),
        None => view
            .links(old.gid, rel::TEAM)
            .first()
            .map(|_| team_ref(call))
            .transpose()?,
    };
    let team = team_of(call, view, home, team.as_ref())?;

    let mut work = call.work();
    let mut draft = work.draft(Type::Project, Some(home));
    draft.set(project::NAME, name.as_str());
    draft.set(project::OWNER, call.me());
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
    let new = membership::found_bare_project(&mut work, draft, call.me());
    fields::copy_settings(&mut work, view, old.gid, (new, Type::Project), home);
    if let Some(team) = team {
        work.link(new, rel::TEAM, team, Place::Rank(0), None);
    }
    if has("members") {
        for edge in view.links(old.gid, rel::MEMBERS) {
            if edge.dst != call.me() {
                let level = Level::from_rank(edge.rank);
                membership::join_project(&mut work, edge.dst, new, home, level);
            }
        }
        for edge in view.links(old.gid, rel::PROJECT_FOLLOWERS) {
            if edge.dst != call.me() {
                work.link(new, rel::PROJECT_FOLLOWERS, edge.dst, Place::Rank(0), None);
            }
        }
    }
    let plot = Duplication {
        from: old.gid,
        to: new,
        kind: Kind::Project,
        roles: Vec::new(),
        frozen: Frozen::default(),
        parts,
        shift: Shift {
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
        call.starter(),
        home,
        "duplicate_project",
        Plot::Duplicate(plot),
        |draft| draft.set(job::NEW_PROJECT, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}
