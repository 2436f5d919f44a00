//! Number of parts into which limits are divided while the limiter of all nodes is away, from the nodes that are alive.
use std::time::{Duration, Instant};
use workgraph_store_postgres::server_nodes::node_number::{NODE_NUMBER_LEASE, NODE_NUMBER_MEMORY};

/// Parts so many that each is the least there is: one for each limit.
const PARTS_MAX: u32 = u32::MAX;

/// Number of parts into which limits are divided, so that all parts together are never more than the whole.
///
/// It is the number of nodes that were alive lately, and at least the number in the settings. A node takes the least part
/// while it is not counted: from a lease after its last count on, because the others may forget it, and, if there are more
/// nodes than the settings say, at its start until each other node has surely counted it.
#[derive(Debug)]
pub(crate) struct QuotaParts {
    /// Number of nodes in the settings.
    least: u32,
    /// Latest count, or the least, and its time.
    counted: Option<(u32, Instant)>,
    /// Time of the first count of those that followed each other without a gap.
    counted_since: Option<Instant>,
}

impl QuotaParts {
    /// Time after which each other node has counted this one, or has had the least part for a minute.
    const SETTLED: Duration = NODE_NUMBER_LEASE.saturating_add(NODE_NUMBER_MEMORY);

    /// Returns the number of parts before the nodes were counted.
    pub(crate) fn new(least: u32) -> Self {
        Self {
            least,
            counted: None,
            counted_since: None,
        }
    }

    /// Notes how many nodes were alive lately, this one included, and when they began to be counted.
    pub(crate) fn count(&mut self, nodes: u32, asked_at: Instant) {
        if self.latest(asked_at).is_none() {
            self.counted_since = Some(asked_at);
        }
        self.counted = Some((nodes.max(self.least), asked_at));
    }

    /// Returns the number of parts at a time.
    pub(crate) fn at(&self, now: Instant) -> u32 {
        let (Some(parts), Some(since)) = (self.latest(now), self.counted_since) else {
            return PARTS_MAX;
        };
        // The others have made room for as many as the settings say.
        let is_settled =
            parts == self.least || now.saturating_duration_since(since) >= Self::SETTLED;
        if is_settled { parts } else { PARTS_MAX }
    }

    /// Returns the latest count, unless the others may have forgotten this node since.
    fn latest(&self, now: Instant) -> Option<u32> {
        let (parts, at) = self.counted?;
        (now.saturating_duration_since(at) < NODE_NUMBER_LEASE).then_some(parts)
    }
}

#[cfg(test)]
mod tests;
