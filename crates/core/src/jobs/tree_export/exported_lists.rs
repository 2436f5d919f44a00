//! Lists that are exported with an object, by its type.
use crate::model::registry::{Direction, Relation, Type, rel};
use crate::storage::EdgeEnd;

/// List that is exported along with its object.
pub(super) struct ExportedList {
    /// Source of the list's rows.
    pub(super) of: ExportedListSource,
    /// Type of the rows.
    pub(super) ty: Type,
    /// True if the rows themselves have lists.
    pub(super) deep: bool,
}

/// Source of the rows of an exported list.
pub(super) enum ExportedListSource {
    /// Nodes at the other end of edges, or their auxiliary nodes.
    Edges(Relation, Direction, EdgeEnd),
    /// Tasks of a project.
    Tasks,
    /// All nodes of a type in a workspace.
    Home,
}

const fn edges(ty: Type, rel: Relation, dir: Direction, give: EdgeEnd) -> ExportedList {
    ExportedList {
        of: ExportedListSource::Edges(rel, dir, give),
        ty,
        deep: false,
    }
}

const fn in_workspace(ty: Type) -> ExportedList {
    ExportedList {
        of: ExportedListSource::Home,
        ty,
        deep: false,
    }
}

const fn deep(of: ExportedListSource, ty: Type) -> ExportedList {
    ExportedList { of, ty, deep: true }
}

/// Lists of a workspace: all that it contains, type by type.
const WORKSPACE: &[ExportedList] = &[
    edges(
        Type::User,
        rel::WORKSPACES,
        Direction::In,
        EdgeEnd::OtherEnd,
    ),
    in_workspace(Type::WorkspaceMembership),
    in_workspace(Type::Team),
    in_workspace(Type::TeamMembership),
    in_workspace(Type::CustomField),
    in_workspace(Type::CustomFieldMembership),
    in_workspace(Type::CustomType),
    in_workspace(Type::Tag),
    in_workspace(Type::TimeTrackingCategory),
    in_workspace(Type::OooEntry),
    deep(ExportedListSource::Home, Type::ProjectBrief),
    in_workspace(Type::Allocation),
    in_workspace(Type::Rate),
    in_workspace(Type::Budget),
    in_workspace(Type::TimesheetApprovalStatus),
    in_workspace(Type::Role),
    deep(ExportedListSource::Home, Type::Project),
    in_workspace(Type::ProjectMembership),
    in_workspace(Type::CustomFieldSetting),
    in_workspace(Type::Section),
    in_workspace(Type::UserTaskList),
    deep(ExportedListSource::Home, Type::Task),
    in_workspace(Type::ProjectTemplate),
    in_workspace(Type::TemplateTask),
    in_workspace(Type::TaskTemplate),
    in_workspace(Type::StatusUpdate),
    in_workspace(Type::Portfolio),
    in_workspace(Type::PortfolioMembership),
    in_workspace(Type::ProjectPortfolioSetting),
    deep(ExportedListSource::Home, Type::Goal),
    in_workspace(Type::GoalMembership),
    in_workspace(Type::GoalRelationship),
];
const TEAM: &[ExportedList] = &[
    edges(
        Type::TeamMembership,
        rel::TEAM_MEMBERS,
        Direction::Out,
        EdgeEnd::Aux,
    ),
    edges(
        Type::ProjectTemplate,
        rel::TEMPLATE_TEAM,
        Direction::In,
        EdgeEnd::OtherEnd,
    ),
    deep(
        ExportedListSource::Edges(rel::TEAM, Direction::In, EdgeEnd::OtherEnd),
        Type::Project,
    ),
];
const PROJECT: &[ExportedList] = &[
    edges(
        Type::ProjectMembership,
        rel::MEMBERS,
        Direction::Out,
        EdgeEnd::Aux,
    ),
    edges(
        Type::CustomFieldSetting,
        rel::FIELD_ON,
        Direction::In,
        EdgeEnd::Aux,
    ),
    edges(
        Type::TaskTemplate,
        rel::TEMPLATE_OF,
        Direction::In,
        EdgeEnd::OtherEnd,
    ),
    edges(
        Type::Section,
        rel::SECTION_OF,
        Direction::In,
        EdgeEnd::OtherEnd,
    ),
    edges(
        Type::Allocation,
        rel::ALLOCATION_OF,
        Direction::In,
        EdgeEnd::OtherEnd,
    ),
    deep(ExportedListSource::Tasks, Type::Task),
    edges(
        Type::StatusUpdate,
        rel::STATUS_OF,
        Direction::In,
        EdgeEnd::OtherEnd,
    ),
    ATTACHMENTS,
];
/// Lists of a project in an export of all projects of a workspace: their other lists are exported type by type.
const PROJECT_OF_ALL: &[ExportedList] = &[ATTACHMENTS];
const ATTACHMENTS: ExportedList = edges(
    Type::Attachment,
    rel::ATTACHED_TO,
    Direction::In,
    EdgeEnd::OtherEnd,
);
const STORIES: ExportedList = edges(Type::Story, rel::STORY_OF, Direction::In, EdgeEnd::OtherEnd);
const SUBTASKS: ExportedList = deep(
    ExportedListSource::Edges(rel::PARENT, Direction::In, EdgeEnd::OtherEnd),
    Type::Task,
);
const TIME_ENTRIES: ExportedList = edges(
    Type::TimeTrackingEntry,
    rel::TIME_ON_TASK,
    Direction::In,
    EdgeEnd::OtherEnd,
);
const TASK: &[ExportedList] = &[STORIES, TIME_ENTRIES, SUBTASKS, ATTACHMENTS];
/// Lists of a task in an export of all tasks of a workspace: these already contain the subtasks.
const TASK_OF_ALL: &[ExportedList] = &[STORIES, TIME_ENTRIES, ATTACHMENTS];

/// Returns the lists that an object of a type is exported with, by the type of the export's root.
pub(super) const fn lists(root: Type, ty: Type) -> &'static [ExportedList] {
    match (root, ty) {
        (_, Type::Workspace) => WORKSPACE,
        (_, Type::Team) => TEAM,
        (Type::Workspace, Type::Project) => PROJECT_OF_ALL,
        (_, Type::Project) => PROJECT,
        (Type::Workspace, Type::Task) => TASK_OF_ALL,
        (_, Type::Task) => TASK,
        (_, Type::Goal) => &[STORIES],
        (_, Type::ProjectBrief) => &[ATTACHMENTS],
        _ => &[],
    }
}
