//! The kinds of node.
use serde::{Deserialize, Serialize};

/// The kinds of node. The numbers are stored; never reuse one.
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
    /// That a user belongs to a workspace.
    WorkspaceMembership = 4,
    /// That a user belongs to a team.
    TeamMembership = 5,
    /// A project.
    Project = 6,
    /// That a user or team belongs to a project.
    ProjectMembership = 7,
    /// A section of a project or of a user task list.
    Section = 8,
    /// A task or subtask.
    Task = 9,
    /// A tag.
    Tag = 10,
    /// The tasks assigned to a user in a workspace.
    UserTaskList = 11,
    /// A comment or a record of a change.
    Story = 12,
    /// The definition of a custom field.
    CustomField = 13,
    /// An option of an enum or multi_enum custom field.
    EnumOption = 14,
    /// That the tasks of a project have a custom field.
    CustomFieldSetting = 15,
    /// A subscription to events. Made from a row of its own table when it is shown, never stored as a node.
    Webhook = 17,
    /// Something that happened. Made from the journal when it is shown, never stored as a node.
    Event = 18,
    /// Long work that goes on after the request that asked for it.
    Job = 20,
    /// A project kept as a pattern for new ones.
    ProjectTemplate = 21,
    /// A task kept as a pattern for new ones.
    TaskTemplate = 22,
    /// A task of a project template.
    Recipe = 23,
    /// What a graph export made.
    GraphExport = 24,
    /// The export of a whole workspace. It is a job, shown as a thing of its own.
    OrganizationExport = 25,
    /// That a user or team has an access level of its own to a custom field.
    CustomFieldMembership = 26,
    /// What an export of resources made.
    ResourceExport = 27,
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
        Self::Recipe,
        Self::GraphExport,
        Self::OrganizationExport,
        Self::CustomFieldMembership,
        Self::ResourceExport,
    ];

    /// The type with this stored number.
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

/// Something for every type, found by the type's number.
#[derive(Debug)]
pub(crate) struct ByType<T>(Vec<Option<T>>);

impl<T> ByType<T> {
    /// Makes it for each type.
    pub(crate) fn new(make: impl Fn(Type) -> T) -> Self {
        Self(
            (0..=u8::MAX)
                .map(|code| Type::from_code(code).map(&make))
                .collect(),
        )
    }
    /// What there is for a type.
    pub(crate) fn get(&self, ty: Type) -> Option<&T> {
        self.0.get(ty as usize).and_then(Option::as_ref)
    }
}
