//! The crate's front page: its modules.
#![doc = include_str!("../README.md")]
mod hash_chain;
mod log_inspector;
mod log_store;
mod signed_checkpoint;

pub use hash_chain::{ChainPosition, RowDigest};
pub use log_inspector::{Finding, InspectionReport, LogInspector};
pub use log_store::{AuditLogProgress, AuditLogStore, AuditLogStoreError, StoredCheckpoint};
pub use signed_checkpoint::{
    Checkpoint, CheckpointError, CheckpointKey, CheckpointPublicKey, InvalidKeySeed,
    read_checkpoint, read_unverified_checkpoint,
};
