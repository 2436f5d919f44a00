//! Plan of a world: everything that determines its start, so that it can start again.
use crate::admin::bootstrap::FirstObjects;
use crate::stand_in::world_options::{WorldFixture, WorldOptions};
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

/// Content of a world when it begins.
#[derive(PartialEq, Eq)]
pub(crate) enum FirstContent {
    /// Two workspaces and a small graph.
    Demo,
    /// One workspace with one user.
    Empty,
    /// People, apps and objects of a fixture.
    Fixture(Arc<WorldFixture>),
    /// Folder with the content that another world had when this one was created.
    Kept(PathBuf),
}

/// Plan of a world.
pub(crate) struct WorldPlan {
    pub(crate) number: u64,
    pub(crate) seed: u64,
    pub(crate) now: SystemTime,
    pub(crate) content: FirstContent,
    pub(crate) options: WorldOptions,
}

impl WorldPlan {
    /// Removes the folder that the world began with, if that folder belongs to it alone.
    ///
    /// # Errors
    /// Fails if the folder can't be removed.
    pub(crate) fn remove_kept(&self) -> Result<()> {
        match &self.content {
            FirstContent::Kept(kept) => {
                std::fs::remove_dir_all(kept).with_context(|| kept.display().to_string())
            }
            FirstContent::Demo | FirstContent::Empty | FirstContent::Fixture(_) => Ok(()),
        }
    }
}

impl FirstContent {
    /// Returns a name that differs from those of other contents.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Demo => "demo",
            Self::Empty => "empty",
            Self::Fixture(fixture) => &fixture.digest,
            Self::Kept(_) => "kept",
        }
    }

    /// Returns true if the content of the world is sealed with its keys, so that its copies need the same keys.
    pub(crate) const fn has_own_keys(&self) -> bool {
        matches!(self, Self::Fixture(_) | Self::Kept(_))
    }

    /// Returns the objects that an empty store begins with.
    pub(crate) fn first_objects(&self) -> FirstObjects<'_> {
        match self {
            Self::Demo => FirstObjects::Demo,
            Self::Empty | Self::Kept(_) => FirstObjects::Admin,
            Self::Fixture(fixture) => FirstObjects::Fixture(&fixture.fixture),
        }
    }
}
