//! The filters of both searches, one line each. Custom fields have their own filters.
use super::filter::Comparison::{After, Before, Is};
use super::filter::Quantifier::{All, Any, Not};
use super::filter::{Filter, day, flag, instant, links, subtype, words};
use workgraph_core::model::registry::Type;
use workgraph_core::search::IndexColumn::{Completed, Created, Due, Modified, Start};
use workgraph_core::search::{Clause, SearchLink};

const USER: &[Type] = &[Type::User];
const PROJECT: &[Type] = &[Type::Project];
const SECTION: &[Type] = &[Type::Section];
const TAG: &[Type] = &[Type::Tag];
const TEAM: &[Type] = &[Type::Team];
const PORTFOLIO: &[Type] = &[Type::Portfolio];

/// Subtypes of tasks, and the word for all custom types.
const SUBTYPES: &[&str] = &["default_task", "milestone", "approval", "custom"];

/// Filters of a search of tasks.
#[rustfmt::skip]
pub(super) const TASKS: &[Filter] = &[
    words("text", "Tasks with all of these words in name or description."),
    subtype("resource_subtype", SUBTYPES, "Tasks of this subtype; `custom` for those of a custom type."),
    links("assignee.any", USER, SearchLink::Responsible, Any, "Tasks of one of these users; `null` for tasks without an assignee."),
    links("assignee.not", USER, SearchLink::Responsible, Not, "Tasks of none of these users; `null` for tasks with an assignee."),
    links("portfolios.any", PORTFOLIO, SearchLink::Portfolio, Any, "Tasks in projects of one of these portfolios; `null` for tasks in no project of a portfolio."),
    links("projects.any", PROJECT, SearchLink::Project, Any, "Tasks in one of these projects, or in one of `sections.any`; `null` for tasks without a project."),
    links("projects.not", PROJECT, SearchLink::Project, Not, "Tasks in none of these projects; `null` for tasks with a project."),
    links("projects.all", PROJECT, SearchLink::Project, All, "Tasks in each of these projects; `null` for tasks without a project."),
    links("sections.any", SECTION, SearchLink::Section, Any, "Tasks in one of these sections, or in one of `projects.any`; `null` for tasks without a project."),
    links("sections.not", SECTION, SearchLink::Section, Not, "Tasks in none of these sections; `null` for tasks with a section."),
    links("sections.all", SECTION, SearchLink::Section, All, "Tasks in each of these sections; `null` for tasks without a section."),
    links("tags.any", TAG, SearchLink::Tag, Any, "Tasks with one of these tags; `null` for tasks without a tag."),
    links("tags.not", TAG, SearchLink::Tag, Not, "Tasks with none of these tags; `null` for tasks with a tag."),
    links("tags.all", TAG, SearchLink::Tag, All, "Tasks with each of these tags; `null` for tasks without a tag."),
    links("teams.any", TEAM, SearchLink::Team, Any, "Tasks in projects of one of these teams; `null` for tasks in projects without a team."),
    links("followers.any", USER, SearchLink::Follower, Any, "Tasks that one of these users follows; `null` for tasks without a follower."),
    links("followers.not", USER, SearchLink::Follower, Not, "Tasks that none of these users follows; `null` for tasks with a follower."),
    links("created_by.any", USER, SearchLink::Creator, Any, "Tasks that one of these users created."),
    links("created_by.not", USER, SearchLink::Creator, Not, "Tasks that none of these users created."),
    links("assigned_by.any", USER, SearchLink::Assigner, Any, "Tasks that one of these users assigned; `null` for tasks that nobody assigned."),
    links("assigned_by.not", USER, SearchLink::Assigner, Not, "Tasks that none of these users assigned; `null` for tasks that somebody assigned."),
    links("liked_by.not", USER, SearchLink::Liker, Not, "Tasks that none of these users likes; `null` for tasks that somebody likes."),
    links("commented_on_by.not", USER, SearchLink::Commenter, Not, "Tasks on which none of these users commented; `null` for tasks with a comment."),
    day("due_on.before", Due, Before, "Tasks that are due before this day."),
    day("due_on.after", Due, After, "Tasks that are due after this day."),
    day("due_on", Due, Is, "Tasks that are due on this day; `null` for tasks without a due date."),
    instant("due_at.before", Due, Before, "Tasks with a due time before this one."),
    instant("due_at.after", Due, After, "Tasks with a due time after this one."),
    day("start_on.before", Start, Before, "Tasks that start before this day."),
    day("start_on.after", Start, After, "Tasks that start after this day."),
    day("start_on", Start, Is, "Tasks that start on this day; `null` for tasks without a start date."),
    day("created_on.before", Created, Before, "Tasks that were created before this day."),
    day("created_on.after", Created, After, "Tasks that were created after this day."),
    day("created_on", Created, Is, "Tasks that were created on this day."),
    instant("created_at.before", Created, Before, "Tasks that were created before this time."),
    instant("created_at.after", Created, After, "Tasks that were created after this time."),
    day("completed_on.before", Completed, Before, "Tasks that were completed before this day."),
    day("completed_on.after", Completed, After, "Tasks that were completed after this day."),
    day("completed_on", Completed, Is, "Tasks that were completed on this day; `null` for tasks that are not completed."),
    instant("completed_at.before", Completed, Before, "Tasks that were completed before this time."),
    instant("completed_at.after", Completed, After, "Tasks that were completed after this time."),
    day("modified_on.before", Modified, Before, "Tasks that were last changed before this day."),
    day("modified_on.after", Modified, After, "Tasks that were last changed after this day."),
    day("modified_on", Modified, Is, "Tasks that were last changed on this day."),
    instant("modified_at.before", Modified, Before, "Tasks that were last changed before this time."),
    instant("modified_at.after", Modified, After, "Tasks that were last changed after this time."),
    flag("is_blocking", |on| Some(Clause::Blocking(on)), "Tasks that are not completed and on which others depend (true), or the others (false)."),
    flag("is_blocked", |on| Some(Clause::Blocked(on)), "Tasks that depend on a task that is not completed (true), or on none (false)."),
    flag("has_attachment", |on| Some(Clause::Linked(SearchLink::Attachment, on)), "Tasks with an attachment (true) or without one (false)."),
    flag("completed", |on| Some(Clause::Completed(on)), "Tasks that are completed (true) or not (false)."),
    flag("is_subtask", |on| Some(Clause::Linked(SearchLink::Parent, on)), "Tasks that have a parent (true) or none (false)."),
];

