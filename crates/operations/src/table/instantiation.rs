//! Instantiation of project templates and task templates.
use super::named_users::member_of;
use super::projects::places_allowed;
use super::template_copies::{full_copy, own_team, team};
use crate::operation::Decision;
use crate::request_context::RequestContext;
use serde_json::Value;
use workgraph_core::access::Level;
use workgraph_core::domain_error::DomainError;
use workgraph_core::jobs::duplication::CopyKind;
use workgraph_core::jobs::template_instantiation::TemplateInstantiation;
use workgraph_core::jobs::template_snapshot::{START, TemplateData};
use workgraph_core::jobs::{self, JobKind, template_instantiation};
use workgraph_core::model::registry::{Type, rel};
use workgraph_core::model::resources::{job, project, project_template};
use workgraph_core::model::time::Date;
use workgraph_core::model::validate::{clip, flag, reference, string, text};
use workgraph_core::rules::{auto_id_rules, custom_field_rules, membership_rules};
use workgraph_core::storage::{LinkSelector, ListPosition, NodeRef, ReadQuery, ReadView};

/// Returns the items `{gid, value}` of a list in the body.
fn items<'c>(
    call: &'c RequestContext<'_>,
    name: &str,
) -> Result<Vec<(String, &'c Value)>, DomainError> {
    let list = match call.field(name) {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => {
            return Err(DomainError::field(
                name,
                "Value is not an array; it must be an array of {gid, value}",
            ));
        }
    };
    let mut out = Vec::new();
    for (i, item) in list.iter().enumerate() {
        let part = |part: &str| item.get(part).filter(|v| !v.is_null());
        let missing = |part: &str| DomainError::missing(&format!("{name}: [{i}]: {part}"));
        let gid = part("gid").ok_or_else(|| missing("gid"))?;
        let gid = reference(format_args!("{name}: [{i}]: gid"), gid)?;
        out.push((gid, part("value").ok_or_else(|| missing("value"))?));
    }
    Ok(out)
}

/// Returns the users who are to fill roles, by the gid of the role.
fn filled(call: &RequestContext<'_>) -> Result<Vec<(String, NodeRef)>, DomainError> {
    let mut out = Vec::new();
    for (i, (gid, value)) in items(call, "requested_roles")?.into_iter().enumerate() {
        let field = format!("requested_roles: [{i}]: value");
        let user = call.parse_user_ref(&field, &reference(&field, value)?)?;
        out.push((gid, user));
    }
    Ok(out)
}

pub(super) fn project_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let mut want = jobs::start_needs(call.read_query(), call.job_requester())
        .follow(
            call.path_ref("project_template_gid")?,
            custom_field_rules::settings(),
        )
        .node(own_team(call, "project_template_gid", rel::TEMPLATE_TEAM)?);
    if let Some(team) = call.body_gid("team")? {
        want.add_ref(team);
    }
    for (_, user) in filled(call)? {
        want = want.edges(user, rel::WORKSPACES);
    }
    Ok(want)
}

/// Returns the day in the body for the start of the project.
fn start_day(
    call: &RequestContext<'_>,
    frozen: &TemplateData,
) -> Result<Option<Date>, DomainError> {
    let mut day = None;
    for (i, (gid, value)) in items(call, "requested_dates")?.into_iter().enumerate() {
        if gid != START || frozen.requested_dates() == "[]" {
            let field = format!("requested_dates: [{i}]");
            return Err(DomainError::reference_not_found(&field, clip(&gid)));
        }
        let field = format!("requested_dates: [{i}]: value");
        // The value is a day, or an instant of which only the day counts.
        let value = string(&field, value)?;
        let date = Date::parse(value);
        day = Some(date.map_err(|e| DomainError::field(&field, e))?);
    }
    Ok(day)
}

fn privacy(call: &RequestContext<'_>) -> Result<&'static str, DomainError> {
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
            DomainError::field("privacy_setting", wrong)
        });
    }
    Ok(match call.field("public") {
        Some(value) if !flag("public", value)? => "private",
        _ => "public_to_workspace",
    })
}

