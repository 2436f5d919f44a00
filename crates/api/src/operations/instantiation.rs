//! Projects and tasks that are made from templates.
use super::projects::{member_of, places_allowed};
use super::templates::{copying, own_team, team};
use crate::call::Call;
use crate::operation::Decision;
use serde_json::Value;
use workgraph_core::access::Level;
use workgraph_core::check::{clip, flag, reference, string, text};
use workgraph_core::fault::Fault;
use workgraph_core::graph::{By, Place, Ref, View, Want};
use workgraph_core::jobs::duplication::Kind;
use workgraph_core::jobs::freezing::{Frozen, START};
use workgraph_core::jobs::recipe::{self, Cooking};
use workgraph_core::jobs::{self, Plot};
use workgraph_core::registry::{Type, rel};
use workgraph_core::resources::{job, project, project_template};
use workgraph_core::rules::{fields, ids, membership};
use workgraph_core::time::Date;

/// The items `{gid, value}` of a list in the body.
fn items<'c>(call: &'c Call<'_>, name: &str) -> Result<Vec<(String, &'c Value)>, Fault> {
    let list = match call.field(name) {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => {
            return Err(Fault::field(
                name,
                "Value is not an array; it must be an array of {gid, value}",
            ));
        }
    };
    let mut out = Vec::new();
    for (i, item) in list.iter().enumerate() {
        let part = |part: &str| item.get(part).filter(|v| !v.is_null());
        let missing = |part: &str| Fault::missing(&format!("{name}: [{i}]: {part}"));
        let gid = part("gid").ok_or_else(|| missing("gid"))?;
        let gid = reference(format_args!("{name}: [{i}]: gid"), gid)?;
        out.push((gid, part("value").ok_or_else(|| missing("value"))?));
    }
    Ok(out)
}

/// The users that are to fill roles, by the gid of the role.
fn filled(call: &Call<'_>) -> Result<Vec<(String, Ref)>, Fault> {
    let mut out = Vec::new();
    for (i, (gid, value)) in items(call, "requested_roles")?.into_iter().enumerate() {
        let field = format!("requested_roles: [{i}]: value");
        let user = call.user(&field, &reference(&field, value)?)?;
        out.push((gid, user));
    }
    Ok(out)
}

pub(super) fn project_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let mut want = jobs::starting(call.want(), call.starter())
        .follow(call.path("project_template_gid")?, fields::settings())
        .node(own_team(call, "project_template_gid", rel::TEMPLATE_TEAM)?);
    if let Some(team) = call.body_gid("team")? {
        want.add(team);
    }
    for (_, user) in filled(call)? {
        want = want.edges(user, rel::WORKSPACES);
    }
    Ok(want)
}

/// The day given for the start of the project.
fn start_day(call: &Call<'_>, frozen: &Frozen) -> Result<Option<Date>, Fault> {
    let mut day = None;
    for (i, (gid, value)) in items(call, "requested_dates")?.into_iter().enumerate() {
        if gid != START || frozen.requested_dates() == "[]" {
            let field = format!("requested_dates: [{i}]");
            return Err(Fault::unknown_ref(&field, clip(&gid)));
        }
        let field = format!("requested_dates: [{i}]: value");
        // A day, or an instant of which the day counts.
        let value = string(&field, value)?;
        let date = Date::parse(value);
        day = Some(date.map_err(|e| Fault::field(&field, e))?);
    }
    Ok(day)
}

