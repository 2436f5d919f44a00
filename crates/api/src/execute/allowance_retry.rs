//! Restarts work that has used up its allowance, once it may take longer.
//!
//! Reads change nothing. So a read that turns out to be long is restarted where no other request waits for it: see
//! [`Interrupt::poll_allowed`].
//!
//! [`Interrupt::poll_allowed`]: workgraph_core::Interrupt::poll_allowed
use std::future::poll_fn;
use workgraph_core::domain_error::{DomainError, DomainErrorKind};
use workgraph_core::storage::{GraphStore, GraphStoreError, ReadQuery, ReadView};
use workgraph_core::{InterruptReason, MaybeInterrupt};

/// Maximum number of attempts. Two are enough if the store answers immediately; a store that waits may return the work
/// to where it started.
const ATTEMPTS_MAX: usize = 16;

/// Waits until the work may restart.
async fn allowed(interrupt: &MaybeInterrupt) {
    if let Some(interrupt) = interrupt {
        poll_fn(|_| interrupt.poll_allowed()).await;
    }
}

/// Computes a value, and again with a larger allowance if the first one is used up.
///
/// # Errors
/// Fails as the work does; with [`InterruptReason::Deadline`] if no allowance is enough.
pub(crate) async fn compute<T>(
    interrupt: &MaybeInterrupt,
    mut work: impl FnMut() -> Result<T, DomainError>,
) -> Result<T, DomainError> {
    for _ in 0..ATTEMPTS_MAX {
        match work() {
            Err(fault)
                if fault.kind == DomainErrorKind::Interrupted(InterruptReason::AllowanceSpent) =>
            {
                allowed(interrupt).await;
            }
            done => return done,
        }
    }
    Err(InterruptReason::Deadline.into())
}

/// Queries the store, and again with a larger allowance if the first one is used up.
///
/// # Errors
/// Fails as the store does; with [`InterruptReason::Deadline`] if no allowance is enough.
pub(crate) async fn query_store<T, F>(
    interrupt: &MaybeInterrupt,
    mut trip: impl FnMut() -> F,
) -> Result<T, GraphStoreError>
where
    F: Future<Output = Result<T, GraphStoreError>>,
{
    for _ in 0..ATTEMPTS_MAX {
        match trip().await {
            Err(GraphStoreError::Interrupted(InterruptReason::AllowanceSpent)) => {
                allowed(interrupt).await
            }
            done => return done,
        }
    }
    Err(InterruptReason::Deadline.into())
}

/// Loads with the interrupt of the read query.
///
/// # Errors
/// Fails as the store does.
pub(crate) async fn load(
    graph: &dyn GraphStore,
    want: &ReadQuery,
) -> Result<ReadView, GraphStoreError> {
    query_store(&want.interrupt, || graph.load(want)).await
}
