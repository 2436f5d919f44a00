//! What is exported with an object: its lists, by its type.
use crate::graph::Give;
use crate::registry::{Dir, Rel, Type, rel};

/// A list of an object that is exported with it.
pub(super) struct List {
    /// What it is a list of.
    pub(super) of: Of,
    /// The type of its rows.
    pub(super) ty: Type,
    /// Whether its rows have lists of their own.
    pub(super) deep: bool,
}

/// What a list is a list of.
pub(super) enum Of {
    /// What is at the other end of edges, or their third parties.
    Edges(Rel, Dir, Give),
    /// The tasks of a project.
    Tasks,
    /// All of a type in a workspace.
    Home,
}

const fn edges(ty: Type, rel: Rel, dir: Dir, give: Give) -> List {
    List {
        of: Of::Edges(rel, dir, give),
        ty,
        deep: false,
    }
}

const fn home(ty: Type) -> List {
    List {
        of: Of::Home,
        ty,
        deep: false,
    }
}

const fn deep(of: Of, ty: Type) -> List {
    List { of, ty, deep: true }
}

/// All there is in a workspace, type by type.
const WORKSPACE: &[List] = &[
    edges(Type::User, rel::WORKSPACES, Dir::In, Give::Far),
    home(Type::WorkspaceMembership),
    home(Type::Team),
    home(Type::TeamMembership),
    home(Type::CustomField),
    home(Type::CustomFieldMembership),
    home(Type::Tag),
    home(Type::Project),
    home(Type::ProjectMembership),
    home(Type::CustomFieldSetting),
    home(Type::Section),
    home(Type::UserTaskList),
    deep(Of::Home, Type::Task),
    home(Type::ProjectTemplate),
    home(Type::Recipe),
    home(Type::TaskTemplate),
];
const TEAM: &[List] = &[
    edges(Type::TeamMembership, rel::TEAM_MEMBERS, Dir::Out, Give::Aux),
    edges(
        Type::ProjectTemplate,
        rel::TEMPLATE_TEAM,
        Dir::In,
        Give::Far,
    ),
    deep(Of::Edges(rel::TEAM, Dir::In, Give::Far), Type::Project),
];
const PROJECT: &[List] = &[
    edges(Type::ProjectMembership, rel::MEMBERS, Dir::Out, Give::Aux),
    edges(Type::CustomFieldSetting, rel::FIELD_ON, Dir::In, Give::Aux),
    edges(Type::TaskTemplate, rel::TEMPLATE_OF, Dir::In, Give::Far),
    edges(Type::Section, rel::SECTION_OF, Dir::In, Give::Far),
    deep(Of::Tasks, Type::Task),
];
const STORIES: List = edges(Type::Story, rel::STORY_OF, Dir::In, Give::Far);
const SUBTASKS: List = deep(Of::Edges(rel::PARENT, Dir::In, Give::Far), Type::Task);
const TASK: &[List] = &[STORIES, SUBTASKS];
/// Among all tasks of a workspace are the subtasks.
const TASK_OF_ALL: &[List] = &[STORIES];

/// What an object of a type is exported with, in an export whose root is of another type.
pub(super) const fn lists(root: Type, ty: Type) -> &'static [List] {
    match (root, ty) {
        (_, Type::Workspace) => WORKSPACE,
        (_, Type::Team) => TEAM,
        (_, Type::Project) => PROJECT,
        (Type::Workspace, Type::Task) => TASK_OF_ALL,
        (_, Type::Task) => TASK,
        _ => &[],
    }
}
