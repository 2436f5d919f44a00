//! Starts work again that has used up its allowance, once it may take longer.
//!
//! Reading changes nothing. So a read that turns out to be long is started again, in a place where no other request
//! waits for it: see [`Interrupt::poll_allowed`].
//!
//! [`Interrupt::poll_allowed`]: workgraph_core::Interrupt::poll_allowed
use std::future::poll_fn;
use workgraph_core::domain_error::{DomainError, DomainErrorKind};
use workgraph_core::storage::{GraphStore, GraphStoreError, ReadQuery, ReadView};
use workgraph_core::{InterruptReason, MaybeInterrupt};

/// The most attempts. Two are enough where the store answers at once; a store that waits may return the work to where
/// it began.
const ATTEMPTS_MAX: usize = 16;

/// Waits until work may start again.
async fn allowed(interrupt: &MaybeInterrupt) {
    if let Some(interrupt) = interrupt {
        poll_fn(|_| interrupt.poll_allowed()).await;
    }
}

/// Calculates a value, and again with a larger allowance if that is used up.
///
/// # Errors
/// Fails as the work does; [`InterruptReason::Deadline`] if no allowance is enough.
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

/// Queries the store, and again with a larger allowance if that is used up.
///
/// # Errors
/// Fails as the store does; [`InterruptReason::Deadline`] if no allowance is enough.
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

/// Loads under the interrupt of the read query.
///
/// # Errors
/// Fails as the store does.
pub(crate) async fn load(
    graph: &dyn GraphStore,
    want: &ReadQuery,
) -> Result<ReadView, GraphStoreError> {
    query_store(&want.interrupt, || graph.load(want)).await
}
