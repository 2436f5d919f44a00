//! Every resource type of the graph, one file each; [`ALL`] lists them.
pub mod access_request;
pub mod agent;
pub mod attachment;
pub mod budget;
pub mod capacity;
pub mod custom_field;
pub mod custom_field_setting;
pub mod custom_type;
pub mod enum_option;
pub mod event;
pub mod export;
pub mod goal;
pub mod goal_metric;
pub mod goal_relationship;
pub mod job;
pub mod likes;
pub mod membership;
pub mod ooo_entry;
pub mod portfolio;
pub mod project;
pub mod project_brief;
pub mod project_template;
pub mod reaction;
pub mod role;
pub mod rule_trigger;
pub mod section;
pub mod status_update;
pub mod story;
pub mod tag;
pub mod task;
pub mod task_template;
pub mod team;
pub mod time_period;
pub mod time_tracking;
pub mod timesheet;
pub mod user;
pub mod user_task_list;
pub mod webhook;
pub mod workspace;

use crate::model::node::Node;
use crate::model::registry::{FieldSource, Opaque, Resource, Type, TypedField, ValueType};
use crate::model::time::Date;

/// Declarations of every resource type.
pub static ALL: &[&Resource] = &[
    &workspace::WORKSPACE,
    &user::USER,
    &team::TEAM,
    &membership::WORKSPACE_MEMBERSHIP,
    &membership::TEAM_MEMBERSHIP,
    &project::PROJECT,
    &membership::PROJECT_MEMBERSHIP,
    &section::SECTION,
    &task::TASK,
    &tag::TAG,
    &user_task_list::USER_TASK_LIST,
    &story::STORY,
    &custom_field::CUSTOM_FIELD,
    &enum_option::ENUM_OPTION,
    &custom_field_setting::CUSTOM_FIELD_SETTING,
    &webhook::WEBHOOK,
    &event::EVENT,
    &job::JOB,
    &project_template::PROJECT_TEMPLATE,
    &task_template::TASK_TEMPLATE,
    &project_template::TEMPLATE_TASK,
    &export::GRAPH_EXPORT,
    &export::ORGANIZATION_EXPORT,
    &membership::CUSTOM_FIELD_MEMBERSHIP,
    &export::RESOURCE_EXPORT,
    &status_update::STATUS_UPDATE,
    &portfolio::PORTFOLIO,
    &portfolio::PORTFOLIO_MEMBERSHIP,
    &portfolio::PROJECT_PORTFOLIO_SETTING,
    &status_update::PROJECT_STATUS,
    &attachment::ATTACHMENT,
    &time_tracking::TIME_TRACKING_CATEGORY,
    &time_tracking::TIME_TRACKING_ENTRY,
    &project_brief::PROJECT_BRIEF,
    &time_period::TIME_PERIOD,
    &ooo_entry::OOO_ENTRY,
    &capacity::ALLOCATION,
    &capacity::RATE,
    &goal::GOAL,
    &goal::GOAL_MEMBERSHIP,
    &goal_relationship::GOAL_RELATIONSHIP,
    &budget::BUDGET,
    &budget::PROJECT_TOTALS,
    &timesheet::TIMESHEET_APPROVAL_STATUS,
    &custom_type::CUSTOM_TYPE,
    &custom_type::CUSTOM_TYPE_STATUS_OPTION,
    &access_request::ACCESS_REQUEST,
    &reaction::REACTION,
    &agent::AGENT,
    &role::ROLE,
    &rule_trigger::RULE_TRIGGER,
];

