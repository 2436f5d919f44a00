//! Time and random bytes of a test world.
use crate::adapters::system_clock::WallClock;
use crate::stand_in::delivery_faults::DeliveryFaults;
use crate::stand_in::faults::Faults;
use crate::stand_in::seeded_entropy::SeededEntropy;
use crate::stand_in::virtual_clock::VirtualClock;
use crate::world_sources::WorldSources;
use std::sync::Arc;
use std::time::SystemTime;
use workgraph_webhooks::WebhookClient;

/// Stream of random bytes for the creation of a world.
pub(crate) const BEGINNING: &str = "beginning";

/// Time and random bytes of a test world.
#[derive(Clone)]
pub(crate) struct TestSources {
    pub(crate) seed: u64,
    pub(crate) clock: Arc<VirtualClock>,
    entropy: Arc<SeededEntropy>,
    pub(super) faults: Arc<Faults>,
    pub(super) deliveries: Arc<DeliveryFaults>,
    /// True if requests with unknown names are refused.
    pub(crate) is_strict: bool,
}

impl TestSources {
    /// Returns the sources of a world: a frozen clock that shows `now`, and random bytes derived from a seed.
    pub(crate) fn new(machine: &Arc<WallClock>, seed: u64, now: SystemTime) -> Self {
        let clock = Arc::new(VirtualClock::new(Arc::clone(machine), now));
        let entropy = Arc::new(SeededEntropy::new(seed));
        let faults = Arc::new(Faults::new(entropy.clone()));
        Self {
            seed,
            deliveries: Arc::new(DeliveryFaults::new(Arc::clone(&faults), Arc::clone(&clock))),
            clock,
            entropy,
            faults,
            is_strict: false,
        }
    }

    /// Sets whether requests with unknown names are refused.
    pub(crate) fn strict(mut self, is_strict: bool) -> Self {
        self.is_strict = is_strict;
        self
    }

    /// Returns a client of webhooks whose deliveries meet the faults of the world.
    pub(crate) fn webhook_client(&self, client: Arc<dyn WebhookClient>) -> Arc<dyn WebhookClient> {
        self.deliveries.around(client)
    }

    /// Returns the sources as a world uses them.
    pub(crate) fn sources(&self) -> WorldSources {
        WorldSources {
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
        }
    }
}
