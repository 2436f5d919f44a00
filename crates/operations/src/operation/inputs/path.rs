//! Parameters of paths, each for the gid of a node.
use super::{Input, InputDef, InputPlace, Named};
use workgraph_core::Gid;
use workgraph_core::model::registry::Type;
use workgraph_core::storage::NodeRef;

/// A path parameter for the gid of a node.
const fn gid(name: &'static str, types: &'static [Type], doc: &'static str) -> Input<Named<Gid>> {
    Input::gid(InputPlace::Path, name, types, doc)
}

/// Path parameter `user_gid`: a gid, an e-mail address or `me`.
pub const USER: Input<Named<NodeRef>> = Input::user(
    InputPlace::Path,
    "user_gid",
    "The user: a gid, an e-mail address or `me`.",
);
/// Path parameter `workspace_gid`.
pub const WORKSPACE: Input<Named<Gid>> = gid(
    "workspace_gid",
    &[Type::Workspace],
    "The workspace or organization.",
);
/// Path parameter `team_gid`.
pub const TEAM: Input<Named<Gid>> = gid("team_gid", &[Type::Team], "The team.");
/// Path parameter `workspace_membership_gid`.
pub const WORKSPACE_MEMBERSHIP: Input<Named<Gid>> = gid(
    "workspace_membership_gid",
    &[Type::WorkspaceMembership],
    "The workspace membership.",
);
/// Path parameter `team_membership_gid`.
pub const TEAM_MEMBERSHIP: Input<Named<Gid>> = gid(
    "team_membership_gid",
    &[Type::TeamMembership],
    "The team membership.",
);
/// Path parameter `project_gid`.
pub const PROJECT: Input<Named<Gid>> = gid("project_gid", &[Type::Project], "The project.");
/// The project, or a user's task list instead.
pub const PROJECT_OR_TASK_LIST: Input<Named<Gid>> = gid(
    "project_gid",
    &[Type::Project, Type::UserTaskList],
    "The project, or a user's task list in place of one.",
);
/// The membership in a project, portfolio, goal or custom field.
pub const MEMBERSHIP: Input<Named<Gid>> = gid(
    "membership_gid",
    &[
        Type::ProjectMembership,
        Type::PortfolioMembership,
        Type::GoalMembership,
        Type::CustomFieldMembership,
    ],
    "The membership in a project, portfolio, goal or custom field.",
);
/// Path parameter `project_membership_gid`.
pub const PROJECT_MEMBERSHIP: Input<Named<Gid>> = gid(
    "project_membership_gid",
    &[Type::ProjectMembership],
    "The project membership.",
);
/// Path parameter `portfolio_gid`.
pub const PORTFOLIO: Input<Named<Gid>> = gid("portfolio_gid", &[Type::Portfolio], "The portfolio.");
/// Path parameter `goal_gid`.
pub const GOAL: Input<Named<Gid>> = gid("goal_gid", &[Type::Goal], "The goal.");
/// Path parameter `portfolio_membership_gid`.
pub const PORTFOLIO_MEMBERSHIP: Input<Named<Gid>> = gid(
    "portfolio_membership_gid",
    &[Type::PortfolioMembership],
    "The portfolio membership.",
);
/// The setting of a project in a portfolio.
pub const PROJECT_PORTFOLIO_SETTING: Input<Named<Gid>> = gid(
    "project_portfolio_setting_gid",
    &[Type::ProjectPortfolioSetting],
    "The setting of a project in a portfolio.",
);
/// Path parameter `section_gid`.
pub const SECTION: Input<Named<Gid>> = gid("section_gid", &[Type::Section], "The section.");
/// The task: a gid, or `external:` and the id that the app gave it.
pub const TASK: Input<Named<Gid>> = gid(
    "task_gid",
    &[Type::Task],
    "The task: a gid, or `external:` and the id that the app gave it.",
);
/// Path parameter `tag_gid`.
pub const TAG: Input<Named<Gid>> = gid("tag_gid", &[Type::Tag], "The tag.");
/// The task list of a user.
pub const USER_TASK_LIST: Input<Named<Gid>> = gid(
    "user_task_list_gid",
    &[Type::UserTaskList],
    "The task list of a user.",
);
/// Path parameter `story_gid`.
pub const STORY: Input<Named<Gid>> = gid("story_gid", &[Type::Story], "The story.");
/// Path parameter `status_update_gid`.
pub const STATUS_UPDATE: Input<Named<Gid>> = gid(
    "status_update_gid",
    &[Type::StatusUpdate],
    "The status update.",
);
/// The status update of a project, in its old form.
pub const PROJECT_STATUS: Input<Named<Gid>> = gid(
    "project_status_gid",
    &[Type::ProjectStatus],
    "The project status.",
);
/// Path parameter `attachment_gid`.
pub const ATTACHMENT: Input<Named<Gid>> =
    gid("attachment_gid", &[Type::Attachment], "The attachment.");
