//! The one error of the storage ports. Each leaf crate has the error of its own port; here they meet.
use thiserror::Error;
use workgraph_auth::AuthStoreError;
use workgraph_core::GidLeaseEnded;
use workgraph_core::storage::GraphStoreError;
use workgraph_webhooks::WebhookStoreError;

/// The reason why a store did not answer a call. `Display` is for the log.
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
