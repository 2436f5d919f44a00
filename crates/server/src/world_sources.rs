//! The time and the random bytes of a world.
use crate::adapters::system_clock::{SystemEntropy, WallClock};
use std::sync::Arc;
use workgraph_api::{Clock, Entropy};

/// Source of the time, and source of the random bytes, of one world. The contents of replies, records, tokens and limits
/// depend on these two alone.
#[derive(Clone)]
pub(crate) struct WorldSources {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl WorldSources {
    /// Returns the clock of the machine, and the random bytes of the operating system.
    pub(crate) fn of_the_machine(clock: &Arc<WallClock>) -> Self {
        Self {
            clock: clock.clone(),
            entropy: Arc::new(SystemEntropy::new()),
        }
    }
}
