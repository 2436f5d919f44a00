//! The limits as requests meet them: what each weighs, and the figures of its token.
use crate::fault::Failure;
use crate::operation::Operation;
use crate::pipeline::Api;
use crate::request::Method;
use std::iter::Sum;
use workgraph_auth::{Grant, Tier};
use workgraph_limits::{Batch, Custom, Permit, Rate};

/// What requests that are admitted together weigh.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Load {
    /// Those that count against the standard quota.
    standard: u32,
    /// Those that count against the search quota.
    searches: u32,
    /// Those that take a slot of the reads.
    reads: u32,
    /// Those that take a slot of the writes.
    writes: u32,
}

impl Load {
    /// A plain read.
    pub(crate) const READ: Self = Self {
        standard: 1,
        searches: 0,
        reads: 1,
        writes: 0,
    };
    /// A request that ends before it does anything.
    pub(crate) const FAILING: Self = Self::READ;

    /// One request of an operation.
    pub(crate) fn of(operation: &Operation) -> Self {
        let reads = u32::from(operation.method == Method::Get);
        let searches = u32::from(operation.search);
        Self {
            standard: 1 - searches,
            searches,
            reads,
            writes: 1 - reads,
        }
    }
}

impl Sum for Load {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            standard: sum.standard + one.standard,
            searches: sum.searches + one.searches,
            reads: sum.reads + one.reads,
            writes: sum.writes + one.writes,
        })
    }
}

impl Api {
    /// Charges the limits with requests: all of them are admitted, or none. `label` is the number of
    /// the operation, for whoever asks later what used a quota.
    pub(crate) fn admit(&self, grant: &Grant, load: Load, label: u16) -> Result<Permit, Failure> {
        let quota = self
            .limiter
            .settings()
            .standard
            .of(grant.tier == Tier::Paid);
        let batch = Batch {
            key: grant.key,
            rate: Rate::Mixed {
                quota,
                searches: load.searches,
            },
            weight: load.standard,
            reads: load.reads,
            writes: load.writes,
        };
        let custom = Custom {
            label,
            ..Custom::default()
        };
        self.limiter
            .admit_batch(&batch, &custom, self.clock.now())
            .map_err(Failure::Limited)
    }
}
