//! The common error of the storage ports. Each leaf crate has its own error for its port; this one unites them.
use thiserror::Error;
use workgraph_auth::AuthStoreError;
use workgraph_core::GidLeaseEnded;
use workgraph_core::storage::GraphStoreError;
use workgraph_webhooks::WebhookStoreError;

/// Reason why a call to a store failed. `Display` is for the log.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum StorageError {
    /// The store of the graph.
    #[error(transparent)]
    Graph(#[from] GraphStoreError),
    /// The store of tokens and accounts.
    #[error(transparent)]
    Auth(#[from] AuthStoreError),
    /// The store of webhooks.
    #[error(transparent)]
    Webhooks(#[from] WebhookStoreError),
}

impl From<GidLeaseEnded> for StorageError {
    fn from(ended: GidLeaseEnded) -> Self {
        Self::Graph(ended.into())
    }
}
