//! Ends of requests, which are sent together because nothing waits for them.

use tokio::sync::mpsc::{Receiver, Sender, channel};
use workgraph_limits::LimitKey;
use workgraph_limits::shared_limiter::SharedPermit;

use crate::protocol::{OwnerCost, Settlement};

/// Maximum number of queued ends. Further ones are not sent: their slots are freed at their deadlines.
const WAITING_MAX: usize = 65_536;

/// Maximum number of ends sent together.
pub(crate) const TOGETHER_MAX: usize = 256;

/// Queue of ended requests whose cost is not sent yet.
#[derive(Clone, Debug)]
pub(crate) struct SettlementQueue {
    sender: Sender<Settlement>,
}

impl SettlementQueue {
    pub(crate) fn new() -> (Self, Receiver<Settlement>) {
        let (sender, receiver) = channel(WAITING_MAX);
        (Self { sender }, receiver)
    }

    pub(crate) fn push(&self, ended: Settlement) {
        // If there is no room, the end is not sent.
        let _sent = self.sender.try_send(ended);
    }
}

/// Part of a permit stored on the server, which ends there when it is dropped.
#[derive(Debug)]
pub(crate) struct RedisPermit {
    pub(crate) queue: SettlementQueue,
    pub(crate) key: LimitKey,
    pub(crate) deadline: u64,
    pub(crate) slots: Vec<u32>,
    pub(crate) cost: u32,
    pub(crate) rate: u32,
    pub(crate) length_ms: u64,
    /// Share in the owner's cost total.
    pub(crate) owner: Option<OwnerCost>,
}

impl SharedPermit for RedisPermit {
    fn settle(&mut self, cost: u32) {
        self.cost = self.cost.saturating_add(cost);
    }
}

impl Drop for RedisPermit {
    fn drop(&mut self) {
        self.queue.push(Settlement {
            key: self.key,
            cost: self.cost,
            rate: self.rate,
            deadline: self.deadline,
            length_ms: self.length_ms,
            slots: std::mem::take(&mut self.slots),
            owner: self.owner.map(|owner| owner.end(self.cost)),
            ..Settlement::default()
        });
    }
}
