//! Search: tasks and projects by any of their properties.
mod custom;
mod parts;

use self::parts::{NULL, Parts};
use crate::call::Call;
use crate::operation::{Operation, Sought, search};
use workgraph_core::fault::Fault;
use workgraph_core::registry::Type;
use workgraph_core::search::{By, Clause, Column, Order, WORDS_MAX, Words};

/// The rows.
pub static SEARCH: &[Operation] = &[
    search(
        "searchTasksForWorkspace",
        "/workspaces/{workspace_gid}/tasks/search",
        Type::Task,
        tasks,
    )
    .scope("tasks:read")
    .filters(TASKS)
    .premium(PREMIUM)
    .search(),
    search(
        "searchProjectsForWorkspace",
        "/workspaces/{workspace_gid}/projects/search",
        Type::Project,
        projects,
    )
    .scope("projects:read")
    .filters(PROJECTS)
    .premium(PREMIUM)
    .search(),
];

const PREMIUM: &str = "Search is only available to premium users.";

/// What tasks are searched by, besides custom fields.
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

/// What projects are searched by, besides custom fields.
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

/// How the matches of a search of tasks are sorted.
const TASK_ORDERS: &[(&str, Order)] = &[
    ("modified_at", Order::Column(Column::Modified)),
    ("due_date", Order::Column(Column::Due)),
    ("created_at", Order::Column(Column::Created)),
    ("completed_at", Order::Column(Column::Completed)),
    ("likes", Order::Column(Column::Likes)),
    ("relevance", Order::Relevance),
];

/// How those of projects are.
const PROJECT_ORDERS: &[(&str, Order)] = &[
    ("modified_at", Order::Column(Column::Modified)),
    ("due_date", Order::Column(Column::Due)),
    ("created_at", Order::Column(Column::Created)),
    ("completed_at", Order::Column(Column::Completed)),
    ("relevance", Order::Relevance),
];

fn tasks(call: &Call<'_>) -> Result<Sought, Fault> {
    read(call, Type::Task, TASK_ORDERS)
}

fn projects(call: &Call<'_>) -> Result<Sought, Fault> {
    read(call, Type::Project, PROJECT_ORDERS)
}

fn read(call: &Call<'_>, ty: Type, orders: &[(&str, Order)]) -> Result<Sought, Fault> {
    let mut parts = Parts::new(call)?;
    if call.query("offset")?.is_some() {
        return Err(Fault::field(
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
        None => Order::Column(Column::Modified),
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
        .map_err(|e| Fault::invalid(e.to_string()))?;
    let limit = limit.map_or(parts::MOST, usize::from);
    Ok(parts.finish(ty, order, ascending, limit))
}

/// Reads one parameter.
fn clause(parts: &mut Parts<'_, '_>, name: &'static str, text: &str) -> Result<(), Fault> {
    const USER: &[Type] = &[Type::User];
    let (of, how) = name.split_once('.').unwrap_or((name, ""));
    match of {
        "text" => {
            let words = Words::new(text, false, false);
            if words.all.len() > WORDS_MAX {
                return Err(Fault::field(
                    name,
                    format_args!("At most {WORDS_MAX} different words are looked for"),
                ));
            }
            parts.push(Clause::Words(words));
        }
        "assignee" => parts.links(name, how, text, By::Who, USER)?,
        "owner" => parts.links(name, how, text, By::Who, USER)?,
        "followers" => parts.links(name, how, text, By::Follower, USER)?,
        "created_by" => parts.links(name, how, text, By::Creator, USER)?,
        "assigned_by" => parts.links(name, how, text, By::Assigner, USER)?,
        "liked_by" => parts.links(name, how, text, By::Liker, USER)?,
        "commented_on_by" => parts.links(name, how, text, By::Commenter, USER)?,
        "members" => parts.links(name, how, text, By::Member, USER)?,
        "projects" => parts.links(name, how, text, By::Project, &[Type::Project])?,
        "sections" => parts.links(name, how, text, By::Section, &[Type::Section])?,
        "tags" => parts.links(name, how, text, By::Tag, &[Type::Tag])?,
        "teams" => parts.links(name, how, text, By::Team, &[Type::Team])?,
        // Nothing is a portfolio, so none is known.
        "portfolios" => parts.links(name, how, text, By::Project, &[])?,
        "due_on" => parts.day(name, how, text, Column::Due)?,
        "start_on" => parts.day(name, how, text, Column::Start)?,
        "created_on" => parts.day(name, how, text, Column::Created)?,
        "completed_on" => parts.day(name, how, text, Column::Completed)?,
        "modified_on" => parts.day(name, how, text, Column::Modified)?,
        "due_at" => {
            let none = text == NULL;
            parts.push(Clause::Timed(!none));
            if !none {
                parts.instant(name, how, text, Column::Due)?;
            }
        }
        "created_at" => parts.instant(name, how, text, Column::Created)?,
        "completed_at" => parts.instant(name, how, text, Column::Completed)?,
        "modified_at" => parts.instant(name, how, text, Column::Modified)?,
        "resource_subtype" => parts.subtype(name, text)?,
        _ => parts.flag(name)?,
    }
    Ok(())
}
