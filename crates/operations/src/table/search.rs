//! Search: tasks and projects by any of their properties.
mod custom;
mod parts;

use self::parts::{NULL, SearchBuilder};
use crate::operation::{Operation, SearchRequest, search};
use crate::request_context::RequestContext;
use workgraph_core::domain_error::DomainError;
use workgraph_core::model::registry::Type;
use workgraph_core::search::{Clause, IndexColumn, SearchLink, SortOrder, WORDS_MAX, WordQuery};

/// Operations that search.
pub static SEARCH: &[Operation] = &[
    search(
        "searchTasksForWorkspace",
        "/workspaces/{workspace_gid}/tasks/search",
        Type::Task,
        tasks,
    )
    .scope("tasks:read")
    .filters(TASKS)
    .paid_only(PREMIUM)
    .search(),
    search(
        "searchProjectsForWorkspace",
        "/workspaces/{workspace_gid}/projects/search",
        Type::Project,
        projects,
    )
    .scope("projects:read")
    .filters(PROJECTS)
    .paid_only(PREMIUM)
    .search(),
];

const PREMIUM: &str = "Search is only available to premium users.";

/// Parameters of a search of tasks, besides custom fields.
const TASKS: &[&str] = &[
    "text",
    "resource_subtype",
    "assignee.any",
    "assignee.not",
    "portfolios.any",
    "projects.any",
    "projects.not",
    "projects.all",
    "sections.any",
    "sections.not",
    "sections.all",
    "tags.any",
    "tags.not",
    "tags.all",
    "teams.any",
    "followers.any",
    "followers.not",
    "created_by.any",
    "created_by.not",
    "assigned_by.any",
    "assigned_by.not",
    "liked_by.not",
    "commented_on_by.not",
    "due_on.before",
    "due_on.after",
    "due_on",
    "due_at.before",
    "due_at.after",
    "start_on.before",
    "start_on.after",
    "start_on",
    "created_on.before",
    "created_on.after",
    "created_on",
    "created_at.before",
    "created_at.after",
    "completed_on.before",
    "completed_on.after",
    "completed_on",
    "completed_at.before",
    "completed_at.after",
    "modified_on.before",
    "modified_on.after",
    "modified_on",
    "modified_at.before",
    "modified_at.after",
    "is_blocking",
    "is_blocked",
    "has_attachment",
    "completed",
    "is_subtask",
];

/// Parameters of a search of projects, besides custom fields.
const PROJECTS: &[&str] = &[
    "text",
    "completed",
    "teams.any",
    "owner.any",
    "members.any",
    "members.not",
    "portfolios.any",
    "completed_on",
    "completed_on.before",
    "completed_on.after",
    "completed_at.before",
    "completed_at.after",
    "created_on",
    "created_on.before",
    "created_on.after",
    "created_at.before",
    "created_at.after",
    "due_on",
    "due_on.before",
    "due_on.after",
    "due_at.before",
    "due_at.after",
    "start_on",
    "start_on.before",
    "start_on.after",
];

/// Sort orders of a search of tasks.
const TASK_ORDERS: &[(&str, SortOrder)] = &[
    ("modified_at", SortOrder::Column(IndexColumn::Modified)),
    ("due_date", SortOrder::Column(IndexColumn::Due)),
    ("created_at", SortOrder::Column(IndexColumn::Created)),
    ("completed_at", SortOrder::Column(IndexColumn::Completed)),
    ("likes", SortOrder::Column(IndexColumn::Likes)),
    ("relevance", SortOrder::Relevance),
];

/// Sort orders of a search of projects.
const PROJECT_ORDERS: &[(&str, SortOrder)] = &[
    ("modified_at", SortOrder::Column(IndexColumn::Modified)),
    ("due_date", SortOrder::Column(IndexColumn::Due)),
    ("created_at", SortOrder::Column(IndexColumn::Created)),
    ("completed_at", SortOrder::Column(IndexColumn::Completed)),
    ("relevance", SortOrder::Relevance),
];

fn tasks(call: &RequestContext<'_>) -> Result<SearchRequest, DomainError> {
    read(call, Type::Task, TASK_ORDERS)
}

fn projects(call: &RequestContext<'_>) -> Result<SearchRequest, DomainError> {
    read(call, Type::Project, PROJECT_ORDERS)
}

