//! Request of the laws: one of a client that reads, writes or searches.

use super::law_class::{RequestClass, select_by_class};
use super::law_settings::{LawOverrides, LawSettings};
use crate::admission_request::{AdmissionRequest, LimitKey, SlotRequest, WindowCharge};

/// Quota that a request is counted against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateQuota {
    /// The standard quota alone.
    Standard {
        /// Requests per minute of this key.
        quota: u32,
    },
    /// The search quota alone.
    Search,
    /// A batch with searches among its actions: both quotas must have room, or nothing runs.
    Mixed {
        /// Requests per minute of the standard quota; the request's `weight` is counted against it.
        quota: u32,
        /// Number of searches, counted against the search quota and not part of `weight`.
        searches: u32,
    },
}

/// Request of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LawRequest {
    /// Key under which the request is counted.
    pub key: LimitKey,
    /// Class of the request: it needs a permit of this class.
    pub class: RequestClass,
    /// Quota that the request is counted against.
    pub rate: RateQuota,
    /// Weight of the request: 1, unless it stands for several. A weight above the quota or above
    /// [`MAX_WEIGHT`](crate::window::MAX_WEIGHT) is never admitted, however long the client waits.
    pub weight: u32,
}

impl LawRequest {
    /// Returns the request as a batch of one.
    #[must_use]
    pub fn as_batch(&self) -> LawBatch {
        LawBatch {
            key: self.key,
            rate: self.rate,
            weight: self.weight,
            reads: select_by_class(self.class, 1, 0),
            writes: select_by_class(self.class, 0, 1),
        }
    }
}

/// Requests that are admitted together, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LawBatch {
    /// Key under which the requests are counted.
    pub key: LimitKey,
    /// Quotas that the requests are counted against.
    pub rate: RateQuota,
    /// Weight of the requests, as in [`LawRequest::weight`].
    pub weight: u32,
    /// Number of requests that read, each with a slot of its own. A batch with more than the limit is never admitted.
    pub reads: u32,
    /// Number of requests that write. A batch with neither reads nor writes is taken as one read.
    pub writes: u32,
}

/// Charges and slots of a batch, from which the request of a limiter is made.
#[derive(Clone, Copy, Debug)]
pub struct LawCharges {
    key: LimitKey,
    windows: [WindowCharge; 2],
    slots: [SlotRequest; 2],
    credits: Option<u32>,
    label: u16,
}

impl LawBatch {
    /// Returns the standard quota, the weight counted against it, and the weight counted against the search quota.
    #[must_use]
    pub fn counted(&self) -> (u32, u32, u32) {
        match self.rate {
            RateQuota::Standard { quota } => (quota, self.weight, 0),
            RateQuota::Search => (0, 0, self.weight),
            RateQuota::Mixed { quota, searches } => (quota, self.weight, searches),
        }
    }

    /// Returns what the batch counts for with figures of its own.
    #[must_use]
    pub fn charges(&self, custom: &LawOverrides) -> LawCharges {
        let (quota, weight, searches) = self.counted();
        let window = |weight, quota| WindowCharge { weight, quota };
        let slot = |slots, most| SlotRequest { slots, most };
        LawCharges {
            key: self.key,
            windows: [
                window(weight, Some(quota)),
                window(searches, custom.search_per_minute),
            ],
            slots: [
                slot(self.reads, custom.concurrent_reads),
                slot(self.writes, custom.concurrent_writes),
            ],
            credits: custom.cost_per_minute,
            label: custom.label,
        }
    }
}

impl LawCharges {
    /// Returns the question for the counts of a key, with the figures that it has.
    #[must_use]
    pub fn of_key(key: LimitKey, quota: u32, custom: &LawOverrides) -> Self {
        let nothing = LawBatch {
            key,
            rate: RateQuota::Standard { quota },
            weight: 0,
            reads: 0,
            writes: 0,
        };
        nothing.charges(custom)
    }

    /// Returns the request of a limiter that is built from [`LawSettings`].
    #[must_use]
    pub fn request(&self) -> AdmissionRequest<'_, LimitKey> {
        AdmissionRequest::new(&self.key)
            .windows(&self.windows)
            .slots(&self.slots)
            .credits(self.credits)
            .label(self.label)
    }
}

impl LawSettings {
    /// Returns the number of requests of a class that may run at once.
    #[must_use]
    pub fn slots(&self, class: RequestClass) -> u32 {
        select_by_class(class, self.concurrent_reads, self.concurrent_writes)
    }
}
