//! Links of the tasks of an exported fixture with other objects: tags, further projects, comments, dependencies, likes and
//! followers.
use crate::admin::fixture_export::export_state::ExportState;
use crate::admin::fixture_export::exported_fields::{field_names, text_field, written};
use crate::admin::fixture_export::exported_requests::{ExportedRequest, RequestPhase};
use crate::admin::fixture_export::fixture_labels::plain;
use crate::admin::fixture_export::workspace_content::{ProjectContent, WorkspaceContent};
use crate::admin::fixture_export::world_reader::Record;
use anyhow::Result;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use workgraph_core::access::Level;
use workgraph_core::model::resources::story;
use workgraph_core::{Gid, Type};

/// Adds the requests that link the tasks of a workspace.
///
/// # Errors
/// Fails if the store can't be read.
pub(crate) async fn export_links(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
) -> Result<()> {
    add_tags(state, content).await?;
    for project in &content.projects {
        add_further_tasks(state, content, project).await?;
    }
    let authors = add_comments(state, content).await?;
    for (record, actor) in content.made_tasks() {
        let task = LinkedTask { record, actor };
        add_dependencies(state, content, &task).await?;
        add_likes(state, content, &task).await?;
        let authors = authors.get(&record.gid);
        remove_followers(state, content, &task, authors);
    }
    Ok(())
}

/// Task with the person who creates it.
struct LinkedTask<'a> {
    record: &'a Record,
    actor: Gid,
}

async fn add_tags(state: &mut ExportState, content: &WorkspaceContent<'_>) -> Result<()> {
    let workspace = content.reader.workspace;
    let fields = format!("name,followers.gid,{}", field_names(Type::Tag));
    let tags = content.reader.records(Type::Tag, &fields).await?;
    for tag in &tags {
        let Some(actor) = state.people.full_actor(workspace, None) else {
            state.leave_out("tag of a workspace without members", 1);
            continue;
        };
        let name = tag.text("/name").unwrap_or_default();
        let label = state.labels.add(tag.gid, name, "tag");
        let home = state.labels.reference(workspace).unwrap_or_default();
        let mut request = ExportedRequest::of("createTag")
            .with(written(Type::Tag, tag, &state.labels))
            .field("name", plain(name))
            .field("workspace", home)
            .called(&label)
            .sent_by(state.sender(actor));
        let followers = state.people.sorted(&tag.gids("/followers", "/gid"));
        let followers = state.references(&followers, "follower of a tag");
        if !followers.is_empty() {
            request = request.field("followers", followers);
        }
        state.requests.add(RequestPhase::Tags, request);
    }
    for (record, actor) in content.made_tasks() {
        for tag in state.references(&record.gids("/tags", "/gid"), "tag of a task") {
            let request = of_task(state, "addTagForTask", record.gid, actor).field("tag", tag);
            state.requests.add(RequestPhase::Tags, request);
        }
    }
    Ok(())
}

/// Returns a request about a task, sent by a person.
fn of_task(
    state: &ExportState,
    operation: &'static str,
    task: Gid,
    sender: Gid,
) -> ExportedRequest {
    let reference = state.labels.reference(task).unwrap_or_default();
    ExportedRequest::of(operation)
        .at("task_gid", reference)
        .sent_by(state.sender(sender))
}

/// Adds tasks that are created elsewhere to a project, each after the task before it.
async fn add_further_tasks(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
    project: &ProjectContent,
) -> Result<()> {
    let gid = project.record.gid;
    let is_own = |task: &Gid| content.homes.get(task) == Some(&gid);
    let section = |task: &Gid| content.section_of(*task, gid);
    for (at, task) in project.tasks.iter().enumerate() {
        if is_own(task) {
            continue;
        }
        let (Some(actor), Some(here)) = (content.actors.get(task).copied(), section(task)) else {
            continue;
        };
        let people = &state.people;
        let sender = if content.has_level(people, actor, gid, Level::Editor).await? {
            actor
        } else if content.is_editor(people, project.actor, *task).await? {
            project.actor
        } else {
            state.leave_out("further project of a task", 1);
            continue;
        };
        let (before, after) = project.tasks.split_at(at);
        let before = before.last().filter(|other| section(other) == Some(here));
        let after = after
            .iter()
            .find(|other| is_own(other) && section(other) == Some(here));
        let request = of_task(state, "addProjectForTask", *task, sender);
        let place = match (before, after) {
            (Some(before), _) => ("insert_after", state.labels.reference(*before)),
            (None, Some(after)) => ("insert_before", state.labels.reference(*after)),
            (None, None) => ("section", state.labels.reference(here)),
        };
        let home = state.labels.reference(gid).unwrap_or_default();
        let request = request
            .field("project", home)
            .field(place.0, place.1.unwrap_or_default());
        state.requests.add(RequestPhase::FurtherProjects, request);
    }
    Ok(())
}