/// Filters of a search of projects.
#[rustfmt::skip]
pub(super) const PROJECTS: &[Filter] = &[
    words("text", "Projects with all of these words in name or description."),
    flag("completed", |on| Some(Clause::Completed(on)), "Projects that are completed (true) or not (false)."),
    links("teams.any", TEAM, SearchLink::Team, Any, "Projects of one of these teams; `null` for projects without a team."),
    links("owner.any", USER, SearchLink::Responsible, Any, "Projects that one of these users owns; `null` for projects without an owner."),
    links("members.any", USER, SearchLink::Member, Any, "Projects with one of these users as a member; `null` for projects without a member."),
    links("members.not", USER, SearchLink::Member, Not, "Projects with none of these users as a member; `null` for projects with a member."),
    links("portfolios.any", PORTFOLIO, SearchLink::Portfolio, Any, "Projects in one of these portfolios; `null` for projects in none."),
    day("completed_on", Completed, Is, "Projects that were completed on this day; `null` for projects that are not completed."),
    day("completed_on.before", Completed, Before, "Projects that were completed before this day."),
    day("completed_on.after", Completed, After, "Projects that were completed after this day."),
    instant("completed_at.before", Completed, Before, "Projects that were completed before this time."),
    instant("completed_at.after", Completed, After, "Projects that were completed after this time."),
    day("created_on", Created, Is, "Projects that were created on this day."),
    day("created_on.before", Created, Before, "Projects that were created before this day."),
    day("created_on.after", Created, After, "Projects that were created after this day."),
    instant("created_at.before", Created, Before, "Projects that were created before this time."),
    instant("created_at.after", Created, After, "Projects that were created after this time."),
    day("due_on", Due, Is, "Projects that are due on this day; `null` for projects without a due date."),
    day("due_on.before", Due, Before, "Projects that are due before this day."),
    day("due_on.after", Due, After, "Projects that are due after this day."),
    instant("due_at.before", Due, Before, "Projects with a due time before this one."),
    instant("due_at.after", Due, After, "Projects with a due time after this one."),
    day("start_on", Start, Is, "Projects that start on this day; `null` for projects without a start date."),
    day("start_on.before", Start, Before, "Projects that start before this day."),
    day("start_on.after", Start, After, "Projects that start after this day."),
];