pub(super) fn instantiate_project(
    call: &RequestContext<'_>,
    view: &ReadView,
) -> Result<Decision, DomainError> {
    let old = call.path_node(view, "project_template_gid", Level::Viewer)?;
    let home = old.workspace.unwrap_or(old.gid);
    let name = text("name", call.required("name")?, 1024)?;
    let frozen = TemplateData::of(old)?;
    let strict = call.field("is_strict");
    let strict = strict.map(|v| flag("is_strict", v)).transpose()?;
    let today = Date::of(call.now);
    let shift = frozen.shift(start_day(call, &frozen)?, today, strict == Some(true))?;
    let mut roles = Vec::new();
    for (i, (gid, user)) in filled(call)?.into_iter().enumerate() {
        let field = format!("requested_roles: [{i}]");
        let role = frozen.role(&gid);
        let role = role.ok_or_else(|| DomainError::reference_not_found(&field, clip(&gid)))?;
        roles.push((role, member_of(call, view, &field, &user, home)?));
    }
    let privacy = privacy(call)?;
    places_allowed(view, home, "projects")?;
    let team = team(call, view, home, "project_template_gid", rel::TEMPLATE_TEAM)?;
    let mut work = call.change_builder();
    let mut draft = work.draft(Type::Project, Some(home));
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
    draft.take(project::NUMBERED_BY, old);
    let new = membership_rules::create_empty_project(&mut work, draft, call.user_gid());
    custom_field_rules::copy_settings(&mut work, view, old.gid, (new, Type::Project), home);
    if let Some(team) = team {
        work.link(new, rel::TEAM, team, ListPosition::Rank(0), None);
    }
    let mut plot = full_copy(CopyKind::TemplateToProject, old.gid, new);
    (plot.shift, plot.roles) = (shift, roles);
    let gid = jobs::start(
        &mut work,
        view,
        call.job_requester(),
        home,
        "instantiate_project",
        JobKind::Duplicate(plot),
        |draft| draft.set(job::NEW_PROJECT, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}

/// Returns a reference to the project of the template in the path.
fn home_of(call: &RequestContext<'_>) -> Result<NodeRef, DomainError> {
    Ok(call
        .path_ref("task_template_gid")?
        .of(LinkSelector::Key("project")))
}

pub(super) fn task_needs(call: &RequestContext<'_>) -> Result<ReadQuery, DomainError> {
    let want = jobs::start_needs(call.read_query(), call.job_requester())
        .node(call.path_ref("task_template_gid")?);
    Ok(want.into(home_of(call)?, rel::SECTION_OF, 1))
}

pub(super) fn instantiate_task(
    call: &RequestContext<'_>,
    view: &ReadView,
) -> Result<Decision, DomainError> {
    let old = call.path_node(view, "task_template_gid", Level::Viewer)?;
    let home = old.workspace.unwrap_or(old.gid);
    let at = call.resolve_ref(
        view,
        "project",
        &home_of(call)?,
        &[Type::Project],
        Level::Editor,
    )?;
    let recipe = template_instantiation::recipe(old)?;
    let name = match call.field("name") {
        Some(value) => text("name", value, 1024)?,
        None => template_instantiation::titled(&recipe).to_owned(),
    };
    let mut work = call.change_builder();
    let tasks = template_instantiation::create_tasks(&mut work, &recipe, home, at.gid, &name);
    let new = *tasks
        .first()
        .ok_or_else(|| DomainError::not_found("task template", old.gid))?;
    if let Some(section) = view.sources(at.gid, rel::SECTION_OF).first() {
        work.require_live(section.src);
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
        home,
        "instantiate_task",
        JobKind::InstantiateTemplate(plot),
        |draft| draft.set(job::NEW_TASK, new),
    )?;
    Ok(Decision::about(work.changes, gid))
}
