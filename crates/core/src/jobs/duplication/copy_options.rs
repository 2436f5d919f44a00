//! Options of a duplication: the fields and relations that copies take over.
use serde::{Deserialize, Serialize};

/// Option for the allocations of a project.
pub(super) const ALLOCATIONS: &str = "allocations";

/// Fields and relations that a copy takes over besides name and subtype, as in `include`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyOptions(u16);

impl CopyOptions {
    /// Names of the options of tasks, without the prefix `task_` that they have for projects.
    pub const NAMES: [&'static str; 10] = [
        "assignee",
        "attachments",
        "dates",
        "dependencies",
        "followers",
        "notes",
        "parent",
        "projects",
        "subtasks",
        "tags",
    ];
    /// Returns the options with the option of this name added.
    #[must_use]
    pub fn with(self, name: &str) -> Self {
        let mut names = Self::NAMES.iter().chain([&ALLOCATIONS]);
        let bit = names.position(|n| *n == name);
        Self(self.0 | bit.map_or(0, |at| 1 << at))
    }
    /// Returns the options that copy everything.
    #[must_use]
    pub fn all() -> Self {
        Self::NAMES.iter().fold(Self(0), |all, name| all.with(name))
    }
    /// Returns true if the options contain the option of this name, or if the name is unknown.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        self.with(name) == self
    }
}
