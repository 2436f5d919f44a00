//! Types of nodes, with their stored numbers.
use serde::{Deserialize, Serialize};

/// Type of a node. The numbers are stored; never reuse one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
#[repr(u8)]
pub enum Type {
    /// A workspace or organization: the tenant.
    Workspace = 1,
    /// A person.
    User = 2,
    /// A group of people in an organization.
    Team = 3,
    /// Membership of a user in a workspace.
    WorkspaceMembership = 4,
    /// Membership of a user in a team.
    TeamMembership = 5,
    /// A project with tasks.
    Project = 6,
    /// Membership of a user or team in a project.
    ProjectMembership = 7,
    /// A section of a project or of a user task list.
    Section = 8,
    /// A task or subtask.
    Task = 9,
    /// A tag of tasks.
    Tag = 10,
    /// The tasks assigned to a user in a workspace.
    UserTaskList = 11,
    /// A comment or a record of a change.
    Story = 12,
    /// The definition of a custom field.
    CustomField = 13,
    /// An option of an enum or multi_enum custom field.
    EnumOption = 14,
    /// Setting that gives the tasks of a project a custom field.
    CustomFieldSetting = 15,
    /// A subscription to events. Built from a row of its own table when it is shown, never stored as a node.
    Webhook = 17,
    /// A change of an object. Built from the journal when it is shown, never stored as a node.
    Event = 18,
    /// Long work that continues after the request that started it.
    Job = 20,
    /// A project kept as a pattern for new ones.
    ProjectTemplate = 21,
    /// A task kept as a pattern for new ones.
    TaskTemplate = 22,
    /// A task of a project template.
    #[serde(rename = "Recipe")]
    TemplateTask = 23,
    /// Result of a graph export.
    GraphExport = 24,
    /// Export of a whole workspace. It is a job with its own record type.
    OrganizationExport = 25,
    /// Access level of a user or team to a custom field.
    CustomFieldMembership = 26,
    /// Result of an export of resources.
    ResourceExport = 27,
    /// A file, or a link to one, at a task or project.
    Attachment = 28,
    /// A report on the progress of an object, such as a project.
    StatusUpdate = 30,
    /// A list of projects and other portfolios.
    Portfolio = 31,
    /// Membership of a user or team in a portfolio.
    PortfolioMembership = 32,
    /// Setting of a project in a portfolio.
    ProjectPortfolioSetting = 33,
    /// The old form of a status update of a project. A second representation is never stored; such types have the
    /// highest numbers.
    ProjectStatus = 254,
    /// A category of tracked time.
    TimeTrackingCategory = 35,
    /// Time that a user spent on a task.
    TimeTrackingEntry = 36,
    /// The brief of a project.
    ProjectBrief = 37,
    /// A year, half or quarter. Computed from its gid, never stored as a node.
    TimePeriod = 38,
    /// Days on which a user is out of office.
    OooEntry = 39,
    /// Work of a user on a project for some days.
    Allocation = 40,
    /// Price of an hour of a user's time on a project.
    Rate = 42,
    /// A goal of a workspace or team.
    Goal = 44,
    /// Membership of a user or team in a goal.
    GoalMembership = 45,
    /// Relationship of a goal with an object that supports it.
    GoalRelationship = 46,
    /// The time or cost that a project may take.
    Budget = 48,
    /// Minutes and rates of a project's users, from which the figures of its budgets are computed. Never sent.
    ProjectTotals = 49,
    /// The approval of the time that a user tracked in a week.
    TimesheetApprovalStatus = 50,
    /// A custom type of tasks, with its own statuses.
    CustomType = 51,
    /// A status of a custom type.
    CustomTypeStatusOption = 52,
    /// A user's request for access to a project or portfolio.
    AccessRequest = 53,
    /// An emoji reaction of a user to an object. Built from the edge of a like when it is listed, never stored as a node.
    Reaction = 54,
    /// An automatic member of a workspace. No workspace has one, so it is never stored.
    Agent = 55,
    /// A role of a workspace. Standard roles are computed from their gids, never stored as nodes.
    Role = 56,
    /// The trigger of a rule that a web request runs.
    RuleTrigger = 57,
}

impl Type {
    /// Every type, in the order of its number.
    pub const ALL: &'static [Self] = &[
        Self::Workspace,
        Self::User,
        Self::Team,
        Self::WorkspaceMembership,
        Self::TeamMembership,
        Self::Project,
        Self::ProjectMembership,
        Self::Section,
        Self::Task,
        Self::Tag,
        Self::UserTaskList,
        Self::Story,
        Self::CustomField,
        Self::EnumOption,
        Self::CustomFieldSetting,
        Self::Webhook,
        Self::Event,
        Self::Job,
        Self::ProjectTemplate,
        Self::TaskTemplate,
        Self::TemplateTask,
        Self::GraphExport,
        Self::OrganizationExport,
        Self::CustomFieldMembership,
        Self::ResourceExport,
        Self::Attachment,
        Self::StatusUpdate,
        Self::Portfolio,
        Self::PortfolioMembership,
        Self::ProjectPortfolioSetting,
        Self::ProjectStatus,
        Self::TimeTrackingCategory,
        Self::TimeTrackingEntry,
        Self::ProjectBrief,
        Self::TimePeriod,
        Self::OooEntry,
        Self::Allocation,
        Self::Rate,
        Self::Goal,
        Self::GoalMembership,
        Self::GoalRelationship,
        Self::Budget,
        Self::ProjectTotals,
        Self::TimesheetApprovalStatus,
        Self::CustomType,
        Self::CustomTypeStatusOption,
        Self::AccessRequest,
        Self::Reaction,
        Self::Agent,
        Self::Role,
        Self::RuleTrigger,
    ];

    /// Returns true if changes of nodes of this type are events. There are no events for types that are never stored or only
    /// represent nodes of other types, nor for the server's own work and its results.
    #[must_use]
    pub const fn has_events(self) -> bool {
        !matches!(
            self,
            Self::Webhook
                | Self::Event
                | Self::Job
                | Self::GraphExport
                | Self::OrganizationExport
                | Self::ResourceExport
                | Self::ProjectStatus
                | Self::TimePeriod
                | Self::ProjectTotals
                | Self::Reaction
                | Self::Agent
                | Self::RuleTrigger
        )
    }

    /// Returns the type with this stored number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|t| *t as u8 == code)
    }
}

impl From<Type> for u8 {
    fn from(ty: Type) -> Self {
        ty as Self
    }
}
impl TryFrom<u8> for Type {
    type Error = &'static str;
    fn try_from(code: u8) -> Result<Self, &'static str> {
        Self::from_code(code).ok_or("no type has this number")
    }
}

/// Values for all types, found by the type's number.
#[derive(Debug)]
pub(crate) struct ByType<T>(Vec<Option<T>>);

impl<T> ByType<T> {
    /// Creates a value for each type.
    pub(crate) fn new(make: impl Fn(Type) -> T) -> Self {
        Self(
            (0..=u8::MAX)
                .map(|code| Type::from_code(code).map(&make))
                .collect(),
        )
    }
    /// Returns the value of a type, if the map has one.
    pub(crate) fn get(&self, ty: Type) -> Option<&T> {
        self.0.get(ty as usize).and_then(Option::as_ref)
    }
}
