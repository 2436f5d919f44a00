//! Plan of a world: everything that determines its start, so that it can start again.
use crate::stand_in::initial_state::InitialState;
use crate::stand_in::world_options::WorldOptions;
use std::sync::Arc;
use std::time::SystemTime;

/// Plan by which a world starts, and starts again.
pub(crate) struct WorldPlan {
    pub(crate) number: u64,
    pub(crate) seed: u64,
    pub(crate) now: SystemTime,
    pub(crate) initial: Arc<InitialState>,
    pub(crate) options: WorldOptions,
}
