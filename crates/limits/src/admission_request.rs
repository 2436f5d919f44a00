//! Request, or several requests at once, as the limiter sees them.

/// Key under which requests are counted: the first half of a token's digest, so that it is uniform and reveals nothing.
pub type LimitKey = [u8; 16];

/// Class of a request: it reads or writes. Each class has its own number of concurrent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestClass {
    /// Request with GET or HEAD.
    Read,
    /// Request with any other method.
    Write,
}

/// Returns the value for a class.
pub(crate) fn select_by_class<T>(class: RequestClass, read: T, write: T) -> T {
    match class {
        RequestClass::Read => read,
        RequestClass::Write => write,
    }
}

/// Quota that a request is counted against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateQuota {
    /// The standard quota alone.
    Standard {
        /// Requests per minute, by the plan of the token's user.
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

/// Request as the limiter sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionRequest {
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

impl AdmissionRequest {
    /// Returns the request as a batch of one.
    pub(crate) fn as_batch(&self) -> AdmissionBatch {
        AdmissionBatch {
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
pub struct AdmissionBatch {
    /// Key under which the requests are counted.
    pub key: LimitKey,
    /// Quotas that the requests are counted against.
    pub rate: RateQuota,
    /// Weight of the requests, as in [`AdmissionRequest::weight`].
    pub weight: u32,
    /// Number of requests that read, each with a slot of its own. A batch with more than the limit is never admitted.
    pub reads: u32,
    /// Number of requests that write. A batch with neither reads nor writes is taken as one read.
    pub writes: u32,
}

impl AdmissionBatch {
    /// Returns the batch with at least one slot; without a slot nothing would keep the account while its permit is out.
    #[must_use]
    pub fn with_slot(mut self) -> Self {
        self.reads = self.reads.max(u32::from(self.writes == 0));
        self
    }

    /// Returns the standard quota, the weight counted against it, and the weight counted against the search quota.
    #[must_use]
    pub fn counted(&self) -> (u32, u32, u32) {
        match self.rate {
            RateQuota::Standard { quota } => (quota, self.weight, 0),
            RateQuota::Search => (0, 0, self.weight),
            RateQuota::Mixed { quota, searches } => (quota, self.weight, searches),
        }
    }
}
