//! Weights of requests: how much a request counts against each limit.
use std::iter::Sum;
use workgraph_operations::Method;
use workgraph_operations::operation::Operation;

/// The weight of requests that are admitted together.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct RequestWeight {
    /// Requests that count against the standard quota.
    pub(crate) standard: u32,
    /// Requests that count against the search quota.
    pub(crate) searches: u32,
    /// Requests that take a slot of the reads.
    pub(crate) reads: u32,
    /// Requests that take a slot of the writes.
    pub(crate) writes: u32,
}

impl RequestWeight {
    /// The weight of a plain read.
    pub(crate) const READ: Self = Self {
        standard: 1,
        searches: 0,
        reads: 1,
        writes: 0,
    };
    /// The weight of a request that ends before it does anything.
    pub(crate) const FAILING: Self = Self::READ;

    /// Returns the weight of one request of an operation.
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

impl Sum for RequestWeight {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            standard: sum.standard + one.standard,
            searches: sum.searches + one.searches,
            reads: sum.reads + one.reads,
            writes: sum.writes + one.writes,
        })
    }
}