fn privacy(call: &Call<'_>) -> Result<&'static str, Fault> {
    const SETTINGS: &[&str] = &["public_to_workspace", "private_to_team", "private"];
    if let Some(value) = call.field("privacy_setting") {
        let word = string("privacy_setting", value)?;
        let found = SETTINGS.iter().find(|s| **s == word);
        return found.copied().ok_or_else(|| {
            let known = SETTINGS.join(", ");
            let wrong = format_args!(
                "Not a recognized value: {}; it is one of {known}",
                clip(word)
            );
            Fault::field("privacy_setting", wrong)
        });
    }
    Ok(match call.field("public") {
        Some(value) if !flag("public", value)? => "private",
        _ => "public_to_workspace",
    })
}

pub(super) fn instantiate_project(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let old = call.target(view, "project_template_gid", Level::Viewer)?;
    let home = old.home.unwrap_or(old.gid);
    let name = text("name", call.required("name")?, 1024)?;
    let frozen = Frozen::of(old)?;
    let strict = call.field("is_strict");
    let strict = strict.map(|v| flag("is_strict", v)).transpose()?;
    let today = Date::of(call.now);
    let shift = frozen.shift(start_day(call, &frozen)?, today, strict == Some(true))?;
    let mut roles = Vec::new();
    for (i, (gid, user)) in filled(call)?.into_iter().enumerate() {
        let field = format!("requested_roles: [{i}]");
        let role = frozen.role(&gid);
        let role = role.ok_or_else(|| Fault::unknown_ref(&field, clip(&gid)))?;
        roles.push((role, member_of(call, view, &field, &user, home)?));
    }
    let privacy = privacy(call)?;
    places_allowed(view, home, "projects")?;
    let team = team(call, view, home, "project_template_gid", rel::TEMPLATE_TEAM)?;
    let mut work = call.work();
    let mut draft = work.draft(Type::Project, Some(home));
    draft.set(project::NAME, name.as_str());
    draft.set(project::OWNER, call.me());
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
    draft.take(project::NUMBERED_BY, old);
    let new = membership::found_bare_project(&mut work, draft, call.me());
    fields::copy_settings(&mut work, view, old.gid, (new, Type::Project), home);
    if let Some(team) = team {
        work.link(new, rel::TEAM, team, Place::Rank(0), None);
    }
    let mut plot = copying(Kind::Thaw, old.gid, new);
    (plot.shift, plot.roles) = (shift, roles);
    let gid = jobs::start(
        &mut work,
        view,
        call.starter(),
        home,
        "instantiate_project",
        Plot::Duplicate(plot),
        |draft| draft.set(job::NEW_PROJECT, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}

/// The project of the template in the path.
fn home_of(call: &Call<'_>) -> Result<Ref, Fault> {
    Ok(call.path("task_template_gid")?.of(By::Key("project")))
}

pub(super) fn task_needs(call: &Call<'_>) -> Result<Want, Fault> {
    let want = jobs::starting(call.want(), call.starter()).node(call.path("task_template_gid")?);
    Ok(want.into(home_of(call)?, rel::SECTION_OF, 1))
}

pub(super) fn instantiate_task(call: &Call<'_>, view: &View) -> Result<Decision, Fault> {
    let old = call.target(view, "task_template_gid", Level::Viewer)?;
    let home = old.home.unwrap_or(old.gid);
    let at = call.named(
        view,
        "project",
        &home_of(call)?,
        &[Type::Project],
        Level::Editor,
    )?;
    let recipe = recipe::recipe(old)?;
    let name = match call.field("name") {
        Some(value) => text("name", value, 1024)?,
        None => recipe::titled(&recipe).to_owned(),
    };
    let mut work = call.work();
    let tasks = recipe::make(&mut work, &recipe, home, at.gid, &name);
    let new = *tasks
        .first()
        .ok_or_else(|| Fault::unknown("task template", old.gid))?;
    if let Some(section) = view.sources(at.gid, rel::SECTION_OF).first() {
        work.needs_live(section.src);
        work.link(new, rel::SECTION, section.src, Place::Last, Some(at.gid));
        ids::number(&mut work, Some(at), new);
    }
    let plot = Cooking {
        template: old.gid,
        tasks,
        done: 0,
    };
    let gid = jobs::start(
        &mut work,
        view,
        call.starter(),
        home,
        "instantiate_task",
        Plot::Cook(plot),
        |draft| draft.set(job::NEW_TASK, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}
