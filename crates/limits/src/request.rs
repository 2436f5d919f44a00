//! A request, or several at once, as the limiter sees them.

use crate::concurrency::of;
use crate::settings::Key;

/// Whether a request reads or writes; each class has its own number of concurrent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// GET and HEAD.
    Read,
    /// Everything else.
    Write,
}

/// The quota a request is counted against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// The standard quota.
    Standard {
        /// Requests per minute, after the plan of the token's user.
        quota: u32,
    },
    /// The search quota, and only that.
    Search,
    /// A batch with searches among its actions: both quotas must have room, or nothing runs.
    Mixed {
        /// Requests per minute of the standard quota, which the request's `weight` is counted against.
        quota: u32,
        /// How many searches there are, counted against the search quota and not part of `weight`.
        searches: u32,
    },
}

/// A request as the limiter sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whose limits it is counted under.
    pub key: Key,
    /// Which concurrency limit it needs a permit of.
    pub class: Class,
    /// Which quota it is counted against.
    pub rate: Rate,
    /// How much it counts: 1, if it is not several in one. A weight above the quota or above
    /// [`MAX_WEIGHT`](crate::window::MAX_WEIGHT) is never admitted, however long the client waits.
    pub weight: u32,
}

impl Request {
    /// The request as a batch of one.
    pub(crate) fn alone(&self) -> Batch {
        Batch {
            key: self.key,
            rate: self.rate,
            weight: self.weight,
            reads: of(self.class, 1, 0),
            writes: of(self.class, 0, 1),
        }
    }
}

/// Requests that are admitted together, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Whose limits they are counted under.
    pub key: Key,
    /// Which quotas they are counted against.
    pub rate: Rate,
    /// How much they count, as in [`Request::weight`].
    pub weight: u32,
    /// How many of them read, each with a slot of its own. More than the limit are never admitted.
    pub reads: u32,
    /// How many of them write. One that neither reads nor writes is taken to read.
    pub writes: u32,
}

impl Batch {
    /// The batch with a slot at least; without one nothing would keep the account while its permit is out.
    pub(crate) fn with_slot(mut self) -> Self {
        self.reads = self.reads.max(u32::from(self.writes == 0));
        self
    }

    /// The standard quota, what counts against it, and what counts against the search quota.
    pub(crate) fn counted(&self) -> (u32, u32, u32) {
        match self.rate {
            Rate::Standard { quota } => (quota, self.weight, 0),
            Rate::Search => (0, 0, self.weight),
            Rate::Mixed { quota, searches } => (quota, self.weight, searches),
        }
    }
}