/// Path parameter `webhook_gid`.
pub const WEBHOOK: Input<Named<Gid>> = gid("webhook_gid", &[Type::Webhook], "The webhook.");
/// Path parameter `custom_field_gid`.
pub const CUSTOM_FIELD: Input<Named<Gid>> = gid(
    "custom_field_gid",
    &[Type::CustomField],
    "The custom field.",
);
/// The option of a custom field.
pub const ENUM_OPTION: Input<Named<Gid>> = gid(
    "enum_option_gid",
    &[Type::EnumOption],
    "The option of a custom field.",
);
/// Path parameter `job_gid`.
pub const JOB: Input<Named<Gid>> = gid("job_gid", &[Type::Job], "The job.");
/// Path parameter `organization_export_gid`.
pub const ORGANIZATION_EXPORT: Input<Named<Gid>> = gid(
    "organization_export_gid",
    &[Type::OrganizationExport],
    "The export of an organization.",
);
/// Path parameter `project_template_gid`.
pub const PROJECT_TEMPLATE: Input<Named<Gid>> = gid(
    "project_template_gid",
    &[Type::ProjectTemplate],
    "The project template.",
);
/// Path parameter `task_template_gid`.
pub const TASK_TEMPLATE: Input<Named<Gid>> = gid(
    "task_template_gid",
    &[Type::TaskTemplate],
    "The task template.",
);
/// Path parameter `time_tracking_category_gid`.
pub const TIME_TRACKING_CATEGORY: Input<Named<Gid>> = gid(
    "time_tracking_category_gid",
    &[Type::TimeTrackingCategory],
    "The category of tracked time.",
);
/// Path parameter `time_tracking_entry_gid`.
pub const TIME_TRACKING_ENTRY: Input<Named<Gid>> = gid(
    "time_tracking_entry_gid",
    &[Type::TimeTrackingEntry],
    "The entry of tracked time.",
);
/// Path parameter `project_brief_gid`.
pub const PROJECT_BRIEF: Input<Named<Gid>> = gid(
    "project_brief_gid",
    &[Type::ProjectBrief],
    "The project brief.",
);
/// Path parameter `time_period_gid`.
pub const TIME_PERIOD: Input<Named<Gid>> =
    gid("time_period_gid", &[Type::TimePeriod], "The time period.");
/// Path parameter `ooo_entry_gid`.
pub const OOO_ENTRY: Input<Named<Gid>> = gid(
    "ooo_entry_gid",
    &[Type::OooEntry],
    "The out-of-office entry.",
);
/// Path parameter `allocation_gid`.
pub const ALLOCATION: Input<Named<Gid>> =
    gid("allocation_gid", &[Type::Allocation], "The allocation.");
/// Path parameter `rate_gid`.
pub const RATE: Input<Named<Gid>> = gid("rate_gid", &[Type::Rate], "The rate.");
/// Path parameter `budget_gid`.
pub const BUDGET: Input<Named<Gid>> = gid("budget_gid", &[Type::Budget], "The budget.");
/// The approval status of a week.
pub const TIMESHEET_APPROVAL_STATUS: Input<Named<Gid>> = gid(
    "timesheet_approval_status_gid",
    &[Type::TimesheetApprovalStatus],
    "The approval status of a week.",
);
/// Path parameter `custom_type_gid`.
pub const CUSTOM_TYPE: Input<Named<Gid>> =
    gid("custom_type_gid", &[Type::CustomType], "The custom type.");
/// Path parameter `access_request_gid`.
pub const ACCESS_REQUEST: Input<Named<Gid>> = gid(
    "access_request_gid",
    &[Type::AccessRequest],
    "The access request.",
);
/// Path parameter `agent_gid`.
pub const AGENT: Input<Named<Gid>> = gid("agent_gid", &[Type::Agent], "The agent.");
/// Path parameter `role_gid`.
pub const ROLE: Input<Named<Gid>> = gid("role_gid", &[Type::Role], "The role.");
/// Path parameter `rule_trigger_gid`.
pub const RULE_TRIGGER: Input<Named<Gid>> = gid(
    "rule_trigger_gid",
    &[Type::RuleTrigger],
    "The trigger of a rule, as the operator made it.",
);

/// Path parameter `goal_relationship_gid`.
pub const GOAL_RELATIONSHIP: Input<Named<Gid>> = gid(
    "goal_relationship_gid",
    &[Type::GoalRelationship],
    "The relationship of a goal with what supports it.",
);

/// A path parameter as a type: operations that work alike on nodes of several types take it as a type parameter.
pub trait PathNode: Send + Sync + 'static {
    /// Path parameter that the type represents.
    const INPUT: &'static Input<Named<Gid>>;
}

