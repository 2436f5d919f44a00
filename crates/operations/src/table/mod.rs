//! The operation table: one file for each tag of the catalogue.
pub mod access_requests;
pub mod agents;
pub mod allocations;
pub mod attachments;
pub mod audit;
pub mod batch;
pub mod budgets;
pub mod custom_field_settings;
pub mod custom_fields;
pub mod custom_ids;
pub mod custom_types;
mod default_section;
pub mod dependencies;
mod enum_options;
pub mod events;
mod export_node;
pub mod exports;
pub mod goal_relationships;
pub mod goals;
mod instantiation;
pub mod jobs;
mod likes;
mod list_filters;
pub mod list_position;
pub mod memberships;
mod my_tasks;
mod named_users;
pub mod ooo_entries;
pub mod portfolio_memberships;
pub mod portfolios;
pub mod project_briefs;
mod project_people;
pub mod project_portfolio_settings;
pub mod projects;
pub mod rates;
pub mod reactions;
mod record_family;
mod record_links;
mod record_list;
mod resource_exports;
pub mod roles;
pub mod rules;
pub mod search;
pub mod sections;
pub mod status_updates;
pub mod stories;
mod subtask_depth;
mod subtasks;
pub mod tags;
mod task_creation;
mod task_custom_type;
mod task_external;
mod task_fields;
mod task_link_inputs;
pub mod task_links;
mod task_values;
pub mod tasks;
pub mod teams;
mod template_copies;
pub mod templates;
pub mod time_periods;
pub mod time_tracking_categories;
pub mod time_tracking_entries;
pub mod timesheets;
pub mod typeahead;
pub mod users;
pub mod webhooks;
pub mod workspaces;

use crate::operation::Operation;

/// Rows of all operations, one list for each tag.
pub static TABLES: &[&[Operation]] = &[
    workspaces::WORKSPACES,
    users::USERS,
    teams::TEAMS,
    memberships::MEMBERSHIPS,
    projects::PROJECTS,
    portfolios::PORTFOLIOS,
    portfolio_memberships::PORTFOLIO_MEMBERSHIPS,
    project_portfolio_settings::PROJECT_PORTFOLIO_SETTINGS,
    sections::SECTIONS,
    tasks::TASKS,
    task_links::TASK_LINKS,
    dependencies::DEPENDENCIES,
    custom_ids::CUSTOM_IDS,
    custom_types::CUSTOM_TYPES,
    tags::TAGS,
    stories::STORIES,
    status_updates::STATUS_UPDATES,
    attachments::ATTACHMENTS,
    search::SEARCH,
    typeahead::TYPEAHEAD,
    batch::BATCH,
    custom_fields::CUSTOM_FIELDS,
    custom_field_settings::CUSTOM_FIELD_SETTINGS,
    jobs::JOBS,
    exports::EXPORTS,
    templates::TEMPLATES,
    events::EVENTS,
    webhooks::WEBHOOKS,
    audit::AUDIT,
    time_tracking_categories::TIME_TRACKING_CATEGORIES,
    time_tracking_entries::TIME_TRACKING_ENTRIES,
    timesheets::TIMESHEETS,
    time_periods::TIME_PERIODS,
    rates::RATES,
    budgets::BUDGETS,
    project_briefs::PROJECT_BRIEFS,
    ooo_entries::OOO_ENTRIES,
    allocations::ALLOCATIONS,
    access_requests::ACCESS_REQUESTS,
    reactions::REACTIONS,
    agents::AGENTS,
    roles::ROLES,
    rules::RULES,
    goals::GOALS,
    goal_relationships::GOAL_RELATIONSHIPS,
];

/// Returns the rows of all operations.
pub fn all() -> impl Iterator<Item = &'static Operation> {
    TABLES.iter().copied().flatten()
}
