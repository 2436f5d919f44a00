//! The permit of an admitted request, which frees its slot when it is dropped.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::account_table::AccountShard;
use crate::admission_request::{AdmissionBatch, RequestClass, select_by_class};
use crate::shared_decision::SharedPermit;
use crate::sync::lock;
use crate::time_units::millis;

/// Right of an admitted request, or of a batch, to run. Dropping it frees its slots, on any thread and for any reason.
///
/// It belongs to the part of the program that works longest for the request: a response body that is still being sent,
/// or a database job that goes on after the client has left. It stays valid when the limiter is gone.
#[must_use = "the slot is free again as soon as the permit is dropped"]
pub struct Permit {
    shard: Arc<AccountShard>,
    /// Place of the account in its shard, which keeps the account as long as there is a permit.
    position: u32,
    reads: u32,
    writes: u32,
    deadline: u64,
    /// Most credits that a settlement takes; `None` if the cost limit was off at admission.
    ceiling: Option<u32>,
    /// Part that a limiter of several processes keeps.
    shared: Option<Box<dyn SharedPermit>>,
}

impl Permit {
    /// Makes a permit for the slots that a batch has taken.
    pub(crate) fn new(
        shard: Arc<AccountShard>,
        position: u32,
        batch: &AdmissionBatch,
        deadline: u64,
        ceiling: Option<u32>,
    ) -> Self {
        Self {
            shard,
            position,
            reads: batch.reads,
            writes: batch.writes,
            deadline,
            ceiling,
            shared: None,
        }
    }

    /// Adds the part that a limiter of several processes keeps. It ends when this permit does.
    pub fn with_shared(mut self, shared: Box<dyn SharedPermit>) -> Self {
        self.shared = Some(shared);
        self
    }

    /// Takes the cost of the answer, in credits, once it is known. Each call takes its cost; without a call nothing is
    /// taken.
    ///
    /// Nothing happens if the cost limit was off when the request was admitted.
    pub fn settle(&mut self, cost: u32, now: SystemTime) {
        if let Some(ceiling) = self.ceiling {
            lock(&self.shard.accounts)
                .at(self.position)
                .settle(cost.min(ceiling), millis(now));
            if let Some(shared) = &mut self.shared {
                shared.settle(cost.min(ceiling));
            }
        }
    }

    /// Returns true if a settlement takes anything: if the cost limit was on when the request was admitted.
    #[must_use]
    pub fn is_charged(&self) -> bool {
        self.ceiling.is_some()
    }

    /// Returns the number of slots of a class that the permit holds.
    #[must_use]
    pub fn slots(&self, class: RequestClass) -> u32 {
        select_by_class(class, self.reads, self.writes)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut accounts = lock(&self.shard.accounts);
        let account = accounts.at(self.position);
        for class in [RequestClass::Read, RequestClass::Write] {
            for _ in 0..self.slots(class) {
                account.release(class, self.deadline);
            }
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("reads", &self.reads)
            .field("writes", &self.writes)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
