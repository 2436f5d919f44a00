//! Permit of an admitted request, which frees its slots when it is dropped.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::account_table::AccountShard;
use crate::admission_request::{AdmissionRequest, LimitKey};
use crate::in_flight::IN_PLACE;
use crate::limiter_account::Admitted;
use crate::rules::Rules;
use crate::shared_decision::SharedPermit;
use crate::time_units::millis;

/// Right of an admitted request, or of a batch, to run. Dropping it frees its slots, on any thread and for any reason.
///
/// It should be held by the part of the program that works longest for the request: a response body that is still being
/// sent, or a database job that continues after the client has left. It stays valid when the limiter is dropped.
#[must_use = "the slot is free again as soon as the permit is dropped"]
pub struct Permit<K = LimitKey> {
    shard: Arc<AccountShard<K>>,
    /// Position of the account in its shard, which keeps the account as long as there is a permit.
    position: u32,
    slots: [u32; IN_PLACE],
    deadline: u64,
    /// Maximum credits that a settlement takes; `None` if the cost quota was off at admission.
    ceiling: Option<u32>,
    /// Data that most permits do not need.
    rest: Option<Box<PermitRest>>,
}

/// Part of a permit that only some limiters need.
#[derive(Default)]
struct PermitRest {
    /// Slots of the classes after the first.
    slots: Box<[u32]>,
    /// Part managed by a limiter of several processes.
    shared: Option<Box<dyn SharedPermit>>,
}

impl<K> Permit<K> {
    /// Makes a permit for the slots that a request has taken.
    #[inline]
    pub(crate) fn new(
        shard: Arc<AccountShard<K>>,
        position: u32,
        request: &AdmissionRequest<'_, K>,
        admitted: Admitted,
    ) -> Self {
        let rules = &shard.rules;
        let rest = (rules.slots.len() > IN_PLACE).then(|| further_slots(rules, request));
        Self {
            shard,
            position,
            slots: admitted.slots,
            deadline: admitted.deadline,
            ceiling: admitted.ceiling,
            rest,
        }
    }

    /// Adds the part that a limiter of several processes manages. It ends with this permit.
    pub fn with_shared(mut self, shared: Box<dyn SharedPermit>) -> Self {
        self.rest.get_or_insert_default().shared = Some(shared);
        self
    }

    /// Takes the cost of the reply, in credits, once it is known. Each call takes its cost; without a call nothing is
    /// taken.
    ///
    /// Does nothing if the cost quota was off when the request was admitted.
    pub fn settle(&mut self, cost: u32, now: SystemTime) {
        if let Some(ceiling) = self.ceiling {
            let cost = cost.min(ceiling);
            let mut state = self.shard.lock();
            let account = state.table.at(self.position);
            account.settle(&self.shard.rules, cost, millis(now));
            drop(state);
            if let Some(rest) = &mut self.rest
                && let Some(shared) = &mut rest.shared
            {
                shared.settle(cost);
            }
        }
    }

    /// Returns true if settlements take credits: if the cost quota was on when the request was admitted.
    #[must_use]
    pub fn is_charged(&self) -> bool {
        self.ceiling.is_some()
    }

    /// Returns the number of slots that the permit holds in the class with an index, in the order in which the limiter
    /// was built.
    #[must_use]
    pub fn slots(&self, class: usize) -> u32 {
        let further = || {
            let rest = self.rest.as_ref()?;
            rest.slots.get(class.checked_sub(IN_PLACE)?)
        };
        let slots = self.slots.get(class).or_else(further);
        slots.copied().unwrap_or(0)
    }
}

#[cold]
fn further_slots<K>(rules: &Rules, request: &AdmissionRequest<'_, K>) -> Box<PermitRest> {
    let classes = IN_PLACE..rules.slots.len();
    let slots = classes.map(|class| request.slot(class).slots).collect();
    Box::new(PermitRest {
        slots,
        shared: None,
    })
}

impl<K> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut state = self.shard.lock();
        let account = state.table.at(self.position);
        for (class, taken) in self.slots.into_iter().enumerate() {
            if taken > 0 {
                account.release_slots(class, taken, self.deadline);
            }
        }
        if let Some(rest) = &self.rest {
            for (class, taken) in (IN_PLACE..).zip(&rest.slots) {
                account.release_slots(class, *taken, self.deadline);
            }
        }
    }
}

impl<K> fmt::Debug for Permit<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("slots", &self.slots)
            .field("more_slots", &self.rest.as_ref().map(|rest| &rest.slots))
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
