//! Renewal of a lease on shared work by the worker that does the work.
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};
use workgraph_core::storage::{SharedWork, WorkLease, WorkLeases};

/// Interval between renewals.
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// Interval between attempts to take a lease that another node holds, or about which the store did not answer.
const TRY_EVERY: Duration = Duration::from_secs(1);
/// Timeout of the store.
const ANSWER: Duration = Duration::from_secs(5);

/// Lease on shared work, and its renewal. It is kept by asking for it often enough.
pub(crate) struct WorkLeaseRenewal {
    leases: Arc<dyn WorkLeases>,
    work: SharedWork,
    lease: Option<WorkLease>,
    asked_at: Option<Instant>,
}

impl WorkLeaseRenewal {
    pub(crate) fn new(leases: &Arc<dyn WorkLeases>, work: SharedWork) -> Self {
        Self {
            leases: Arc::clone(leases),
            work,
            lease: None,
            asked_at: None,
        }
    }

    /// Renews the lease when it is due, or tries to take it. Returns the lease if this node holds it now.
    pub(crate) async fn renew_if_due(&mut self) -> Option<WorkLease> {
        if let Some(lease) = self.lease.filter(|lease| lease.until.is_none()) {
            return Some(lease);
        }
        let now = Instant::now();
        let pause = if self.lease.is_some() {
            RENEW_EVERY
        } else {
            TRY_EVERY
        };
        if self.asked_at.is_none_or(|at| now - at >= pause) {
            self.asked_at = Some(now);
            let asked = self.leases.acquire(self.work, now.into_std());
            match timeout(ANSWER, asked).await {
                Ok(Ok(lease)) => {
                    if lease.map(|lease| lease.epoch) != self.lease.map(|lease| lease.epoch) {
                        tracing::debug!(
                            work = self.work.name(),
                            is_leased = lease.is_some(),
                            "lease"
                        );
                    }
                    self.lease = lease;
                }
                Ok(Err(error)) => self.not_renewed(&error.to_string()),
                Err(late) => self.not_renewed(&late.to_string()),
            }
        }
        let now = Instant::now().into_std();
        self.lease = self
            .lease
            .filter(|lease| lease.remaining(now) != Some(Duration::ZERO));
        self.lease
    }

    /// Returns the remaining time of a lease; `None` for a lease that never ends.
    pub(crate) fn remaining(lease: &WorkLease) -> Option<Duration> {
        lease.remaining(Instant::now().into_std())
    }

    fn not_renewed(&self, reason: &str) {
        tracing::warn!(
            work = self.work.name(),
            reason,
            "a lease could not be renewed"
        );
    }
}
