//! Plan of a world: all that it follows from, so that it can begin again.
use crate::stand_in::world_options::WorldOptions;
use std::path::PathBuf;
use std::time::SystemTime;

/// Content of a world when it begins.
#[derive(PartialEq, Eq)]
pub(crate) enum FirstContent {
    /// Two workspaces and a small graph.
    Demo,
    /// One workspace with one user.
    Empty,
    /// Folder with what another world had when this one was made.
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