fn read(
    call: &RequestContext<'_>,
    ty: Type,
    orders: &[(&str, SortOrder)],
) -> Result<SearchRequest, DomainError> {
    let mut parts = SearchBuilder::new(call)?;
    if call.query("offset")?.is_some() {
        return Err(DomainError::field(
            "offset",
            "Searches have no further pages; sort by created_at, and ask for what was created before the last one",
        ));
    }
    for name in call.operation.filters {
        if let Some(text) = call.query(name)? {
            clause(&mut parts, name, text)?;
        }
    }
    custom::clauses(&mut parts)?;
    let order = match call.query("sort_by")? {
        None => SortOrder::Column(IndexColumn::Modified),
        Some(text) => {
            let known = orders.iter().find(|(name, _)| *name == text);
            known.map(|(_, order)| *order).ok_or_else(|| {
                let names: Vec<&str> = orders.iter().map(|(name, _)| *name).collect();
                parts::not_one_of("sort_by", text, &names.join(", "))
            })?
        }
    };
    let ascending = parts::flag(call, "sort_ascending")?.unwrap_or(false);
    let limit = call
        .query
        .limit()
        .map_err(|e| DomainError::invalid(e.to_string()))?;
    let limit = limit.map_or(parts::MOST, usize::from);
    Ok(parts.finish(ty, order, ascending, limit))
}

/// Reads one parameter into the search.
fn clause(
    parts: &mut SearchBuilder<'_, '_>,
    name: &'static str,
    text: &str,
) -> Result<(), DomainError> {
    const USER: &[Type] = &[Type::User];
    let (of, how) = name.split_once('.').unwrap_or((name, ""));
    match of {
        "text" => {
            let words = WordQuery::new(text, false, false);
            if words.words.len() > WORDS_MAX {
                return Err(DomainError::field(
                    name,
                    format_args!("At most {WORDS_MAX} different words are looked for"),
                ));
            }
            parts.push(Clause::Words(words));
        }
        "assignee" => parts.links(name, how, text, SearchLink::Responsible, USER)?,
        "owner" => parts.links(name, how, text, SearchLink::Responsible, USER)?,
        "followers" => parts.links(name, how, text, SearchLink::Follower, USER)?,
        "created_by" => parts.links(name, how, text, SearchLink::Creator, USER)?,
        "assigned_by" => parts.links(name, how, text, SearchLink::Assigner, USER)?,
        "liked_by" => parts.links(name, how, text, SearchLink::Liker, USER)?,
        "commented_on_by" => parts.links(name, how, text, SearchLink::Commenter, USER)?,
        "members" => parts.links(name, how, text, SearchLink::Member, USER)?,
        "projects" => parts.links(name, how, text, SearchLink::Project, &[Type::Project])?,
        "sections" => parts.links(name, how, text, SearchLink::Section, &[Type::Section])?,
        "tags" => parts.links(name, how, text, SearchLink::Tag, &[Type::Tag])?,
        "teams" => parts.links(name, how, text, SearchLink::Team, &[Type::Team])?,
        // No node is a portfolio, so every gid is unknown.
        "portfolios" => parts.links(name, how, text, SearchLink::Project, &[])?,
        "due_on" => parts.day(name, how, text, IndexColumn::Due)?,
        "start_on" => parts.day(name, how, text, IndexColumn::Start)?,
        "created_on" => parts.day(name, how, text, IndexColumn::Created)?,
        "completed_on" => parts.day(name, how, text, IndexColumn::Completed)?,
        "modified_on" => parts.day(name, how, text, IndexColumn::Modified)?,
        "due_at" => {
            let none = text == NULL;
            parts.push(Clause::DueAtInstant(!none));
            if !none {
                parts.instant(name, how, text, IndexColumn::Due)?;
            }
        }
        "created_at" => parts.instant(name, how, text, IndexColumn::Created)?,
        "completed_at" => parts.instant(name, how, text, IndexColumn::Completed)?,
        "modified_at" => parts.instant(name, how, text, IndexColumn::Modified)?,
        "resource_subtype" => parts.subtype(name, text)?,
        _ => parts.flag(name)?,
    }
    Ok(())
}
