//! The error of the storage port.
use crate::interrupt::InterruptReason;
use std::fmt;

/// Reason for which a store could not answer a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GraphStoreError {
    /// A guard failed: the caller must load and decide again.
    Conflict,
    /// Another node has this alias.
    AliasTaken(String),
    /// The nodes and edges of the query exceed the byte budget of the [`ReadQuery`](crate::storage::ReadQuery).
    OverBudget,
    /// The storage failed; nothing of the call was applied.
    Failed(String),
    /// The interrupt of the call stopped it; nothing is wrong with the storage.
    Interrupted(InterruptReason),
}

impl fmt::Display for GraphStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("a node changed meanwhile"),
            Self::AliasTaken(name) => write!(f, "the name {name} is taken"),
            Self::OverBudget => f.write_str("more was asked for than may be read at once"),
            Self::Failed(why) => write!(f, "storage failed: {why}"),
            Self::Interrupted(why) => write!(f, "stopped: {why}"),
        }
    }
}
impl std::error::Error for GraphStoreError {}

impl From<InterruptReason> for GraphStoreError {
    fn from(interrupted: InterruptReason) -> Self {
        Self::Interrupted(interrupted)
    }
}