/// Path parameter for a task.
#[derive(Debug)]
pub struct PathTask;
/// Path parameter for a project.
#[derive(Debug)]
pub struct PathProject;
/// The project of a path, or a user's task list instead.
#[derive(Debug)]
pub struct PathProjectOrTaskList;
/// Path parameter for a portfolio.
#[derive(Debug)]
pub struct PathPortfolio;
/// Path parameter for a goal.
#[derive(Debug)]
pub struct PathGoal;

impl PathNode for PathTask {
    const INPUT: &'static Input<Named<Gid>> = &TASK;
}
impl PathNode for PathProject {
    const INPUT: &'static Input<Named<Gid>> = &PROJECT;
}
impl PathNode for PathProjectOrTaskList {
    const INPUT: &'static Input<Named<Gid>> = &PROJECT_OR_TASK_LIST;
}
impl PathNode for PathPortfolio {
    const INPUT: &'static Input<Named<Gid>> = &PORTFOLIO;
}
impl PathNode for PathGoal {
    const INPUT: &'static Input<Named<Gid>> = &GOAL;
}

/// The parameters of rows whose handler works on the node in the path.
const NODES: &[&InputDef] = &[
    &USER.def,
    &WORKSPACE.def,
    &TEAM.def,
    &WORKSPACE_MEMBERSHIP.def,
    &TEAM_MEMBERSHIP.def,
    &PROJECT.def,
    &MEMBERSHIP.def,
    &PROJECT_MEMBERSHIP.def,
    &PORTFOLIO.def,
    &GOAL.def,
    &GOAL_RELATIONSHIP.def,
    &PORTFOLIO_MEMBERSHIP.def,
    &PROJECT_PORTFOLIO_SETTING.def,
    &SECTION.def,
    &TASK.def,
    &TAG.def,
    &USER_TASK_LIST.def,
    &STORY.def,
    &STATUS_UPDATE.def,
    &PROJECT_STATUS.def,
    &ATTACHMENT.def,
    &WEBHOOK.def,
    &CUSTOM_FIELD.def,
    &ENUM_OPTION.def,
    &JOB.def,
    &ORGANIZATION_EXPORT.def,
    &PROJECT_TEMPLATE.def,
    &TASK_TEMPLATE.def,
    &TIME_TRACKING_CATEGORY.def,
    &TIME_TRACKING_ENTRY.def,
    &PROJECT_BRIEF.def,
    &TIME_PERIOD.def,
    &OOO_ENTRY.def,
    &ALLOCATION.def,
    &RATE.def,
    &BUDGET.def,
    &TIMESHEET_APPROVAL_STATUS.def,
    &CUSTOM_TYPE.def,
    &ACCESS_REQUEST.def,
    &AGENT.def,
    &ROLE.def,
    &RULE_TRIGGER.def,
];

/// Returns the declaration of the first parameter in a path.
///
/// # Panics
/// Panics if the path has no parameter, or its parameter is not declared. Rows are constants, so the compiler reports this.
pub(crate) const fn of(path: &str) -> &'static InputDef {
    declared(after_brace(path.as_bytes()), NODES)
}

#[expect(
    clippy::panic,
    reason = "rows are constants: the compiler evaluates this"
)]
const fn after_brace(path: &[u8]) -> &[u8] {
    match path {
        [b'{', rest @ ..] => rest,
        [_, rest @ ..] => after_brace(rest),
        [] => panic!("the path has no parameter"),
    }
}

/// Returns the declaration whose name is at the start of this part of a path, before a closing brace.
#[expect(
    clippy::panic,
    reason = "rows are constants: the compiler evaluates this"
)]
const fn declared(part: &[u8], known: &[&'static InputDef]) -> &'static InputDef {
    match known {
        [input, _rest @ ..] if is_named(part, input.name.as_bytes()) => input,
        [_, rest @ ..] => declared(part, rest),
        [] => panic!("no declaration of this path parameter"),
    }
}

const fn is_named(part: &[u8], name: &[u8]) -> bool {
    match (part, name) {
        ([b'}', ..], []) => true,
        ([a, part @ ..], [b, name @ ..]) => *a == *b && is_named(part, name),
        _ => false,
    }
}

/// Returns the declaration of a path parameter that names a node.
#[must_use]
pub fn declaration(name: &str) -> Option<&'static InputDef> {
    NODES.iter().copied().find(|input| input.name == name)
}

#[cfg(test)]
mod tests {
    use super::declaration;
    use crate::all;

    /// Parameters that name a node end in `_gid`.
    #[test]
    fn every_node_in_every_path_is_declared() {
        for row in all() {
            for path in std::iter::once(&row.path).chain(row.alias_paths) {
                for name in path.split('{').skip(1) {
                    let name = name.split('}').next().unwrap();
                    if !name.ends_with("_gid") {
                        continue;
                    }
                    let input = declaration(name);
                    let input = input.unwrap_or_else(|| panic!("{}: {name}", row.id));
                    assert!(!input.types().is_empty(), "{}: {name}", row.id);
                }
            }
        }
    }
}