/// Returns the declaration of a type.
#[must_use]
pub fn resource(ty: Type) -> &'static Resource {
    match ty {
        Type::Workspace => &workspace::WORKSPACE,
        Type::User => &user::USER,
        Type::Team => &team::TEAM,
        Type::WorkspaceMembership => &membership::WORKSPACE_MEMBERSHIP,
        Type::TeamMembership => &membership::TEAM_MEMBERSHIP,
        Type::Project => &project::PROJECT,
        Type::ProjectMembership => &membership::PROJECT_MEMBERSHIP,
        Type::Section => &section::SECTION,
        Type::Task => &task::TASK,
        Type::Tag => &tag::TAG,
        Type::UserTaskList => &user_task_list::USER_TASK_LIST,
        Type::Story => &story::STORY,
        Type::CustomField => &custom_field::CUSTOM_FIELD,
        Type::EnumOption => &enum_option::ENUM_OPTION,
        Type::CustomFieldSetting => &custom_field_setting::CUSTOM_FIELD_SETTING,
        Type::Webhook => &webhook::WEBHOOK,
        Type::Event => &event::EVENT,
        Type::Job => &job::JOB,
        Type::ProjectTemplate => &project_template::PROJECT_TEMPLATE,
        Type::TaskTemplate => &task_template::TASK_TEMPLATE,
        Type::TemplateTask => &project_template::TEMPLATE_TASK,
        Type::GraphExport => &export::GRAPH_EXPORT,
        Type::OrganizationExport => &export::ORGANIZATION_EXPORT,
        Type::CustomFieldMembership => &membership::CUSTOM_FIELD_MEMBERSHIP,
        Type::ResourceExport => &export::RESOURCE_EXPORT,
        Type::Portfolio => &portfolio::PORTFOLIO,
        Type::PortfolioMembership => &portfolio::PORTFOLIO_MEMBERSHIP,
        Type::ProjectPortfolioSetting => &portfolio::PROJECT_PORTFOLIO_SETTING,
        Type::StatusUpdate => &status_update::STATUS_UPDATE,
        Type::ProjectStatus => &status_update::PROJECT_STATUS,
        Type::Attachment => &attachment::ATTACHMENT,
        Type::TimeTrackingCategory => &time_tracking::TIME_TRACKING_CATEGORY,
        Type::TimeTrackingEntry => &time_tracking::TIME_TRACKING_ENTRY,
        Type::ProjectBrief => &project_brief::PROJECT_BRIEF,
        Type::TimePeriod => &time_period::TIME_PERIOD,
        Type::OooEntry => &ooo_entry::OOO_ENTRY,
        Type::Allocation => &capacity::ALLOCATION,
        Type::Rate => &capacity::RATE,
        Type::Goal => &goal::GOAL,
        Type::GoalMembership => &goal::GOAL_MEMBERSHIP,
        Type::GoalRelationship => &goal_relationship::GOAL_RELATIONSHIP,
        Type::Budget => &budget::BUDGET,
        Type::ProjectTotals => &budget::PROJECT_TOTALS,
        Type::TimesheetApprovalStatus => &timesheet::TIMESHEET_APPROVAL_STATUS,
        Type::CustomType => &custom_type::CUSTOM_TYPE,
        Type::CustomTypeStatusOption => &custom_type::CUSTOM_TYPE_STATUS_OPTION,
        Type::AccessRequest => &access_request::ACCESS_REQUEST,
        Type::Reaction => &reaction::REACTION,
        Type::Agent => &agent::AGENT,
        Type::Role => &role::ROLE,
        Type::RuleTrigger => &rule_trigger::RULE_TRIGGER,
    }
}

/// Returns true if a node can be shown as a record of one of these types: the node has the type, or the type is a second
/// representation of it.
#[must_use]
pub fn is_one_of(node: &Node, types: &[Type]) -> bool {
    let represents = |ty: &Type| {
        let representation = resource(*ty).representation.as_ref();
        representation.is_some_and(|r| r.of == node.ty && (r.applies_to)(node))
    };
    types.contains(&node.ty) || types.iter().any(represents)
}

/// `gid`: identifier of the record, on every type.
pub const GID: TypedField<Opaque> = TypedField::other("gid", ValueType::Text(16), FieldSource::Gid)
    .compact()
    .doc("Globally unique identifier of the object, a string of digits.");
/// `resource_type`: name of the type of the record, on every type.
pub const RESOURCE_TYPE: TypedField<Opaque> =
    TypedField::other("resource_type", ValueType::Text(64), FieldSource::TypeName)
        .compact()
        .doc("The type of the resource.");
/// `permalink_url`: address of the record.
pub const PERMALINK: TypedField<Opaque> = TypedField::other(
    "permalink_url",
    ValueType::Text(1024),
    FieldSource::Permalink(None),
)
.doc("Address of the object's page in the browser.");

/// First day of the period of a record.
pub const START_DATE: TypedField<Date> = TypedField::date("start_date")
    .compact()
    .writable()
    .doc("The first day.");
/// Last day of the period of a record.
pub const END_DATE: TypedField<Date> = TypedField::date("end_date")
    .compact()
    .writable()
    .doc("The last day.");

/// The display colours of projects.
pub const PROJECT_COLORS: &[&str] = &[
    "dark-pink",
    "dark-green",
    "dark-blue",
    "dark-red",
    "dark-teal",
    "dark-brown",
    "dark-orange",
    "dark-purple",
    "dark-warm-gray",
    "light-pink",
    "light-green",
    "light-blue",
    "light-red",
    "light-teal",
    "light-brown",
    "light-orange",
    "light-purple",
    "light-warm-gray",
    "none",
];
/// The display colours of tags: all colours of projects except `none`.
pub const TAG_COLORS: &[&str] = PROJECT_COLORS.split_at(18).0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_says_where_it_is_and_what_reading_it_needs() {
        for of in Type::ALL.iter().map(|ty| resource(*ty)) {
            let parts = [of.path, of.read_scope];
            assert!(parts.iter().all(|p| !p.is_empty()), "{}", of.name);
            assert!(!of.fields.is_empty(), "{}", of.name);
        }
    }
}
