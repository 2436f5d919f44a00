//! The error of the storage port.
use crate::interrupt::InterruptReason;
use crate::model::gid::GidLeaseEnded;
use thiserror::Error;

/// Reason why a store could not answer a call.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum GraphStoreError {
    /// A guard failed: the caller must load and decide again.
    #[error("a node changed meanwhile")]
    Conflict,
    /// Another node has this alias.
    #[error("the name {0} is taken")]
    AliasTaken(String),
    /// The nodes and edges of the query exceed the byte budget of the [`ReadQuery`](crate::storage::ReadQuery).
    #[error("more was asked for than may be read at once")]
    OverBudget,
    /// The storage failed; no part of the call was applied.
    #[error("storage failed: {0}")]
    Failed(String),
    /// The storage, or a service that it needs, is not available now; no part of the call was applied.
    #[error("not available now: {0}")]
    Unavailable(String),
    /// The storage did not report the outcome of a change: it was applied as a whole, or not at all.
    #[error("what became of the change is not known: {0}")]
    Unknown(String),
    /// The interrupt of the call stopped it; nothing is wrong with the storage.
    #[error("stopped: {0}")]
    Interrupted(InterruptReason),
}

impl From<InterruptReason> for GraphStoreError {
    fn from(interrupted: InterruptReason) -> Self {
        Self::Interrupted(interrupted)
    }
}

impl From<GidLeaseEnded> for GraphStoreError {
    fn from(ended: GidLeaseEnded) -> Self {
        Self::Unavailable(ended.to_string())
    }
}
