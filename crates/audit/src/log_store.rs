//! Port: the stored log, as the signer sees it.
use crate::hash_chain::ChainPosition;
use async_trait::async_trait;
use std::time::SystemTime;
use thiserror::Error;

/// Progress of the log and of its checkpoints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditLogProgress {
    /// Chain position of its last row; [`ChainPosition::START`] if it has none.
    pub head: ChainPosition,
    /// Last checkpoint stored beside it.
    pub checkpoint: Option<String>,
}

/// Signed checkpoint to store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredCheckpoint {
    /// The last stored checkpoint when this one was signed.
    pub previous: Option<String>,
    /// Text of the checkpoint, with its signature.
    pub line: String,
    /// Number of the last row that it covers.
    pub head: u64,
    /// Number of the last row that is dropped from the log at the same time.
    pub base: u64,
}

/// Error of a store, with its message.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("storage failed: {0}")]
pub struct AuditLogStoreError(pub String);

/// Store of the log. Other code writes the rows, each in the transaction of the act that it records.
#[async_trait]
pub trait AuditLogStore: Send + Sync {
    /// Returns the end of the log, and its last checkpoint.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    async fn progress(&self) -> Result<AuditLogProgress, AuditLogStoreError>;

    /// Returns the last row to drop in one round. This row and all rows before it are older than the instant; it is never
    /// the last row of the log.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    async fn prunable_rows(
        &self,
        before: SystemTime,
    ) -> Result<Option<ChainPosition>, AuditLogStoreError>;

    /// Stores a checkpoint, and drops the rows and the checkpoints up to its base, in one commit. Does neither and returns
    /// false if the last stored checkpoint is no longer `previous`: another signer has signed in between.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    async fn store_checkpoint(
        &self,
        checkpoint: StoredCheckpoint,
    ) -> Result<bool, AuditLogStoreError>;
}
