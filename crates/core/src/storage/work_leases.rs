//! Leases on work that only one of the nodes sharing a store may do at a time.
use super::GraphStoreError;
use async_trait::async_trait;
use std::time::{Duration, Instant};

/// Work that one node at a time does for the whole store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SharedWork {
    /// Making the deliveries of webhooks, and pruning the journal behind them.
    Webhooks,
    /// Signing and pruning the audit log.
    AuditSigning,
    /// The first start of a new store: its first users and workspaces.
    FirstStart,
    /// Removing expired data: codes, sessions, jobs, files.
    Maintenance,
}

impl SharedWork {
    /// Every kind of work.
    pub const ALL: [Self; 4] = [
        Self::Webhooks,
        Self::AuditSigning,
        Self::FirstStart,
        Self::Maintenance,
    ];

    /// Returns the name under which stores keep the lease.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Webhooks => "webhooks",
            Self::AuditSigning => "audit-signing",
            Self::FirstStart => "first-start",
            Self::Maintenance => "maintenance",
        }
    }
}

/// Lease of this node on shared work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkLease {
    /// Epoch of the lease, which changes whenever another node had the lease in between.
    pub epoch: u64,
    /// End of the lease by this machine's monotonic clock, counted from before the request to the store. `None`: it never ends,
    /// because only this process uses the store.
    pub until: Option<Instant>,
}

impl WorkLease {
    /// Lease of the only process that uses the store.
    pub const PERMANENT: Self = Self {
        epoch: 0,
        until: None,
    };

    /// Returns the time that is left at an instant; `None` for a lease that never ends.
    #[must_use]
    pub fn remaining(&self, now: Instant) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(now))
    }
}

/// Port: leases on shared work, by the time of the store.
///
/// A lease avoids doing work twice. It does not make a late holder harmless: each write of such work is conditional on the
/// state at the start of the work.
#[async_trait]
pub trait WorkLeases: Send + Sync {
    /// Takes or renews the lease on some work, at an instant of this machine's monotonic clock. Returns `None` while another node
    /// holds it.
    ///
    /// # Errors
    /// Fails if the store fails; a lease that this node holds still ends at its time.
    async fn acquire(
        &self,
        work: SharedWork,
        now: Instant,
    ) -> Result<Option<WorkLease>, GraphStoreError>;

    /// Gives the lease up, if this node holds it, so that another node need not wait for its end.
    ///
    /// # Errors
    /// Fails if the store fails.
    async fn release(&self, work: SharedWork) -> Result<(), GraphStoreError>;
}

/// Leases of the only process that uses the store: it always holds all leases, at no cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct PermanentLeases;

#[async_trait]
impl WorkLeases for PermanentLeases {
    async fn acquire(
        &self,
        _: SharedWork,
        _: Instant,
    ) -> Result<Option<WorkLease>, GraphStoreError> {
        Ok(Some(WorkLease::PERMANENT))
    }

    async fn release(&self, _: SharedWork) -> Result<(), GraphStoreError> {
        Ok(())
    }
}
