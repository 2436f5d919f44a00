//! Request in the laws, from a client that reads, writes or searches.

use super::law_class::{RequestClass, select_by_class};
use super::law_settings::{LawOverrides, LawSettings};
use crate::admission_request::{AdmissionRequest, LimitKey, SlotRequest, WindowCharge};

/// Quota that a request is counted against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateQuota {
    /// Only the standard quota.
    Standard {
        /// Requests per minute of this key.
        quota: u32,
    },
    /// Only the search quota.
    Search,
    /// A batch that contains searches: both quotas must have room, or nothing runs.
    Mixed {
        /// Requests per minute of the standard quota; the request's `weight` is counted against it.
        quota: u32,
        /// Number of searches, which count against the search quota and are not part of `weight`.
        searches: u32,
    },
}

/// Request of one class, with its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LawRequest {
    /// Key under which the request is counted.
    pub key: LimitKey,
    /// Class of the request: it needs a permit of this class.
    pub class: RequestClass,
    /// Quota that the request is counted against.
    pub rate: RateQuota,
    /// Weight of the request: 1, unless it represents several. A weight above the quota or above
    /// [`MAX_WEIGHT`](crate::window::MAX_WEIGHT) is never admitted, no matter how long the client waits.
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
    /// Number of reads, each of which takes a slot. A batch with more reads than the limit is never admitted.
    pub reads: u32,
    /// Number of writes. A batch with neither reads nor writes is treated as one read.
    pub writes: u32,
}

/// Charges and slots of a batch, from which the limiter's request is made.
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

    /// Returns the charges of the batch with specific figures.
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
    /// Returns the query for the counts of a key with its figures.
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
    /// Returns the maximum number of concurrent requests of a class.
    #[must_use]
    pub fn slots(&self, class: RequestClass) -> u32 {
        select_by_class(class, self.concurrent_reads, self.concurrent_writes)
    }
}