/// Adds the comments. Returns their authors, by task.
async fn add_comments(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
) -> Result<BTreeMap<Gid, BTreeSet<Gid>>> {
    let mut authors: BTreeMap<Gid, BTreeSet<Gid>> = BTreeMap::new();
    let fields = format!(
        "resource_subtype,text,html_text,target.gid,num_likes,{}",
        field_names(Type::Story)
    );
    for comment in content.reader.records(Type::Story, &fields).await? {
        if comment.text("/resource_subtype") != Some(story::COMMENT) {
            continue;
        }
        let task = comment.gid_at("/target/gid");
        let actor = task.and_then(|task| content.actors.get(&task).copied());
        let (Some(task), Some(actor)) = (task, actor) else {
            state.leave_out("comment on what is no task", 1);
            continue;
        };
        let author = match comment.creator {
            Some(author)
                if content
                    .has_level(&state.people, author, task, Level::Commenter)
                    .await? =>
            {
                author
            }
            _ => {
                state.leave_out("author of a comment", 1);
                actor
            }
        };
        let likes = comment.fields.get("num_likes").and_then(Value::as_u64);
        let likes = usize::try_from(likes.unwrap_or_default()).unwrap_or_default();
        state.leave_out("like of a comment", likes);
        let text = text_field(&comment, ("text", "html_text"), &state.labels);
        state.leave_out("link in a text", usize::from(text.is_reduced));
        let mut fields = written(Type::Story, &comment, &state.labels);
        if let Some(text) = text.field {
            fields.insert(text.name.to_owned(), text.value);
        }
        if fields.is_empty() {
            state.leave_out("comment of nothing but links", 1);
            continue;
        }
        authors.entry(task).or_default().insert(author);
        let request = of_task(state, "createStoryForTask", task, author).with(fields);
        state.requests.add(RequestPhase::Comments, request);
    }
    Ok(authors)
}

async fn add_dependencies(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
    task: &LinkedTask<'_>,
) -> Result<()> {
    let mut seen = Vec::new();
    let dependencies = task.record.gids("/dependencies", "/gid");
    for other in content.sorted(&dependencies) {
        match content
            .has_level(&state.people, task.actor, other, Level::Editor)
            .await?
        {
            true => seen.push(other),
            false => state.leave_out("dependency of a task", 1),
        }
    }
    let dependencies = state.references(&seen, "dependency of a task");
    if !dependencies.is_empty() {
        let operation = "addDependenciesForTask";
        let request = of_task(state, operation, task.record.gid, task.actor)
            .field("dependencies", dependencies);
        state.requests.add(RequestPhase::Dependencies, request);
    }
    Ok(())
}

async fn add_likes(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
    task: &LinkedTask<'_>,
) -> Result<()> {
    let gid = task.record.gid;
    let likes = task.record.gids("/likes", "/user/gid");
    let known = state.people.sorted(&likes);
    state.leave_out("like of a task", likes.len().saturating_sub(known.len()));
    for user in known {
        if !content
            .has_level(&state.people, user, gid, Level::Viewer)
            .await?
        {
            state.leave_out("like of a task", 1);
            continue;
        }
        let request = of_task(state, "updateTask", gid, user).field("liked", true);
        state.requests.add(RequestPhase::Likes, request);
    }
    Ok(())
}

/// Adds a request that removes the followers whom a task has only in the fixture: there, its creator, its assignee and the
/// authors of its comments follow it automatically.
fn remove_followers(
    state: &mut ExportState,
    content: &WorkspaceContent<'_>,
    task: &LinkedTask<'_>,
    authors: Option<&BTreeSet<Gid>>,
) {
    let followers = task.record.gids("/followers", "/gid");
    let assignee = task.record.gid_at("/assignee/gid");
    let is_here = |gid: &Gid| state.people.is_member(content.reader.workspace, *gid);
    let implied: Vec<Gid> = std::iter::once(task.actor)
        .chain(assignee.filter(is_here))
        .chain(authors.into_iter().flatten().copied())
        .filter(|gid| !followers.contains(gid))
        .collect();
    let implied = state.people.sorted(&implied);
    let implied = state.references(&implied, "follower of a task");
    if !implied.is_empty() {
        let operation = "removeFollowerForTask";
        let request =
            of_task(state, operation, task.record.gid, task.actor).field("followers", implied);
        state.requests.add(RequestPhase::Followers, request);
    }
}
