//! What copies of tasks have besides their name and kind.
use serde::{Deserialize, Serialize};

/// What a copy of a task has besides its name and kind, as in `include`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts(u16);

impl Parts {
    /// The names, without the `task_` that they have for projects.
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
    /// With the part of this name.
    #[must_use]
    pub fn with(self, name: &str) -> Self {
        let bit = Self::NAMES.iter().position(|n| *n == name);
        Self(self.0 | bit.map_or(0, |at| 1 << at))
    }
    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        Self::NAMES.iter().fold(Self(0), |all, name| all.with(name))
    }
    /// Whether the part of this name is among them.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        self.with(name) == self
    }
}
