//! Projects of an exported fixture, with their members, sections and tasks.
use crate::admin::fixture_export::export_state::ExportState;
use crate::admin::fixture_export::export_tasks::{add_loose_task, task_json};
use crate::admin::fixture_export::export_texts::{add_name, add_text};
use crate::admin::fixture_export::exported_fields::written;
use crate::admin::fixture_export::exported_requests::{ExportedRequest, RequestPhase};
use crate::admin::fixture_export::fixture_labels::plain;
use crate::admin::fixture_export::workspace_content::{ProjectContent, WorkspaceContent};
use crate::admin::fixture_export::world_reader::Record;
use crate::admin::fixture_objects::FIRST_SECTION;
use anyhow::Result;
use serde_json::{Map, Value, json};
use workgraph_core::{Gid, Type};

/// Access level of a project's creator.
const CREATOR_LEVEL: &str = "admin";

/// Returns the projects of a workspace in the form of a fixture, and adds requests for the tasks without a project.
///
/// # Errors
/// Fails if the store can't be read.
pub(crate) async fn export_projects(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
) -> Result<Vec<Value>> {
    let memberships = "parent.gid,member.gid,access_level";
    let memberships = content.reader.records(Type::ProjectMembership, memberships);
    let memberships = memberships.await?;
    let mut shown = Vec::with_capacity(content.projects.len());
    for project in &content.projects {
        shown.push(project_json(state, content, project, &memberships));
    }
    for task in &content.loose {
        add_loose_task(state, content, *task, None);
    }
    Ok(shown)
}

fn project_json(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
    project: &ProjectContent,
    memberships: &[Record],
) -> Value {
    let (record, actor) = (&project.record, project.actor);
    let mut out = written(Type::Project, record, &state.labels);
    add_name(state, record, &mut out);
    if let Some(sender) = state.sender(actor) {
        out.insert("as".to_owned(), sender.into());
    }
    let creator = record.creator;
    state.leave_out("creator of a project", usize::from(creator != Some(actor)));
    let place = match record.gid_at("/team/gid") {
        Some(team) => ("team", state.labels.label(team).map(Value::from)),
        None => (
            "workspace",
            state.labels.reference(content.reader.workspace),
        ),
    };
    out.insert(place.0.to_owned(), place.1.unwrap_or_default());
    match record.gid_at("/owner/gid") {
        Some(owner) if owner == actor => {}
        Some(owner) if content.has_member(&state.people, owner) => {
            let owner = state.labels.reference(owner).unwrap_or_default();
            out.insert("owner".to_owned(), owner);
        }
        other => {
            state.leave_out("owner of a project", usize::from(other.is_some()));
            out.insert("owner".to_owned(), Value::Null);
        }
    }
    let values = record.items("/custom_fields");
    let is_set = |value: &&Value| {
        value
            .get("display_value")
            .is_some_and(|text| !text.is_null())
    };
    let values = values.iter().filter(is_set).count();
    state.leave_out("value of a custom field of a project", values);
    add_text(state, (record, actor), Type::Project, &mut out);
    add_members(state, project, memberships, &mut out);
    add_sections(state, content, project, &mut out);
    let tasks: Vec<Value> = content
        .own_tasks(project)
        .into_iter()
        .map(|task| {
            let mut out = task_json(state, content, task, actor);
            let section = content.section_of(task, record.gid);
            let name = section.and_then(|section| section_label(state, record.gid, section));
            // A task without a section comes into the first one.
            if let Some(name) = name.filter(|name| name != FIRST_SECTION) {
                out.insert("section".to_owned(), name.into());
            }
            out.into()
        })
        .collect();
    if !tasks.is_empty() {
        out.insert("tasks".to_owned(), tasks.into());
    }
    out.into()
}

/// Adds the members of a project, and the requests that change its members and followers at the end.
fn add_members(
    state: &mut ExportState,
    project: &ProjectContent,
    memberships: &[Record],
    out: &mut Map<String, Value>,
) {
    let (gid, actor) = (project.record.gid, project.actor);
    let mut members = Vec::new();
    let mut own_level = None;
    for membership in memberships {
        let is_here = membership.gid_at("/parent/gid") == Some(gid);
        let Some(member) = membership.gid_at("/member/gid").filter(|_| is_here) else {
            continue;
        };
        let level = membership.text("/access_level").unwrap_or_default();
        match state.labels.label(member) {
            _ if member == actor => own_level = Some(level),
            Some(label) => members.push(json!({"member": label, "access_level": level})),
            None => state.leave_out("member of a project", 1),
        }
    }
    if !members.is_empty() {
        out.insert("members".to_owned(), members.into());
    }
    let is_other = own_level.is_some_and(|level| level != CREATOR_LEVEL);
    state.leave_out(
        "access level of who created a project",
        usize::from(is_other),
    );
    let followers = project.record.gids("/followers", "/gid");
    let followers = state.people.sorted(&followers);
    let others: Vec<Gid> = followers
        .iter()
        .copied()
        .filter(|gid| *gid != actor)
        .collect();
    let own = state.labels.reference(actor);
    let (Some(reference), Some(own)) = (state.labels.reference(gid), own) else {
        return;
    };
    let others = state.references(&others, "follower of a project");
    let sender = state.sender(actor);
    let mut add = |operation, field, people: Vec<Value>| {
        let request = ExportedRequest::of(operation)
            .at("project_gid", reference.clone())
            .field(field, people)
            .sent_by(sender.clone());
        state.requests.add(RequestPhase::Members, request);
    };
    if !others.is_empty() {
        add("addFollowersForProject", "followers", others);
    }
    if own_level.is_none() {
        add("removeMembersForProject", "members", vec![own]);
    } else if !followers.contains(&actor) {
        add("removeFollowersForProject", "followers", vec![own]);
    }
}

/// Adds the sections of a project. The first one exists already, unless it has another name: then it is deleted at the end.
fn add_sections(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
    project: &ProjectContent,
    out: &mut Map<String, Value>,
) {
    let gid = project.record.gid;
    let mut sections = Vec::new();
    for section in &project.sections {
        let name = plain(content.sections.get(section).map_or("", String::as_str));
        match section_label(state, gid, *section) {
            None => {}
            Some(label) if label == FIRST_SECTION => {}
            Some(label) if name == label => sections.push(name),
            Some(label) => sections.push(json!({"name": name, "called": label})),
        }
    }
    let first = project.sections.first();
    let is_kept = first
        .and_then(|first| section_label(state, gid, *first))
        .is_some_and(|label| label == FIRST_SECTION);
    if !sections.is_empty() {
        out.insert("sections".to_owned(), sections.into());
    }
    if let (false, Some(label)) = (is_kept, state.labels.label(gid)) {
        let first = format!("@{label}/{FIRST_SECTION}");
        let request = ExportedRequest::of("deleteSection")
            .at("section_gid", first.into())
            .sent_by(state.sender(project.actor));
        state.requests.add(RequestPhase::Sections, request);
    }
}

/// Returns the name of a section within its project.
fn section_label(state: &ExportState, project: Gid, section: Gid) -> Option<String> {
    let prefix = format!("{}/", state.labels.label(project)?);
    let label = state.labels.label(section)?;
    label.strip_prefix(&prefix).map(str::to_owned)
}
