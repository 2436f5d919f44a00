//! Request that a test can keep and modify, and its conversion for a limiter.

use workgraph_limits::laws::{LawBatch, LawCharges, LawOverrides};
use workgraph_limits::{SharedRequest, TotalShare};

/// Requests that are admitted together, with their own figures and an owner.
#[derive(Clone, Copy, Debug)]
pub(super) struct TestRequest {
    pub(super) batch: LawBatch,
    pub(super) custom: LawOverrides,
    pub(super) owner: Option<(u64, [TotalShare; 3])>,
}

impl TestRequest {
    pub(super) fn charges(&self) -> LawCharges {
        self.batch.charges(&self.custom)
    }

    pub(super) fn shared<'a>(&'a self, charges: &'a LawCharges) -> SharedRequest<'a> {
        let owner = self.owner.as_ref();
        SharedRequest {
            request: charges.request(),
            owner: owner.map(|(owner, shares)| (owner, &shares[..])),
        }
    }
}
