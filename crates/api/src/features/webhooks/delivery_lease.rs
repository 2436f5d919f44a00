//! The lease of this node on the deliveries of the store: only one of the nodes that share a store delivers.
//!
//! If a process has the store to itself, it holds the lease from the start, without an end.
use std::time::{Duration, SystemTime};

/// Lease of this node on the deliveries of the store.
#[derive(Debug)]
pub(crate) struct DeliveryLease {
    /// Epoch of the lease; each new epoch reads the webhooks again.
    pub(super) epoch: u64,
    /// End of the lease, if this node holds it.
    pub(super) until: LeaseEnd,
    /// The revision of the webhooks at the last read.
    pub(super) revision: Option<u64>,
    /// The time of the last check for a new revision.
    pub(super) looked_at: Option<SystemTime>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LeaseEnd {
    Never,
    At(SystemTime),
    NotHeld,
}

impl Default for DeliveryLease {
    fn default() -> Self {
        Self {
            epoch: 0,
            until: LeaseEnd::Never,
            revision: None,
            looked_at: None,
        }
    }
}

impl DeliveryLease {
    /// Returns true if the lease lasts for at least this long.
    pub(super) fn lasts(&self, now: SystemTime, time: Duration) -> bool {
        match self.until {
            LeaseEnd::Never => true,
            LeaseEnd::At(end) => {
                let left = end.duration_since(now).unwrap_or_default();
                left > Duration::ZERO && left >= time
            }
            LeaseEnd::NotHeld => false,
        }
    }
}
