//! Work that has used up its allowance is started again, once it may take longer.
//!
//! Reading changes nothing, so a read that turns out to be long is simply begun anew where it holds up
//! nobody: see [`Interrupt::poll_allowed`].
//!
//! [`Interrupt::poll_allowed`]: workgraph_core::Interrupt::poll_allowed
use std::future::poll_fn;
use workgraph_core::fault::{Fault, Kind};
use workgraph_core::graph::{GraphStore, StoreError, View, Want};
use workgraph_core::{Interrupted, MaybeInterrupt};

/// How often work is started at most. Twice is enough where the store answers at once; a store that waits may give the
/// work back to where it began.
const STARTS: usize = 16;

/// Waits until work may start again.
async fn allowed(interrupt: &MaybeInterrupt) {
    if let Some(interrupt) = interrupt {
        poll_fn(|_| interrupt.poll_allowed()).await;
    }
}

/// Calculates, and does so again with a larger allowance if that is used up.
///
/// # Errors
/// Those of the work; [`Interrupted::Deadline`] if no allowance is enough.
pub(crate) async fn compute<T>(
    interrupt: &MaybeInterrupt,
    mut work: impl FnMut() -> Result<T, Fault>,
) -> Result<T, Fault> {
    for _ in 0..STARTS {
        match work() {
            Err(fault) if fault.kind == Kind::Interrupted(Interrupted::Allowance) => {
                allowed(interrupt).await;
            }
            done => return done,
        }
    }
    Err(Interrupted::Deadline.into())
}

/// Asks the store, and does so again with a larger allowance if that is used up.
///
/// # Errors
/// Those of the store; [`Interrupted::Deadline`] if no allowance is enough.
pub(crate) async fn ask<T, F>(
    interrupt: &MaybeInterrupt,
    mut trip: impl FnMut() -> F,
) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    for _ in 0..STARTS {
        match trip().await {
            Err(StoreError::Interrupted(Interrupted::Allowance)) => allowed(interrupt).await,
            done => return done,
        }
    }
    Err(Interrupted::Deadline.into())
}

/// Loads under the interrupt of the want.
///
/// # Errors
/// Those of the store.
pub(crate) async fn load(graph: &dyn GraphStore, want: &Want) -> Result<View, StoreError> {
    ask(&want.interrupt, || graph.load(want)).await
}
